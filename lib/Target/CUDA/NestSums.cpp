//===- NestSums.cpp - reductions by the threads of a GPU ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "VectorAccess.h"
#include "WarpOps.h"

#include "remat/Utils/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// What blocks left that code is repeated for, rather than put into a loop.
static constexpr int64_t maxRepeatedPartials = 16;

Value NestEmitter::emitInit(const Accumulator &accumulator,
                            const Point &point) {
  const Access &access = nest.outputs[accumulator.output];
  auto load = [&] {
    return launch.context.load(builder, loc, access.root, access.elementType,
                               emitAddress(access, point));
  };
  Value init;
  if (TypedAttr constant = nest.inits[accumulator.output])
    init = arith::ConstantOp::create(builder, loc, constant);
  else if (access.isRead)
    init = load();
  else
    init = emitZero(builder, loc, access.elementType);
  if (isFirst)
    init = arith::SelectOp::create(builder, loc, isFirst, init, load());
  return convertFloat(builder, loc, init, accumulator.type);
}

/// The steps of a sum. Where the slowest of its loops has bounds of its own,
/// these may hold fewer than it can have.
Value NestEmitter::emitSteps() {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  if (reductions.empty() || !nest.loops[reductions.front()].end)
    return index(plan.steps());
  const Loop &slowest = nest.loops[reductions.front()];
  Value count = slowest.end;
  if (slowest.begin)
    count = arith::SubIOp::create(builder, loc, count, slowest.begin, nsw);
  return arith::MulIOp::create(builder, loc, count,
                               index(plan.steps() / slowest.size), nsw);
}

/// What changes nothing when it is combined.
Value NestEmitter::emitNeutral(const Accumulator &accumulator) {
  TypedAttr neutral = *getNeutralElement(accumulator.combiner);
  Value value = arith::ConstantOp::create(builder, loc, neutral);
  return convertFloat(builder, loc, value, accumulator.type);
}

/// What a thread adds to: what results start from, in the first lane of the
/// only block of a result, and else what changes nothing.
SmallVector<Value> NestEmitter::emitBegin(Value isFirstLane) {
  if (squares)
    return emitNoMoments();
  SmallVector<Value> sums;
  for (const Accumulator &accumulator : accumulators)
    for (int64_t number = 0; number < plan.resultWidth(); ++number) {
      if (plan.splits != 1) {
        sums.push_back(emitNeutral(accumulator));
        continue;
      }
      Value init = emitInit(accumulator, points[number]);
      sums.push_back(plan.lanes == 1 ? init
                                     : arith::SelectOp::create(
                                           builder, loc, isFirstLane, init,
                                           emitNeutral(accumulator)));
    }
  return sums;
}

/// Stores what the accumulators have, each for all results of the thread.
void NestEmitter::emitFinals(ArrayRef<Value> sums) {
  if (squares)
    return emitMoments(sums);
  for (const Accumulator &accumulator : accumulators) {
    const Access &access = nest.outputs[accumulator.output];
    SmallVector<Value> values;
    for (Value sum : sums.take_front(plan.resultWidth()))
      values.push_back(convertFloat(builder, loc, sum, access.elementType));
    sums = sums.drop_front(plan.resultWidth());
    emitStore(access, values);
  }
}

/// The sums of this thread's terms from `begin` on, every `lanes`-th: those
/// before `end`, or `trips` times as many as it takes together, `rounds`.
LogicalResult NestEmitter::emitTerms(Value begin, Value end, Value trips,
                                     int64_t rounds,
                                     SmallVectorImpl<Value> &sums) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  Value step = index(rounds * plan.lanes);
  auto loop =
      end ? scf::ForOp::create(builder, loc, begin, end, step, sums)
          : scf::ForOp::create(builder, loc, index(0), trips, index(1), sums);
  builder.setInsertionPointToStart(loop.getBody());
  vectors.clear();
  numActive = getWidth() * rounds;
  Value first = loop.getInductionVar();
  if (!end)
    first = arith::AddIOp::create(
        builder, loc, begin,
        arith::MulIOp::create(builder, loc, first, step, nsw), nsw);
  splitIndex(first, reductions, points.front().indices);
  for (int64_t round = 1; round < rounds; ++round) {
    SmallVector<Value> &indices = points[round * plan.width].indices;
    indices = points.front().indices;
    splitIndex(arith::AddIOp::create(builder, loc, first,
                                     index(round * plan.lanes), nsw),
               reductions, indices);
  }
  ValueRange old = loop.getRegionIterArgs();
  for (auto [number, accumulator] : llvm::enumerate(accumulators))
    accumulator.value = old[number * plan.resultWidth()];
  if (failed(emitPoints(2)))
    return failure();
  SmallVector<Value> updated;
  if (squares) {
    updated.assign(old.begin(), old.end());
    addPoints(updated);
    scf::YieldOp::create(builder, loc, updated);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
    return success();
  }
  for (const Accumulator &accumulator : accumulators) {
    auto combine = [&](Value value, Point &point) {
      return emitCombination(builder, nest, accumulator, value,
                             emitTerm(builder, nest, point.body, accumulator));
    };
    if (plan.vectorIsResults) {
      for (int64_t lane = 0; lane < plan.width; ++lane) {
        Value value = old[updated.size()];
        for (int64_t round = 0; round < rounds; ++round)
          value = combine(value, points[round * plan.width + lane]);
        updated.push_back(value);
      }
      continue;
    }
    Value value = accumulator.value;
    for (int64_t number = 0; number < numActive; ++number)
      value =
          accumulator.combiner
              ? combine(value, points[number])
              : points[number].body.lookup(
                    nest.body->getTerminator()->getOperand(accumulator.output));
    updated.push_back(value);
  }
  emitStores();
  if (!updated.empty())
    scf::YieldOp::create(builder, loc, updated);
  sums.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

