//===- ScatterLists.cpp - blocks that own a range of a scatter ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block takes the points in chunks. Each thread looks at a few points next to
// each other, and counts those in the range of the block. From the counts of
// the threads before it, it knows where its points stand in the list, so that
// the list is in the order of the points. Then each thread goes over the list
// for its columns. It reads what several points add before it adds any, and
// keeps a sum in registers as long as points have the same place: where most
// points are in one row, they would wait for each other otherwise.
//
//===----------------------------------------------------------------------===//

#include "ScatterPoints.h"
#include "WarpOps.h"

#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

/// Blocks that keep a device busy. Each looks at all points, so not more.
static constexpr int64_t wantedBlocks = 1024;
static constexpr int64_t minThreads = 128, maxThreads = 256;
/// Points that a thread looks at in each chunk.
static constexpr int64_t pointsPerThread = 4;
/// Listed points whose values a thread reads before it adds them.
static constexpr int64_t maxRounds = 8;

/// Whether the coordinates that are no index of the points are the same for all
/// points along the loops that threads own.
static bool haveCommonPlaces(const ScatterPlan &plan) {
  ScatterOp op = plan.op;
  DenseSet<Value> coordinates = findCoordinates(op, [&](unsigned dim) {
    return !llvm::is_contained(plan.ownedDims, static_cast<int>(dim));
  });
  for (unsigned loop : plan.owned)
    if (coordinates.contains(op.getPointArguments()[loop]))
      return false;
  for (auto [input, element] : llvm::zip(plan.inputs, op.getElementArguments()))
    if (coordinates.contains(element) &&
        (input.nonlinear ||
         llvm::any_of(plan.owned, [&input = input](unsigned loop) {
           return input.coefficients[loop] != 0;
         })))
      return false;
  return true;
}

static int64_t countPoints(const ScatterPlan &plan) {
  int64_t points = 1;
  for (unsigned loop : plan.ordered)
    points = multiplyCounts(points, ScatterOp(plan.op).getSizes()[loop]);
  return points;
}

std::optional<ScatterLists> remat::cuda::planLists(ScatterPlan &plan) {
  if (plan.rangeDim < 0 || !haveCommonPlaces(plan))
    return std::nullopt;
  ScatterLists list;
  int64_t size = plan.result.shape[plan.rangeDim];
  int64_t columns = plan.threads;
  // As many columns as a block has threads, and fewer where there are few rows.
  list.parts =
      std::max(llvm::divideCeil(columns, maxThreads),
               std::min<uint64_t>(llvm::divideCeil(columns, warpSize),
                                  wantedBlocks / std::min(size, wantedBlocks)));
  list.columns = llvm::divideCeil(columns, list.parts);
  list.parts = llvm::divideCeil(columns, list.columns);
  plan.rangeSize =
      llvm::divideCeil(size, std::max<int64_t>(wantedBlocks / list.parts, 1));
  plan.ranges = llvm::divideCeil(size, plan.rangeSize);
  list.slots =
      std::clamp<int64_t>(maxThreads / list.columns, 1, plan.rangeSize);
  list.threads = std::max<int64_t>(
      llvm::alignTo(list.columns * list.slots, uint64_t(warpSize)), minThreads);
  return list;
}

namespace {

class ListedScatter {
public:
  ListedScatter(const ScatterPlan &plan, LaunchBuilder &launch)
      : plan(plan), list(*plan.list), op(plan.op), launch(launch),
        builder(launch.builder), loc(op.getLoc()) {}
  LogicalResult run();

private:
  Value index(int64_t value) { return emitIndex(builder, loc, value); }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(word, value));
  }
  Value toWord(Value value) {
    return arith::IndexCastUIOp::create(builder, loc, word, value);
  }
  Value toIndex(Value value) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        value);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b, nsw);
  }

  void allocate();
  SmallVector<Value> getIndices(Value point, Value column);
  Value emitIsInRange(Value place);
  LogicalResult listPoints(Value chunk);
  std::pair<Value, Value> countBefore(Value count);
  LogicalResult addListed();
  LogicalResult addRound(Value first, SmallVectorImpl<Value> &state);
  void storeState(ValueRange state);

  const ScatterPlan &plan;
  const ScatterLists &list;
  ScatterOp op;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  /// The type of what is listed, and the dimensions whose coordinates are.
  Type word;
  SmallVector<unsigned> dims;
  /// In shared memory: the points, their coordinates, and counts of warps.
  Value listed, counts;
  SmallVector<Value> places;
  Value rangeBegin, part;
  /// How many points are listed.
  Value total;
};

} // namespace

