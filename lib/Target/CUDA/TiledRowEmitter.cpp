//===- TiledRowEmitter.cpp - rows in tiles of columns ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TiledRowEmitter.h"
#include "NestEmitter.h"
#include "RegisterTileEmitter.h"
#include "RegisterTiles.h"
#include "RowEmitter.h"
#include "WarpOps.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

TiledRowEmission::TiledRowEmission(const TiledRows &plan,
                                   const RowSchedule &schedule,
                                   LaunchBuilder &launch)
    : IndexArithmetic(launch.builder, schedule.steps.front().op->getLoc()),
      plan(plan), schedule(schedule), launch(launch) {
  for (memref::AllocOp alloc : plan.tiles)
    wide.insert(alloc);
}

/// Gives a buffer with so many elements for each row a place.
void TiledRowEmission::addShared(memref::AllocOp alloc, int64_t columns) {
  launch.context.buffers[alloc] = launch.addShared(
      schedule.blockRows * columns, alloc.getType().getElementType());
}

void TiledRowEmission::allocate() {
  for (memref::AllocOp alloc : plan.tiles)
    addShared(alloc, plan.getPitch(alloc.getType().getElementType()));
  for (memref::AllocOp alloc : plan.rows)
    addShared(alloc, alloc.getType().getNumElements() / schedule.numRows);
  for (const FactorLayout &factor : plan.factors)
    factor.allocate(launch);
}

void TiledRowEmission::setTile(Value number) {
  position.blockBegin = mul(number, schedule.blockRows);
  position.blockEnd = add(position.blockBegin, index(schedule.blockRows));
  if (schedule.runRows % schedule.blockRows != 0)
    position.blockEnd = arith::MinSIOp::create(builder, loc, position.blockEnd,
                                               index(schedule.runRows));
}

/// Where the tile of columns ends.
Value TiledRowEmission::emitColumnEnd() {
  Value end = add(columnBegin, index(plan.tileColumns));
  if (plan.hasWholeTiles())
    return end;
  return arith::MinSIOp::create(builder, loc, end, index(plan.columns));
}

/// The loops of a step for the tile. Those of a contraction begin at 0 along
/// the columns, as its operands do there; others know which column they are at.
LoopNest TiledRowEmission::open(unsigned number) {
  const RowStep &step = schedule.steps[number];
  int columnLoop = plan.steps[number].columnLoop;
  LoopNest nest = schedule.openRows(builder, step, position);
  Loop *last = nest.findLoop(step.rows.back());
  auto addBase = [&](Access &access, Value distance) {
    access.base = access.base ? add(access.base, distance) : distance;
  };
  for (Access &access : llvm::concat<Access>(nest.inputs, nest.outputs)) {
    if (const FactorLayout *factor = findFactor(plan.factors, access.root)) {
      factor->address(nest, access);
      continue;
    }
    int64_t along = columnLoop < 0 ? 0 : access.coefficients[columnLoop];
    if (wide.contains(access.root)) {
      int64_t pitch = plan.getPitch(access.elementType);
      for (auto [loop, coefficient] :
           llvm::zip(nest.loops, access.coefficients)) {
        if (loop.isOpen())
          coefficient = 0;
        else if (&loop == last)
          coefficient = pitch;
      }
      access.base = mul(last->begin, -pitch);
      if (!step.isContraction)
        addBase(access, mul(columnBegin, -1));
    } else if (step.isContraction && along != 0) {
      addBase(access, mul(columnBegin, along));
    }
  }
  if (!step.isContraction)
    last->size = schedule.blockRows;
  if (columnLoop >= 0) {
    Loop &loop = nest.loops[columnLoop];
    loop.size = plan.tileColumns;
    loop.end = Value();
    if (!step.isContraction) {
      loop.begin = columnBegin;
      loop.end = emitColumnEnd();
    } else if (!plan.hasWholeTiles()) {
      loop.end = add(emitColumnEnd(), mul(columnBegin, -1));
    }
  }
  return nest;
}

