//===- TangentRule.cpp - tangents of structured operations ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tangents of a structured operation are the results of one over the same
// iteration space. At each point its body repeats what it needs of the forward
// body and computes the tangent of what the forward body yields, or of what it
// reduces. Reductions become sums of these, times the partial derivatives.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "StructuredRule.h"

using namespace mlir;
using namespace remat;

namespace {
/// The tangents of the results of one operation, as they are put together.
class TangentRule {
public:
  TangentRule(const StructuredBody &forward, ForwardContext &context)
      : forward(forward), context(context) {}

  LogicalResult run(ArrayRef<ReductionResult> results,
                    ArrayRef<Value> accumulators);

private:
  void addResult(const ReductionResult &result, Value value);
  Value getStart(const ReductionResult &result, Type element);

  const StructuredBody &forward;
  ForwardContext &context;
  SmallVector<Value> values, starts;
  SmallVector<AffineMap> maps;
  SmallVector<BodyBuilder::Combiner> combiners;
  SmallVector<OpResult> targets;
};
} // namespace

/// What the tangent of a result starts from.
Value TangentRule::getStart(const ReductionResult &result, Type element) {
  OpBuilder &builder = context.getBuilder();
  auto type = cast<RankedTensorType>(result.result.getType());
  if (result.kind == ReductionKind::Pointwise)
    return tensor::EmptyOp::create(builder, context.getLoc(), type.getShape(),
                                   element);
  Type wide = getAccumulatorType(element);
  Value start = context.tangent(result.init);
  if (result.kind == ReductionKind::Sum && start && wide == element)
    return start;
  if (result.kind == ReductionKind::Sum)
    context.addTangent(result.result, start);
  return createZeros(builder, context.getLoc(), type.clone(wide));
}

void TangentRule::addResult(const ReductionResult &result, Value value) {
  values.push_back(value);
  maps.push_back(result.map);
  starts.push_back(
      getStart(result, getElementTypeOrSelf(result.result.getType())));
  bool isPointwise = result.kind == ReductionKind::Pointwise;
  combiners.push_back(isPointwise ? BodyBuilder::Combiner()
                                  : BodyBuilder::Combiner(createSum));
  targets.push_back(result.result);
}

LogicalResult TangentRule::run(ArrayRef<ReductionResult> results,
                               ArrayRef<Value> accumulators) {
  SmallVector<Partial> partials;
  SmallVector<Value> terms;
  for (const ReductionResult &result : results) {
    partials.push_back(preparePartial(forward, result, context));
    terms.push_back(partials.back() ? result.term : result.yielded);
  }
  BodyTangents body(forward, /*forScatter=*/false, context.getLoc(), context,
                    accumulators);
  if (failed(body.sweep(terms)))
    return failure();
  for (auto [result, partial, term] : llvm::zip(results, partials, terms)) {
    Value start = context.tangent(result.init);
    if (partial && start)
      context.addTangent(result.result,
                         applyToInit(result, partial, start, context));
    Value tangent = body.tangent(term);
    if (!tangent && result.kind == ReductionKind::Sum)
      context.addTangent(result.result, start);
    if (!tangent)
      continue;
    addResult(result,
              partial ? partial(body, body.primal(term), result.map, tangent)
                      : tangent);
  }
  if (values.empty())
    return success();
  SmallVector<Value> tangents =
      body.finishReduction(context, values, maps, starts, combiners);
  for (auto [target, tangent] : llvm::zip(targets, tangents))
    context.addTangent(
        target,
        createConversion(context.getBuilder(), context.getLoc(), tangent,
                         getElementTypeOrSelf(target.getType())));
  return success();
}

LogicalResult remat::emitStructuredJVP(linalg::LinalgOp op,
                                       ForwardContext &context) {
  StructuredBody forward = StructuredBody::get(op);
  if (failed(checkBody(forward)))
    return failure();
  SmallVector<OpResult> wanted =
      llvm::filter_to_vector(op->getResults(), [&](OpResult result) {
        return context.isActive(result);
      });
  SmallVector<Value> accumulators;
  SmallVector<ReductionResult> results;
  if (failed(classifyResults(op, forward, wanted, results, accumulators)))
    return failure();
  if (results.size() == 1 && isWindowMaximum(forward, results.front())) {
    emitWindowMaximumJVP(forward, results.front(), context);
    return success();
  }
  return TangentRule(forward, context).run(results, accumulators);
}

/// The tangent of a scatter is the scatter of the tangents of the updates.
LogicalResult remat::emitStructuredJVP(ScatterOp op, ForwardContext &context) {
  StructuredBody forward = StructuredBody::get(op);
  if (failed(checkBody(forward)))
    return failure();
  ValueRange yielded =
      cast<YieldOp>(op.getBody().front().getTerminator()).getValues();
  BodyTangents body(forward, /*forScatter=*/true, context.getLoc(), context,
                    {});
  Value start = context.tangent(op.getInit());
  if (failed(body.sweep(yielded.back())))
    return failure();
  Value tangent = body.tangent(yielded.back());
  if (!tangent) {
    context.addTangent(op.getResult(), start);
    return success();
  }
  SmallVector<Value> indices;
  for (Value index : yielded.drop_back())
    indices.push_back(body.primal(index));
  if (!start)
    start = createZeros(context.getBuilder(), context.getLoc(),
                        cast<RankedTensorType>(op.getInit().getType()));
  context.addTangent(op.getResult(),
                     body.finishScatter(context, indices, tangent, start));
  return success();
}