void ListedScatter::allocate() {
  int64_t largest = countPoints(plan);
  for (auto [dim, size] : llvm::enumerate(plan.result.shape))
    if (!llvm::is_contained(plan.ownedDims, static_cast<int>(dim))) {
      dims.push_back(dim);
      largest = std::max(largest, size);
    }
  word = builder.getIntegerType(
      largest <= std::numeric_limits<int32_t>::max() ? 32 : 64);
  int64_t chunk = launch.threads * pointsPerThread;
  listed = launch.addShared(chunk, word);
  for (size_t i = 0; i < dims.size(); ++i)
    places.push_back(launch.addShared(chunk, word));
  counts = launch.addShared(launch.threads / warpSize, word);
}

/// By loop, for a point of those in order and a column.
SmallVector<Value> ListedScatter::getIndices(Value point, Value column) {
  SmallVector<Value> indices(op.getNumLoops());
  auto split = [&](Value number, ArrayRef<unsigned> loops) {
    SmallVector<int64_t> sizes;
    for (unsigned loop : loops)
      sizes.push_back(
          op.getSizes()[loop] /
          (static_cast<int>(loop) == plan.vectorLoop ? plan.width : 1));
    for (auto [loop, value] :
         llvm::zip(loops, splitNumber(builder, loc, number, sizes)))
      indices[loop] = static_cast<int>(loop) == plan.vectorLoop
                          ? arith::MulIOp::create(builder, loc, value,
                                                  index(plan.width), nsw)
                                .getResult()
                          : value;
  };
  split(point, plan.ordered);
  split(column, plan.owned);
  return indices;
}

Value ListedScatter::emitIsInRange(Value place) {
  return compare(arith::CmpIPredicate::ult,
                 arith::SubIOp::create(builder, loc, place, rangeBegin),
                 index(plan.rangeSize));
}

/// What threads before this one count, and all threads.
std::pair<Value, Value> ListedScatter::countBefore(Value count) {
  Value size = index(warpSize);
  Value lane =
      toWord(arith::RemUIOp::create(builder, loc, launch.thread, size));
  Value warp = arith::DivUIOp::create(builder, loc, launch.thread, size);
  Value before = constant(0), sum = count;
  for (int64_t half = 1; half < warpSize; half *= 2) {
    Value other = emitShuffleXor(builder, loc, sum, half);
    Value isSecond = compare(
        arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, lane, constant(half)), constant(0));
    before = add(before, arith::SelectOp::create(builder, loc, isSecond, other,
                                                 constant(0)));
    sum = add(sum, other);
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    openIf(builder, loc, compare(arith::CmpIPredicate::eq, lane, constant(0)));
    memref::StoreOp::create(builder, loc, sum, counts, warp);
  }
  launch.emitBarrier(loc);
  Value all = constant(0);
  for (int64_t i = 0; i < launch.threads / warpSize; ++i) {
    Value isBefore = compare(arith::CmpIPredicate::ult, index(i), warp);
    Value mine = memref::LoadOp::create(builder, loc, counts, index(i));
    before = add(before, arith::SelectOp::create(builder, loc, isBefore, mine,
                                                 constant(0)));
    all = add(all, mine);
  }
  return {before, all};
}