//===----------------------------------------------------------------------===//
// What threads have, added up
//===----------------------------------------------------------------------===//

/// Whether all threads have the same number, which is known. None has to say so
/// to others.
static bool isConstant(Value value) {
  return value.getDefiningOp<arith::ConstantOp>() != nullptr;
}

void NestEmitter::storeScratch(Value scratch, Value value, Value place) {
  if (Type storage = getStorageType(value.getType());
      storage != value.getType())
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  memref::StoreOp::create(builder, loc, value, scratch, place);
}

Value NestEmitter::loadScratch(Value scratch, Type type, Value place) {
  Value value = memref::LoadOp::create(builder, loc, scratch, place);
  if (value.getType() != type)
    value = arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

/// Shared memory for what each thread has, where that is not known.
NestEmitter::Scratch NestEmitter::getScratch(ArrayRef<Value> sums) {
  Scratch scratch(sums.size());
  for (auto [number, sum] : llvm::enumerate(sums))
    if (!isConstant(sum))
      scratch[number] = launch.getReductionScratch(number, sum.getType());
  return scratch;
}

/// Leaves what the thread has at `place`.
void NestEmitter::storeTerms(ArrayRef<Value> scratch, ArrayRef<Value> sums,
                             Value place) {
  for (auto [sum, to] : llvm::zip(sums, scratch))
    if (to)
      storeScratch(to, sum, place);
}

/// What the thread at `place` has left, as this one has `mine`.
SmallVector<Value> NestEmitter::loadTerms(ArrayRef<Value> scratch,
                                          ArrayRef<Value> mine, Value place) {
  SmallVector<Value> terms;
  for (auto [sum, from] : llvm::zip(mine, scratch))
    terms.push_back(from ? loadScratch(from, sum.getType(), place) : sum);
  return terms;
}

/// `sums` and `terms` combined, one by one, or as moments.
void NestEmitter::combine(MutableArrayRef<Value> sums, ArrayRef<Value> terms) {
  if (squares)
    return combineMoments(sums, terms);
  for (auto [number, sum] : llvm::enumerate(sums))
    sum = emitCombination(builder, nest,
                          accumulators[number / plan.resultWidth()], sum,
                          terms[number]);
}

/// Adds up what `lanes` neighbouring threads have: in a tree within each warp,
/// then warp after warp. All threads have the totals.
void NestEmitter::emitWarpTree(MutableArrayRef<Value> sums) {
  for (int64_t half = std::min<int64_t>(plan.lanes, warpSize) / 2; half > 0;
       half /= 2) {
    SmallVector<Value> others;
    for (Value sum : sums)
      others.push_back(
          isConstant(sum) ? sum : emitShuffleXor(builder, loc, sum, half));
    combine(sums, others);
  }
  if (plan.lanes <= warpSize)
    return;
  Scratch scratch = getScratch(sums);
  Value size = emitIndex(builder, loc, warpSize);
  Value warp = arith::DivUIOp::create(builder, loc, launch.thread, size);
  {
    OpBuilder::InsertionGuard guard(builder);
    Value lane = arith::RemUIOp::create(builder, loc, launch.thread, size);
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                                 emitIndex(builder, loc, 0)));
    storeTerms(scratch, sums, warp);
  }
  launch.emitBarrier(loc);
  int64_t warps = plan.lanes / warpSize;
  // The first of the warps that share the result.
  Value first = arith::MulIOp::create(
      builder, loc,
      arith::DivUIOp::create(builder, loc, launch.thread,
                             emitIndex(builder, loc, plan.lanes)),
      emitIndex(builder, loc, warps), nsw);
  const SmallVector<Value> mine = llvm::to_vector(sums);
  for (int64_t i = 0; i < warps; ++i) {
    Value place = arith::AddIOp::create(builder, loc, first,
                                        emitIndex(builder, loc, i), nsw);
    SmallVector<Value> terms = loadTerms(scratch, mine, place);
    if (i == 0)
      llvm::copy(terms, sums.begin());
    else
      combine(sums, terms);
  }
}