LogicalResult TiledRowEmission::emitStep(unsigned number) {
  OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore thread(launch.thread,
                              emitOpaque(builder, loc, launch.thread));
  const RowStep &step = schedule.steps[number];
  TiledStep::Kind kind = plan.steps[number].kind;
  bool adds = kind == TiledStep::OverColumns || kind == TiledStep::OverRows;
  LoopNest nest = open(number);
  if (step.isContraction) {
    TileMatmul product = schedule.describe(builder, step, nest, launch.context);
    product.accumulate = adds;
    emitTileMatmul(launch, step.op->getLoc(), product, nest,
                   schedule.runRows % schedule.blockRows == 0 &&
                       plan.hasWholeTiles(),
                   adds ? isFirst : Value());
  } else {
    NestPlan nestPlan = planForBlock(nest, launch.threads);
    NestEmitter emitter(std::move(nest), nestPlan, launch);
    if (adds)
      emitter.setFirst(isFirst);
    if (failed(emitter.emitInBlock()))
      return failure();
  }
  launch.emitBarrier(loc);
  return success();
}

/// Whether the columns that all these steps walk are those of a causal mask.
bool TiledRowEmission::hidesColumns(const std::vector<bool> &steps) const {
  if (schedule.masked.size != plan.columns)
    return false;
  for (auto [number, tiled] : llvm::enumerate(plan.steps))
    if (steps[number] && tiled.columnLoop >= 0 &&
        schedule.steps[number].columns != tiled.columnLoop)
      return false;
  return true;
}

/// Whether all runs of a unit share the factors that these steps read.
bool TiledRowEmission::sharesFactors(const std::vector<bool> &steps) const {
  for (auto [number, tiled] : llvm::enumerate(plan.steps))
    for (unsigned factor : tiled.factors)
      if (steps[number] &&
          schedule.factors[factor].runs % schedule.numRuns != 0)
        return false;
  return true;
}

/// Makes the tiles of factors that these steps read.
LogicalResult TiledRowEmission::emitFactors(const std::vector<bool> &steps) {
  std::vector<bool> needed(plan.factors.size());
  for (auto [number, tiled] : llvm::enumerate(plan.steps))
    for (unsigned factor : tiled.factors)
      needed[factor] = needed[factor] || steps[number];
  OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore thread(launch.thread,
                              emitOpaque(builder, loc, launch.thread));
  for (auto [factor, isNeeded] : llvm::zip(plan.factors, needed))
    if (isNeeded && failed(factor.emit(launch, schedule, position.run,
                                       columnBegin, emitColumnEnd())))
      return failure();
  if (llvm::is_contained(needed, true))
    launch.emitBarrier(loc);
  return success();
}

LogicalResult TiledRowEmission::emitRowsOnly(unsigned sweep) {
  for (auto [number, step] : llvm::enumerate(plan.steps))
    if (step.kind == TiledStep::RowsOnly && step.sum < 0 &&
        step.sweep == sweep && failed(emitStep(number)))
      return failure();
  return success();
}

/// Tiles of columns that these steps walk.
Value TiledRowEmission::emitTileCount(const std::vector<bool> &steps) {
  Value count = index(plan.countTiles());
  if (!hidesColumns(steps))
    return count;
  // Columns that no row of the tile sees are left out.
  Value seen = add(position.blockEnd, index(schedule.masked.shift - 1));
  Value tiles =
      arith::CeilDivUIOp::create(builder, loc, seen, index(plan.tileColumns));
  return arith::MinUIOp::create(builder, loc, count, tiles);
}

LogicalResult TiledRowEmission::emitSweep(unsigned sweep) {
  OpBuilder::InsertionGuard guard(builder);
  std::vector<bool> needed =
      findTiledSteps(plan, [&](unsigned, const TiledStep &step) {
        return step.sweep == sweep &&
               (step.kind == TiledStep::OverColumns || step.isResult);
      });
  Value tile = openLoop(builder, loc, index(0), emitTileCount(needed));
  columnBegin = mul(tile, plan.tileColumns);
  isFirst = isEqual(tile, 0);
  if (failed(emitFactors(needed)))
    return failure();
  for (unsigned number = 0; number < needed.size(); ++number)
    if (needed[number] && plan.steps[number].kind != TiledStep::RowsOnly &&
        failed(emitStep(number)))
      return failure();
  return success();
}