/// Lists the points of the chunk that begins at `chunk`.
LogicalResult ListedScatter::listPoints(Value chunk) {
  Value last = index(countPoints(plan) - 1);
  Value first = add(chunk, arith::MulIOp::create(builder, loc, launch.thread,
                                                 index(pointsPerThread), nsw));
  SmallVector<Value> numbers, isIn;
  SmallVector<SmallVector<Value>> coordinates;
  Value count = constant(0);
  for (int64_t i = 0; i < pointsPerThread; ++i) {
    Value number = add(first, index(i));
    Value isPoint = compare(arith::CmpIPredicate::ule, number, last);
    number = arith::MinUIOp::create(builder, loc, number, last);
    ScatterPoints points(plan, launch, getIndices(number, index(0)),
                         ScatterPoints::Coordinates);
    if (failed(points.emitCoordinates()))
      return failure();
    coordinates.push_back(points.getCoordinates());
    numbers.push_back(number);
    isIn.push_back(arith::AndIOp::create(
        builder, loc, isPoint,
        emitIsInRange(coordinates.back()[plan.rangeDim])));
    count = add(count, arith::ExtUIOp::create(builder, loc, word, isIn.back()));
  }
  auto [place, all] = countBefore(count);
  total = toIndex(all);
  for (int64_t i = 0; i < pointsPerThread; ++i) {
    {
      OpBuilder::InsertionGuard guard(builder);
      openIf(builder, loc, isIn[i]);
      Value there = toIndex(place);
      memref::StoreOp::create(builder, loc, toWord(numbers[i]), listed, there);
      for (auto [dim, buffer] : llvm::zip(dims, places))
        memref::StoreOp::create(builder, loc, toWord(coordinates[i][dim]),
                                buffer, there);
    }
    place = add(place, arith::ExtUIOp::create(builder, loc, word, isIn[i]));
  }
  return success();
}

/// Stores the sums of a state, if there are any: where they belong, or -1, and
/// one for each of the neighbours.
void ListedScatter::storeState(ValueRange state) {
  OpBuilder::InsertionGuard guard(builder);
  openIf(builder, loc,
         compare(arith::CmpIPredicate::ne, state.front(), index(-1)));
  storeResults(plan, launch, SmallVector<Value>(state.drop_front()),
               state.front());
}

/// Adds the listed points from `first` on, of a round, to the state.
LogicalResult ListedScatter::addRound(Value first,
                                      SmallVectorImpl<Value> &state) {
  Value columns = index(list.columns);
  Value column = arith::RemUIOp::create(builder, loc, launch.thread, columns);
  Value slot = arith::DivUIOp::create(builder, loc, launch.thread, columns);
  column = add(column, arith::MulIOp::create(builder, loc, part, columns, nsw));
  SmallVector<Value> addresses, isMine;
  SmallVector<SmallVector<Value>> values;
  for (int64_t i = 0; i < maxRounds; ++i) {
    Value number = add(first, index(i));
    Value mine = compare(arith::CmpIPredicate::ult, number, total);
    // Behind the end, the first point is read, and not added.
    number = arith::SelectOp::create(builder, loc, mine, number, first);
    SmallVector<Value> indices = getIndices(
        toIndex(memref::LoadOp::create(builder, loc, listed, number)), column);
    SmallVector<Value> place(plan.result.shape.size());
    for (auto [loop, dim] : llvm::enumerate(plan.ownedDims))
      if (dim >= 0)
        place[dim] = indices[loop];
    for (auto [dim, buffer] : llvm::zip(dims, places))
      place[dim] =
          toIndex(memref::LoadOp::create(builder, loc, buffer, number));
    if (list.slots != 1) {
      Value row =
          arith::SubIOp::create(builder, loc, place[plan.rangeDim], rangeBegin);
      row = arith::RemUIOp::create(builder, loc, row, index(list.slots));
      mine = arith::AndIOp::create(
          builder, loc, mine, compare(arith::CmpIPredicate::eq, row, slot));
    }
    isMine.push_back(mine);
    addresses.push_back(emitLinear(builder, loc, plan.result.offset,
                                   plan.result.strides, place));
    ScatterPoints points(plan, launch, indices, ScatterPoints::Values);
    if (failed(points.emitValues()))
      return failure();
    values.push_back(points.getValues());
  }
  SmallVector<Type> types;
  for (Value value : state)
    types.push_back(value.getType());
  for (int64_t i = 0; i < maxRounds; ++i) {
    OpBuilder::InsertionGuard guard(builder);
    auto ifMine = scf::IfOp::create(builder, loc, types, isMine[i],
                                    /*withElseRegion=*/true);
    builder.setInsertionPointToStart(ifMine.elseBlock());
    scf::YieldOp::create(builder, loc, state);
    builder.setInsertionPointToStart(ifMine.thenBlock());
    auto ifNew = scf::IfOp::create(
        builder, loc, types,
        compare(arith::CmpIPredicate::ne, addresses[i], state.front()),
        /*withElseRegion=*/true);
    builder.setInsertionPointToStart(ifNew.elseBlock());
    scf::YieldOp::create(builder, loc, state);
    builder.setInsertionPointToStart(ifNew.thenBlock());
    storeState(state);
    SmallVector<Value> there = {addresses[i]};
    llvm::append_range(there, loadResults(plan, launch, addresses[i]));
    scf::YieldOp::create(builder, loc, there);
    builder.setInsertionPointAfter(ifNew);
    SmallVector<Value> sums(ifNew.getResults());
    for (auto [sum, value] :
         llvm::zip(MutableArrayRef(sums).drop_front(), values[i]))
      sum = emitScatterSum(builder, loc, sum, value);
    scf::YieldOp::create(builder, loc, sums);
    state.assign(ifMine.getResults().begin(), ifMine.getResults().end());
  }
  return success();
}

