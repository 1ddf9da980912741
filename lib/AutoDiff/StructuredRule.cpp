//===- StructuredRule.cpp - the rule for any structured operation ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The adjoint of a structured operation visits the same iteration space. At
// each point it repeats what it needs of the forward body, sweeps it in
// reverse and writes what comes out for an operand
//
//  * to an element of its own, if the operand's map covers all loops,
//  * into a sum, if the map lacks dimensions (a broadcast),
//  * through remat.scatter, if the map is not a projected permutation or the
//    operand was read by tensor.extract.
//
//===----------------------------------------------------------------------===//

#include "StructuredRule.h"

#include "mlir/Transforms/RegionUtils.h"

#include "Emit.h"
#include "remat/AutoDiff/Expr.h"

using namespace mlir;
using namespace remat;

namespace {

/// Accumulates the cotangents from which a body is swept.
using Seed = std::function<void(BodyDerivative &)>;

class StructuredRule {
public:
  StructuredRule(StructuredBody forward, ReverseContext &outer)
      : forward(std::move(forward)), outer(outer) {}

  void addResult(const ReductionResult &result);
  void addSeed(Seed seed) { seeds.push_back(std::move(seed)); }

  LogicalResult run(ArrayRef<Value> accumulators);

private:
  using Element = StructuredBody::Element;
  using Body = std::unique_ptr<BodyDerivative>;

  FailureOr<Body> build(ArrayRef<Value> leaves, bool forScatter);
  FailureOr<Body> buildVariant(ArrayRef<Value> leaves, bool forScatter,
                               bool useStored);
  LogicalResult chooseVariant(ArrayRef<Value> leaves);
  LogicalResult emitTogether(ArrayRef<Element> group);
  LogicalResult
  emitScatter(Value leaf, Value source,
              function_ref<SmallVector<Value>(BodyDerivative &)> indices);
  FailureOr<bool> emitFromAnother(const Element &leaf);
  void deliver(const Element &leaf, Value cotangent);

  StructuredBody forward;
  ReverseContext &outer;
  SmallVector<Seed> seeds;
  bool useStored = false;
  /// Elements whose cotangent exists once for each point, and the tensor of
  /// these cotangents.
  SmallVector<std::pair<Element, Value>> pointwise;
};

} // namespace

