//===- ScatterEmitter.cpp - remat.scatter on a GPU ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterEmitter.h"

#include "NestEmitter.h"
#include "VectorAccess.h"

#include "remat/Codegen/BodyEmitter.h"

#include "remat/Utils/Saturating.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

#include <deque>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

/// Threads among which the ranges of a dimension are divided.
static constexpr int64_t wantedThreads = 1 << 16;

/// What the coordinates of a point are made of.
static DenseSet<Value> findCoordinates(ScatterOp op, int exceptDim = -1) {
  DenseSet<Value> found;
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> stack;
  for (auto [dim, value] : llvm::enumerate(yielded.drop_back()))
    if (static_cast<int>(dim) != exceptDim)
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

/// Lets a thread have neighbouring points along `loop` if they have the same
/// coordinates in all dimensions but one.
static void chooseVector(ScatterPlan &plan, unsigned loop) {
  ScatterOp op = plan.op;
  int dim = plan.ownedDims[loop];
  DenseSet<Value> coordinates = findCoordinates(op, dim);
  if (coordinates.contains(op.getPointArguments()[loop]))
    return;
  for (auto [input, element] : llvm::zip(plan.inputs, op.getElementArguments()))
    if (coordinates.contains(element) &&
        (input.coefficients[loop] != 0 || input.nonlinear))
      return;
  // There are no vectors of complex numbers.
  Type type = cast<MemRefType>(op.getInit().getType()).getElementType();
  if (isa<ComplexType>(type) ||
      llvm::any_of(plan.inputs, [](const Access &input) {
        return isa<ComplexType>(input.elementType);
      }))
    return;
  int64_t width = vectorBytes / getElementBytes(getStorageType(type));
  auto isMultiple = [&] {
    if (op.getSizes()[loop] % width != 0 || plan.result.offset % width != 0 ||
        !isWholeVectors(plan.result.root, width))
      return false;
    for (auto [other, stride] : llvm::enumerate(plan.result.strides))
      if (static_cast<int>(other) != dim && stride % width != 0)
        return false;
    return true;
  };
  while (width > 1 && !isMultiple())
    width /= 2;
  if (width == 1)
    return;
  plan.vectorLoop = loop;
  plan.width = width;
}

FailureOr<ScatterPlan> remat::cuda::planScatter(ScatterOp op) {
  ScatterPlan plan;
  plan.op = op;
  FailureOr<BufferView> view = resolveView(op.getInit());
  if (failed(view))
    return failure();
  plan.result = *view;
  for (auto [input, map] :
       llvm::zip(op.getInputs(), op.getIndexingMapsArray())) {
    FailureOr<BufferView> inputView = resolveView(input);
    if (failed(inputView))
      return failure();
    Access &access = plan.inputs.emplace_back();
    access.root = inputView->root;
    access.elementType = getElementTypeOrSelf(input);
    access.offset = inputView->offset;
    access.coefficients.assign(op.getNumLoops(), 0);
    access.nonlinear =
        flattenMap(map, inputView->strides, access.coefficients, access.offset);
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
  if (fastest >= 0) {
    plan.owned.push_back(fastest);
    chooseVector(plan, fastest);
    plan.threads /= plan.width;
  }
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

/// Neighbouring elements that a thread sets.
static int64_t getFillWidth(const ScatterPlan &plan) {
  auto type =
      cast<MemRefType>(const_cast<ScatterOp &>(plan.op).getInit().getType());
  int64_t width =
      vectorBytes / getElementBytes(getStorageType(type.getElementType()));
  bool isVector = plan.result.isWhole() &&
                  !isa<ComplexType>(type.getElementType()) &&
                  type.getNumElements() % width == 0;
  return isVector ? width : 1;
}

int64_t remat::cuda::countFillThreads(const ScatterPlan &plan) {
  int64_t size = 1;
  for (int64_t extent : plan.result.shape)
    size *= extent;
  return size / getFillWidth(plan);
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
  Value rest = openThreads(launch, loc, countFillThreads(plan));
  Value value = arith::ConstantOp::create(builder, loc, plan.init);
  if (int64_t width = getFillWidth(plan); width != 1) {
    Value address = arith::MulIOp::create(builder, loc, rest,
                                          emitIndex(builder, loc, width), nsw);
    storeVector(builder, loc, SmallVector<Value>(width, value),
                launch.context.buffers.lookup(plan.result.root), address);
    return;
  }
  SmallVector<Value> place(plan.result.shape.size());
  for (unsigned dim = place.size(); dim-- > 0;) {
    Value extent = emitIndex(builder, loc, plan.result.shape[dim]);
    place[dim] = arith::RemUIOp::create(builder, loc, rest, extent);
    rest = arith::DivUIOp::create(builder, loc, rest, extent);
  }
  launch.context.store(
      builder, loc, value, plan.result.root,
      emitLinear(builder, loc, plan.result.offset, plan.result.strides, place));
}

namespace {

class ScatterEmission {
public:
  ScatterEmission(const ScatterPlan &plan, LaunchBuilder &launch)
      : plan(plan), op(plan.op), launch(launch), builder(launch.builder),
        loc(op.getLoc()) {}
  LogicalResult run();

private:
  void openPoints();
  void defineBody(unsigned lane);
  Value emitElement(unsigned number, unsigned lane);
  LogicalResult emitLanes(unsigned depth);
  void emitAddition(ArrayRef<Value> place);

  const ScatterPlan &plan;
  ScatterOp op;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  /// One for each of the neighbouring points, and where that is.
  std::deque<BodyEmitter> bodies;
  SmallVector<SmallVector<Value>> indices;
  /// What was read of inputs for all of them.
  DenseMap<unsigned, SmallVector<Value>> vectors;
  Value rangeBegin;
};

} // namespace

Value ScatterEmission::emitElement(unsigned number, unsigned lane) {
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
/// which is not needed where the point is another thread's. Coordinates of
/// neighbours are those of the first.
void ScatterEmission::defineBody(unsigned lane) {
  BodyEmitter &body = bodies.emplace_back(op.getBody().front(), launch.context);
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  DenseSet<Value> ofCoordinates = findCoordinates(op);
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    body.defineArgument(point, 1, [this, loop = loop, lane](OpBuilder &) {
      return indices[lane][loop];
    });
  for (auto [number, element] : llvm::enumerate(op.getElementArguments()))
    body.defineArgument(element, ofCoordinates.contains(element) ? 1 : 2,
                        [this, number = number, lane](OpBuilder &) {
                          return emitElement(number, lane);
                        });
  for (Value value : lane == 0 ? yielded : yielded.take_back(1))
    body.require(value);
  body.prepare(2);
}

LogicalResult ScatterEmission::emitLanes(unsigned depth) {
  for (BodyEmitter &body : bodies)
    if (failed(body.emit(builder, depth)))
      return failure();
  return success();
}

/// The thread's points, and the loops over those that it takes in order.
void ScatterEmission::openPoints() {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  Value rest = openThreads(launch, loc, plan.threads);
  SmallVector<Value> first(op.getNumLoops());
  for (unsigned loop : llvm::reverse(plan.owned)) {
    bool isVector = static_cast<int>(loop) == plan.vectorLoop;
    Value size = index(op.getSizes()[loop] / (isVector ? plan.width : 1));
    first[loop] = arith::RemUIOp::create(builder, loc, rest, size);
    if (isVector)
      first[loop] = arith::MulIOp::create(builder, loc, first[loop],
                                          index(plan.width), nsw);
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  rangeBegin =
      arith::MulIOp::create(builder, loc, rest, index(plan.rangeSize), nsw);
  for (unsigned loop : plan.ordered)
    first[loop] = openLoop(builder, loc, index(0), index(op.getSizes()[loop]));
  indices.assign(plan.width, first);
  for (int64_t lane = 1; lane < plan.width; ++lane)
    indices[lane][plan.vectorLoop] = arith::AddIOp::create(
        builder, loc, first[plan.vectorLoop], index(lane), nsw);
}

/// Adds the values of all neighbours to the result.
void ScatterEmission::emitAddition(ArrayRef<Value> place) {
  Value address =
      emitLinear(builder, loc, plan.result.offset, plan.result.strides, place);
  Value yielded = op.getBody().front().getTerminator()->getOperands().back();
  Type type = yielded.getType();
  Value buffer = launch.context.buffers.lookup(plan.result.root);
  SmallVector<Value> sums;
  if (plan.width == 1)
    sums = {launch.context.load(builder, loc, plan.result.root, type, address)};
  else
    sums = loadVector(builder, loc, plan.width, type, buffer, address);
  for (auto [sum, body] : llvm::zip(sums, bodies)) {
    Value update = body.lookup(yielded);
    if (isa<FloatType>(type))
      sum = arith::AddFOp::create(builder, loc, sum, update);
    else if (isa<ComplexType>(type))
      sum = complex::AddOp::create(builder, loc, sum, update);
    else
      sum = arith::AddIOp::create(builder, loc, sum, update);
  }
  if (plan.width == 1)
    launch.context.store(builder, loc, sums.front(), plan.result.root, address);
  else
    storeVector(builder, loc, sums, buffer, address);
}

LogicalResult ScatterEmission::run() {
  OpBuilder::InsertionGuard guard(builder);
  openPoints();
  for (int64_t lane = 0; lane < plan.width; ++lane)
    defineBody(lane);
  if (failed(emitLanes(0)) || failed(emitLanes(1)))
    return failure();
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> place;
  for (Value value : yielded.drop_back())
    place.push_back(bodies.front().lookup(value));
  if (plan.rangeDim >= 0) {
    Value distance =
        arith::SubIOp::create(builder, loc, place[plan.rangeDim], rangeBegin);
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 distance,
                                 emitIndex(builder, loc, plan.rangeSize)));
  }
  if (failed(emitLanes(2)))
    return failure();
  emitAddition(place);
  return success();
}

LogicalResult remat::cuda::emitScatter(const ScatterPlan &plan,
                                       LaunchBuilder &launch) {
  return ScatterEmission(plan, launch).run();
}
