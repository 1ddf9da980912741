//===- Tags.cpp - names, policies and phases on import --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-import-tags`.
//
//===----------------------------------------------------------------------===//

#include "Tags.h"

#include "llvm/ADT/StringExtras.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/Tags.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTTAGSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// What a location or the attributes of an operation say about it.
struct Tags {
  PolicyAttr policy;
  StringAttr name;
  bool backward = false;

  bool empty() const { return !policy && !name; }
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading locations
//===----------------------------------------------------------------------===//

/// The text after `remat:` of the outermost location in `loc` that has one.
static std::optional<StringRef> findTagText(Location loc) {
  std::optional<StringRef> text;
  loc->walk([&](Location part) {
    auto name = dyn_cast<NameLoc>(part);
    if (!name || !name.getName().strref().starts_with(tagLocPrefix))
      return WalkResult::advance();
    text = name.getName().strref().drop_front(tagLocPrefix.size());
    return WalkResult::interrupt();
  });
  return text;
}

bool import::mayHavePolicy(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op); tag && tag.getPolicyAttr())
    return true;
  std::optional<StringRef> text = findTagText(op->getLoc());
  return op->hasAttr(RematDialect::policyAttrName) ||
         (text && text->contains_insensitive("policy"));
}

static FailureOr<PolicyAttr> parsePolicy(Operation *op, StringRef text) {
  if (std::optional<Policy> policy = symbolizePolicy(text.lower()))
    return PolicyAttr::get(op->getContext(), *policy);
  InFlightDiagnostic diag = op->emitOpError("has the unknown policy '")
                            << text << "' in its location, expected one of ";
  for (uint32_t i = 0; i <= getMaxEnumValForPolicy(); ++i)
    diag << (i ? ", '" : "'") << stringifyPolicy(static_cast<Policy>(i)) << "'";
  return diag;
}

static FailureOr<Tags> parseTags(Operation *op, StringRef text) {
  Tags tags;
  for (StringRef entry : llvm::split(text, ',')) {
    auto [key, value] = entry.split('=');
    key = key.trim();
    value = value.trim();
    if (key.empty() || value.empty())
      return op->emitOpError("has the malformed tag '")
             << entry << "' in its location, expected 'key=value'";
    if (key.equals_insensitive("policy")) {
      FailureOr<PolicyAttr> policy = parsePolicy(op, value);
      if (failed(policy))
        return failure();
      tags.policy = *policy;
    } else if (key.equals_insensitive("name")) {
      tags.name = StringAttr::get(op->getContext(), value);
    } else if (key.equals_insensitive("phase")) {
      tags.backward = value.ends_with_insensitive("backward");
    }
  }
  return tags;
}

//===----------------------------------------------------------------------===//
// Tagging values
//===----------------------------------------------------------------------===//

static void tagResult(Value value, const Tags &tags) {
  if (!isa<RankedTensorType>(value.getType()) || value.use_empty())
    return;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto tag =
      TagOp::create(builder, value.getLoc(), value, tags.name, tags.policy);
  value.replaceAllUsesExcept(tag.getResult(), tag);
}

/// Whether the results of `op` are parts of a node's lowering that no one would
/// name: constants, views, transposes and broadcasts.
static bool isAuxiliary(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::TensorDialect>(op->getDialect()) ||
      isa<linalg::FillOp, linalg::TransposeOp, linalg::BroadcastOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic &&
         llvm::range_size(generic.getBody()->without_terminator()) == 0;
}

/// Whether an operation of another location uses `value`.
static bool escapesLocation(Value value, Location loc) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user->getLoc() != loc || user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Tags of the attributes of `op`, which are removed.
static Tags takeAttributes(Operation *op) {
  Tags tags;
  if (Attribute attr = op->removeDiscardableAttr(RematDialect::policyAttrName))
    tags.policy = cast<PolicyAttr>(attr);
  if (Attribute attr = op->removeDiscardableAttr(RematDialect::nameAttrName))
    tags.name = cast<StringAttr>(attr);
  return tags;
}

static LogicalResult tagOperation(Operation *op,
                                  DenseMap<Location, Tags> &parsed) {
  unsigned level = getBackwardLevel(op);
  setBackwardLevel(op, 0);
  Location loc = op->getLoc();
  if (std::optional<StringRef> text = findTagText(loc)) {
    auto [it, isNew] = parsed.try_emplace(loc);
    if (isNew) {
      FailureOr<Tags> tags = parseTags(op, *text);
      if (failed(tags))
        return failure();
      it->second = *tags;
    }
    const Tags &tags = it->second;
    if (tags.backward && level == 0)
      level = 1;
    if (level == 0 && !tags.empty() && !isAuxiliary(op))
      for (Value result : op->getResults())
        if (escapesLocation(result, loc))
          tagResult(result, tags);
  }
  Tags tags = takeAttributes(op);
  if (!tags.empty())
    for (Value result : op->getResults())
      tagResult(result, tags);
  setBackwardLevel(op, level);
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
struct ImportTags : public remat::impl::ImportTagsPassBase<ImportTags> {
  void runOnOperation() override {
    // Scalar operations in bodies share the location of the operation around
    // them; only operations on tensors are tagged.
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == getOperation() || op->hasTrait<OpTrait::IsTerminator>())
        return WalkResult::advance();
      ops.push_back(op);
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
    });
    DenseMap<Location, Tags> parsed;
    for (Operation *op : ops)
      if (failed(tagOperation(op, parsed)))
        return signalPassFailure();
    if (failed(checkPolicies()))
      signalPassFailure();
  }

private:
  /// Refuses two demands on one value while values are still those that the
  /// program has. Equal ones become one later, which the program cannot help.
  LogicalResult checkPolicies() {
    DenseMap<Value, TagOp> demands;
    WalkResult result = getOperation().walk([&](TagOp tag) {
      Value value = getTaggedValue(tag);
      if (!tag.getPolicy() || !isMust(*tag.getPolicy()) || !holdsPolicy(value))
        return WalkResult::advance();
      auto [it, isFirst] = demands.try_emplace(value, tag);
      TagOp other = it->second;
      if (isFirst || other.getPolicy() == tag.getPolicy())
        return WalkResult::advance();
      InFlightDiagnostic diag = tag.emitOpError("value has policy '")
                                << stringifyPolicy(*other.getPolicy())
                                << "', which conflicts with policy '"
                                << stringifyPolicy(*tag.getPolicy()) << "'";
      diag.attachNote(other.getLoc()) << "the other demand";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
