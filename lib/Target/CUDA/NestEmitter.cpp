//===- NestEmitter.cpp - elementwise ops and reductions on a GPU ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

NestEmitter::NestEmitter(LoopNest nest, const NestPlan &plan,
                         LaunchBuilder &launch)
    : nest(std::move(nest)), plan(plan), launch(launch),
      builder(launch.builder), loc(this->nest.op->getLoc()),
      accumulators(findAccumulators(this->nest)) {
  for (auto [number, loop] : llvm::enumerate(this->nest.loops))
    if (!loop.isOpen())
      (loop.isReduction ? reductions : parallel).push_back(number);
}

//===----------------------------------------------------------------------===//
// Addresses and elements
//===----------------------------------------------------------------------===//

/// The indices of `loops`, of which the last is the fastest, from one number.
/// The number counts groups of `width` along the vector loop.
void NestEmitter::splitIndex(Value number, ArrayRef<unsigned> loops,
                             SmallVectorImpl<Value> &indices) {
  Value rest = number;
  for (auto [place, loop] : llvm::reverse(llvm::enumerate(loops))) {
    bool isVector = static_cast<int>(loop) == plan.vectorLoop;
    int64_t size = nest.loops[loop].size / (isVector ? plan.width : 1);
    Value index = rest;
    if (place != 0) {
      Value divisor = emitIndex(builder, loc, size);
      index = arith::RemUIOp::create(builder, loc, rest, divisor);
      rest = arith::DivUIOp::create(builder, loc, rest, divisor);
    }
    if (isVector && plan.width != 1)
      index = arith::MulIOp::create(builder, loc, index,
                                    emitIndex(builder, loc, plan.width), nsw);
    if (Value begin = nest.loops[loop].begin)
      index = arith::AddIOp::create(builder, loc, begin, index, nsw);
    indices[loop] = index;
  }
}

/// Whether the indices are before the ends that loops have of their own; null
/// if none has.
Value NestEmitter::emitIsInside() {
  Value inside;
  for (auto [loop, index] : llvm::zip(nest.loops, points.front().indices)) {
    if (loop.isOpen() || !loop.end || loop.isReduction)
      continue;
    Value check = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        index, loop.end);
    inside =
        inside ? arith::AndIOp::create(builder, loc, inside, check) : check;
  }
  return inside;
}

Value NestEmitter::emitAddress(const Access &access, const Point &point) {
  Value address = emitLinear(builder, loc, access.offset, access.coefficients,
                             point.indices);
  if (access.base)
    address = arith::AddIOp::create(builder, loc, address, access.base, nsw);
  if (!access.nonlinear)
    return address;
  auto op = cast<linalg::GenericOp>(nest.op);
  SmallVector<Value> dims(op.getNumLoops(), emitIndex(builder, loc, 0));
  for (auto [loop, index] : llvm::zip(nest.loops, point.indices))
    if (loop.dims.size() == 1)
      dims[loop.dims[0]] = index;
  Value rest =
      affine::expandAffineExpr(builder, loc, access.nonlinear, dims, {});
  return arith::AddIOp::create(builder, loc, address, rest);
}