/// Adds up what `lanes` threads have that are `stride` threads apart. The first
/// of them has the totals.
void NestEmitter::emitBlockTree(SmallVectorImpl<Value> &sums, Value lane,
                                int64_t stride) {
  Scratch scratch = getScratch(sums);
  storeTerms(scratch, sums, launch.thread);
  launch.emitBarrier(loc);
  OpBuilder::InsertionGuard guard(builder);
  auto ifFirst = scf::IfOp::create(
      builder, loc, TypeRange(ValueRange(sums)),
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                            emitIndex(builder, loc, 0)),
      /*withElse=*/true);
  builder.setInsertionPointToStart(ifFirst.elseBlock());
  scf::YieldOp::create(builder, loc, sums);
  builder.setInsertionPointToStart(ifFirst.thenBlock());
  const SmallVector<Value> mine = llvm::to_vector(sums);
  for (int64_t i = 1; i < plan.lanes; ++i) {
    Value place = arith::AddIOp::create(
        builder, loc, launch.thread, emitIndex(builder, loc, i * stride), nsw);
    combine(sums, loadTerms(scratch, mine, place));
  }
  scf::YieldOp::create(builder, loc, sums);
  llvm::copy(ifFirst.getResults(), sums.begin());
}

void NestEmitter::emitTree(SmallVectorImpl<Value> &sums, Value lane,
                           int64_t stride) {
  // What others still read from the last tree.
  if (!plan.lanesAreNeighbours || plan.lanes > warpSize)
    launch.emitBarrier(loc);
  if (!plan.lanesAreNeighbours)
    return emitBlockTree(sums, lane, stride);
  emitWarpTree(sums);
}

//===----------------------------------------------------------------------===//
// One block, or several that share results
//===----------------------------------------------------------------------===//

/// Lets a thread add up in f32 what is kept in f64 as a whole, if its own terms
/// are few: to make f64 of each takes longer than to read it. Returns the types
/// that the accumulators had.
SmallVector<Type> NestEmitter::narrowSums() {
  SmallVector<Type> types;
  int64_t mine = llvm::divideCeil(plan.steps(), plan.lanes * plan.splits) *
                 plan.termWidth();
  // Of moments, the terms that are read together are one.
  if (squares)
    mine = llvm::divideCeil(mine, plan.rounds * plan.termWidth());
  for (Accumulator &accumulator : accumulators) {
    types.push_back(accumulator.type);
    Type element = nest.outputs[accumulator.output].elementType;
    if (accumulator.type.isF64() && !element.isF64() && mine < longSum)
      accumulator.type = builder.getF32Type();
  }
  return types;
}

/// Gives the accumulators these types, and what the thread has with them.
/// Squares and their count have the type of the sum.
void NestEmitter::widenSums(ArrayRef<Type> types,
                            SmallVectorImpl<Value> &sums) {
  for (auto [number, sum] : llvm::enumerate(sums))
    sum = convertFloat(builder, loc, sum,
                       squares ? types.front()
                               : types[number / plan.resultWidth()]);
  for (auto [accumulator, type] : llvm::zip(accumulators, types))
    accumulator.type = type;
}

