//===- ControlFlow.cpp - other forms of loops and choices -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Choices among several regions, and loops whose iterations may run at once,
// become the forms that other passes know.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Utils/CollectOps.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCONTROLFLOWPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// The cases of a choice at most: each is nested in the one before it.
static constexpr unsigned maxCases = 1000;

/// The choice between case `number` of `op` and what comes behind it.
static scf::IfOp createChoice(OpBuilder &builder, scf::IndexSwitchOp op,
                              unsigned number) {
  Location loc = op.getLoc();
  Value wanted =
      arith::ConstantIndexOp::create(builder, loc, op.getCases()[number]);
  Value isThis = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       op.getArg(), wanted);
  auto choice =
      scf::IfOp::create(builder, loc, op.getResultTypes(), isThis,
                        /*addThenBlock=*/false, /*addElseBlock=*/false);
  choice.getThenRegion().takeBody(op.getCaseRegions()[number]);
  if (number + 1 == op.getNumCases()) {
    choice.getElseRegion().takeBody(op.getDefaultRegion());
    return choice;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&choice.getElseRegion());
  scf::IfOp rest = createChoice(builder, op, number + 1);
  scf::YieldOp::create(builder, loc, rest.getResults());
  return choice;
}

static LogicalResult convert(scf::IndexSwitchOp op) {
  if (op.getNumCases() > maxCases)
    return op.emitOpError("has ")
           << op.getNumCases() << " cases, expected at most " << maxCases
           << "; choose among groups of them first";
  OpBuilder builder(op);
  if (op.getNumCases() == 0) {
    // The default is all there is.
    Block &block = op.getDefaultBlock();
    Operation *yield = block.getTerminator();
    op->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           block.getOperations());
  } else {
    scf::IfOp choice = createChoice(builder, op, 0);
    choice->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op->replaceAllUsesWith(choice);
  }
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

/// Makes one iteration of `op` from what earlier ones have made of the shared
/// tensors, and returns what these are then. Its reads see none of that.
static FailureOr<SmallVector<Value>> createIteration(OpBuilder &builder,
                                                     scf::ForallOp op,
                                                     ValueRange indices,
                                                     ValueRange shared) {
  IRMapping mapping;
  mapping.map(op.getInductionVars(), indices);
  mapping.map(op.getRegionIterArgs(), op.getOutputs());
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, mapping);
  SmallVector<Value> made(shared);
  unsigned firstShared = op.getRank();
  for (Operation &update : op.getTerminator().getYieldingOps()) {
    auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(update);
    auto into =
        insert ? dyn_cast<BlockArgument>(insert.getDest()) : BlockArgument();
    if (!into || into.getOwner() != op.getBody())
      return update.emitOpError(
          "is not supported in 'scf.forall', expected "
          "'tensor.parallel_insert_slice' into a shared tensor");
    auto map = [&](ValueRange values) {
      return llvm::map_to_vector(
          values, [&](Value value) { return mapping.lookupOrDefault(value); });
    };
    Value &tensor = made[into.getArgNumber() - firstShared];
    tensor = tensor::InsertSliceOp::create(
        builder, insert.getLoc(), tensor.getType(),
        mapping.lookupOrDefault(insert.getSource()), tensor,
        map(insert.getOffsets()), map(insert.getSizes()),
        map(insert.getStrides()), insert.getStaticOffsets(),
        insert.getStaticSizes(), insert.getStaticStrides());
  }
  return made;
}

static LogicalResult convert(scf::ForallOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> shared(op.getOutputs()), indices;
  auto toValue = [&](OpFoldResult bound) {
    return getValueOrCreateConstantIndexOp(builder, loc, bound);
  };
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> lower =
      llvm::map_to_vector(op.getMixedLowerBound(), toValue);
  SmallVector<Value> upper =
      llvm::map_to_vector(op.getMixedUpperBound(), toValue);
  SmallVector<Value> steps = llvm::map_to_vector(op.getMixedStep(), toValue);
  for (auto [from, to, step] : llvm::zip(lower, upper, steps)) {
    auto loop = scf::ForOp::create(builder, loc, from, to, step, shared);
    loops.push_back(loop);
    indices.push_back(loop.getInductionVar());
    shared.assign(loop.getRegionIterArgs().begin(),
                  loop.getRegionIterArgs().end());
    // Without anything to carry, the body has its terminator.
    if (shared.empty())
      loop.getBody()->clear();
    builder.setInsertionPointToStart(loop.getBody());
  }
  FailureOr<SmallVector<Value>> made =
      createIteration(builder, op, indices, shared);
  if (failed(made))
    return failure();
  shared = *made;
  for (scf::ForOp loop : llvm::reverse(loops)) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, shared);
    shared.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (!loops.empty())
    loops.front()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(shared);
  op->erase();
  return success();
}

namespace {
struct ImportControlFlow
    : remat::impl::ImportControlFlowPassBase<ImportControlFlow> {
  void runOnOperation() override {
    for (scf::IndexSwitchOp op : collectOps<scf::IndexSwitchOp>(getOperation()))
      if (failed(convert(op)))
        return signalPassFailure();
    // The innermost first: what is cloned has none of them.
    for (scf::ForallOp op : collectOps<scf::ForallOp>(getOperation()))
      if (failed(convert(op)))
        return signalPassFailure();
  }
};
} // namespace