/// Adds all listed points.
LogicalResult ListedScatter::addListed() {
  OpBuilder::InsertionGuard guard(builder);
  // Threads that are too many, and columns of the last part.
  Value isActive = compare(arith::CmpIPredicate::ult, launch.thread,
                           index(list.columns * list.slots));
  if (plan.threads % list.columns != 0) {
    Value columns = index(list.columns);
    Value column = arith::RemUIOp::create(builder, loc, launch.thread, columns);
    column =
        add(column, arith::MulIOp::create(builder, loc, part, columns, nsw));
    isActive = arith::AndIOp::create(
        builder, loc, isActive,
        compare(arith::CmpIPredicate::ult, column, index(plan.threads)));
  }
  openIf(builder, loc, isActive);
  Type type = cast<MemRefType>(op.getInit().getType()).getElementType();
  SmallVector<Value> state = {index(-1)};
  state.append(plan.width, emitZero(builder, loc, type));
  auto loop = scf::ForOp::create(builder, loc, index(0), total,
                                 index(maxRounds), state);
  {
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(loop.getBody());
    state.assign(loop.getRegionIterArgs().begin(),
                 loop.getRegionIterArgs().end());
    if (failed(addRound(loop.getInductionVar(), state)))
      return failure();
    scf::YieldOp::create(builder, loc, state);
  }
  storeState(loop.getResults());
  return success();
}

LogicalResult ListedScatter::run() {
  OpBuilder::InsertionGuard guard(builder);
  allocate();
  Value parts = index(list.parts);
  Value range = arith::DivUIOp::create(builder, loc, launch.block, parts);
  part = arith::RemUIOp::create(builder, loc, launch.block, parts);
  rangeBegin =
      arith::MulIOp::create(builder, loc, range, index(plan.rangeSize), nsw);
  Value chunk = openLoop(builder, loc, index(0), index(countPoints(plan)),
                         launch.threads * pointsPerThread);
  // What is still read of the last chunk's list.
  launch.emitBarrier(loc);
  if (failed(listPoints(chunk)))
    return failure();
  launch.emitBarrier(loc);
  return addListed();
}

LogicalResult remat::cuda::emitListedScatter(const ScatterPlan &plan,
                                             LaunchBuilder &launch) {
  return ListedScatter(plan, launch).run();
}
