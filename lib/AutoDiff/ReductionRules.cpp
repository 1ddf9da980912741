//===- ReductionRules.cpp - products, maxima ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The partial derivative of a result r of a structured operation by the value
// f that is reduced at a point:
//
//  * 1 / k for a maximum if f == r, where k elements equal r, else 0; if the
//    program asks for the place of the maximum, 1 for the first of them,
//  * the product of the other elements for a product.
//
//===----------------------------------------------------------------------===//

#include "StructuredRule.h"

#include "mlir/IR/Matchers.h"

#include "remat/Dialect/Remat/IR/Extrema.h"

#include "Emit.h"
#include "remat/AutoDiff/Expr.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Maximum and minimum
//===----------------------------------------------------------------------===//

/// The constant that all elements of `tensor` are known to be.
static std::optional<APFloat> getSplat(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    tensor = fill.getInputs().front();
  FloatAttr scalar;
  SplatElementsAttr splat;
  if (matchPattern(tensor, m_Constant(&scalar)))
    return scalar.getValue();
  if (matchPattern(tensor, m_Constant(&splat)) &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  return std::nullopt;
}

bool remat::hasNeutralInit(const ReductionResult &result) {
  std::optional<APFloat> value = getSplat(result.init);
  return value && (value->isInfinity() || value->isLargest()) &&
         value->isNegative() == (result.kind == ReductionKind::Maximum);
}

/// 1 where `condition`, else 0.
static Expr indicator(const Expr &condition, const Expr &like) {
  return select(condition, like.constant(1.0), like.constant(0.0));
}

StructuredBody remat::getResultSpace(const ReductionResult &result) {
  StructuredBody space;
  space.op = result.result.getOwner();
  space.body = nullptr;
  space.sizes = llvm::to_vector(
      cast<RankedTensorType>(result.result.getType()).getShape());
  return space;
}

AffineMap remat::getIdentity(const StructuredBody &space,
                             MLIRContext *context) {
  return AffineMap::getMultiDimIdentityMap(space.getNumLoops(), context);
}

/// The number of elements that equal the maximum, for each maximum.
static Value countTies(const StructuredBody &forward,
                       const ReductionResult &result,
                       DerivativeContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  auto type = cast<RankedTensorType>(result.result.getType());
  Type countType = getAccumulatorType(type.getElementType());
  auto countTies = [&](BodyBuilder &body, Value candidate,
                       AffineMap map) -> Value {
    Expr value(body, candidate);
    Expr best(body, body.element(result.result, map, /*isPrimal=*/true));
    Value zero = createFloatConstant(body.getBuilder(), loc, countType, 0.0);
    return select(value == best, 1.0, Expr(body, zero));
  };

  Value start;
  if (hasNeutralInit(result)) {
    start = createZeros(builder, loc, type.clone(countType));
  } else {
    StructuredBody space = getResultSpace(result);
    AffineMap identity = getIdentity(space, builder.getContext());
    BodyBuilder body(space, false, false, loc);
    Value tie =
        countTies(body, body.element(result.init, identity, true), identity);
    start = body.finishGeneric(context, tie, identity).front();
  }
  BodyBuilder body(forward, false, false, loc);
  Value tie = countTies(body, body.primal(result.term), result.map);
  return body
      .finishReduction(context, tie, result.map, start,
                       BodyBuilder::Combiner(createSum))
      .front();
}

/// A maximum passes the derivative to the elements that equal it, in equal
/// shares; as in PyTorch, a nan makes all shares nan.
static Partial getMaximumPartial(const StructuredBody &forward,
                                 const ReductionResult &result,
                                 DerivativeContext &context) {
  Value counts = countTies(forward, result, context);
  return [=](BodyBuilder &body, Value candidate, AffineMap map,
             Value derivative) -> Value {
    Expr value(body, candidate), g(body, derivative);
    Expr best(body, body.element(result.result, map, /*isPrimal=*/true));
    Expr count(body, createScalarConversion(body.getBuilder(), body.getLoc(),
                                            body.element(counts, map),
                                            value.getType()));
    return g * indicator(value == best, value) / count;
  };
}

/// Whether the program asks for the place of the first extremum.
static bool hasPlace(const ReductionResult &result) {
  return result.result.getOwner()->hasAttr(firstExtremumAttrName) &&
         hasNeutralInit(result);
}

/// A maximum whose place is asked for passes the derivative to the first
/// element that equals it, or is a nan.
static Partial getFirstMaximumPartial(const StructuredBody &forward,
                                      const ReductionResult &result,
                                      DerivativeContext &context) {
  Value first = findFirst(forward, result, context);
  AffineMap placeMap = getPlaceMap(forward, result);
  return [=](BodyBuilder &body, Value, AffineMap map,
             Value derivative) -> Value {
    OpBuilder &builder = body.getBuilder();
    Value known = body.element(first, map);
    Value place = arith::IndexCastOp::create(
        builder, body.getLoc(), known.getType(), body.apply(placeMap).front());
    Value isFirst = arith::CmpIOp::create(
        builder, body.getLoc(), arith::CmpIPredicate::eq, place, known);
    return select(Expr(body, isFirst), Expr(body, derivative), 0.0);
  };
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// What is known of the factors of each product: how many of them are zero (in
/// the accumulator type), the product of the others, and the sum of the zeros,
/// which is zero, but has derivatives by them.
struct Zeros {
  Value count, product, sum;
};
} // namespace

static Zeros findZeros(const StructuredBody &forward,
                       const ReductionResult &result,
                       DerivativeContext &context) {
  auto split = [&](BodyBuilder &body, Value factor) {
    Expr value(body, factor);
    Expr isZero = value == 0.0;
    return SmallVector<Value>{indicator(isZero, value),
                              select(isZero, 1.0, value),
                              select(isZero, value, 0.0)};
  };
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, result.map.getContext());
  BodyBuilder first(space, false, false, loc);
  SmallVector<Value> start = first.finishGeneric(
      context, split(first, first.element(result.init, identity, true)),
      {identity, identity, identity});
  Type wide = getAccumulatorType(getElementTypeOrSelf(result.result.getType()));
  start[0] = createConversion(builder, loc, start[0], wide);
  BodyBuilder body(forward, false, false, loc);
  SmallVector<Value> results = body.finishReduction(
      context, split(body, body.primal(result.term)),
      {result.map, result.map, result.map}, start,
      {BodyBuilder::Combiner(createSum),
       BodyBuilder::Combiner(
           [](OpBuilder &builder, Location loc, Value a, Value b) -> Value {
             return arith::MulFOp::create(builder, loc, a, b);
           }),
       BodyBuilder::Combiner(createSum)});
  return {results[0], results[1], results[2]};
}

