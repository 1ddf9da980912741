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
#include "VectorAccess.h"
#include "WarpOps.h"

#include "remat/Utils/Saturating.h"
#include "remat/Utils/ScatterRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Blocks that keep a device busy. Each looks at all points, so not more.
static constexpr int64_t listWantedBlocks = 1024;
static constexpr int64_t listMinThreads = 128, listMaxThreads = 256;
/// Points that a thread looks at in each chunk.
static constexpr int64_t pointsPerThread = 4;
/// Listed points whose values a thread reads before it adds them, and how many
/// values these are at most where sums are wider than the result.
static constexpr int64_t listMaxRounds = 8, listMaxSums = 32;

/// Divides the loops that threads own by whether coordinates that are no index
/// of the points depend on them.
static void divideLoops(const ScatterPlan &plan, ScatterLists &list) {
  ScatterOp op = plan.op;
  DenseSet<Value> coordinates = findCoordinates(op, [&](unsigned dim) {
    return !llvm::is_contained(plan.ownedDims, static_cast<int>(dim));
  });
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned loop : plan.owned) {
    bool isBatched = coordinates.contains(op.getPointArguments()[loop]);
    for (auto [element, map] : llvm::zip(op.getElementArguments(), maps))
      isBatched |= coordinates.contains(element) && map.isFunctionOfDim(loop);
    (isBatched ? list.batched : list.owned).push_back(loop);
    if (isBatched)
      list.batches = multiplyCounts(list.batches, op.getSizes()[loop]);
  }
  list.allColumns = plan.threads / list.batches;
}

static int64_t countPoints(const ScatterPlan &plan) {
  int64_t points = 1;
  for (unsigned loop : plan.ordered)
    points = multiplyCounts(points, ScatterOp(plan.op).getSizes()[loop]);
  return points;
}

std::optional<ScatterLists> remat::cuda::planLists(ScatterPlan &plan) {
  if (plan.rangeDim < 0)
    return std::nullopt;
  ScatterLists list;
  divideLoops(plan, list);
  int64_t size = plan.result.shape[plan.rangeDim];
  int64_t columns = list.allColumns;
  // Threads without columns would list what others add.
  if (!plan.sums && list.batches != 1 && columns < warpSize)
    return std::nullopt;
  // As many columns as a block has threads, and fewer where there are few rows.
  list.parts = std::max(
      llvm::divideCeil(columns, listMaxThreads),
      std::min<uint64_t>(llvm::divideCeil(columns, warpSize),
                         listWantedBlocks / std::min(size, listWantedBlocks)));
  list.columns = llvm::divideCeil(columns, list.parts);
  list.parts = llvm::divideCeil(columns, list.columns);
  plan.rangeSize = llvm::divideCeil(
      size,
      std::max<int64_t>(
          listWantedBlocks / multiplyCounts(list.parts, list.batches), 1));
  if (plan.sums)
    plan.rangeSize = std::clamp<int64_t>(countBlockSums(plan.op) /
                                             (list.columns * plan.width),
                                         1, plan.rangeSize);
  plan.ranges = llvm::divideCeil(size, plan.rangeSize);
  list.slots =
      std::clamp<int64_t>(listMaxThreads / list.columns, 1, plan.rangeSize);
  list.threads = std::max<int64_t>(
      llvm::alignTo(list.columns * list.slots, uint64_t(warpSize)),
      listMinThreads);
  return list;
}