/// The sums of the thread's terms, `begin` to `end`, several rounds together.
/// Where all threads have as many, their number is a constant, and LLVM can
/// unroll the loop.
LogicalResult NestEmitter::emitMine(Value begin, Value end, Value isValid,
                                    SmallVectorImpl<Value> &sums) {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  auto skip = [&](Value rounds) {
    Value steps =
        arith::MulIOp::create(builder, loc, rounds, index(plan.lanes), nsw);
    return arith::AddIOp::create(builder, loc, begin, steps, nsw);
  };
  if (std::optional<int64_t> trips = countTrips()) {
    int64_t rest = *trips % plan.rounds, whole = *trips - rest;
    if (whole != 0 &&
        failed(emitTerms(begin, Value(), index(whole / plan.rounds),
                         plan.rounds, sums)))
      return failure();
    return success(rest == 0 || succeeded(emitTerms(skip(index(whole)), Value(),
                                                    index(1), rest, sums)));
  }
  if (plan.rounds != 1) {
    Value count = arith::SubIOp::create(builder, loc, end, begin, nsw);
    count = arith::MaxSIOp::create(builder, loc, count, index(0));
    count = arith::SelectOp::create(builder, loc, isValid, count, index(0));
    Value whole = arith::DivUIOp::create(builder, loc, count,
                                         index(plan.lanes * plan.rounds));
    if (failed(emitTerms(begin, Value(), whole, plan.rounds, sums)))
      return failure();
    begin = skip(
        arith::MulIOp::create(builder, loc, whole, index(plan.rounds), nsw));
  }
  end = arith::SelectOp::create(builder, loc, isValid, end, index(0));
  return emitTerms(begin, end, Value(), /*rounds=*/1, sums);
}

/// How many groups of terms each thread has, if all have as many. Checks call a
/// function, so that nothing is gained.
std::optional<int64_t> NestEmitter::countTrips() const {
  int64_t slots = launch.threads / plan.lanes;
  bool isEven = plan.groups() % slots == 0 && !hasChecks(nest) &&
                plan.splitSteps() * plan.splits == plan.steps() &&
                llvm::none_of(nest.loops, [](const Loop &loop) {
                  return !loop.isOpen() && (loop.begin || loop.end);
                });
  if (!isEven)
    return std::nullopt;
  return plan.splitSteps() / plan.lanes;
}

LogicalResult NestEmitter::emitSum(Value group, Value split,
                                   ArrayRef<unsigned> partials) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  createPoints(plan.rounds);
  int64_t slots = launch.threads / plan.lanes;
  // Which of the results of the block is this thread's, and which of its lanes.
  Value slot = launch.thread, lane = index(0);
  if (plan.lanes != 1) {
    Value divisor = index(plan.lanesAreNeighbours ? plan.lanes : slots);
    Value first = arith::RemUIOp::create(builder, loc, launch.thread, divisor);
    Value second = arith::DivUIOp::create(builder, loc, launch.thread, divisor);
    lane = plan.lanesAreNeighbours ? first : second;
    slot = plan.lanesAreNeighbours ? second : first;
  }
  Value result = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, group, index(slots), nsw), slot, nsw);
  Value isValid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        result, index(plan.groups()));
  // Threads without a result come along to the barriers.
  Value place =
      arith::SelectOp::create(builder, loc, isValid, result, index(0));
  for (int64_t number = 0; number < numActive; ++number)
    definePoint(number);
  splitIndex(place, parallel, points.front().indices);
  if (Value inside = emitIsInside()) {
    isValid = arith::AndIOp::create(builder, loc, isValid, inside);
    // They read what the first one does.
    place = arith::SelectOp::create(builder, loc, isValid, result, index(0));
    splitIndex(place, parallel, points.front().indices);
  }
  if (plan.lanes == 1 && plan.splits == 1)
    openIf(builder, loc, isValid);
  // Points of later rounds have the same results.
  for (Point &point : points)
    point.indices = points.front().indices;
  if (failed(emitPoints(0)) || failed(emitPoints(1)))
    return failure();

  Value isFirstLane = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, lane, index(0));
  SmallVector<Type> types = narrowSums();
  SmallVector<Value> sums = emitBegin(isFirstLane);
  if (squares)
    addOrigins(sums);
  Value begin = lane, end = emitSteps();
  if (plan.splits != 1) {
    int64_t length = plan.splitSteps();
    Value first =
        arith::MulIOp::create(builder, loc, split, index(length), nsw);
    begin = arith::AddIOp::create(builder, loc, first, lane, nsw);
    end = arith::MinUIOp::create(
        builder, loc, end,
        arith::AddIOp::create(builder, loc, first, index(length), nsw));
  }
  if (failed(emitMine(begin, end, isValid, sums)))
    return failure();
  if (plan.tail != 0) {
    isTail = true;
    Value takesTail = isValid;
    // One of the blocks that share a result adds them.
    if (plan.splits != 1)
      takesTail = arith::AndIOp::create(
          builder, loc, isValid,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, split,
                                index(0)));
    Value count = arith::SelectOp::create(builder, loc, takesTail,
                                          index(plan.tail), index(0));
    if (failed(emitTerms(lane, count, Value(), /*rounds=*/1, sums)))
      return failure();
    isTail = false;
  }
  widenSums(types, sums);
  if (squares) {
    if (std::optional<int64_t> trips = countTrips(); trips && plan.tail == 0)
      setCount(sums, *trips * plan.termWidth());
    removeOrigins(sums);
  }
  if (plan.lanes != 1)
    emitTree(sums, lane, slots);
  if (isKnownToAll()) {
    known.resize(nest.outputs.size());
    for (auto [accumulator, sum] : llvm::zip(accumulators, sums))
      known[accumulator.output] = convertFloat(
          builder, loc, sum, nest.outputs[accumulator.output].elementType);
  }
  openIf(builder, loc,
         arith::AndIOp::create(builder, loc, isValid, isFirstLane));
  if (plan.splits == 1) {
    emitFinals(sums);
    return success();
  }
  Value row =
      arith::MulIOp::create(builder, loc, split, index(plan.results), nsw);
  Value firstPlace = arith::AddIOp::create(
      builder, loc, row,
      arith::MulIOp::create(builder, loc, result, index(plan.resultWidth()),
                            nsw),
      nsw);
  for (auto [number, partial] : llvm::enumerate(partials))
    storeVector(
        builder, loc,
        ArrayRef(sums).slice(number * plan.resultWidth(), plan.resultWidth()),
        launch.getScratch(partial), firstPlace);
  return success();
}

