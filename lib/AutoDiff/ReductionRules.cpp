//===- ReductionRules.cpp - sums, products, maxima ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies the results of a structured operation and says where the sweep
// of its body starts. The cotangent g of a result r reaches the value f that
// is reduced as
//
//  * g for a sum,
//  * g / k for a maximum if f == r, where k elements equal r, else 0,
//  * g * (product of the other elements) for a product.
//
//===----------------------------------------------------------------------===//

#include "StructuredRule.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include "Emit.h"
#include "Expr.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

namespace {
/// The values of a body that depend on partial results of reductions.
class Dependence {
public:
  Dependence(Block &body, ArrayRef<Value> accumulators)
      : values(accumulators.begin(), accumulators.end()) {
    for (Operation &op : body)
      if (llvm::any_of(op.getOperands(),
                       [&](Value value) { return values.contains(value); }))
        values.insert(op.result_begin(), op.result_end());
  }
  bool contains(Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<Value> values;
};
} // namespace

/// Whether `value` is `accumulator` plus terms that do not depend on partial
/// results.
static bool isSum(Value value, Value accumulator,
                  const Dependence &dependence) {
  if (value == accumulator)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto recurse = [&](unsigned operand) {
    return isSum(op->getOperand(operand), accumulator, dependence);
  };
  auto isTerm = [&](unsigned operand) {
    return !dependence.contains(op->getOperand(operand));
  };
  if (isa<arith::AddFOp>(op))
    return (isTerm(0) && recurse(1)) || (isTerm(1) && recurse(0));
  if (isa<arith::SubFOp>(op))
    return isTerm(1) && recurse(0);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return recurse(0);
  if (isa<arith::SelectOp>(op))
    return isTerm(0) && recurse(1) && recurse(2);
  if (isa<math::FmaOp>(op))
    return isTerm(0) && isTerm(1) && recurse(2);
  return false;
}

/// The kind of select(cmpf(a, b), x, y) where x, y are a, b in some order.
static std::optional<ReductionKind> getSelectKind(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  Value a = compare.getLhs(), b = compare.getRhs();
  Value x = select.getTrueValue(), y = select.getFalseValue();
  bool straight = a == x && b == y;
  if (!straight && !(a == y && b == x))
    return std::nullopt;
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
    return straight ? ReductionKind::Maximum : ReductionKind::Minimum;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    return straight ? ReductionKind::Minimum : ReductionKind::Maximum;
  default:
    return std::nullopt;
  }
}

static std::optional<ReductionKind> getCombinerKind(Operation *op) {
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return ReductionKind::Maximum;
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    return ReductionKind::Minimum;
  if (isa<arith::MulFOp>(op))
    return ReductionKind::Product;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return getSelectKind(select);
  return std::nullopt;
}

/// Fills in kind and term of a result that does not cover all loops.
static LogicalResult classifyReduction(Operation *op, Value accumulator,
                                       const Dependence &dependence,
                                       ReductionResult &result) {
  if (isSum(result.yielded, accumulator, dependence)) {
    result.kind = ReductionKind::Sum;
    return success();
  }
  if (Operation *combiner = result.yielded.getDefiningOp()) {
    std::optional<ReductionKind> kind = getCombinerKind(combiner);
    OperandRange operands = combiner->getOperands().take_back(2);
    for (unsigned number : {0, 1})
      if (kind && operands[number] == accumulator &&
          !dependence.contains(operands[1 - number])) {
        result.kind = *kind;
        result.term = operands[1 - number];
        return success();
      }
  }
  return op->emitOpError("result #")
         << result.result.getResultNumber()
         << " has no derivative rule: expected a reduction by sum, product, "
            "maximum or minimum";
}

