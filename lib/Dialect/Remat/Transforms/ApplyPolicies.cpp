//===- ApplyPolicies.cpp - policies by name, kind and operation -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/StringSet.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/ApplyPolicies.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/Closure.h"

namespace remat {
#define GEN_PASS_DEF_APPLYPOLICIESPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` is a contraction, with batch dimensions or without only.
static bool isDot(Operation *op, bool withBatch) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalg::isaContractionOpInterface(linalgOp))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(linalgOp);
  return withBatch || (succeeded(dims) && dims->batch.empty());
}

/// Whether the results of `op` are buffers that a policy can be about.
static bool holdsValues(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op); tag && tag.isMutationMark())
    return false;
  return llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         !op->hasTrait<OpTrait::ConstantLike>() && !isViewOp(op) &&
         !isa<tensor::EmptyOp, linalg::FillOp, YieldOp, CheckpointOp, ScopeOp,
              StopGradientOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

static bool isLoop(Operation *op) {
  return isa<LoopOp, LoopLikeOpInterface>(op);
}

/// The name that a tag or an attribute gives to the result of `op`.
static StringAttr getGivenName(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op))
    return tag.getNameAttr();
  return op->getAttrOfType<StringAttr>(RematDialect::nameAttrName);
}

namespace {
struct ApplyPolicies : remat::impl::ApplyPoliciesPassBase<ApplyPolicies> {
  using ApplyPoliciesPassBase::ApplyPoliciesPassBase;

  void runOnOperation() override {
    PolicyOptions options = getOptions();
    if (llvm::Error error = checkPolicyOptions(options)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    SmallVector<Scope> scopes;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function->hasAttr(RematDialect::kernelAttrName))
        scopes.push_back(collect(function));
    if (failed(checkNames(options, scopes)) ||
        failed(checkOps(options, scopes)))
      return signalPassFailure();
    for (const Scope &scope : scopes) {
      hasRegions = scope.hasRegions;
      for (Operation *op : scope.ops)
        apply(op);
    }
  }

private:
  /// The operations of a function that policies are about.
  struct Scope {
    SmallVector<Operation *> ops;
    bool hasRegions;
  };

