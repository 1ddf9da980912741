//===- SeparateTags.cpp - a buffer for each of two demands (L1) -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-separate-tags`.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace remat {
#define GEN_PASS_DEF_SEPARATETAGSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// `value`, which is a view of `root`, as a view of `other`.
static Value rebuildView(OpBuilder &builder, Value value, Value root,
                         Value other) {
  if (value == root)
    return other;
  Operation *op = value.getDefiningOp();
  Value source = rebuildView(builder, op->getOperand(0), root, other);
  if (isTransparentOp(op))
    return source;
  Operation *view = builder.clone(*op);
  view->setOperand(0, source);
  return view->getResult(0);
}

namespace {
/// Backward readers of a value, by the level of their derivative.
using ReadersByLevel = std::map<unsigned, SmallVector<OpOperand *>>;
} // namespace

/// The uses of `value` in backward computations of `level` and above, seen
/// through views and tags, but for tags of regions.
static void collectReaders(Value value, unsigned level, Block &body,
                           ReadersByLevel &readers) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto tag = dyn_cast<TagOp>(user); tag && tag.getOfRegion())
      continue;
    if (isViewOp(user) || isTransparentOp(user)) {
      collectReaders(user->getResult(0), level, body, readers);
      continue;
    }
    Operation *reader = body.findAncestorOpInBlock(*user);
    if (reader && getBackwardLevel(reader) >= level)
      readers[getBackwardLevel(reader)].push_back(&use);
  }
}

/// Whether anything before the backward computation of `level` reads `value`
/// from outside of regions. What a region computes reads it by the tag; only
/// the derivative of the operation that makes the value does not.
static bool isReadBefore(Value value, unsigned level, Block &body) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto tag = dyn_cast<TagOp>(user); tag && tag.getOfRegion())
      return false;
    if (isViewOp(user) || isTransparentOp(user))
      return isReadBefore(user->getResult(0), level, body);
    Operation *reader = body.findAncestorOpInBlock(*user);
    return reader && getBackwardLevel(reader) < level;
  });
}

namespace {
struct SeparateTags : remat::impl::SeparateTagsPassBase<SeparateTags> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      // What is repeated for a region reads what else is.
      SmallVector<TagOp> tags(block.getOps<TagOp>());
      for (TagOp tag : llvm::reverse(tags))
        if (tag.getOfRegion() && tag.getPolicy() == Policy::MustRecompute)
          separateRegion(tag);
    }
    for (Block &block : getOperation().getBody())
      for (auto tag : llvm::make_early_inc_range(block.getOps<TagOp>()))
        if (tag.getPolicy() && isMust(*tag.getPolicy()))
          separate(tag);
  }

private:
  /// Where backward operations also read the value of `tag` from outside of the
  /// region, those inside read a value of their own, made again for them. What
  /// becomes of the other is for the plan to say.
  void separateRegion(TagOp tag) {
    Value root = getTaggedValue(tag);
    Operation *op = root.getDefiningOp();
    if (!holdsPolicy(root) || !isMemoryEffectFree(op) || runsOnce(op) ||
        op->getBlock() != tag->getBlock())
      return;
    unsigned level = getTagLevel(tag);
    if (!isReadBefore(root, level, *op->getBlock()))
      return;
    ReadersByLevel inside, outside;
    collectReaders(tag.getResult(), level, *op->getBlock(), inside);
    collectReaders(root, level, *op->getBlock(), outside);
    // What a region demands of itself is inside.
    bool isReadOutside = false;
    for (auto &[readerLevel, readers] : outside)
      for (OpOperand *use : readers)
        if (isa<DemandOp>(use->getOwner()))
          inside[readerLevel].push_back(use);
        else
          isReadOutside = true;
    if (inside.empty() || !isReadOutside)
      return;
    for (auto &[readerLevel, readers] : inside) {
      Operation *first = nullptr;
      for (OpOperand *use : readers) {
        Operation *reader =
            op->getBlock()->findAncestorOpInBlock(*use->getOwner());
        if (!first || reader->isBeforeInBlock(first))
          first = reader;
      }
      OpBuilder builder(first);
      Operation *clone = builder.clone(*op);
      clone->removeAttr(RematDialect::policyAttrName);
      setBackwardLevel(clone, readerLevel);
      ++numRepeated;
      Value again = clone->getResult(cast<OpResult>(root).getResultNumber());
      for (OpOperand *use : readers)
        use->set(rebuildView(builder, use->get(), root, again));
    }
    if (tag.getName() || tag.getCodec()) {
      tag.removePolicyAttr();
      return;
    }
    tag.replaceAllUsesWith(tag.getInput());
    tag.erase();
  }

  /// Gives `tag` a value that no other policy is demanded of.
  void separate(TagOp tag) {
    Value root = getTaggedValue(tag);
    if (!holdsPolicy(root))
      return;
    auto result = cast<OpResult>(root);
    // Task formation says what is wrong with the others.
    if (!isMemoryEffectFree(result.getOwner()) || runsOnce(result.getOwner()))
      return;
    auto [it, isFirst] = valuesOf.try_emplace(root);
    llvm::SmallMapVector<Policy, Value, 2> &values = it->second;
    if (isFirst) {
      auto own = result.getOwner()->getAttrOfType<PolicyAttr>(
          RematDialect::policyAttrName);
      if (own && isMust(own.getValue()))
        values.insert({own.getValue(), root});
    }
    if (values.empty())
      values.insert({*tag.getPolicy(), root});
    Value &value = values[*tag.getPolicy()];
    if (value == root)
      return;
    if (!value) {
      OpBuilder builder(result.getOwner());
      builder.setInsertionPointAfter(result.getOwner());
      Operation *clone = builder.clone(*result.getOwner());
      clone->removeAttr(RematDialect::policyAttrName);
      value = clone->getResult(result.getResultNumber());
      ++numRepeated;
    }
    OpBuilder builder(tag);
    tag.getInputMutable().assign(
        rebuildView(builder, tag.getInput(), root, value));
  }

  /// For each value that a policy is demanded of, what has which policy.
  DenseMap<Value, llvm::SmallMapVector<Policy, Value, 2>> valuesOf;
};
} // namespace
