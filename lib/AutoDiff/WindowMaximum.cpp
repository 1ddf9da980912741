//===- WindowMaximum.cpp - pooling by maximum or minimum ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a maximum over windows belongs to the first element, in
// the order of the reduction loops, that equals it. Its place in the window is
// found first; then cotangents are scattered to these places, or tangents
// gathered from them.
//
//===----------------------------------------------------------------------===//

#include "StructuredRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "Emit.h"

using namespace mlir;
using namespace remat;

static const StructuredBody::Element *findElement(const StructuredBody &forward,
                                                  Value inside) {
  for (const StructuredBody::Element &element : forward.elements)
    if (element.inside == inside)
      return &element;
  return nullptr;
}

bool remat::isWindowMaximum(const StructuredBody &forward,
                            const ReductionResult &result) {
  if (result.kind != ReductionKind::Maximum &&
      result.kind != ReductionKind::Minimum)
    return false;
  const StructuredBody::Element *element = findElement(forward, result.term);
  return element && hasNeutralInit(result) &&
         result.map.isProjectedPermutation() &&
         !element->map.isProjectedPermutation(/*allowZeroInResults=*/true);
}

namespace {
/// The loops that run over a window.
struct Windows {
  Windows(const StructuredBody &forward, const ReductionResult &result) {
    for (unsigned dim = 0; dim < forward.getNumLoops(); ++dim) {
      if (result.map.isFunctionOfDim(dim))
        continue;
      dims.push_back(dim);
      size *= forward.sizes[dim];
    }
  }

  SmallVector<unsigned> dims;
  /// The number of elements.
  int64_t size = 1;
};
} // namespace

AffineMap remat::getPlaceMap(const StructuredBody &forward,
                             const ReductionResult &result) {
  MLIRContext *context = result.map.getContext();
  AffineExpr place = getAffineConstantExpr(0, context);
  for (unsigned dim : Windows(forward, result).dims)
    place = place * forward.sizes[dim] + getAffineDimExpr(dim, context);
  return AffineMap::get(forward.getNumLoops(), 0, place);
}

Value remat::findFirst(const StructuredBody &forward,
                       const ReductionResult &result,
                       DerivativeContext &context) {
  Windows windows(forward, result);
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  // One value for each window is kept: as small as places can be.
  IntegerType type = builder.getIntegerType(windows.size <= INT8_MAX    ? 8
                                            : windows.size <= INT16_MAX ? 16
                                                                        : 64);
  BodyBuilder body(forward, false, false, loc);
  OpBuilder &inner = body.getBuilder();
  Value value = body.primal(result.term);
  Value best = body.element(result.result, result.map, /*isPrimal=*/true);
  Value index = body.apply(getPlaceMap(forward, result)).front();
  index = arith::IndexCastOp::create(inner, loc, type, index);
  Value last = arith::ConstantOp::create(
      inner, loc, builder.getIntegerAttr(type, windows.size - 1));
  // A nan may be the extremum of its window.
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(inner, loc, predicate, a, b);
  };
  Value isNan = arith::AndIOp::create(
      inner, loc, compare(arith::CmpFPredicate::UNO, value, value),
      compare(arith::CmpFPredicate::UNO, best, best));
  Value isBest = arith::OrIOp::create(
      inner, loc, compare(arith::CmpFPredicate::OEQ, value, best), isNan);
  Value candidate = arith::SelectOp::create(inner, loc, isBest, index, last);

  auto shape = cast<RankedTensorType>(result.result.getType()).getShape();
  Value start = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, windows.size - 1));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  start = linalg::FillOp::create(builder, loc, start, empty).getResult(0);
  return body
      .finishReduction(context, candidate, result.map, start,
                       BodyBuilder::Combiner([](OpBuilder &nested, Location loc,
                                                Value a, Value b) -> Value {
                         return arith::MinSIOp::create(nested, loc, a, b);
                       }))
      .front();
}

/// The position in the operand that the place `first` of each window stands
/// for. `body` visits the windows: of the forward loops, those of the result
/// are the coordinates of the window; the others follow from the place.
static SmallVector<Value> getPosition(const StructuredBody &forward,
                                      const ReductionResult &result,
                                      const Windows &windows, Value first,
                                      AffineMap identity, BodyBuilder &body) {
  OpBuilder &builder = body.getBuilder();
  Location loc = body.getLoc();
  // No place is negative or larger: these are bounds that others can see.
  Value rest = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(), body.element(first, identity));
  rest = arith::MinUIOp::create(
      builder, loc, rest,
      arith::ConstantIndexOp::create(builder, loc,
                                     std::max<int64_t>(windows.size, 1) - 1));
  SmallVector<AffineExpr> loops(forward.getNumLoops());
  for (auto [number, expr] : llvm::enumerate(result.map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] =
        builder.getAffineDimExpr(number);
  SmallVector<Value> digits;
  for (unsigned dim : llvm::reverse(windows.dims)) {
    Value size = arith::ConstantIndexOp::create(
        builder, loc, std::max<int64_t>(forward.sizes[dim], 1));
    loops[dim] = builder.getAffineSymbolExpr(digits.size());
    bool isLast = dim == windows.dims.front();
    digits.push_back(
        isLast ? rest
               : arith::RemUIOp::create(builder, loc, rest, size).getResult());
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  AffineMap map = findElement(forward, result.term)
                      ->map.replaceDimsAndSymbols(
                          loops, {}, identity.getNumDims(), digits.size());
  return body.apply(map, digits);
}

void remat::emitWindowMaximumVJP(const StructuredBody &forward,
                                 const ReductionResult &result,
                                 ReverseContext &context) {
  Value source = findElement(forward, result.term)->source;
  if (!context.isActive(source))
    return;
  Windows windows(forward, result);
  Value first = findFirst(forward, result, context);
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, context.getBuilder().getContext());
  BodyBuilder body(space, /*forScatter=*/true, false, context.getLoc());
  Value update = body.element(context.cotangent(result.result), identity);
  SmallVector<Value> position =
      getPosition(forward, result, windows, first, identity, body);
  Value zeros = createZeros(context.getBuilder(), context.getLoc(),
                            cast<RankedTensorType>(source.getType()));
  context.accumulate(source,
                     body.finishScatter(context, position, update, zeros));
}

void remat::emitWindowMaximumJVP(const StructuredBody &forward,
                                 const ReductionResult &result,
                                 ForwardContext &context) {
  Value tangent = context.tangent(findElement(forward, result.term)->source);
  if (!tangent)
    return;
  Windows windows(forward, result);
  Value first = findFirst(forward, result, context);
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, context.getBuilder().getContext());
  BodyBuilder body(space, /*forScatter=*/false, false, context.getLoc());
  SmallVector<Value> position =
      getPosition(forward, result, windows, first, identity, body);
  Value value = body.extract(tangent, position);
  context.addTangent(result.result,
                     body.finishGeneric(context, value, identity).front());
}