/// The element of one of the neighbouring points. `number` tells the operands
/// of the nest apart.
Value NestEmitter::emitElement(const Access &access, unsigned number,
                               Point &point, unsigned lane) {
  const KernelContext &context = launch.context;
  if (access.scalar)
    return context.scalars.lookupOrDefault(access.scalar);
  if (!isVector(access))
    return context.load(builder, loc, access.root, access.elementType,
                        emitAddress(access, point));
  Type storage = getStorageType(access.elementType);
  Value &vector = vectors[number];
  if (!vector)
    vector = vector::LoadOp::create(
        builder, loc, VectorType::get({plan.width}, storage),
        context.buffers.lookup(access.root),
        ValueRange(emitAddress(access, points.front())),
        /*nontemporal=*/false,
        llvm::MaybeAlign(plan.width * getElementBytes(storage)));
  Value element = vector::ExtractOp::create(builder, loc, vector, lane);
  if (storage != access.elementType)
    element =
        arith::TruncIOp::create(builder, loc, access.elementType, element);
  return element;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void NestEmitter::createPoints() {
  points.clear();
  vectors.clear();
  for (int64_t lane = 0; lane < plan.width; ++lane) {
    Point &point = points.emplace_back(*nest.body, launch.context);
    for (const Loop &loop : nest.loops)
      point.indices.push_back(loop.index);
  }
}

/// Depth 0: what no closed loop changes; 1: results are known; 2: terms.
void NestEmitter::definePoint(Point &point, unsigned lane) {
  auto getDepth = [&](const Access &access) {
    unsigned depth = access.nonlinear ? 2 : 0;
    for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
      if (coefficient != 0 && !loop.isOpen())
        depth = std::max(depth, loop.isReduction ? 2u : 1u);
    return depth;
  };
  for (auto [number, argument, access] :
       llvm::enumerate(nest.body->getArguments().take_front(nest.inputs.size()),
                       nest.inputs))
    point.body.defineArgument(
        argument, getDepth(access),
        [this, &access = access, number = number, &point, lane](OpBuilder &) {
          return emitElement(access, number, point, lane);
        });
  for (auto [number, argument] : llvm::enumerate(getOutputArguments(nest))) {
    const Access &access = nest.outputs[number];
    TypedAttr init = nest.sequential ? TypedAttr() : nest.inits[number];
    point.body.defineArgument(
        argument, 2,
        [this, &access, init, &point, lane,
         operand = nest.inputs.size() + number](OpBuilder &b) -> Value {
          if (init)
            return arith::ConstantOp::create(b, loc, init);
          return emitElement(access, operand, point, lane);
        });
  }
  for (const auto &[loop, info] : llvm::enumerate(nest.loops))
    if (info.dims.size() == 1)
      point.body.defineIndex(
          info.dims[0],
          info.isOpen()      ? 0
          : info.isReduction ? 2
                             : 1,
          [&point, loop = loop](OpBuilder &) { return point.indices[loop]; });
  for (Accumulator &accumulator : accumulators)
    if (!accumulator.combiner)
      point.body.defineArgument(
          getOutputArguments(nest)[accumulator.output], 2,
          [&accumulator](OpBuilder &) { return accumulator.value; });
  requireResults(point.body, nest, accumulators);
  point.body.prepare(2);
}

/// Emits what is known first at `depth`, for all points.
LogicalResult NestEmitter::emitPoints(unsigned depth) {
  // Neighbours differ in one index, once it is known.
  bool isTerm = plan.vectorLoop >= 0 && nest.loops[plan.vectorLoop].isReduction;
  if (depth == 1 || (depth == 2 && isTerm))
    for (int64_t lane = 1; lane < plan.width; ++lane) {
      points[lane].indices = points.front().indices;
      Value &index = points[lane].indices[plan.vectorLoop];
      if (depth == (isTerm ? 2 : 1))
        index = arith::AddIOp::create(builder, loc, index,
                                      emitIndex(builder, loc, lane), nsw);
    }
  for (Point &point : points)
    if (failed(point.body.emit(builder, depth)))
      return failure();
  return success();
}

/// Stores the outputs that are no accumulators.
void NestEmitter::emitStores() {
  const KernelContext &context = launch.context;
  for (auto [number, access] : llvm::enumerate(nest.outputs)) {
    if (llvm::is_contained(llvm::map_range(accumulators,
                                           [](const Accumulator &accumulator) {
                                             return accumulator.output;
                                           }),
                           number))
      continue;
    Value yielded = nest.body->getTerminator()->getOperand(number);
    SmallVector<Value> values;
    for (Point &point : points)
      values.push_back(point.body.lookup(yielded));
    if (!isVector(access)) {
      for (auto [point, value] : llvm::zip(points, values))
        context.store(builder, loc, value, access.root,
                      emitAddress(access, point));
      continue;
    }
    Type storage = getStorageType(access.elementType);
    for (Value &value : values)
      if (value.getType() != storage)
        value = arith::ExtUIOp::create(builder, loc, storage, value);
    Value vector = vector::FromElementsOp::create(
        builder, loc, VectorType::get({plan.width}, storage), values);
    vector::StoreOp::create(
        builder, loc, vector, context.buffers.lookup(access.root),
        ValueRange(emitAddress(access, points.front())), /*nontemporal=*/false,
        llvm::MaybeAlign(plan.width * getElementBytes(storage)));
  }
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

/// Outputs that start from a constant, where the op itself cannot set them.
void NestEmitter::emitFills(Value first, int64_t step) {
  auto op = cast<linalg::GenericOp>(nest.op);
  for (auto [number, init] : llvm::enumerate(nest.inits)) {
    if (!init)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    auto view = resolveView(op.getDpsInits()[number]);
    int64_t size = 1;
    for (int64_t extent : view->shape)
      size *= extent;
    if (size == 0)
      continue;
    Value rest =
        openLoop(builder, loc, first, emitIndex(builder, loc, size), step);
    SmallVector<Value> place(view->shape.size());
    for (unsigned dim = view->shape.size(); dim-- > 0;) {
      Value extent = emitIndex(builder, loc, view->shape[dim]);
      place[dim] = arith::RemUIOp::create(builder, loc, rest, extent);
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
    }
    Value value = arith::ConstantOp::create(builder, loc, init);
    launch.context.store(
        builder, loc, value, view->root,
        emitLinear(builder, loc, view->offset, view->strides, place));
  }
}

LogicalResult NestEmitter::emitSerial() {
  emitFills(emitIndex(builder, loc, 0), 1);
  createPoints();
  Point &point = points.front();
  definePoint(point, 0);
  if (failed(point.body.emit(builder, 0)))
    return failure();
  for (auto [loop, info] : llvm::enumerate(nest.loops))
    if (!info.isOpen())
      point.indices[loop] = openLoop(
          builder, loc, info.begin ? info.begin : emitIndex(builder, loc, 0),
          info.end ? info.end : emitIndex(builder, loc, info.size));
  if (failed(point.body.emit(builder, 1)) ||
      failed(point.body.emit(builder, 2)))
    return failure();
  emitStores();
  return success();
}

LogicalResult NestEmitter::emitPointwise(Value number) {
  createPoints();
  for (auto [lane, point] : llvm::enumerate(points))
    definePoint(point, lane);
  splitIndex(number, parallel, points.front().indices);
  if (Value inside = emitIsInside())
    openIf(builder, loc, inside);
  for (unsigned depth : {0, 1, 2})
    if (failed(emitPoints(depth)))
      return failure();
  emitStores();
  return success();
}

Value NestEmitter::emitInit(const Accumulator &accumulator) {
  const Access &access = nest.outputs[accumulator.output];
  Value init;
  if (TypedAttr constant = nest.inits[accumulator.output])
    init = arith::ConstantOp::create(builder, loc, constant);
  else if (access.isRead)
    init = launch.context.load(builder, loc, access.root, access.elementType,
                               emitAddress(access, points.front()));
  else
    init = emitZero(builder, loc, access.elementType);
  return convertFloat(builder, loc, init, accumulator.type);
}

/// What changes nothing when it is combined.
Value NestEmitter::emitNeutral(const Accumulator &accumulator) {
  TypedAttr neutral = *arith::getNeutralElement(accumulator.combiner);
  Value value = arith::ConstantOp::create(builder, loc, neutral);
  return convertFloat(builder, loc, value, accumulator.type);
}

void NestEmitter::emitFinal(const Accumulator &accumulator, Value value) {
  const Access &access = nest.outputs[accumulator.output];
  launch.context.store(builder, loc,
                       convertFloat(builder, loc, value, access.elementType),
                       access.root, emitAddress(access, points.front()));
}

/// The sums of this thread's terms, `begin` to `end` in steps of `lanes`.
LogicalResult NestEmitter::emitTerms(Value begin, Value end,
                                     SmallVectorImpl<Value> &sums) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, begin, end,
                                 emitIndex(builder, loc, plan.lanes), sums);
  builder.setInsertionPointToStart(loop.getBody());
  vectors.clear();
  splitIndex(loop.getInductionVar(), reductions, points.front().indices);
  for (auto [accumulator, value] :
       llvm::zip(accumulators, loop.getRegionIterArgs()))
    accumulator.value = value;
  if (failed(emitPoints(2)))
    return failure();
  SmallVector<Value> updated;
  for (const Accumulator &accumulator : accumulators) {
    Value value = accumulator.value;
    for (Point &point : points)
      value = accumulator.combiner
                  ? emitCombination(
                        builder, nest, accumulator, value,
                        emitTerm(builder, nest, point.body, accumulator))
                  : point.body.lookup(nest.body->getTerminator()->getOperand(
                        accumulator.output));
    updated.push_back(value);
  }
  emitStores();
  if (!updated.empty())
    scf::YieldOp::create(builder, loc, updated);
  sums.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

/// Adds up the sums of `lanes` threads, each `stride` threads after the last,
/// in a tree of fixed shape. The first thread has the total.
void NestEmitter::emitTree(SmallVectorImpl<Value> &sums, Value lane,
                           int64_t stride) {
  SmallVector<Value> scratch;
  for (const Accumulator &accumulator : accumulators)
    scratch.push_back(
        launch.getReductionScratch(scratch.size(), accumulator.type));
  auto getMemory = [&](unsigned number) {
    return std::pair(scratch[number],
                     getStorageType(accumulators[number].type));
  };
  auto load = [&](unsigned number, Value index) -> Value {
    auto [memory, storage] = getMemory(number);
    Value value = memref::LoadOp::create(builder, loc, memory, index);
    if (storage != accumulators[number].type)
      value = arith::TruncIOp::create(builder, loc, accumulators[number].type,
                                      value);
    return value;
  };
  auto store = [&](unsigned number, Value value, Value index) {
    auto [memory, storage] = getMemory(number);
    if (storage != value.getType())
      value = arith::ExtUIOp::create(builder, loc, storage, value);
    memref::StoreOp::create(builder, loc, value, memory, index);
  };
  // What others still read from the last tree.
  launch.emitBarrier(loc);
  for (unsigned number = 0; number < sums.size(); ++number)
    store(number, sums[number], launch.thread);
  launch.emitBarrier(loc);
  for (int64_t half = plan.lanes / 2; half > 0; half /= 2) {
    {
      OpBuilder::InsertionGuard guard(builder);
      openIf(builder, loc,
             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                   lane, emitIndex(builder, loc, half)));
      Value other =
          arith::AddIOp::create(builder, loc, launch.thread,
                                emitIndex(builder, loc, half * stride), nsw);
      for (auto [number, accumulator] : llvm::enumerate(accumulators))
        store(number,
              emitCombination(builder, nest, accumulator,
                              load(number, launch.thread), load(number, other)),
              launch.thread);
    }
    launch.emitBarrier(loc);
  }
  for (unsigned number = 0; number < sums.size(); ++number)
    sums[number] = load(number, launch.thread);
}