namespace {

class ListedScatter {
public:
  ListedScatter(const ScatterPlan &plan, LaunchBuilder &launch)
      : plan(plan), list(*plan.list), op(plan.op), launch(launch),
        builder(launch.builder), loc(op.getLoc()),
        rounds(plan.sums ? std::clamp<int64_t>(listMaxSums / plan.width, 1,
                                               listMaxRounds)
                         : listMaxRounds) {}
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
  void openColumn();
  Value getSumPlace(Value row, int64_t first);
  SmallVector<Value> loadState(Value address);
  void storeStateAt(ArrayRef<Value> values, Value address);
  void forRows(llvm::function_ref<void(Value row)> emitRow);
  void startSums();
  void roundSums();
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
  /// The indices of the batched loops, by loop.
  SmallVector<std::pair<unsigned, Value>> batch;
  /// The thread's column among those of the block and among all, and which rows
  /// of the range are its own.
  Value ownColumn, column, slot;
  /// In shared memory, or null.
  Value sums;
  /// How many points are listed.
  Value total;
  /// Points whose values are read before they are added.
  int64_t rounds;
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
  if (plan.sums)
    sums =
        launch.addShared(plan.rangeSize * list.columns * plan.width, plan.sums);
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
  split(column, list.owned);
  for (auto [loop, value] : batch)
    indices[loop] = value;
  return indices;
}

/// What follows is done by threads that have a column.
void ListedScatter::openColumn() {
  Value columns = index(list.columns);
  // Threads that are too many, and columns of the last part.
  Value isActive = compare(arith::CmpIPredicate::ult, launch.thread,
                           index(list.columns * list.slots));
  ownColumn = arith::RemUIOp::create(builder, loc, launch.thread, columns);
  slot = arith::DivUIOp::create(builder, loc, launch.thread, columns);
  column =
      add(ownColumn, arith::MulIOp::create(builder, loc, part, columns, nsw));
  if (list.allColumns % list.columns != 0)
    isActive = arith::AndIOp::create(
        builder, loc, isActive,
        compare(arith::CmpIPredicate::ult, column, index(list.allColumns)));
  openIf(builder, loc, isActive);
}

/// Neighbouring sums that are read and written at once.
static int64_t getSumWidth(const ScatterPlan &plan) {
  return std::clamp<int64_t>(vectorBytes / getElementBytes(plan.sums), 1,
                             plan.width);
}

/// Where the sums of the thread's column from `first` on are for this row of
/// the range. Those that neighbouring threads read at once are next to each
/// other.
Value ListedScatter::getSumPlace(Value row, int64_t first) {
  int64_t width = getSumWidth(plan);
  return emitLinear(builder, loc, first * list.columns,
                    {list.columns * plan.width, width}, {row, ownColumn});
}

/// What the thread has at an address: of the result, or the row of sums in the
/// range.
SmallVector<Value> ListedScatter::loadState(Value address) {
  if (!sums)
    return loadResults(plan, launch, address);
  SmallVector<Value> values;
  int64_t width = getSumWidth(plan);
  for (int64_t first = 0; first < plan.width; first += width)
    llvm::append_range(values, loadVector(builder, loc, width, plan.sums, sums,
                                          getSumPlace(address, first)));
  return values;
}

void ListedScatter::storeStateAt(ArrayRef<Value> values, Value address) {
  if (!sums)
    return storeResults(plan, launch, values, address);
  int64_t width = getSumWidth(plan);
  for (int64_t first = 0; first < plan.width; first += width)
    storeVector(builder, loc, values.slice(first, width), sums,
                getSumPlace(address, first));
}

/// For all rows of the range that are the thread's own.
void ListedScatter::forRows(llvm::function_ref<void(Value row)> emitRow) {
  OpBuilder::InsertionGuard guard(builder);
  openColumn();
  auto loop = scf::ForOp::create(builder, loc, slot, index(plan.rangeSize),
                                 index(list.slots));
  builder.setInsertionPointToStart(loop.getBody());
  emitRow(loop.getInductionVar());
}

void ListedScatter::startSums() {
  forRows([&](Value row) {
    Value value = arith::ConstantOp::create(builder, loc, plan.init);
    value = arith::ExtFOp::create(builder, loc, plan.sums, value);
    storeStateAt(SmallVector<Value>(plan.width, value), row);
  });
}

/// Writes the rows of the range, each of which only this block has.
void ListedScatter::roundSums() {
  forRows([&](Value row) {
    SmallVector<Value> indices = getIndices(index(0), column);
    SmallVector<Value> place(plan.result.shape.size());
    for (auto [loop, dim] : llvm::enumerate(plan.ownedDims))
      if (dim >= 0)
        place[dim] = indices[loop];
    Value there = place[plan.rangeDim] = add(rangeBegin, row);
    openIf(builder, loc,
           compare(arith::CmpIPredicate::ult, there,
                   index(plan.result.shape[plan.rangeDim])));
    Type type = cast<MemRefType>(op.getInit().getType()).getElementType();
    SmallVector<Value> rounded;
    for (Value value : loadState(row))
      rounded.push_back(arith::TruncFOp::create(builder, loc, type, value));
    storeResults(plan, launch, rounded,
                 emitLinear(builder, loc, plan.result.offset,
                            plan.result.strides, place));
  });
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
  storeStateAt(SmallVector<Value>(state.drop_front()), state.front());
}

/// Adds the listed points from `first` on, of a round, to the state.
LogicalResult ListedScatter::addRound(Value first,
                                      SmallVectorImpl<Value> &state) {
  SmallVector<Value> addresses, isMine;
  SmallVector<SmallVector<Value>> values;
  for (int64_t i = 0; i < rounds; ++i) {
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
    Value row =
        arith::SubIOp::create(builder, loc, place[plan.rangeDim], rangeBegin);
    if (list.slots != 1) {
      Value owner =
          arith::RemUIOp::create(builder, loc, row, index(list.slots));
      mine = arith::AndIOp::create(
          builder, loc, mine, compare(arith::CmpIPredicate::eq, owner, slot));
    }
    isMine.push_back(mine);
    addresses.push_back(sums ? row
                             : emitLinear(builder, loc, plan.result.offset,
                                          plan.result.strides, place));
    ScatterPoints points(plan, launch, indices, ScatterPoints::Values);
    if (failed(points.emitValues()))
      return failure();
    values.push_back(points.getValues());
  }
  SmallVector<Type> types;
  for (Value value : state)
    types.push_back(value.getType());
  for (int64_t i = 0; i < rounds; ++i) {
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
    llvm::append_range(there, loadState(addresses[i]));
    scf::YieldOp::create(builder, loc, there);
    builder.setInsertionPointAfter(ifNew);
    SmallVector<Value> sums(ifNew.getResults());
    for (auto [sum, value] :
         llvm::zip(MutableArrayRef(sums).drop_front(), values[i]))
      sum = op.combine(builder, sum, value);
    scf::YieldOp::create(builder, loc, sums);
    state.assign(ifMine.getResults().begin(), ifMine.getResults().end());
  }
  return success();
}

/// Adds all listed points.
LogicalResult ListedScatter::addListed() {
  OpBuilder::InsertionGuard guard(builder);
  openColumn();
  Type type = plan.sums;
  if (!type)
    type = cast<MemRefType>(op.getInit().getType()).getElementType();
  SmallVector<Value> state = {index(-1)};
  state.append(plan.width, emitZero(builder, loc, type));
  auto loop =
      scf::ForOp::create(builder, loc, index(0), total, index(rounds), state);
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
  if (list.batches != 1) {
    Value ranges = index(plan.ranges);
    Value number = arith::DivUIOp::create(builder, loc, range, ranges);
    range = arith::RemUIOp::create(builder, loc, range, ranges);
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        list.batched, [&](unsigned loop) { return op.getSizes()[loop]; });
    for (auto [loop, value] :
         llvm::zip(list.batched, splitNumber(builder, loc, number, sizes)))
      batch.emplace_back(loop, value);
  }
  rangeBegin =
      arith::MulIOp::create(builder, loc, range, index(plan.rangeSize), nsw);
  if (sums)
    startSums();
  {
    OpBuilder::InsertionGuard inside(builder);
    Value chunk = openLoop(builder, loc, index(0), index(countPoints(plan)),
                           launch.threads * pointsPerThread);
    // What is still read of the last chunk's list.
    launch.emitBarrier(loc);
    if (failed(listPoints(chunk)))
      return failure();
    launch.emitBarrier(loc);
    if (failed(addListed()))
      return failure();
  }
  if (sums)
    roundSums();
  return success();
}

LogicalResult remat::cuda::emitListedScatter(const ScatterPlan &plan,
                                             LaunchBuilder &launch) {
  return ListedScatter(plan, launch).run();
}