LogicalResult remat::classifyResults(linalg::LinalgOp op,
                                     const StructuredBody &forward,
                                     ReverseContext &context,
                                     SmallVectorImpl<ReductionResult> &results,
                                     SmallVectorImpl<Value> &accumulators) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!forward.coversAllLoops(op.getMatchingIndexingMap(&init)))
      accumulators.push_back(op.getMatchingBlockArgument(&init));
  Dependence dependence(*forward.body, accumulators);
  for (OpResult result : op->getResults()) {
    Value cotangent = context.cotangent(result);
    if (!cotangent)
      continue;
    OpOperand *init = op.getTiedOpOperand(result);
    AffineMap map = op.getMatchingIndexingMap(init);
    Value yielded =
        forward.body->getTerminator()->getOperand(result.getResultNumber());
    ReductionResult info{ReductionKind::Pointwise,
                         result,
                         init->get(),
                         map,
                         cotangent,
                         yielded,
                         Value()};
    if (forward.coversAllLoops(map)) {
      if (dependence.contains(yielded))
        return op->emitOpError("result #")
               << result.getResultNumber()
               << " has no derivative rule: it depends on the partial results "
                  "of a reduction";
    } else if (failed(classifyReduction(op, op.getMatchingBlockArgument(init),
                                        dependence, info))) {
      return failure();
    }
    results.push_back(info);
  }
  return success();
}

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

/// Whether the init of a maximum or minimum is the least candidate, which
/// does not count as one of the elements.
static bool hasNeutralInit(const ReductionResult &result) {
  std::optional<APFloat> value = getSplat(result.init);
  return value && (value->isInfinity() || value->isLargest()) &&
         value->isNegative() == (result.kind == ReductionKind::Maximum);
}

/// 1 where `condition`, else 0.
static Expr indicator(const Expr &condition, const Expr &like) {
  return select(condition, like.constant(1.0), like.constant(0.0));
}

/// A body that visits the elements of a result.
static StructuredBody getResultSpace(const ReductionResult &result) {
  StructuredBody space;
  space.op = result.result.getOwner();
  space.body = nullptr;
  space.sizes = llvm::to_vector(
      cast<RankedTensorType>(result.result.getType()).getShape());
  return space;
}

static AffineMap getIdentity(const StructuredBody &space,
                             MLIRContext *context) {
  return AffineMap::getMultiDimIdentityMap(space.getNumLoops(), context);
}

/// The number of elements that equal the maximum, for each maximum.
static Value countTies(const StructuredBody &forward,
                       const ReductionResult &result, ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  auto type = cast<RankedTensorType>(result.result.getType());
  Type countType = getAccumulatorType(type.getElementType());
  auto countTies = [&](BodyDerivative &body, Value candidate,
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
    BodyDerivative body(space, false, false, loc);
    Value tie =
        countTies(body, body.element(result.init, identity, true), identity);
    start = body.finishGeneric(context, tie, identity).front();
  }
  BodyDerivative body(forward, false, false, loc);
  Value tie = countTies(body, body.primal(result.term), result.map);
  return body
      .finishReduction(context, tie, result.map, start,
                       BodyDerivative::Combiner(createSum))
      .front();
}