  static Scope collect(func::FuncOp function) {
    SmallVector<Operation *> inside, all;
    bool hasRegions = false;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      hasRegions |= isa<CheckpointOp>(op);
      if (holdsValues(op)) {
        all.push_back(op);
        if (op->getParentOfType<CheckpointOp>())
          inside.push_back(op);
      }
      // Derivatives that the program has itself are no values to decide about.
      return isa<linalg::LinalgOp, CustomRuleOp, GradientHookOp>(op)
                 ? WalkResult::skip()
                 : WalkResult::advance();
    });
    return {hasRegions ? inside : all, hasRegions};
  }

  PolicyOptions getOptions() {
    PolicyOptions options;
    options.policy = policy;
    options.names.assign(names.begin(), names.end());
    options.offloadNames.assign(offloadNames.begin(), offloadNames.end());
    options.saveOps.assign(saveOps.begin(), saveOps.end());
    options.recomputeOps.assign(recomputeOps.begin(), recomputeOps.end());
    options.offloadOps.assign(offloadOps.begin(), offloadOps.end());
    return options;
  }

  /// Refuses those of `wanted` that are not in `known`, which are listed. They
  /// would have no effect.
  LogicalResult checkKnown(ArrayRef<std::string> wanted,
                           const llvm::StringSet<> &known, StringRef problem,
                           StringRef what) {
    for (const std::string &name : wanted) {
      if (known.contains(name))
        continue;
      SmallVector<StringRef> sorted = llvm::to_vector(known.keys());
      llvm::sort(sorted);
      InFlightDiagnostic diag = getOperation().emitError()
                                << problem << " '" << name << "', " << what
                                << " are ";
      if (sorted.empty())
        return diag << "none";
      llvm::interleaveComma(
          sorted, diag, [&](StringRef name) { diag << "'" << name << "'"; });
      return diag;
    }
    return success();
  }

  LogicalResult checkNames(const PolicyOptions &options,
                           ArrayRef<Scope> scopes) {
    llvm::StringSet<> known;
    for (const Scope &scope : scopes)
      for (Operation *op : scope.ops)
        if (StringAttr name = getGivenName(op))
          known.insert(name.getValue());
    StringRef problem = "no value that policies are about has the name";
    return success(
        succeeded(checkKnown(options.names, known, problem, "names")) &&
        succeeded(checkKnown(options.offloadNames, known, problem, "names")));
  }

  LogicalResult checkOps(const PolicyOptions &options, ArrayRef<Scope> scopes) {
    llvm::StringSet<> known;
    for (const Scope &scope : scopes)
      for (Operation *op : scope.ops)
        if (!isa<TagOp>(op))
          known.insert(op->getName().getStringRef());
    for (const auto *list :
         {&options.saveOps, &options.recomputeOps, &options.offloadOps})
      if (failed(checkKnown(*list, known, "policies are about no operation",
                            "operations")))
        return failure();
    return success();
  }

  /// What the options ask of the results of `op`.
  std::optional<Policy> choose(Operation *op) {
    StringRef kind = op->getName().getStringRef();
    if (llvm::is_contained(saveOps, kind))
      return Policy::MustSave;
    if (llvm::is_contained(recomputeOps, kind))
      return Policy::MustRecompute;
    if (llvm::is_contained(offloadOps, kind))
      return Policy::MustCpuOffload;
    if (policy.empty())
      return std::nullopt;
    bool named = false, listed = false;
    if (StringAttr name = getGivenName(op)) {
      named = true;
      listed = llvm::is_contained(names, name.getValue());
      if (policy == "save_and_offload_only_these_names" &&
          llvm::is_contained(offloadNames, name.getValue()))
        return Policy::MustCpuOffload;
    }
    if (policy == "offload_dot_with_no_batch_dims" && isDot(op, false))
      return Policy::MustCpuOffload;
    bool saved =
        policy == "everything_saveable" ||
        (policy == "dots_saveable" && isDot(op, true)) ||
        (policy == "dots_with_no_batch_dims_saveable" && isDot(op, false)) ||
        (policy == "save_any_names_but_these" && named && !listed) ||
        (policy == "save_anything_except_these_names" && !listed) ||
        (listed && (policy == "save_only_these_names" ||
                    policy == "save_and_offload_only_these_names"));
    if (saved)
      return Policy::MustSave;
    // A tag is not a value of its own, and a region asks for it anyway.
    if (hasRegions || isa<TagOp>(op))
      return std::nullopt;
    if (isLoop(op) && keepsInside(op))
      return std::nullopt;
    return Policy::MustRecompute;
  }

  /// Whether `op`, a loop, makes what is kept. It does not run again, so its
  /// results are not made again.
  bool keepsInside(Operation *op) {
    using Next = SmallVectorImpl<Operation *>;
    return !holdsForClosure(op, [&](Operation *around, Next &next) {
      if (auto loop = dyn_cast<LoopOp>(around))
        if (auto *body =
                SymbolTable::lookupNearestSymbolFrom(loop, loop.getBodyAttr()))
          next.push_back(body);
      for (Region &region : around->getRegions())
        for (Operation &inner : region.getOps()) {
          if (isKept(&inner))
            return false;
          if (!isa<linalg::LinalgOp, CustomRuleOp, GradientHookOp>(inner))
            next.push_back(&inner);
        }
      return true;
    });
  }
  bool isKept(Operation *op) {
    std::optional<Policy> asked;
    StringRef kind = op->getName().getStringRef();
    if (auto tag = dyn_cast<TagOp>(op); tag && tag.getPolicy())
      asked = tag.getPolicy();
    else if (isLoop(op)) // What it makes is asked about by itself.
      return llvm::is_contained(saveOps, kind) ||
             llvm::is_contained(offloadOps, kind);
    else if (holdsValues(op))
      asked = choose(op);
    return asked == Policy::MustSave || asked == Policy::MustCpuOffload;
  }

  /// Whether a tag says, or will say, what becomes of `value`.
  bool isDecided(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto tag = dyn_cast<TagOp>(user);
      return tag && (tag.getPolicy() || choose(tag) || isExcepted(tag));
    });
  }
  bool isExcepted(TagOp tag) {
    return policy == "save_anything_except_these_names" && tag.getName() &&
           llvm::is_contained(names, *tag.getName());
  }

  void apply(Operation *op) {
    std::optional<Policy> chosen = choose(op);
    if (!chosen)
      return;
    auto attr = PolicyAttr::get(&getContext(), *chosen);
    if (auto tag = dyn_cast<TagOp>(op)) {
      if (!tag.getPolicy())
        tag.setPolicyAttr(attr);
      return;
    }
    if (op->hasAttr(RematDialect::policyAttrName))
      return;
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()) || isDecided(result))
        continue;
      auto tag =
          TagOp::create(builder, op->getLoc(), result, StringAttr(), attr);
      result.replaceAllUsesExcept(tag.getResult(), tag);
    }
  }

  bool hasRegions = false;
};
} // namespace