LogicalResult NestEmitter::emitSum(Value group, Value split,
                                   ArrayRef<unsigned> partials) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  createPoints();
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
                                        result, index(plan.results));
  // Threads without a result come along to the barriers.
  Value place =
      arith::SelectOp::create(builder, loc, isValid, result, index(0));
  for (auto [number, point] : llvm::enumerate(points))
    definePoint(point, number);
  splitIndex(place, parallel, points.front().indices);
  if (Value inside = emitIsInside())
    isValid = arith::AndIOp::create(builder, loc, isValid, inside);
  if (plan.lanes == 1 && plan.splits == 1)
    openIf(builder, loc, isValid);
  if (failed(emitPoints(0)) || failed(emitPoints(1)))
    return failure();

  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, index(0));
  SmallVector<Value> sums;
  for (const Accumulator &accumulator : accumulators) {
    if (plan.lanes == 1 && plan.splits == 1) {
      sums.push_back(emitInit(accumulator));
      continue;
    }
    Value neutral = emitNeutral(accumulator);
    sums.push_back(plan.splits != 1 ? neutral
                                    : arith::SelectOp::create(
                                          builder, loc, isFirst,
                                          emitInit(accumulator), neutral));
  }
  // Terms are counted in groups of neighbours.
  int64_t count = plan.terms / plan.width;
  Value begin = lane, end = index(count);
  if (plan.splits != 1) {
    int64_t length = plan.splitTerms() / plan.width;
    Value first =
        arith::MulIOp::create(builder, loc, split, index(length), nsw);
    begin = arith::AddIOp::create(builder, loc, first, lane, nsw);
    end = arith::MinUIOp::create(
        builder, loc, end,
        arith::AddIOp::create(builder, loc, first, index(length), nsw));
  }
  end = arith::SelectOp::create(builder, loc, isValid, end, index(0));
  if (failed(emitTerms(begin, end, sums)))
    return failure();
  if (plan.lanes != 1)
    emitTree(sums, lane, plan.lanesAreNeighbours ? 1 : slots);
  openIf(builder, loc, arith::AndIOp::create(builder, loc, isValid, isFirst));
  for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
    if (plan.splits == 1) {
      emitFinal(accumulator, sums[number]);
      continue;
    }
    Value row =
        arith::MulIOp::create(builder, loc, split, index(plan.results), nsw);
    Value at = arith::AddIOp::create(builder, loc, row, result, nsw);
    Value value = sums[number];
    if (Type storage = getStorageType(value.getType());
        storage != value.getType())
      value = arith::ExtUIOp::create(builder, loc, storage, value);
    memref::StoreOp::create(builder, loc, value,
                            launch.getScratch(partials[number]), at);
  }
  return success();
}