static LogicalResult prepareMaximum(const StructuredBody &forward,
                                    const ReductionResult &result,
                                    ReverseContext &context,
                                    SmallVectorImpl<Seed> &seeds) {
  Value counts = countTies(forward, result, context);
  // The share of an element; as in PyTorch, a nan makes all shares nan.
  auto share = [=](BodyDerivative &body, Value candidate, AffineMap map) {
    Expr value(body, candidate);
    Expr best(body, body.element(result.result, map, /*isPrimal=*/true));
    Expr g(body, body.element(result.cotangent, map));
    Expr count(body, createScalarConversion(body.getBuilder(), body.getLoc(),
                                            body.element(counts, map),
                                            value.getType()));
    return (g * indicator(value == best, value) / count).get();
  };
  if (context.isActive(result.init)) {
    StructuredBody space = getResultSpace(result);
    AffineMap identity = getIdentity(space, result.map.getContext());
    BodyDerivative body(space, false, false, context.getLoc());
    Value value =
        share(body, body.element(result.init, identity, true), identity);
    context.accumulate(result.init,
                       body.finishGeneric(context, value, identity).front());
  }
  seeds.push_back([=](BodyDerivative &body) {
    if (body.isActive(result.term))
      body.accumulate(result.term,
                      share(body, body.primal(result.term), result.map));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// For each product the number of zeros among the elements (in the
/// accumulator type) and the product of the others.
static std::pair<Value, Value> countZeros(const StructuredBody &forward,
                                          const ReductionResult &result,
                                          ReverseContext &context) {
  auto split = [&](BodyDerivative &body, Value factor) {
    Expr value(body, factor);
    Expr isZero = value == 0.0;
    return SmallVector<Value>{indicator(isZero, value),
                              select(isZero, 1.0, value)};
  };
  Location loc = context.getLoc();
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, result.map.getContext());
  BodyDerivative first(space, false, false, loc);
  SmallVector<Value> start = first.finishGeneric(
      context, split(first, first.element(result.init, identity, true)),
      {identity, identity});
  Type element = getElementTypeOrSelf(result.result.getType());
  start[0] = createConversion(context.getBuilder(), loc, start[0],
                              getAccumulatorType(element));
  BodyDerivative body(forward, false, false, loc);
  SmallVector<Value> results = body.finishReduction(
      context, split(body, body.primal(result.term)), {result.map, result.map},
      start,
      {BodyDerivative::Combiner(createSum),
       BodyDerivative::Combiner(
           [](OpBuilder &builder, Location loc, Value a, Value b) -> Value {
             return arith::MulFOp::create(builder, loc, a, b);
           })});
  return {results[0], results[1]};
}

static LogicalResult prepareProduct(const StructuredBody &forward,
                                    const ReductionResult &result,
                                    ReverseContext &context,
                                    SmallVectorImpl<Seed> &seeds) {
  auto [zeroCounts, others] = countZeros(forward, result, context);
  // The product of the other factors, whichever of them are zero.
  auto slope = [=, zeroCounts = zeroCounts, others = others](
                   BodyDerivative &body, Value factor, AffineMap map) -> Value {
    Expr value(body, factor);
    Expr g(body, body.element(result.cotangent, map));
    Expr zeros(body, body.element(zeroCounts, map));
    Expr product(body, body.element(others, map));
    Expr ifZero = select(zeros == 1.0, product, 0.0);
    Expr ifNot = select(zeros == 0.0, product / value, 0.0);
    return g * select(value == 0.0, ifZero, ifNot);
  };
  if (context.isActive(result.init)) {
    StructuredBody space = getResultSpace(result);
    AffineMap identity = getIdentity(space, result.map.getContext());
    BodyDerivative body(space, false, false, context.getLoc());
    Value value =
        slope(body, body.element(result.init, identity, true), identity);
    context.accumulate(result.init,
                       body.finishGeneric(context, value, identity).front());
  }
  seeds.push_back([=](BodyDerivative &body) {
    if (body.isActive(result.term))
      body.accumulate(result.term,
                      slope(body, body.primal(result.term), result.map));
  });
  return success();
}

LogicalResult remat::prepareReduction(const StructuredBody &forward,
                                      const ReductionResult &result,
                                      ReverseContext &context,
                                      SmallVectorImpl<Seed> &seeds) {
  switch (result.kind) {
  case ReductionKind::Sum:
    context.accumulate(result.init, result.cotangent);
    [[fallthrough]];
  case ReductionKind::Pointwise:
    seeds.push_back([=](BodyDerivative &body) {
      if (body.isActive(result.yielded))
        body.accumulate(result.yielded,
                        body.element(result.cotangent, result.map));
    });
    return success();
  case ReductionKind::Maximum:
  case ReductionKind::Minimum:
    return prepareMaximum(forward, result, context, seeds);
  case ReductionKind::Product:
    return prepareProduct(forward, result, context, seeds);
  }
  llvm_unreachable("unknown kind of reduction");
}

//===----------------------------------------------------------------------===//
// Maxima over windows
//===----------------------------------------------------------------------===//

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

/// For each window the place of its first extremum, counted in the order of
/// the reduction loops `window`.
static Value findFirst(const StructuredBody &forward,
                       const ReductionResult &result, ArrayRef<unsigned> window,
                       int64_t windowSize, ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Type i64 = builder.getI64Type();
  BodyDerivative body(forward, false, false, loc);
  OpBuilder &inner = body.getBuilder();
  Value value = body.primal(result.term);
  Value best = body.element(result.result, result.map, /*isPrimal=*/true);
  AffineExpr place = builder.getAffineConstantExpr(0);
  for (unsigned dim : window)
    place = place * forward.sizes[dim] + builder.getAffineDimExpr(dim);
  Value index =
      body.apply(AffineMap::get(forward.getNumLoops(), 0, place)).front();
  index = arith::IndexCastOp::create(inner, loc, i64, index);
  Value last = arith::ConstantOp::create(
      inner, loc, builder.getI64IntegerAttr(windowSize - 1));
  // Unordered: a nan is the extremum of its window.
  Value isBest =
      arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::UEQ, value, best);
  Value candidate = arith::SelectOp::create(inner, loc, isBest, index, last);

  auto type = cast<RankedTensorType>(result.result.getType());
  Value start = arith::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(windowSize - 1));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), i64);
  start = linalg::FillOp::create(builder, loc, start, empty).getResult(0);
  return body
      .finishReduction(
          context, candidate, result.map, start,
          BodyDerivative::Combiner(
              [](OpBuilder &nested, Location loc, Value a, Value b) -> Value {
                return arith::MinSIOp::create(nested, loc, a, b);
              }))
      .front();
}

