//===- SumInvariants.cpp - what leaves a sum ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations between a sum's terms and the part that is summed instead are
// linear, so they are applied to the sum as they are.
//
//===----------------------------------------------------------------------===//

#include "SumInvariants.h"
#include "Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;
using namespace remat::import;

bool SumSeparation::match(linalg::GenericOp sum,
                          function_ref<bool(Value)> isLate) {
  op = sum;
  if (op->getNumResults() != 1 || op.hasIndexSemantics() ||
      !isZeroTensor(op.getDpsInits()[0]))
    return false;
  AffineMap written = op.getIndexingMapsArray().back();
  if (!written.isProjectedPermutation())
    return false;
  // Late is what any late operand makes, invariant what only such make.
  DenseSet<Value> late;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (llvm::all_of(op.getMatchingIndexingMap(input).getResults(),
                     [&](AffineExpr expr) {
                       return isa<AffineDimExpr>(expr) &&
                              written.getResultPosition(expr);
                     }))
      invariant.insert(argument);
    if (isLate(input->get()))
      late.insert(argument);
  }
  Block *body = op.getBody();
  auto isInvariant = [&](Value value) {
    return invariant.contains(value) || value.getParentBlock() != body;
  };
  for (Operation &inner : body->without_terminator()) {
    if (inner.getNumRegions() != 0)
      return false;
    if (llvm::all_of(inner.getOperands(), isInvariant))
      invariant.insert(inner.result_begin(), inner.result_end());
    if (llvm::any_of(inner.getOperands(),
                     [&](Value value) { return late.contains(value); }))
      late.insert(inner.result_begin(), inner.result_end());
  }

  BlockArgument sumSoFar = op.getRegionOutputArgs()[0];
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || !sumSoFar.hasOneUse() ||
      (add.getLhs() != sumSoFar && add.getRhs() != sumSoFar))
    return false;
  term = rest = add.getLhs() == sumSoFar ? add.getRhs() : add.getLhs();
  while (late.contains(rest)) {
    Operation *next = rest.getDefiningOp();
    if (!next)
      return false;
    if (isa<arith::NegFOp>(next) ||
        (isa<arith::AddFOp>(next) &&
         next->getOperand(0) == next->getOperand(1)) ||
        (isa<arith::MulFOp, arith::DivFOp>(next) &&
         isInvariant(next->getOperand(1))))
      rest = next->getOperand(0);
    else if (isa<arith::MulFOp>(next) && isInvariant(next->getOperand(0)))
      rest = next->getOperand(1);
    else
      return false;
  }
  return true;
}

/// A copy of `value`, of the body, and of what it needs.
Value SumSeparation::clone(OpBuilder &builder, Value value,
                           IRMapping &mapping) {
  Operation *source = value.getDefiningOp();
  if (mapping.contains(value) || !source || source->getBlock() != op.getBody())
    return mapping.lookupOrDefault(value);
  for (Value operand : source->getOperands())
    clone(builder, operand, mapping);
  builder.clone(*source, mapping);
  return mapping.lookup(value);
}

/// The sum of `rest`.
linalg::GenericOp SumSeparation::createSum(RewriterBase &rewriter) {
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(op.getRegionInputArgs(), arguments.drop_back());
    Value sum = arith::AddFOp::create(builder, loc, arguments.back(),
                                      clone(builder, rest, mapping));
    linalg::YieldOp::create(builder, loc, sum);
  };
  auto sum = linalg::GenericOp::create(
      rewriter, op.getLoc(), op->getResultTypes(), op.getDpsInputs(),
      op.getDpsInits(), op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      build);
  sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return sum;
}

linalg::GenericOp SumSeparation::rewrite(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  linalg::GenericOp sum = createSum(rewriter);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  AffineMap written = op.getIndexingMapsArray().back();
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs = {sum.getResult(0)};
  SmallVector<AffineMap> maps = {identity};
  SmallVector<BlockArgument> arguments;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!invariant.contains(argument))
      continue;
    SmallVector<AffineExpr> dims;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      dims.push_back(
          rewriter.getAffineDimExpr(*written.getResultPosition(expr)));
    inputs.push_back(input->get());
    maps.push_back(
        AffineMap::get(type.getRank(), 0, dims, rewriter.getContext()));
    arguments.push_back(argument);
  }
  maps.push_back(identity);
  Value place = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange values) {
    IRMapping mapping;
    mapping.map(rest, values.front());
    for (auto [argument, value] : llvm::zip(arguments, values.drop_front()))
      mapping.map(argument, value);
    linalg::YieldOp::create(builder, loc, clone(builder, term, mapping));
  };
  auto whole = linalg::GenericOp::create(rewriter, op.getLoc(), type, inputs,
                                         place, maps, loops, build);
  whole->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, whole.getResults());
  simplifyGeneric(rewriter, whole);
  // Now that the sum is used: late inputs are not.
  return simplifyGeneric(rewriter, sum);
}