LogicalResult TiledRowEmission::emitRows() {
  OpBuilder::InsertionGuard guard(builder);
  allocate();
  Value tiles = index(countRowTiles());
  position.run = arith::DivUIOp::create(builder, loc, launch.block, tiles);
  Value tile = arith::RemUIOp::create(builder, loc, launch.block, tiles);
  // Where a mask hides columns from the first rows, the blocks with the most
  // work begin first, and those at the end of the launch are short.
  if (schedule.masked.size == plan.columns)
    tile = arith::SubIOp::create(builder, loc, index(countRowTiles() - 1), tile,
                                 nsw);
  setTile(tile);
  for (unsigned sweep = 0; sweep < plan.numSweeps; ++sweep)
    if (failed(emitRowsOnly(sweep)) || failed(emitSweep(sweep)))
      return failure();
  return emitRowsOnly(plan.numSweeps);
}

/// What is made of the tile of columns once it is added up, and in memory.
LogicalResult TiledRowEmission::emitFinals(Value unit) {
  for (auto [step, tiled] : llvm::zip(schedule.finals, plan.finals)) {
    if (tiled.sum >= 0)
      continue;
    LoopNest nest = schedule.openUnit(builder, step, unit);
    Loop &loop = nest.loops[tiled.columnLoop];
    loop.size = plan.tileColumns;
    loop.begin = columnBegin;
    loop.end = emitColumnEnd();
    NestPlan nestPlan = planForBlock(nest, launch.threads);
    if (failed(NestEmitter(std::move(nest), nestPlan, launch).emitInBlock()))
      return failure();
  }
  return success();
}

LogicalResult TiledRowEmission::emitOverRows() {
  OpBuilder::InsertionGuard guard(builder);
  allocate();
  Value columnTiles = index(plan.countTiles());
  Value unit = arith::DivUIOp::create(builder, loc, launch.block, columnTiles);
  columnBegin =
      mul(arith::RemUIOp::create(builder, loc, launch.block, columnTiles),
          plan.tileColumns);
  return failure(failed(emitSums(unit)) || failed(emitFinals(unit)));
}

/// The first tile of rows that these steps add up.
Value TiledRowEmission::emitFirstTile(const std::vector<bool> &steps) {
  if (!hidesColumns(steps))
    return index(0);
  // Rows before the first that sees a column of the tile are left out; one tile
  // is there always, to set the results.
  Value hidden = arith::MaxSIOp::create(
      builder, loc, index(0),
      add(columnBegin, index(1 - schedule.masked.shift)));
  return arith::MinUIOp::create(
      builder, loc, index(countRowTiles() - 1),
      arith::DivUIOp::create(builder, loc, hidden, index(schedule.blockRows)));
}

/// Adds up all rows of a unit for a tile of columns.
LogicalResult TiledRowEmission::emitSums(Value unit) {
  OpBuilder::InsertionGuard guard(builder);
  std::vector<bool> needed =
      findTiledSteps(plan, [](unsigned, const TiledStep &step) {
        return step.kind == TiledStep::OverRows;
      });
  Value begin = emitFirstTile(needed);
  position.run = unit;
  // Here, they are the same for all rows.
  bool areShared = sharesFactors(needed);
  if (areShared) {
    position.run = mul(unit, schedule.numRuns);
    if (failed(emitFactors(needed)))
      return failure();
  }
  Value isFirstRun;
  if (schedule.numRuns != 1) {
    Value run = openLoop(builder, loc, index(0), index(schedule.numRuns));
    position.run = add(mul(unit, schedule.numRuns), run);
    isFirstRun = isEqual(run, 0);
  }
  if (!areShared && failed(emitFactors(needed)))
    return failure();
  Value tile = openLoop(builder, loc, begin, index(countRowTiles()));
  setTile(tile);
  isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, tile,
                                  begin);
  if (isFirstRun)
    isFirst = arith::AndIOp::create(builder, loc, isFirst, isFirstRun);
  for (unsigned number = 0; number < needed.size(); ++number)
    if (needed[number] && failed(emitStep(number)))
      return failure();
  return success();
}

LogicalResult remat::cuda::emitTiledRows(const TiledRows &plan,
                                         const RowSchedule &schedule,
                                         LaunchBuilder &launch, bool overRows) {
  std::unique_ptr<TiledRowEmission> emission;
  if (plan.getRegisters(overRows))
    emission = makeRegisterTileEmission(plan, schedule, launch, overRows);
  else
    emission = std::make_unique<TiledRowEmission>(plan, schedule, launch);
  return overRows ? emission->emitOverRows() : emission->emitRows();
}