LogicalResult NestEmitter::emitPartials(ArrayRef<unsigned> partials) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  createPoints();
  Value result =
      arith::AddIOp::create(builder, loc,
                            arith::MulIOp::create(builder, loc, launch.block,
                                                  index(launch.threads), nsw),
                            launch.thread, nsw);
  openIf(builder, loc,
         arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, result,
                               index(plan.results)));
  splitIndex(result, parallel, points.front().indices);
  SmallVector<Value> sums;
  for (const Accumulator &accumulator : accumulators)
    sums.push_back(emitInit(accumulator));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(plan.splits),
                                 index(1), sums);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value at = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                              index(plan.results), nsw),
        result, nsw);
    SmallVector<Value> updated;
    for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
      Value term = memref::LoadOp::create(
          builder, loc, launch.getScratch(partials[number]), at);
      if (term.getType() != accumulator.type)
        term = arith::TruncIOp::create(builder, loc, accumulator.type, term);
      updated.push_back(emitCombination(
          builder, nest, accumulator, loop.getRegionIterArgs()[number], term));
    }
    scf::YieldOp::create(builder, loc, updated);
  }
  for (auto [accumulator, sum] : llvm::zip(accumulators, loop.getResults()))
    emitFinal(accumulator, sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Grid and block
//===----------------------------------------------------------------------===//

LogicalResult NestEmitter::emitOnGrid(ArrayRef<unsigned> partials) {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  Value number =
      arith::AddIOp::create(builder, loc,
                            arith::MulIOp::create(builder, loc, launch.block,
                                                  index(launch.threads), nsw),
                            launch.thread, nsw);
  auto openFirst = [&] {
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, number,
                                 index(0)));
  };
  switch (plan.kind) {
  case NestPlan::Empty:
    emitFills(number, launch.blocks * launch.threads);
    return success();
  case NestPlan::Serial:
    openFirst();
    return emitSerial();
  case NestPlan::Pointwise:
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 number, index(plan.vectors)));
    return emitPointwise(number);
  case NestPlan::Sum:
    break;
  }
  Value group = launch.block, split = index(0);
  if (plan.splits != 1) {
    // Blocks that are started together read what is next to each other.
    int64_t groups =
        llvm::divideCeil(plan.results, launch.threads / plan.lanes);
    group = arith::RemUIOp::create(builder, loc, launch.block, index(groups));
    split = arith::DivUIOp::create(builder, loc, launch.block, index(groups));
  }
  return emitSum(group, split, partials);
}

LogicalResult NestEmitter::emitInBlock() {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  switch (plan.kind) {
  case NestPlan::Empty:
    emitFills(launch.thread, launch.threads);
    return success();
  case NestPlan::Serial:
    openIf(builder, loc,
           arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 launch.thread, index(0)));
    return emitSerial();
  case NestPlan::Pointwise:
    return emitPointwise(openLoop(builder, loc, launch.thread,
                                  index(plan.vectors), launch.threads));
  case NestPlan::Sum:
    break;
  }
  // All threads take part in each group: the loop's barriers are for all.
  int64_t groups = llvm::divideCeil(plan.results, launch.threads / plan.lanes);
  Value group =
      groups == 1 ? index(0) : openLoop(builder, loc, index(0), index(groups));
  return emitSum(group, index(0), {});
}