LogicalResult remat::emitWindowMaximumVJP(const StructuredBody &forward,
                                          const ReductionResult &result,
                                          ReverseContext &context) {
  const StructuredBody::Element *element = findElement(forward, result.term);
  if (!context.isActive(element->source))
    return success();
  SmallVector<unsigned> window;
  int64_t windowSize = 1;
  for (unsigned dim = 0; dim < forward.getNumLoops(); ++dim) {
    if (result.map.isFunctionOfDim(dim))
      continue;
    window.push_back(dim);
    windowSize *= forward.sizes[dim];
  }
  Value first = findFirst(forward, result, window, windowSize, context);

  // Visit the windows. Of the forward loops, those of the result are the
  // coordinates of the window; the others follow from the place.
  OpBuilder &builder = context.getBuilder();
  MLIRContext *mlirContext = builder.getContext();
  StructuredBody space = getResultSpace(result);
  AffineMap identity = getIdentity(space, mlirContext);
  BodyDerivative body(space, /*forScatter=*/true, false, context.getLoc());
  OpBuilder &inner = body.getBuilder();
  Value update = body.element(result.cotangent, identity);
  Value place = arith::IndexCastOp::create(inner, context.getLoc(),
                                           builder.getIndexType(),
                                           body.element(first, identity));

  SmallVector<AffineExpr> loops(forward.getNumLoops());
  for (auto [number, expr] : llvm::enumerate(result.map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] =
        builder.getAffineDimExpr(number);
  AffineExpr rest = builder.getAffineSymbolExpr(0);
  for (unsigned dim : llvm::reverse(window)) {
    int64_t size = std::max<int64_t>(forward.sizes[dim], 1);
    loops[dim] = rest % size;
    rest = rest.floorDiv(size);
  }
  AffineMap map =
      element->map.replaceDimsAndSymbols(loops, {}, space.getNumLoops(), 1);
  SmallVector<Value> indices = body.apply(map, place);
  Value scattered =
      body.finishScatter(context, indices, update,
                         cast<RankedTensorType>(element->source.getType()));
  context.accumulate(element->source, scattered);
  return success();
}
