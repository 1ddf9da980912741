//===- RowEmitter.cpp - kernels that work row by row on a GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

namespace {

class RowEmission {
public:
  RowEmission(const RowPlan &plan, func::FuncOp function, LaunchBuilder &launch)
      : plan(plan), schedule(plan.schedule), function(function), launch(launch),
        builder(launch.builder), loc(function.getLoc()) {}
  LogicalResult run();

private:
  Value index(int64_t value) { return emitIndex(builder, loc, value); }
  TileMatmul open(const RowStep &step, LoopNest &nest);
  void emitZeros(const RowStep &step);
  void emitStarts();
  void setTile(Value number);
  LogicalResult emitTileStep(const RowStep &step);
  void wait();
  LogicalResult emitRowStep(const RowStep &step, bool isLast);
  LogicalResult emitSteps();
  LogicalResult emitTiles();

  const RowPlan &plan;
  const RowSchedule &schedule;
  func::FuncOp function;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  RowPosition position;
  Value runInUnit;
  /// Of a row, by its buffer: the element that all threads know.
  DenseMap<Value, Value> known;
  /// The buffers that were written and read since the last barrier.
  DenseSet<Value> written, read;
};

} // namespace

TileMatmul RowEmission::open(const RowStep &step, LoopNest &nest) {
  nest = schedule.openRows(builder, step, position);
  for (Access &access : nest.inputs)
    if (const FactorLayout *factor = findFactor(plan.factors, access.root))
      factor->address(nest, access);
  return schedule.describe(builder, step, nest, launch.context);
}

/// Where a sum over blocks starts.
void RowEmission::emitZeros(const RowStep &step) {
  OpBuilder::InsertionGuard guard(builder);
  position.blockBegin = position.blockEnd = index(0);
  LoopNest nest;
  TileMatmul product = open(step, nest);
  Value count =
      arith::SubIOp::create(builder, loc, product.mEnd, product.mBegin, nsw);
  count = arith::MulIOp::create(builder, loc, count, index(product.n), nsw);
  Value number = openLoop(builder, loc, launch.thread, count, launch.threads);
  Value row = arith::DivUIOp::create(builder, loc, number, index(product.n));
  row = arith::AddIOp::create(builder, loc, row, product.mBegin, nsw);
  Value column = arith::RemUIOp::create(builder, loc, number, index(product.n));
  Value address = emitLinear(builder, loc, 0, {product.c.row, product.c.column},
                             {row, column});
  address = arith::AddIOp::create(builder, loc, address, product.c.base);
  Value zero =
      emitZero(builder, loc,
               cast<MemRefType>(product.c.buffer.getType()).getElementType());
  memref::StoreOp::create(builder, loc, zero, product.c.buffer, address);
}

/// What precedes the tiles of a run.
void RowEmission::emitStarts() {
  for (const RowStep &step : schedule.steps) {
    if (step.summedRuns == 0)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    if (step.summedRuns != 1) {
      Value rest = arith::RemUIOp::create(builder, loc, runInUnit,
                                          index(step.summedRuns));
      openIf(builder, loc,
             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                   index(0)));
    }
    emitZeros(step);
  }
  launch.emitBarrier(loc);
}

void RowEmission::setTile(Value number) {
  position.blockBegin = arith::MulIOp::create(builder, loc, number,
                                              index(schedule.blockRows), nsw);
  position.blockEnd = arith::AddIOp::create(builder, loc, position.blockBegin,
                                            index(schedule.blockRows), nsw);
  if (schedule.runRows % schedule.blockRows != 0)
    position.blockEnd = arith::MinSIOp::create(builder, loc, position.blockEnd,
                                               index(schedule.runRows));
}

/// A step that is no contraction, by all threads of the block.
static LogicalResult emitInBlock(LaunchBuilder &launch, LoopNest nest) {
  NestPlan plan = planForBlock(nest, launch.threads);
  return NestEmitter(std::move(nest), plan, launch).emitInBlock();
}

/// The step of a contraction, or of any other kind, on a tile of rows.
LogicalResult RowEmission::emitTileStep(const RowStep &step) {
  LoopNest nest;
  if (step.isContraction) {
    TileMatmul product = open(step, nest);
    emitTileMatmul(launch, step.op->getLoc(), product, nest,
                   schedule.runRows % schedule.blockRows == 0);
    return success();
  }
  nest = schedule.openRows(builder, step, position);
  // The rows of a tile are as many as it can have.
  for (Loop &loop : nest.loops)
    if (loop.begin)
      loop.size = schedule.blockRows;
  return emitInBlock(launch, std::move(nest));
}

/// Waits for what the other threads of the team have done since the last
/// barrier.
void RowEmission::wait() {
  launch.emitBarrier(loc);
  written.clear();
  read.clear();
}