/// A product passes the derivative times the product of the other factors,
/// whichever of them are zero. The expressions have the right derivatives, too:
/// where two factors are zero, each of the two derivatives is zero but depends
/// on the other factor.
static Partial getProductPartial(const StructuredBody &forward,
                                 const ReductionResult &result,
                                 DerivativeContext &context) {
  Zeros zeros = findZeros(forward, result, context);
  return [=](BodyBuilder &body, Value factor, AffineMap map,
             Value derivative) -> Value {
    Expr value(body, factor), g(body, derivative);
    Expr count(body, body.element(zeros.count, map));
    Expr others(body, body.element(zeros.product, map));
    Expr sum(body, body.element(zeros.sum, map));
    Expr product(body, body.element(result.result, map, /*isPrimal=*/true));
    Expr isZero = value == 0.0;
    Expr ifTwo = select(count == 2.0, (sum - value) * others, 0.0);
    Expr ifZero = select(count == 1.0, others, ifTwo);
    return g * select(isZero, ifZero, product / select(isZero, 1.0, value));
  };
}

Partial remat::preparePartial(const StructuredBody &forward,
                              const ReductionResult &result,
                              DerivativeContext &context) {
  switch (result.kind) {
  case ReductionKind::Sum:
  case ReductionKind::Pointwise:
    return nullptr;
  case ReductionKind::Maximum:
  case ReductionKind::Minimum:
    return hasPlace(result) ? getFirstMaximumPartial(forward, result, context)
                            : getMaximumPartial(forward, result, context);
  case ReductionKind::Product:
    return getProductPartial(forward, result, context);
  }
  llvm_unreachable("unknown kind of reduction");
}

Value remat::applyToInit(const ReductionResult &result, const Partial &partial,
                         Value derivative, DerivativeContext &context) {
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, result.map.getContext());
  BodyBuilder body(space, false, false, context.getLoc());
  Value init = body.element(result.init, identity, /*isPrimal=*/true);
  Value value =
      partial(body, init, identity, body.element(derivative, identity));
  return body.finishGeneric(context, value, identity).front();
}
