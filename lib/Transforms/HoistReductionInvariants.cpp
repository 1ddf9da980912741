//===- HoistReductionInvariants.cpp - what leaves a sum -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A term is taken apart into its factors. Those that all terms of a result have
// are applied to the sum of the others.
//
//===----------------------------------------------------------------------===//

#include "HoistReductionInvariants.h"

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

bool SumSeparation::isInvariant(Value value) {
  return invariant.contains(value) || value.getParentBlock() != op.getBody();
}

/// Late is what any late operand makes, invariant what only such make.
void SumSeparation::findInvariants(function_ref<bool(Value)> isLate) {
  AffineMap written = op.getIndexingMapsArray().back();
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
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (llvm::all_of(inner.getOperands(),
                     [&](Value value) { return isInvariant(value); }))
      invariant.insert(inner.result_begin(), inner.result_end());
    if (llvm::any_of(inner.getOperands(),
                     [&](Value value) { return late.contains(value); }))
      late.insert(inner.result_begin(), inner.result_end());
  }
}

/// Sorts the factors of a product into those that are the same for all terms
/// and the others.
void SumSeparation::split(Value product) {
  Operation *source = product.getDefiningOp();
  if (isInvariant(product)) {
    outside.push_back({product, /*isDivisor=*/false});
  } else if (isa_and_nonnull<arith::NegFOp>(source)) {
    isNegative = !isNegative;
    split(source->getOperand(0));
  } else if (isa_and_nonnull<arith::AddFOp>(source) &&
             source->getOperand(0) == source->getOperand(1)) {
    ++doublings;
    split(source->getOperand(0));
  } else if (isa_and_nonnull<arith::MulFOp>(source) &&
             inside.size() + outside.size() < ProductTuning::maxFactors) {
    split(source->getOperand(0));
    split(source->getOperand(1));
  } else if (isa_and_nonnull<arith::DivFOp>(source) &&
             isInvariant(source->getOperand(1))) {
    split(source->getOperand(0));
    outside.push_back({source->getOperand(1), /*isDivisor=*/true});
  } else {
    inside.push_back(product);
  }
}

bool SumSeparation::match(linalg::GenericOp sum,
                          function_ref<bool(Value)> isLate) {
  op = sum;
  if (op->getNumResults() != 1 || op.hasIndexSemantics() ||
      !isZeroTensor(op.getDpsInits()[0]) ||
      !op.getIndexingMapsArray().back().isProjectedPermutation() ||
      llvm::any_of(*op.getBody(),
                   [](Operation &inner) { return inner.getNumRegions() != 0; }))
    return false;
  findInvariants(isLate);
  BlockArgument sumSoFar = op.getRegionOutputArgs()[0];
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || !sumSoFar.hasOneUse() ||
      (add.getLhs() != sumSoFar && add.getRhs() != sumSoFar))
    return false;
  split(add.getLhs() == sumSoFar ? add.getRhs() : add.getLhs());
  if (inside.empty())
    return false;
  return llvm::none_of(inside,
                       [&](Value value) { return late.contains(value); });
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

/// The sum of the factors that differ between terms.
linalg::GenericOp SumSeparation::createSum(RewriterBase &rewriter) {
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(op.getRegionInputArgs(), arguments.drop_back());
    Value term;
    for (Value value : inside) {
      Value factor = clone(builder, value, mapping);
      term = term ? arith::MulFOp::create(builder, loc, term, factor) : factor;
    }
    Value sum = arith::AddFOp::create(builder, loc, arguments.back(), term);
    linalg::YieldOp::create(builder, loc, sum);
  };
  auto sum = linalg::GenericOp::create(
      rewriter, op.getLoc(), op->getResultTypes(), op.getDpsInputs(),
      op.getDpsInits(), op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      build);
  sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return sum;
}

/// The original sums from what is summed instead.
linalg::GenericOp SumSeparation::createWhole(RewriterBase &rewriter,
                                             linalg::GenericOp sum) {
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
  copyBackward(op, place.getDefiningOp());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange values) {
    IRMapping mapping;
    for (auto [argument, value] : llvm::zip(arguments, values.drop_front()))
      mapping.map(argument, value);
    Value result = values.front();
    for (auto [value, isDivisor] : outside) {
      Value factor = clone(builder, value, mapping);
      result =
          isDivisor
              ? arith::DivFOp::create(builder, loc, result, factor).getResult()
              : arith::MulFOp::create(builder, loc, result, factor);
    }
    for (unsigned i = 0; i < doublings; ++i)
      result = arith::AddFOp::create(builder, loc, result, result);
    if (isNegative)
      result = arith::NegFOp::create(builder, loc, result);
    linalg::YieldOp::create(builder, loc, result);
  };
  auto whole = linalg::GenericOp::create(rewriter, op.getLoc(), type, inputs,
                                         place, maps, loops, build);
  whole->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return whole;
}

linalg::GenericOp SumSeparation::rewrite(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  linalg::GenericOp sum = createSum(rewriter);
  linalg::GenericOp whole = createWhole(rewriter, sum);
  rewriter.replaceOp(op, whole.getResults());
  simplifyGeneric(rewriter, whole);
  // Now that the sum is used: late inputs are not.
  return simplifyGeneric(rewriter, sum);
}