LogicalResult NestEmitter::emitPartials(ArrayRef<unsigned> partials) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  createPoints(/*rounds=*/1);
  int64_t slots = launch.threads / plan.lanes;
  Value slot =
      arith::RemUIOp::create(builder, loc, launch.thread, index(slots));
  Value lane =
      arith::DivUIOp::create(builder, loc, launch.thread, index(slots));
  Value result = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, launch.block, index(slots), nsw),
      slot, nsw);
  Value isValid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        result, index(plan.groups()));
  // Threads without a result come along to the barrier.
  result = arith::SelectOp::create(builder, loc, isValid, result, index(0));
  splitIndex(result, parallel, points.front().indices);
  for (int64_t number = 1; number < plan.width; ++number) {
    points[number].indices = points.front().indices;
    moveToLane(points[number], number);
  }
  result = arith::MulIOp::create(builder, loc, result, index(plan.width), nsw);
  Value isFirstLane = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, lane, index(0));
  SmallVector<Value> sums = emitBegin(isFirstLane);
  auto addRounds = [&](Value first, int64_t rounds,
                       MutableArrayRef<Value> updated) {
    for (int64_t round = 0; round < rounds; ++round) {
      Value split = arith::AddIOp::create(builder, loc, first,
                                          index(round * plan.lanes), nsw);
      Value place = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, split, index(plan.results), nsw),
          result, nsw);
      SmallVector<Value> terms;
      for (auto [number, partial] : llvm::enumerate(partials))
        llvm::append_range(
            terms, loadVector(builder, loc, plan.width,
                              sums[number * plan.resultWidth()].getType(),
                              launch.getScratch(partial), place));
      if (squares)
        terms.push_back(emitCount(terms.front().getType(), split));
      combine(updated, terms);
    }
  };
  auto addUp = [&](Value begin, Value trips, int64_t rounds) {
    auto loop =
        scf::ForOp::create(builder, loc, index(0), trips, index(1), sums);
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> updated(loop.getRegionIterArgs());
    Value first = arith::AddIOp::create(
        builder, loc, begin,
        arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                              index(rounds * plan.lanes), nsw),
        nsw);
    addRounds(first, rounds, updated);
    scf::YieldOp::create(builder, loc, updated);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  };
  // Whole rounds of all lanes, then what is left for some of them.
  int64_t trips = plan.terms / plan.lanes, rest = trips % plan.rounds;
  // Without a loop, counts are known.
  if (squares && trips - rest <= maxRepeatedPartials)
    addRounds(lane, trips - rest, sums);
  else
    addUp(lane, index(trips / plan.rounds), plan.rounds);
  auto begin = [&](int64_t done) {
    return arith::AddIOp::create(builder, loc, lane, index(done * plan.lanes),
                                 nsw);
  };
  if (rest != 0)
    addRounds(begin(trips - rest), rest, sums);
  if (int64_t more = plan.terms % plan.lanes; more != 0) {
    Value isMore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, lane, index(more));
    addUp(begin(trips),
          arith::SelectOp::create(builder, loc, isMore, index(1), index(0)), 1);
  } else if (std::optional<int64_t> each = countSplitTerms(); squares && each) {
    setCount(sums, trips * *each);
  }
  if (plan.lanes != 1)
    emitTree(sums, lane, slots);
  openIf(builder, loc,
         arith::AndIOp::create(builder, loc, isValid, isFirstLane));
  emitFinals(sums);
  return success();
}