/// Whether `leaf` is read by distinct loops and as the only element of other
/// dimensions.
static bool isProjection(const StructuredBody::Element &leaf) {
  if (!leaf.map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  auto type = dyn_cast<ShapedType>(leaf.source.getType());
  for (auto [dim, expr] : llvm::enumerate(leaf.map.getResults()))
    if (isa<AffineConstantExpr>(expr) && type.getDimSize(dim) != 1)
      return false;
  return true;
}

/// The cotangent g of a result reaches the value that is reduced as it is, or
/// times the partial derivative.
void StructuredRule::addResult(const ReductionResult &result) {
  Value cotangent = outer.cotangent(result.result);
  Partial partial = preparePartial(forward, result, outer);
  if (result.kind == ReductionKind::Sum)
    outer.accumulate(result.init, cotangent);
  if (partial && outer.isActive(result.init))
    outer.accumulate(result.init,
                     applyToInit(result, partial, cotangent, outer));
  seeds.push_back([=](BodyDerivative &body) {
    Value target = partial ? result.term : result.yielded;
    if (!body.isActive(target))
      return;
    Value value = partial ? body.primal(target) : Value();
    Value g = body.element(cotangent, result.map);
    body.accumulate(target, partial ? partial(body, value, result.map, g) : g);
  });
}

FailureOr<StructuredRule::Body>
StructuredRule::buildVariant(ArrayRef<Value> leaves, bool forScatter,
                             bool useStored) {
  auto body = std::make_unique<BodyDerivative>(forward, forScatter, useStored,
                                               outer.getLoc());
  body->setIdiomLog(outer.getIdiomLog());
  body->activate(leaves);
  for (const Seed &seed : seeds)
    seed(*body);
  if (failed(body->sweep()))
    return failure();
  return body;
}

/// Decides between reading what the forward operation stored and computing it
/// again: what keeps fewer bytes for the derivatives of all of `leaves`.
LogicalResult StructuredRule::chooseVariant(ArrayRef<Value> leaves) {
  if (forward.stored.empty())
    return success();
  FailureOr<Body> plain = buildVariant(leaves, /*forScatter=*/false, false);
  if (failed(plain))
    return failure();
  FailureOr<Body> stored = buildVariant(leaves, /*forScatter=*/false, true);
  if (failed(stored))
    return failure();
  useStored = (*stored)->getPrimalBytes() <= (*plain)->getPrimalBytes();
  return success();
}

FailureOr<StructuredRule::Body> StructuredRule::build(ArrayRef<Value> leaves,
                                                      bool forScatter) {
  return buildVariant(leaves, forScatter, useStored);
}

void StructuredRule::deliver(const Element &leaf, Value cotangent) {
  OpBuilder &builder = outer.getBuilder();
  Type element = getElementTypeOrSelf(cotangent.getType());
  if (auto type = dyn_cast<RankedTensorType>(leaf.source.getType())) {
    cotangent = createUnitReshape(builder, outer.getLoc(), cotangent,
                                  type.clone(element));
  } else {
    Value scalar = tensor::ExtractOp::create(builder, outer.getLoc(), cotangent,
                                             ValueRange());
    cotangent = createScalarConversion(builder, outer.getLoc(), scalar,
                                       leaf.source.getType());
  }
  outer.accumulate(leaf.source, cotangent);
}

/// Whether the cotangents of a tensor that several operations widen are added
/// before they are made narrow again: what cancels in the sum may be much
/// larger than the sum. Numbers of less than 32 bits save memory, also for
/// their cotangents.
static bool isSummedWide(const StructuredBody::Element &leaf) {
  auto type = dyn_cast<RankedTensorType>(leaf.source.getType());
  return type && type.getElementType().isF32() && !leaf.source.hasOneUse();
}

/// `value` before it was made narrower.
static Value beforeNarrowing(Value value) {
  auto narrow = value.getDefiningOp<arith::TruncFOp>();
  return narrow ? narrow.getIn() : value;
}

/// Emits one operation for leaves of the same map.
LogicalResult StructuredRule::emitTogether(ArrayRef<Element> group) {
  SmallVector<Value> leaves;
  for (const Element &leaf : group)
    leaves.push_back(leaf.inside);
  FailureOr<Body> body = build(leaves, /*forScatter=*/false);
  if (failed(body))
    return failure();
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  SmallVector<Element> reached;
  for (const Element &leaf : group) {
    Value value = (*body)->cotangent(leaf.inside);
    if (!value)
      continue;
    values.push_back(isSummedWide(leaf) ? beforeNarrowing(value) : value);
    maps.push_back(leaf.map);
    reached.push_back(leaf);
  }
  if (reached.empty())
    return success();
  SmallVector<Value> results = (*body)->finishGeneric(outer, values, maps);
  for (auto [leaf, result] : llvm::zip(reached, results)) {
    if (forward.coversAllLoops(leaf.map))
      pointwise.emplace_back(leaf, result);
    deliver(leaf, result);
  }
  return success();
}

LogicalResult StructuredRule::emitScatter(
    Value leaf, Value source,
    function_ref<SmallVector<Value>(BodyDerivative &)> indices) {
  FailureOr<Body> body = build(leaf, /*forScatter=*/true);
  if (failed(body))
    return failure();
  Value value = (*body)->cotangent(leaf);
  if (!value)
    return success();
  SmallVector<Value> position = indices(**body);
  Value zeros = createZeros(outer.getBuilder(), outer.getLoc(),
                            cast<RankedTensorType>(source.getType()));
  outer.accumulate(source,
                   (*body)->finishScatter(outer, position, value, zeros));
  return success();
}

/// The cotangent of a broadcast operand is often, point by point, that of
/// another operand or its negative (a bias, a mean that is subtracted). Then
/// it is the sum of what has been computed for the other.
FailureOr<bool> StructuredRule::emitFromAnother(const Element &leaf) {
  if (pointwise.empty())
    return false;
  SmallVector<Value> leaves = {leaf.inside};
  for (const auto &[other, tensor] : pointwise)
    leaves.push_back(other.inside);
  FailureOr<Body> probe = buildVariant(leaves, false, false);
  if (failed(probe))
    return failure();
  Value value = (*probe)->cotangent(leaf.inside);
  auto negation = value ? value.getDefiningOp<arith::NegFOp>() : nullptr;
  for (const auto &[other, tensor] : pointwise) {
    Value known = (*probe)->cotangent(other.inside);
    bool same = known && known == value;
    bool negative = known && negation && negation.getOperand() == known;
    // What is just read can be read again.
    if ((!same && !negative) || isa<BlockArgument>(known))
      continue;
    BodyDerivative body(forward, false, false, outer.getLoc());
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : other.map.getResults())
      if (!isa<AffineConstantExpr>(expr))
        exprs.push_back(expr);
    Value term =
        body.element(tensor, AffineMap::get(forward.getNumLoops(), 0, exprs,
                                            tensor.getContext()));
    if (negative)
      term = -Expr(body, term);
    deliver(leaf, body.finishGeneric(outer, term, leaf.map).front());
    return true;
  }
  return false;
}

