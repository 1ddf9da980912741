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

/// Whether a policy on `op` would say anything: constants and views are not
/// buffers of their own.
static bool holdsValues(Operation &op) {
  return !op.hasTrait<OpTrait::ConstantLike>() && !isViewOp(&op) &&
         !isa<tensor::EmptyOp, TagOp, YieldOp>(op) && op.getNumResults() != 0;
}

/// The operations in the region whose results the region yields, directly or
/// through views and tags.
static DenseSet<Operation *> findYielded(CheckpointOp checkpoint) {
  DenseSet<Operation *> yielded;
  for (Value value :
       checkpoint.getBody().front().getTerminator()->getOperands()) {
    Operation *op = value.getDefiningOp();
    while (op && (isViewOp(op) || isa<TagOp>(op)))
      op = op->getOperand(0).getDefiningOp();
    if (op)
      yielded.insert(op);
  }
  return yielded;
}

static void lowerCheckpoint(CheckpointOp checkpoint) {
  auto policy = checkpoint.getPolicyAttr();
  if (!policy)
    policy = PolicyAttr::get(checkpoint.getContext(), Policy::MustRecompute);
  Block &body = checkpoint.getBody().front();
  DenseSet<Operation *> yielded;
  if (checkpoint.getEarlyStop())
    yielded = findYielded(checkpoint);
  // A value that a tag in the region has a policy for keeps that one.
  for (auto tag : body.getOps<TagOp>())
    if (tag.getPolicy())
      if (Operation *op = getViewRoot(tag.getInput()).getDefiningOp())
        yielded.insert(op);
  for (Operation &op : body)
    if (holdsValues(op) && !op.hasAttr(RematDialect::policyAttrName) &&
        !yielded.contains(&op))
      op.setAttr(RematDialect::policyAttrName, policy);

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
