//===- ScatterEmitter.cpp - remat.scatter on a GPU ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterEmitter.h"

#include "remat/Codegen/BodyEmitter.h"

#include "remat/Utils/Saturating.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

/// Threads among which the ranges of a dimension are divided.
static constexpr int64_t wantedThreads = 1 << 16;

FailureOr<ScatterPlan> remat::cuda::planScatter(ScatterOp op) {
  ScatterPlan plan;
  plan.op = op;
  FailureOr<BufferView> view = resolveView(op.getInit());
  if (failed(view))
    return failure();
  plan.result = *view;
  for (Value input : op.getInputs()) {
    FailureOr<BufferView> inputView = resolveView(input);
    if (failed(inputView))
      return failure();
    plan.inputs.push_back(*inputView);
  }
  if (auto inits = op->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName))
    plan.init = dyn_cast<TypedAttr>(inits[0]);
  ArrayRef<int64_t> sizes = op.getSizes();
  plan.isEmpty =
      llvm::is_contained(sizes, 0) || llvm::is_contained(plan.result.shape, 0);
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  ValueRange yielded = yield.getValues().drop_back();
  plan.ownedDims.assign(sizes.size(), -1);
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    for (auto [dim, index] : llvm::enumerate(yielded))
      if (index == point)
        plan.ownedDims[loop] = dim;
  int fastest = -1;
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    int dim = plan.ownedDims[loop];
    if (dim < 0)
      plan.ordered.push_back(loop);
    else if (plan.result.strides[dim] == 1 && fastest < 0)
      fastest = loop;
    else
      plan.owned.push_back(loop);
    if (dim >= 0)
      plan.threads = multiplyCounts(plan.threads, sizes[loop]);
  }
  if (fastest >= 0)
    plan.owned.push_back(fastest);
  for (unsigned dim = 0; dim < plan.result.shape.size(); ++dim)
    if (plan.rangeDim < 0 && !llvm::is_contained(plan.ownedDims, int(dim)))
      plan.rangeDim = dim;
  if (plan.isEmpty || plan.ordered.empty())
    plan.rangeDim = -1;
  if (plan.rangeDim >= 0) {
    int64_t size = plan.result.shape[plan.rangeDim];
    plan.rangeSize = std::max<int64_t>(
        llvm::divideCeil(multiplyCounts(size, plan.threads), wantedThreads), 1);
    plan.rangeSize = std::min(plan.rangeSize, size);
    plan.ranges = llvm::divideCeil(size, plan.rangeSize);
    plan.threads = multiplyCounts(plan.threads, plan.ranges);
  }
  return plan;
}

int64_t remat::cuda::countFilled(const ScatterPlan &plan) {
  int64_t size = 1;
  for (int64_t extent : plan.result.shape)
    size *= extent;
  return size;
}

/// The number of the thread in the grid. What follows is done only where it is
/// below `count`.
static Value openThreads(LaunchBuilder &launch, Location loc, int64_t count) {
  OpBuilder &builder = launch.builder;
  Value first = arith::MulIOp::create(
      builder, loc, launch.block, emitIndex(builder, loc, launch.threads), nsw);
  Value number = arith::AddIOp::create(builder, loc, first, launch.thread, nsw);
  openIf(builder, loc,
         arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                               emitIndex(builder, loc, count)));
  return number;
}

void remat::cuda::emitScatterFill(const ScatterPlan &plan,
                                  LaunchBuilder &launch) {
  OpBuilder &builder = launch.builder;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = const_cast<ScatterOp &>(plan.op).getLoc();
  Value rest = openThreads(launch, loc, countFilled(plan));
  SmallVector<Value> place(plan.result.shape.size());
  for (unsigned dim = place.size(); dim-- > 0;) {
    Value extent = emitIndex(builder, loc, plan.result.shape[dim]);
    place[dim] = arith::RemUIOp::create(builder, loc, rest, extent);
    rest = arith::DivUIOp::create(builder, loc, rest, extent);
  }
  Value value = arith::ConstantOp::create(builder, loc, plan.init);
  launch.context.store(
      builder, loc, value, plan.result.root,
      emitLinear(builder, loc, plan.result.offset, plan.result.strides, place));
}