LogicalResult StructuredRule::run(ArrayRef<Value> accumulators) {
  SmallVector<Element> leaves;
  for (const Element &element : forward.elements)
    if (element.inside && !element.inside.use_empty() &&
        outer.isActive(element.source) &&
        !llvm::is_contained(accumulators, element.inside))
      leaves.push_back(element);

  SetVector<Value> captured;
  getUsedValuesDefinedAbove(*forward.body->getParent(), captured);
  AffineMap none =
      AffineMap::get(forward.getNumLoops(), 0, forward.op->getContext());
  for (Value value : captured)
    if (!isa<ShapedType>(value.getType()) && outer.isActive(value))
      leaves.push_back({value, none, value});

  SmallVector<Value> inside;
  for (const Element &leaf : leaves)
    inside.push_back(leaf.inside);
  for (auto extract : forward.body->getOps<tensor::ExtractOp>())
    if (outer.isActive(extract.getTensor()))
      inside.push_back(extract.getResult());
  if (failed(chooseVariant(inside)))
    return failure();

  // Operands with one element for each point, those of the same map together.
  llvm::MapVector<AffineMap, SmallVector<Element>> groups;
  for (const Element &leaf : leaves)
    if (isProjection(leaf) && forward.coversAllLoops(leaf.map))
      groups[leaf.map].push_back(leaf);
  for (auto &[map, group] : groups)
    if (failed(emitTogether(group)))
      return failure();

  for (const Element &leaf : leaves) {
    if (!isProjection(leaf)) {
      if (failed(
              emitScatter(leaf.inside, leaf.source, [&](BodyDerivative &body) {
                return body.apply(leaf.map);
              })))
        return failure();
      continue;
    }
    if (forward.coversAllLoops(leaf.map))
      continue;
    FailureOr<bool> done = emitFromAnother(leaf);
    if (failed(done) || (!*done && failed(emitTogether(leaf))))
      return failure();
  }

  for (auto extract : forward.body->getOps<tensor::ExtractOp>()) {
    if (!outer.isActive(extract.getTensor()))
      continue;
    auto indices = [&](BodyDerivative &body) {
      SmallVector<Value> values;
      for (Value index : extract.getIndices())
        values.push_back(body.primal(index));
      return values;
    };
    if (failed(emitScatter(extract.getResult(), extract.getTensor(), indices)))
      return failure();
  }
  return success();
}

bool remat::structuredResultVaries(linalg::LinalgOp op, OpResult result,
                                   const Activity &activity) {
  StructuredBody forward = StructuredBody::get(op);
  SmallVector<Value> leaves;
  for (const StructuredBody::Element &element : forward.elements)
    if (element.inside && activity.isActive(element.source))
      leaves.push_back(element.inside);
  for (Operation &inner : *forward.body)
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != forward.body &&
          activity.isActive(operand)) {
        // A captured scalar, or a tensor of which elements are read.
        leaves.push_back(operand);
        llvm::append_range(leaves, inner.getResults());
      }
  BodyDerivative body(forward, false, false, op.getLoc());
  body.activate(leaves);
  return body.isActive(
      forward.body->getTerminator()->getOperand(result.getResultNumber()));
}

LogicalResult remat::checkBody(const StructuredBody &forward) {
  for (Operation &op : *forward.body)
    if (op.getNumRegions() != 0)
      return op.emitOpError("has a region; inside of '")
             << forward.op->getName()
             << "' only operations without regions can be differentiated";
  return success();
}

LogicalResult remat::emitStructuredVJP(linalg::LinalgOp op,
                                       ReverseContext &context) {
  StructuredBody forward = StructuredBody::get(op);
  if (failed(checkBody(forward)))
    return failure();
  SmallVector<OpResult> wanted =
      llvm::filter_to_vector(op->getResults(), [&](OpResult result) -> bool {
        return context.cotangent(result) != nullptr;
      });
  SmallVector<Value> accumulators;
  SmallVector<ReductionResult> results;
  if (failed(classifyResults(op, forward, wanted, results, accumulators)))
    return failure();
  if (results.size() == 1 && isWindowMaximum(forward, results.front())) {
    emitWindowMaximumVJP(forward, results.front(), context);
    return success();
  }
  StructuredRule rule(forward, context);
  for (const ReductionResult &result : results)
    rule.addResult(result);
  return rule.run(accumulators);
}

/// A scatter adds v(p) to the element i(p), so the cotangent of v(p) is
/// the result's at i(p).
LogicalResult remat::emitStructuredVJP(ScatterOp op, ReverseContext &context) {
  Value cotangent = context.cotangent(op.getResult());
  if (!cotangent)
    return success();
  StructuredBody forward = StructuredBody::get(op);
  if (failed(checkBody(forward)))
    return failure();
  context.accumulate(op.getInit(), cotangent);
  auto yielded = cast<YieldOp>(op.getBody().front().getTerminator());
  StructuredRule rule(forward, context);
  rule.addSeed([&](BodyDerivative &body) {
    Value update = yielded.getValues().back();
    if (!body.isActive(update))
      return;
    SmallVector<Value> indices;
    for (Value index : yielded.getValues().drop_back())
      indices.push_back(body.primal(index));
    // Sums may be wider than the result.
    Value element = body.extract(cotangent, indices);
    if (element.getType() != update.getType())
      element = arith::ExtFOp::create(body.getBuilder(), body.getLoc(),
                                      update.getType(), element);
    body.accumulate(update, element);
  });
  return rule.run({});
}
