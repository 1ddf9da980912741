//===- ApplyPolicies.cpp - policies by name, kind and operation -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_APPLYPOLICIESPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static const StringRef policyNames[] = {"everything_saveable",
                                        "nothing_saveable",
                                        "dots_saveable",
                                        "dots_with_no_batch_dims_saveable",
                                        "offload_dot_with_no_batch_dims",
                                        "save_only_these_names",
                                        "save_any_names_but_these",
                                        "save_anything_except_these_names",
                                        "save_and_offload_only_these_names"};

/// Whether `op` is a product, with batch dimensions or without only.
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
  return !op->hasTrait<OpTrait::ConstantLike>() && !isViewOp(op) &&
         !isa<tensor::EmptyOp, linalg::FillOp, YieldOp, CheckpointOp, ScopeOp,
              StopGradientOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

namespace {
struct ApplyPolicies : remat::impl::ApplyPoliciesPassBase<ApplyPolicies> {
  using ApplyPoliciesPassBase::ApplyPoliciesPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    SmallVector<Operation *> inside, all;
    getOperation().walk([&](Operation *op) {
      if (op == getOperation() ||
          isa_and_present<linalg::LinalgOp>(op->getParentOp()))
        return;
      all.push_back(op);
      if (op->getParentOfType<CheckpointOp>())
        inside.push_back(op);
    });
    hasRegions = !inside.empty();
    for (Operation *op : hasRegions ? inside : all)
      if (holdsValues(op))
        apply(op);
  }

private:
  LogicalResult checkOptions() {
    if (!policy.empty() && !llvm::is_contained(policyNames, policy)) {
      InFlightDiagnostic diag = getOperation().emitError("unknown policy '")
                                << policy << "', expected one of ";
      llvm::interleaveComma(policyNames, diag, [&](StringRef name) {
        diag << "'" << name << "'";
      });
      return diag;
    }
    for (StringRef name : names)
      if (llvm::is_contained(offloadNames, name))
        return getOperation().emitError("name '")
               << name << "' is both saved and offloaded";
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
    if (auto tag = dyn_cast<TagOp>(op); tag && tag.getName()) {
      named = true;
      listed = llvm::is_contained(names, *tag.getName());
      if (policy == "save_and_offload_only_these_names" &&
          llvm::is_contained(offloadNames, *tag.getName()))
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
    return Policy::MustRecompute;
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