/// A step on one row. What all threads know of the row, such as a sum, they
/// keep in registers, and nobody waits for it.
LogicalResult RowEmission::emitRowStep(const RowStep &step, bool isLast) {
  LoopNest nest = schedule.openRows(builder, step, position);
  DenseSet<Value> reads;
  for (Access &access : nest.inputs) {
    if (Value value = known.lookup(access.root)) {
      access.scalar = value;
      continue;
    }
    reads.insert(access.root);
  }
  bool hasLoads = false;
  step.op->walk([&](memref::LoadOp) { hasLoads = true; });
  bool mustWait = hasLoads && !written.empty();
  for (Value root : reads)
    mustWait |= written.contains(root);
  // A number of the row that all threads have read alone, without a sum that
  // brings them together, may be where the result is to come.
  auto mayOverwrite = [&](Value result, Value root) {
    return isa<BlockArgument>(result) && isa<BlockArgument>(root) &&
           result.getType() == root.getType() &&
           cast<MemRefType>(root.getType()).getNumElements() ==
               schedule.numRows;
  };
  for (const Access &access : nest.outputs)
    mustWait |= written.contains(access.root) || read.contains(access.root) ||
                llvm::any_of(read, [&](Value root) {
                  return mayOverwrite(access.root, root);
                });
  if (mustWait)
    wait();
  SmallVector<Value> roots;
  for (const Access &access : nest.outputs)
    roots.push_back(access.root);
  NestPlan nestPlan = planForBlock(nest, launch.threads, /*readsAhead=*/true);
  NestEmitter emitter(std::move(nest), nestPlan, launch);
  if (failed(emitter.emitInBlock()))
    return failure();
  for (Value root : roots)
    known.erase(root);
  for (auto [root, value] : llvm::zip(roots, emitter.getKnown()))
    if (cast<MemRefType>(root.getType()).getNumElements() == schedule.numRows)
      known[root] = value;
  read.insert_range(reads);
  written.insert_range(roots);
  if (!isLast && emitter.getKnown().empty())
    wait();
  return success();
}

LogicalResult RowEmission::emitSteps() {
  for (const FactorLayout &factor : plan.factors)
    if (failed(factor.emit(launch, schedule, position.run)))
      return failure();
  if (!plan.factors.empty())
    launch.emitBarrier(loc);
  bool areRows = schedule.blockRows == 0 &&
                 llvm::none_of(schedule.steps, [](const RowStep &step) {
                   return step.isContraction;
                 });
  for (const RowStep &step : schedule.steps) {
    if (areRows) {
      if (failed(emitRowStep(step, &step == &schedule.steps.back())))
        return failure();
      continue;
    }
    if (failed(emitTileStep(step)))
      return failure();
    launch.emitBarrier(loc);
  }
  return success();
}

LogicalResult RowEmission::run() {
  OpBuilder::InsertionGuard guard(builder);
  for (memref::AllocOp alloc : plan.shared)
    launch.context.buffers[alloc] =
        launch.addShared(countInside(schedule, alloc.getType()),
                         alloc.getType().getElementType());
  for (const FactorLayout &factor : plan.factors)
    factor.allocate(launch);
  position.run = launch.block;
  if (schedule.blockRows == 0) {
    // All threads of a warp leave together.
    if (schedule.numUnits % launch.teams != 0)
      openIf(builder, loc,
             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                   launch.block, index(schedule.numUnits)));
    return emitSteps();
  }
  if (plan.tilesAreBlocks) {
    Value tiles = index(plan.countTiles());
    position.run = arith::DivUIOp::create(builder, loc, launch.block, tiles);
    setTile(arith::RemUIOp::create(builder, loc, launch.block, tiles));
    return emitSteps();
  }
  if (failed(emitTiles()))
    return failure();
  for (const RowStep &step : schedule.finals)
    if (failed(emitInBlock(launch,
                           schedule.openUnit(builder, step, launch.block))))
      return failure();
  return success();
}

/// All tiles of a unit, one after the other.
LogicalResult RowEmission::emitTiles() {
  OpBuilder::InsertionGuard guard(builder);
  if (schedule.numRuns != 1) {
    runInUnit = openLoop(builder, loc, index(0), index(schedule.numRuns));
    position.run = arith::MulIOp::create(builder, loc, launch.block,
                                         index(schedule.numRuns), nsw);
    position.run =
        arith::AddIOp::create(builder, loc, position.run, runInUnit, nsw);
  }
  emitStarts();
  setTile(openLoop(builder, loc, index(0), index(plan.countTiles())));
  return emitSteps();
}

LogicalResult remat::cuda::emitRows(const RowPlan &plan, func::FuncOp function,
                                    LaunchBuilder &launch) {
  return RowEmission(plan, function, launch).run();
}
