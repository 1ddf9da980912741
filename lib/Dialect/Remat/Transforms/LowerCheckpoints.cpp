//===- LowerCheckpoints.cpp - regions become policies ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_REMATLOWERCHECKPOINTS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether a policy on results of `op` would say anything: constants and views
/// are not buffers of their own.
static bool holdsValues(Operation &op) {
  return !op.hasTrait<OpTrait::ConstantLike>() && !isViewOp(&op) &&
         !isTransparentOp(&op) &&
         !isa<tensor::EmptyOp, linalg::FillOp, YieldOp>(op);
}

/// The operations in the region to whose results its policy does not apply:
/// what is yielded, and what has a policy of its own.
static DenseSet<Operation *> findExceptions(CheckpointOp checkpoint) {
  Block &body = checkpoint.getBody().front();
  DenseSet<Operation *> exceptions;
  if (checkpoint.getEarlyStop())
    for (Value value : body.getTerminator()->getOperands())
      exceptions.insert(getProducer(value));
  for (Operation &op : body) {
    if (op.hasAttr(RematDialect::policyAttrName))
      exceptions.insert(&op);
    if (auto tag = dyn_cast<TagOp>(&op); tag && tag.getPolicy())
      exceptions.insert(getProducer(tag.getInput()));
  }
  return exceptions;
}

/// Tags the tensors that the region hides.
static void tagHiddenValues(CheckpointOp checkpoint) {
  PolicyAttr policy = checkpoint.getPolicyAttr();
  if (!policy)
    policy = PolicyAttr::get(checkpoint.getContext(), Policy::MustRecompute);
  DenseSet<Operation *> exceptions = findExceptions(checkpoint);
  OpBuilder builder(checkpoint.getContext());
  for (Operation &op :
       llvm::make_early_inc_range(checkpoint.getBody().front())) {
    if (!holdsValues(op) || exceptions.contains(&op))
      continue;
    builder.setInsertionPointAfter(&op);
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      auto tag = TagOp::create(builder, op.getLoc(), result.getType(), result,
                               /*name=*/StringAttr(), policy);
      result.replaceAllUsesExcept(tag.getResult(), tag);
    }
  }
}

static void lowerCheckpoint(CheckpointOp checkpoint) {
  tagHiddenValues(checkpoint);
  Block &body = checkpoint.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  checkpoint.replaceAllUsesWith(yield.getValues());
  checkpoint->getBlock()->getOperations().splice(
      checkpoint->getIterator(), body.getOperations(), body.begin(),
      yield->getIterator());
  checkpoint.erase();
}

namespace {
struct LowerCheckpoints
    : remat::impl::RematLowerCheckpointsBase<LowerCheckpoints> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PostOrder>(lowerCheckpoint);
  }
};
} // namespace
