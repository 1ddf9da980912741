//===- SimplifyGeneric.cpp - linalg.generic without what it does not need -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/SimplifyGeneric.h"

#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

void remat::normalizeInits(RewriterBase &rewriter, linalg::GenericOp generic) {
  if (generic.getNumParallelLoops() != generic.getNumLoops())
    return;
  SmallVector<Value> inputs = llvm::to_vector(generic.getInputs());
  SmallVector<Value> inits = llvm::to_vector(generic.getOutputs());
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Block *body = generic.getBody();
  bool changed = false;
  for (auto [number, init] : llvm::enumerate(inits)) {
    unsigned position = inputs.size();
    BlockArgument argument = body->getArgument(position + number);
    AffineMap map = maps[position + number];
    auto type = dyn_cast<RankedTensorType>(init.getType());
    if (!type || !map.isPermutation() ||
        (argument.use_empty() && init.getDefiningOp<tensor::EmptyOp>()))
      continue;
    if (!argument.use_empty()) {
      BlockArgument input =
          body->insertArgument(position, argument.getType(), generic.getLoc());
      body->getArgument(position + 1 + number).replaceAllUsesWith(input);
      maps.insert(maps.begin() + position, map);
      inputs.push_back(init);
    }
    rewriter.setInsertionPoint(generic);
    init = tensor::EmptyOp::create(rewriter, generic.getLoc(), type.getShape(),
                                   type.getElementType());
    copyBackward(generic, init.getDefiningOp());
    changed = true;
  }
  if (!changed)
    return;
  generic.getInputsMutable().assign(inputs);
  generic.getOutputsMutable().assign(inits);
  generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
}

/// Makes results that nothing uses yield their own init, if no result that is
/// used depends on that init. They can be dropped then, with what computed
/// them: PyTorch's maximum, for one, also computes where it is.
static void yieldInitsOfDeadResults(RewriterBase &rewriter,
                                    linalg::GenericOp generic) {
  if (generic.getNumResults() < 2 || !generic.hasPureTensorSemantics())
    return;
  Block *body = generic.getBody();
  Operation *yield = body->getTerminator();
  // What the used results and effects are computed from.
  llvm::DenseSet<Value> live;
  SmallVector<Value> worklist;
  auto visit = [&](ValueRange values) {
    for (Value value : values)
      if (live.insert(value).second)
        worklist.push_back(value);
  };
  for (OpResult result : generic->getResults())
    if (!result.use_empty())
      visit(yield->getOperand(result.getResultNumber()));
  for (Operation &op : body->without_terminator())
    if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
      op.walk([&](Operation *inner) { visit(inner->getOperands()); });
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp())
      if (op->getBlock() == body)
        visit(op->getOperands());
  for (OpResult result : generic->getResults()) {
    unsigned number = result.getResultNumber();
    BlockArgument argument = generic.getRegionOutputArgs()[number];
    if (result.use_empty() && !live.contains(argument))
      rewriter.modifyOpInPlace(yield,
                               [&] { yield->setOperand(number, argument); });
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

linalg::GenericOp remat::simplifyGeneric(RewriterBase &rewriter,
                                         linalg::GenericOp generic) {
  normalizeInits(rewriter, generic);
  for (auto [argument, input] :
       llvm::zip(generic.getRegionInputArgs(), generic.getInputs())) {
    if (argument.use_empty())
      continue;
    TypedAttr value = getSplatConstant(input);
    if (!value || value.getType() != argument.getType())
      continue;
    rewriter.setInsertionPoint(generic);
    Value scalar = arith::ConstantOp::create(rewriter, generic.getLoc(), value);
    rewriter.replaceAllUsesWith(argument, scalar);
  }
  if (isOpTriviallyDead(generic)) {
    rewriter.eraseOp(generic);
    return {};
  }
  yieldInitsOfDeadResults(rewriter, generic);
  rewriter.setInsertionPoint(generic);
  FailureOr<linalg::GenericOp> simplified =
      linalg::deduplicateOperandsAndRemoveDeadResults(rewriter, generic,
                                                      /*removeOutputs=*/true);
  return failed(simplified) ? generic : *simplified;
}
