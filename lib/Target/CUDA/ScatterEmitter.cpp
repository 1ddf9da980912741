//===- ScatterEmitter.cpp - remat.scatter on a GPU ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterEmitter.h"

#include "NestEmitter.h"
#include "ScatterPoints.h"
#include "VectorAccess.h"

#include "remat/Utils/Saturating.h"
#include "remat/Utils/ScatterRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Threads among which the ranges of a dimension are divided.
static constexpr int64_t wantedOwners = 1 << 16;

/// Whether neighbouring points along `loop` have the same coordinates in all
/// dimensions but one.
static bool areNeighbours(const ScatterPlan &plan, unsigned loop) {
  ScatterOp op = plan.op;
  int dim = plan.ownedDims[loop];
  DenseSet<Value> coordinates = findCoordinates(
      op, [&](unsigned other) { return static_cast<int>(other) != dim; });
  if (coordinates.contains(op.getPointArguments()[loop]))
    return false;
  for (auto [input, element] : llvm::zip(plan.inputs, op.getElementArguments()))
    if (coordinates.contains(element) &&
        (input.coefficients[loop] != 0 || input.nonlinear))
      return false;
  return true;
}

/// Lets a thread have neighbouring points along `loop`, of which the result is
/// next to each other.
static void chooseVector(ScatterPlan &plan, unsigned loop) {
  ScatterOp op = plan.op;
  int dim = plan.ownedDims[loop];
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
    if (plan.isWindowed() && plan.result.shape[dim] % width != 0)
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

/// Finds out where the result and the inputs are in their buffers.
static LogicalResult resolveOperands(ScatterPlan &plan) {
  ScatterOp op = plan.op;
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
  return success();
}

/// Divides the dimension that no loop owns, so that there are enough threads.
static void divideRange(ScatterPlan &plan) {
  int64_t size = plan.result.shape[plan.rangeDim];
  plan.rangeSize = std::max<int64_t>(
      llvm::divideCeil(multiplyCounts(size, plan.threads), wantedOwners), 1);
  plan.rangeSize = std::min(plan.rangeSize, size);
  plan.ranges = llvm::divideCeil(size, plan.rangeSize);
  plan.threads = multiplyCounts(plan.threads, plan.ranges);
}

FailureOr<ScatterPlan> remat::cuda::planScatter(ScatterOp op) {
  ScatterPlan plan;
  plan.op = op;
  if (failed(resolveOperands(plan)))
    return failure();
  if (auto inits = op->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName))
    plan.init = dyn_cast<TypedAttr>(inits[0]);
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  Type update = yield.getValues().back().getType();
  std::optional<ScatterRows> rows;
  if (update != getElementTypeOrSelf(op.getInit().getType())) {
    rows = findScatterRows(op);
    if (!canRoundSums(op) || !plan.init)
      return op.emitOpError("has sums wider than the result, expected this "
                            "only where they can be made in blocks of rows, or "
                            "from the windows of an element");
    plan.sums = update;
  }
  ArrayRef<int64_t> sizes = op.getSizes();
  plan.isEmpty =
      llvm::is_contained(sizes, 0) || llvm::is_contained(plan.result.shape, 0);
  ValueRange yielded = yield.getValues().drop_back();
  plan.ownedDims.assign(sizes.size(), -1);
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    for (auto [dim, index] : llvm::enumerate(yielded))
      if (index == point)
        plan.ownedDims[loop] = dim;
  if (rows)
    plan.ownedDims = rows->ownedDims;
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
  if (!rows)
    planWindows(plan);
  if (fastest >= 0) {
    plan.owned.push_back(fastest);
    bool isVector = plan.isWindowed()
                        ? plan.windowDims[fastest] == plan.ownedDims[fastest]
                        : areNeighbours(plan, fastest);
    if (isVector)
      chooseVector(plan, fastest);
    plan.threads /= plan.width;
  }
  if (plan.isWindowed())
    return plan;
  for (unsigned dim = 0; dim < plan.result.shape.size(); ++dim)
    if (plan.rangeDim < 0 && !llvm::is_contained(plan.ownedDims, int(dim)))
      plan.rangeDim = dim;
  if (plan.isEmpty || (plan.ordered.empty() && !plan.sums))
    plan.rangeDim = -1;
  plan.list = planLists(plan);
  assert((plan.list || !plan.sums) && "columns of rows are listed together");
  if (!plan.list && plan.rangeDim >= 0)
    divideRange(plan);
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

bool remat::cuda::isFilledBefore(const ScatterPlan &plan) {
  return plan.init && !plan.isWindowed() && !plan.sums;
}

std::pair<int64_t, int64_t>
remat::cuda::countScatterThreads(const ScatterPlan &plan) {
  constexpr int64_t blockThreads = 256;
  if (plan.list)
    return {plan.list->batches * plan.ranges * plan.list->parts,
            plan.list->threads};
  return {llvm::divideCeil(plan.threads, blockThreads), blockThreads};
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

/// The thread's points, and the loops over those that it takes in order.
static SmallVector<Value> openPoints(const ScatterPlan &plan,
                                     LaunchBuilder &launch, Value &rangeBegin) {
  OpBuilder &builder = launch.builder;
  ScatterOp op = plan.op;
  Location loc = op.getLoc();
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
  return first;
}

/// Adds the values of all neighbours to the result.
static void emitAddition(const ScatterPlan &plan, LaunchBuilder &launch,
                         ArrayRef<Value> values, ArrayRef<Value> place) {
  OpBuilder &builder = launch.builder;
  ScatterOp op = plan.op;
  Value address = emitLinear(builder, op.getLoc(), plan.result.offset,
                             plan.result.strides, place);
  SmallVector<Value> sums = loadResults(plan, launch, address);
  for (auto [sum, update] : llvm::zip(sums, values))
    sum = op.combine(builder, sum, update);
  storeResults(plan, launch, sums, address);
}

LogicalResult remat::cuda::emitScatter(const ScatterPlan &plan,
                                       LaunchBuilder &launch) {
  if (plan.list)
    return emitListedScatter(plan, launch);
  OpBuilder &builder = launch.builder;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = ScatterOp(plan.op).getLoc();
  if (plan.isWindowed())
    return emitWindowedScatter(plan, launch,
                               openThreads(launch, loc, plan.threads));
  Value rangeBegin;
  SmallVector<Value> first = openPoints(plan, launch, rangeBegin);
  ScatterPoints points(plan, launch, first, ScatterPoints::Both);
  if (failed(points.emitCoordinates()))
    return failure();
  SmallVector<Value> place = points.getCoordinates();
  if (plan.rangeDim >= 0) {
    Value distance =
        arith::SubIOp::create(builder, loc, place[plan.rangeDim], rangeBegin);
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 distance,
                                 emitIndex(builder, loc, plan.rangeSize)));
  }
  if (failed(points.emitValues()))
    return failure();
  emitAddition(plan, launch, points.getValues(), place);
  return success();
}
