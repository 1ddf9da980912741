//===- NestEmitter.cpp - elementwise ops and reductions on a GPU ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "VectorAccess.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

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
  bool carries = plan.carryLoop >= 0;
  if (carries)
    rest = arith::MulIOp::create(builder, loc, rest,
                                 emitIndex(builder, loc, plan.width), nsw);
  for (unsigned loop : llvm::reverse(loops)) {
    bool isVector = static_cast<int>(loop) == plan.vectorLoop && !carries;
    int64_t size = nest.loops[loop].size / (isVector ? plan.width : 1);
    if (isVector && isTail)
      size = plan.tail;
    Value index = rest;
    // What is left for the slowest loop is within it.
    if (loop != loops.front()) {
      Value divisor = emitIndex(builder, loc, size);
      index = arith::RemUIOp::create(builder, loc, rest, divisor);
      rest = arith::DivUIOp::create(builder, loc, rest, divisor);
    }
    if (isVector && isTail)
      index = arith::AddIOp::create(
          builder, loc, index,
          emitIndex(builder, loc, nest.loops[loop].size - plan.tail), nsw);
    else if (isVector && plan.width != 1)
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

/// The element of the point `number`. `operand` tells the operands of the nest
/// apart.
Value NestEmitter::emitElement(const Access &access, unsigned operand,
                               unsigned number) {
  const KernelContext &context = launch.context;
  if (access.scalar)
    return context.scalars.lookupOrDefault(access.scalar);
  if (auto it = staged.find(operand); it != staged.end())
    return emitStaged(it->second, access.elementType, number);
  if (isTail || !isVector(access))
    return context.load(builder, loc, access.root, access.elementType,
                        emitAddress(access, points[number]));
  unsigned first = getFirst(number);
  SmallVector<Value> &elements = vectors[{operand, first}];
  if (elements.empty())
    elements = loadVector(builder, loc, plan.width, access.elementType,
                          context.buffers.lookup(access.root),
                          emitAddress(access, points[first]));
  return elements[number - first];
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// The points of as many rounds.
void NestEmitter::createPoints(int64_t rounds) {
  points.clear();
  vectors.clear();
  numActive = getWidth() * rounds;
  for (int64_t number = 0; number < numActive; ++number) {
    Point &point = points.emplace_back(*nest.body, launch.context);
    for (const Loop &loop : nest.loops)
      point.indices.push_back(loop.index);
  }
}

/// Depth 0: what no closed loop changes; 1: results are known; 2: terms.
void NestEmitter::definePoint(unsigned number) {
  Point &point = points[number];
  auto getDepth = [&](const Access &access) {
    unsigned depth = access.nonlinear ? 2 : 0;
    for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
      if (coefficient != 0 && !loop.isOpen())
        depth = std::max(depth, loop.isReduction ? 2u : 1u);
    return depth;
  };
  SmallVector<unsigned> loopsOfPoints = findLoopsOfPoints();
  unsigned first = plan.width == 1 ? 0 : getFirst(number);
  for (auto [operand, argument, access] :
       llvm::enumerate(nest.body->getArguments().take_front(nest.inputs.size()),
                       nest.inputs)) {
    bool isShared = number != first && !variesAlong(access, loopsOfPoints);
    point.body.defineArgument(
        argument, getDepth(access),
        [this, &access = access, operand = operand, argument = argument, number,
         first, isShared](OpBuilder &) {
          return isShared ? points[first].body.lookup(argument)
                          : emitElement(access, operand, number);
        });
  }
  for (auto [output, argument] : llvm::enumerate(getOutputArguments(nest))) {
    const Access &access = nest.outputs[output];
    TypedAttr init = nest.sequential ? TypedAttr() : nest.inits[output];
    point.body.defineArgument(
        argument, 2,
        [this, &access, init, number,
         operand = nest.inputs.size() + output](OpBuilder &b) -> Value {
          if (init)
            return arith::ConstantOp::create(b, loc, init);
          return emitElement(access, operand, number);
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
  shareOps(number);
  point.body.prepare(2);
}

/// Moves the point from the first of the neighbours to its own place.
void NestEmitter::moveToLane(Point &point, unsigned lane) {
  Value &index = point.indices[plan.vectorLoop];
  index = arith::AddIOp::create(builder, loc, index,
                                emitIndex(builder, loc, lane), nsw);
  if (plan.carryLoop < 0)
    return;
  Value size = emitIndex(builder, loc, nest.loops[plan.vectorLoop].size);
  Value isBehind = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::uge, index, size);
  auto add = [&](Value &index, int64_t distance) {
    Value there = arith::AddIOp::create(builder, loc, index,
                                        emitIndex(builder, loc, distance), nsw);
    index = arith::SelectOp::create(builder, loc, isBehind, there, index);
  };
  add(index, -nest.loops[plan.vectorLoop].size);
  add(point.indices[plan.carryLoop], 1);
}

/// Emits what is known first at `depth`, for all points.
LogicalResult NestEmitter::emitPoints(unsigned depth) {
  // Neighbours differ in one index, once it is known.
  bool isTerm = plan.vectorLoop >= 0 && nest.loops[plan.vectorLoop].isReduction;
  for (int64_t number = 1; depth != 0 && number < numActive; ++number) {
    unsigned first = getFirst(number);
    if (number == first)
      continue;
    SmallVector<Value> &indices = points[number].indices;
    Value mine = indices[plan.vectorLoop];
    indices = points[first].indices;
    // Results are known before their terms.
    if (depth == 2 && !isTerm)
      indices[plan.vectorLoop] = mine;
    else if (depth == (isTerm ? 2 : 1))
      moveToLane(points[number], number - first);
  }
  for (int64_t number = 0; number < numActive; ++number)
    if (failed(points[number].body.emit(builder, depth)))
      return failure();
  return success();
}

/// Stores an element for each of the neighbours that begin with the point
/// `first`, or for that alone.
void NestEmitter::emitStore(const Access &access, ArrayRef<Value> values,
                            unsigned first) {
  const KernelContext &context = launch.context;
  if (values.size() == 1 || !isVector(access)) {
    for (auto [lane, value] : llvm::enumerate(values))
      context.store(builder, loc, value, access.root,
                    emitAddress(access, points[first + lane]));
    return;
  }
  storeVector(builder, loc, values, context.buffers.lookup(access.root),
              emitAddress(access, points[first]));
}

/// Stores the outputs that are no accumulators.
void NestEmitter::emitStores() {
  for (auto [output, access] : llvm::enumerate(nest.outputs)) {
    if (llvm::is_contained(llvm::map_range(accumulators,
                                           [](const Accumulator &accumulator) {
                                             return accumulator.output;
                                           }),
                           output))
      continue;
    Value yielded = nest.body->getTerminator()->getOperand(output);
    for (int64_t first = 0; first < numActive; first += getWidth()) {
      SmallVector<Value> values;
      for (int64_t lane = 0; lane < getWidth(); ++lane)
        values.push_back(points[first + lane].body.lookup(yielded));
      emitStore(access, values, first);
    }
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
  createPoints(1);
  Point &point = points.front();
  definePoint(0);
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

/// The point of the thread, its neighbours, or those of its next `rounds`.
LogicalResult NestEmitter::emitPointwise(Value number, int64_t rounds) {
  createPoints(rounds);
  for (int64_t point = 0; point < numActive; ++point)
    definePoint(point);
  splitIndex(number, parallel, points.front().indices);
  for (int64_t round = 1; round < rounds; ++round)
    splitIndex(arith::AddIOp::create(
                   builder, loc, number,
                   emitIndex(builder, loc, round * launch.threads), nsw),
               parallel, points[round * plan.width].indices);
  if (Value inside = emitIsInside())
    openIf(builder, loc, inside);
  for (unsigned depth : {0, 1, 2})
    if (failed(emitPoints(depth)))
      return failure();
  emitStores();
  return success();
}

/// The only point, by all threads; the first stores it.
LogicalResult NestEmitter::emitOnePoint() {
  createPoints(/*rounds=*/1);
  definePoint(0);
  splitIndex(emitIndex(builder, loc, 0), parallel, points.front().indices);
  for (unsigned depth : {0, 1, 2})
    if (failed(emitPoints(depth)))
      return failure();
  for (Value yielded : nest.body->getTerminator()->getOperands())
    known.push_back(points.front().body.lookup(yielded));
  openIf(builder, loc,
         arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                               launch.thread, emitIndex(builder, loc, 0)));
  emitStores();
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
  case NestPlan::Pointwise: {
    auto emitBelow = [&](Value mine, int64_t count) {
      OpBuilder::InsertionGuard inner(builder);
      openIf(builder, loc,
             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                   mine, index(count)));
      return emitPointwise(mine);
    };
    if (failed(emitBelow(number, plan.vectors)))
      return failure();
    if (plan.tails == 0)
      return success();
    // Before the first of these threads, the difference is a large number.
    isTail = true;
    return emitBelow(
        arith::SubIOp::create(builder, loc, number, index(plan.vectors)),
        plan.tails);
  }
  case NestPlan::Transpose:
    return emitTransposed();
  case NestPlan::Sum:
    break;
  }
  Value group = launch.block, split = index(0);
  if (plan.splits != 1) {
    // Blocks that are started together read what is next to each other.
    int64_t groups =
        llvm::divideCeil(plan.groups(), launch.threads / plan.lanes);
    group = arith::RemUIOp::create(builder, loc, launch.block, index(groups));
    split = arith::DivUIOp::create(builder, loc, launch.block, index(groups));
  }
  return emitSum(group, split, partials);
}

/// The vectors of a pointwise nest. Whole rounds of all threads come first, as
/// their number is a constant.
LogicalResult NestEmitter::emitVectorsInBlock() {
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  int64_t step = plan.rounds * launch.threads;
  int64_t trips = plan.vectors / step;
  if (trips != 0) {
    OpBuilder::InsertionGuard inner(builder);
    Value trip = openLoop(builder, loc, index(0), index(trips));
    Value first = arith::MulIOp::create(builder, loc, trip, index(step), nsw);
    if (failed(emitPointwise(
            arith::AddIOp::create(builder, loc, first, launch.thread, nsw),
            plan.rounds)))
      return failure();
  }
  if (trips * step == plan.vectors)
    return success();
  Value first = arith::AddIOp::create(builder, loc, launch.thread,
                                      index(trips * step), nsw);
  return emitPointwise(
      openLoop(builder, loc, first, index(plan.vectors), launch.threads));
}

bool NestEmitter::isKnownToAll() const {
  if (hasChecks(nest) || llvm::any_of(nest.loops, [](const Loop &loop) {
        return !loop.isOpen() && (loop.begin || loop.end);
      }))
    return false;
  if (plan.kind == NestPlan::Pointwise) {
    // A result may be in the place of an argument of its type, which the first
    // thread writes over while others read it.
    bool mayOverwrite = llvm::any_of(nest.outputs, [&](const Access &output) {
      return isa_and_nonnull<BlockArgument>(output.root) &&
             (!nest.body->getOps<memref::LoadOp>().empty() ||
              llvm::any_of(nest.inputs, [&](const Access &input) {
                return isa_and_nonnull<BlockArgument>(input.root) &&
                       input.root.getType() == output.root.getType();
              }));
    });
    return plan.vectors == 1 && plan.width == 1 && !mayOverwrite;
  }
  return plan.kind == NestPlan::Sum && plan.results == 1 && plan.splits == 1 &&
         plan.lanesAreNeighbours && plan.lanes == launch.threads &&
         accumulators.size() == nest.outputs.size();
}

LogicalResult NestEmitter::emitInBlock() {
  OpBuilder::InsertionGuard guard(builder);
  known.clear();
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
    if (isKnownToAll())
      return emitOnePoint();
    if (failed(emitVectorsInBlock()))
      return failure();
    if (plan.tails == 0)
      return success();
    isTail = true;
    return emitPointwise(openLoop(builder, loc, launch.thread,
                                  index(plan.tails), launch.threads));
  case NestPlan::Transpose:
    llvm_unreachable("a block has no tiles of its own");
  case NestPlan::Sum:
    break;
  }
  // All threads take part in each group: the loop's barriers are for all.
  int64_t groups = llvm::divideCeil(plan.groups(), launch.threads / plan.lanes);
  Value group =
      groups == 1 ? index(0) : openLoop(builder, loc, index(0), index(groups));
  return emitSum(group, index(0), {});
}