namespace {

class ScatterEmission {
public:
  ScatterEmission(const ScatterPlan &plan, LaunchBuilder &launch)
      : plan(plan), op(plan.op), launch(launch), builder(launch.builder),
        loc(op.getLoc()), body(op.getBody().front(), launch.context) {}
  LogicalResult run();

private:
  void defineBody();
  Value emitElement(unsigned number, Type type);

  const ScatterPlan &plan;
  ScatterOp op;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  BodyEmitter body;
  SmallVector<Value> indices;
};

} // namespace

Value ScatterEmission::emitElement(unsigned number, Type type) {
  const BufferView &input = plan.inputs[number];
  SmallVector<int64_t> coefficients(op.getNumLoops(), 0);
  int64_t offset = input.offset;
  AffineExpr nonlinear = flattenMap(op.getIndexingMapsArray()[number],
                                    input.strides, coefficients, offset);
  Value address = emitLinear(builder, loc, offset, coefficients, indices);
  if (nonlinear)
    address = arith::AddIOp::create(
        builder, loc, address,
        affine::expandAffineExpr(builder, loc, nonlinear, indices, {}));
  return launch.context.load(builder, loc, input.root, type, address);
}

/// Depth 1: what coordinates are made of; 2: what only the value is made of,
/// which is not needed where the point is another thread's.
void ScatterEmission::defineBody() {
  Block &block = op.getBody().front();
  ValueRange yielded = block.getTerminator()->getOperands();
  DenseSet<Value> ofCoordinates;
  SmallVector<Value> stack(yielded.drop_back());
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!ofCoordinates.insert(value).second)
      continue;
    if (Operation *maker = value.getDefiningOp())
      maker->walk([&](Operation *inner) {
        llvm::append_range(stack, inner->getOperands());
      });
  }
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    body.defineArgument(
        point, 1, [this, loop = loop](OpBuilder &) { return indices[loop]; });
  for (auto [number, element] : llvm::enumerate(op.getElementArguments()))
    body.defineArgument(element, ofCoordinates.contains(element) ? 1 : 2,
                        [this, number = number, type = element.getType()](
                            OpBuilder &) { return emitElement(number, type); });
  for (Value value : yielded)
    body.require(value);
  body.prepare(2);
}

LogicalResult ScatterEmission::run() {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  Value rest = openThreads(launch, loc, plan.threads);
  indices.assign(op.getNumLoops(), Value());
  for (unsigned loop : llvm::reverse(plan.owned)) {
    Value size = index(op.getSizes()[loop]);
    indices[loop] = arith::RemUIOp::create(builder, loc, rest, size);
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  Value begin =
      arith::MulIOp::create(builder, loc, rest, index(plan.rangeSize), nsw);
  for (unsigned loop : plan.ordered)
    indices[loop] =
        openLoop(builder, loc, index(0), index(op.getSizes()[loop]));
  defineBody();
  if (failed(body.emit(builder, 0)) || failed(body.emit(builder, 1)))
    return failure();
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> place;
  for (Value value : yielded.drop_back())
    place.push_back(body.lookup(value));
  if (plan.rangeDim >= 0) {
    Value distance =
        arith::SubIOp::create(builder, loc, place[plan.rangeDim], begin);
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 distance, index(plan.rangeSize)));
  }
  if (failed(body.emit(builder, 2)))
    return failure();
  Value update = body.lookup(yielded.back());
  Value address =
      emitLinear(builder, loc, plan.result.offset, plan.result.strides, place);
  Value old = launch.context.load(builder, loc, plan.result.root,
                                  update.getType(), address);
  Value sum;
  if (isa<FloatType>(update.getType()))
    sum = arith::AddFOp::create(builder, loc, old, update);
  else if (isa<ComplexType>(update.getType()))
    sum = complex::AddOp::create(builder, loc, old, update);
  else
    sum = arith::AddIOp::create(builder, loc, old, update);
  launch.context.store(builder, loc, sum, plan.result.root, address);
  return success();
}

LogicalResult remat::cuda::emitScatter(const ScatterPlan &plan,
                                       LaunchBuilder &launch) {
  return ScatterEmission(plan, launch).run();
}
