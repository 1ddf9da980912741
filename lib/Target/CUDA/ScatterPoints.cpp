//===- ScatterPoints.cpp - points of a scatter and what they add ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterPoints.h"

#include "NestEmitter.h"
#include "VectorAccess.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

DenseSet<Value>
remat::cuda::findCoordinates(ScatterOp op,
                             llvm::function_ref<bool(unsigned)> counts) {
  DenseSet<Value> found;
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> stack;
  for (auto [dim, value] : llvm::enumerate(yielded.drop_back()))
    if (counts(dim))
      stack.push_back(value);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!found.insert(value).second)
      continue;
    if (Operation *maker = value.getDefiningOp())
      maker->walk([&](Operation *inner) {
        llvm::append_range(stack, inner->getOperands());
      });
  }
  return found;
}

ScatterPoints::ScatterPoints(const ScatterPlan &plan, LaunchBuilder &launch,
                             ArrayRef<Value> first, Needs needs, Value other)
    : plan(plan), op(plan.op), launch(launch), builder(launch.builder),
      loc(op.getLoc()), needs(needs), other(other) {
  indices.assign(plan.width, SmallVector<Value>(first));
  for (int64_t lane = 1; lane < plan.width; ++lane)
    indices[lane][plan.vectorLoop] =
        arith::AddIOp::create(builder, loc, first[plan.vectorLoop],
                              emitIndex(builder, loc, lane), nsw);
  for (int64_t lane = 0; lane < plan.width; ++lane)
    if (lane == 0 || (needs & Values))
      defineBody(lane);
}

Value ScatterPoints::emitElement(unsigned number, unsigned lane) {
  const Access &access = plan.inputs[number];
  auto emitAddress = [&](unsigned of) {
    Value address = emitLinear(builder, loc, access.offset, access.coefficients,
                               indices[of]);
    if (access.nonlinear)
      address = arith::AddIOp::create(
          builder, loc, address,
          affine::expandAffineExpr(builder, loc, access.nonlinear, indices[of],
                                   {}));
    return address;
  };
  if (plan.vectorLoop < 0 ||
      !isVectorAccess(access, plan.vectorLoop, plan.width))
    return launch.context.load(builder, loc, access.root, access.elementType,
                               emitAddress(lane));
  SmallVector<Value> &vector = vectors[number];
  if (vector.empty())
    vector =
        loadVector(builder, loc, plan.width, access.elementType,
                   launch.context.buffers.lookup(access.root), emitAddress(0));
  return vector[lane];
}

/// Depth 1: what coordinates are made of; 2: what only the value is made of,
/// which is not needed where the point is another thread's.
void ScatterPoints::defineBody(unsigned lane) {
  BodyEmitter &body = bodies.emplace_back(op.getBody().front(), launch.context);
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  DenseSet<Value> ofCoordinates =
      findCoordinates(op, [](unsigned) { return true; });
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    body.defineArgument(point, 1, [this, loop = loop, lane](OpBuilder &) {
      return indices[lane][loop];
    });
  for (auto [number, element] : llvm::enumerate(op.getElementArguments()))
    body.defineArgument(element, ofCoordinates.contains(element) ? 1 : 2,
                        [this, number = number, lane](OpBuilder &) {
                          return emitElement(number, lane);
                        });
  if ((lane == 0 || plan.isWindowed()) && (needs & Coordinates))
    for (Value value : yielded.drop_back())
      body.require(value);
  if (needs & Values)
    body.require(yielded.back());
  if (other)
    body.require(other);
  body.prepare(2);
}

LogicalResult ScatterPoints::emitDepth(unsigned depth) {
  for (BodyEmitter &body : bodies)
    if (failed(body.emit(builder, depth)))
      return failure();
  return success();
}

LogicalResult ScatterPoints::emitCoordinates() {
  return success(succeeded(emitDepth(0)) && succeeded(emitDepth(1)));
}

SmallVector<Value> ScatterPoints::getCoordinates(unsigned lane) {
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  return llvm::map_to_vector(yielded.drop_back(), [&](Value value) {
    return bodies[lane].lookup(value);
  });
}

LogicalResult ScatterPoints::emitValues() {
  if (!(needs & Coordinates) && failed(emitCoordinates()))
    return failure();
  return emitDepth(2);
}

SmallVector<Value> ScatterPoints::lookup(Value value) {
  SmallVector<Value> values;
  for (BodyEmitter &body : bodies)
    values.push_back(body.lookup(value));
  return values;
}

SmallVector<Value> ScatterPoints::getValues() {
  return lookup(op.getBody().front().getTerminator()->getOperands().back());
}

SmallVector<Value> ScatterPoints::getOthers() { return lookup(other); }

SmallVector<Value> remat::cuda::splitNumber(OpBuilder &builder, Location loc,
                                            Value number,
                                            ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    Value size = emitIndex(builder, loc, sizes[i]);
    indices[i] =
        i == 0 ? number
               : arith::RemUIOp::create(builder, loc, number, size).getResult();
    if (i != 0)
      number = arith::DivUIOp::create(builder, loc, number, size);
  }
  return indices;
}

static Type getResultType(const ScatterPlan &plan) {
  return cast<MemRefType>(ScatterOp(plan.op).getInit().getType())
      .getElementType();
}

SmallVector<Value> remat::cuda::loadResults(const ScatterPlan &plan,
                                            LaunchBuilder &launch,
                                            Value address) {
  Location loc = ScatterOp(plan.op).getLoc();
  Type type = getResultType(plan);
  if (plan.width == 1)
    return {launch.context.load(launch.builder, loc, plan.result.root, type,
                                address)};
  return loadVector(launch.builder, loc, plan.width, type,
                    launch.context.buffers.lookup(plan.result.root), address);
}

void remat::cuda::storeResults(const ScatterPlan &plan, LaunchBuilder &launch,
                               ArrayRef<Value> values, Value address) {
  Location loc = ScatterOp(plan.op).getLoc();
  if (plan.width == 1)
    launch.context.store(launch.builder, loc, values.front(), plan.result.root,
                         address);
  else
    storeVector(launch.builder, loc, values,
                launch.context.buffers.lookup(plan.result.root), address);
}
