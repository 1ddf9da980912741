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

#include "remat/Dialect/Remat/IR/LoopSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;
using namespace remat::import;

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
  } else if (isa_and_nonnull<arith::MulFOp>(source)) {
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

/// Matches (base - center)^2 where only the center is late.
bool SumSeparation::matchSquare() {
  if (inside.size() != 2 || inside[0] != inside[1] ||
      inside[0].getType().getIntOrFloatBitWidth() > 32)
    return false;
  auto difference = inside[0].getDefiningOp<arith::SubFOp>();
  if (!difference)
    return false;
  base = difference.getLhs();
  center = difference.getRhs();
  if (late.contains(base))
    std::swap(base, center);
  return !late.contains(base) && isInvariant(center);
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
                       [&](Value value) { return late.contains(value); }) ||
         matchSquare();
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

/// One of the values whose squares are summed, for each result: that of the
/// first term.
Value SumSeparation::createShift(RewriterBase &rewriter) {
  auto type =
      cast<RankedTensorType>(op.getResult(0).getType()).clone(base.getType());
  AffineMap written = op.getIndexingMapsArray().back();
  SmallVector<AffineExpr> first;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    auto place = written.getResultPosition(rewriter.getAffineDimExpr(dim));
    first.push_back(place ? rewriter.getAffineDimExpr(*place)
                          : rewriter.getAffineConstantExpr(0));
  }
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    maps.push_back(op.getMatchingIndexingMap(input).replaceDimsAndSymbols(
        first, {}, type.getRank(), 0));
  maps.push_back(rewriter.getMultiDimIdentityMap(type.getRank()));
  Value place = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(op.getRegionInputArgs(), arguments.drop_back());
    linalg::YieldOp::create(builder, loc, clone(builder, base, mapping));
  };
  auto shift =
      linalg::GenericOp::create(rewriter, op.getLoc(), type, op.getDpsInputs(),
                                place, maps, loops, build);
  shift->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return shift.getResult(0);
}

/// The sums of base - shift and of its squares.
linalg::GenericOp SumSeparation::createShiftedSums(RewriterBase &rewriter,
                                                   Value shift) {
  Location loc = op.getLoc();
  Type wide = rewriter.getF64Type();
  auto type = cast<RankedTensorType>(op.getResult(0).getType()).clone(wide);
  Value zero = createZeroTensor(rewriter, loc, type);
  SmallVector<Value> inputs(op.getDpsInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.append(2, maps.back());
  inputs.push_back(shift);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(op.getRegionInputArgs(), arguments.drop_back(3));
    ValueRange sums = arguments.take_back(2);
    Value difference = arith::SubFOp::create(
        builder, loc,
        arith::ExtFOp::create(builder, loc, wide,
                              clone(builder, base, mapping)),
        arith::ExtFOp::create(builder, loc, wide,
                              arguments.drop_back(2).back()));
    // Multiplied and added in one instruction where the machine has it.
    auto contract = arith::FastMathFlags::contract;
    Value square =
        arith::MulFOp::create(builder, loc, difference, difference, contract);
    linalg::YieldOp::create(
        builder, loc,
        {arith::AddFOp::create(builder, loc, sums[0], difference),
         arith::AddFOp::create(builder, loc, sums[1], square, contract)});
  };
  auto sums = linalg::GenericOp::create(rewriter, loc, TypeRange{type, type},
                                        inputs, ValueRange{zero, zero}, maps,
                                        op.getIteratorTypesArray(), build);
  sums->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return sums;
}

/// The sum of squares about the center from those about `shift`.
Value SumSeparation::emitSquares(OpBuilder &builder, ValueRange sums,
                                 Value shift, IRMapping &mapping) {
  Location loc = op.getLoc();
  Type wide = builder.getF64Type();
  int64_t terms = 1;
  for (auto [loop, size] :
       llvm::zip(op.getIteratorTypesArray(), getLoopSizes(op)))
    if (loop == utils::IteratorType::reduction)
      terms *= size;
  auto widen = [&](Value value) {
    return arith::ExtFOp::create(builder, loc, wide, value);
  };
  auto number = [&](double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(wide, value));
  };
  Value distance = arith::SubFOp::create(
      builder, loc, widen(clone(builder, center, mapping)), widen(shift));
  Value twice = arith::MulFOp::create(builder, loc, number(2), sums[0]);
  Value part = arith::SubFOp::create(
      builder, loc, twice,
      arith::MulFOp::create(builder, loc, number(terms), distance));
  Value squares = arith::SubFOp::create(
      builder, loc, sums[1],
      arith::MulFOp::create(builder, loc, distance, part));
  return arith::TruncFOp::create(builder, loc, base.getType(), squares);
}

/// The original sums from what is summed instead.
linalg::GenericOp SumSeparation::createWhole(RewriterBase &rewriter,
                                             linalg::GenericOp sum,
                                             Value shift) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  AffineMap written = op.getIndexingMapsArray().back();
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs(sum.getResults());
  if (shift)
    inputs.push_back(shift);
  unsigned numSums = sum->getNumResults(), numFirst = inputs.size();
  SmallVector<AffineMap> maps(numFirst, identity);
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
    for (auto [argument, value] :
         llvm::zip(arguments, values.drop_front(numFirst)))
      mapping.map(argument, value);
    Value result = shift ? emitSquares(builder, values.take_front(numSums),
                                       values[numSums], mapping)
                         : values.front();
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
  Value shift = base ? createShift(rewriter) : Value();
  linalg::GenericOp sum =
      base ? createShiftedSums(rewriter, shift) : createSum(rewriter);
  linalg::GenericOp whole = createWhole(rewriter, sum, shift);
  rewriter.replaceOp(op, whole.getResults());
  simplifyGeneric(rewriter, whole);
  // Now that the sum is used: late inputs are not.
  if (shift)
    simplifyGeneric(rewriter, shift.getDefiningOp<linalg::GenericOp>());
  return simplifyGeneric(rewriter, sum);
}
