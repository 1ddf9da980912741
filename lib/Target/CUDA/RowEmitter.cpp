//===- RowEmitter.cpp - kernels that work row by row on a GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "NestEmitter.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

/// What tiles and rows may take of a multiprocessor's shared memory: two blocks
/// of a device with 164 KiB find room with the scratch of their reductions.
static constexpr int64_t maxInsideBytes = 96 << 10;
/// Points of a row that a thread takes.
static constexpr int64_t pointsPerThread = 4;
static constexpr int64_t minThreads = 32, maxThreads = 512;
/// Threads of a block with contractions.
static constexpr int64_t tileThreads = 256;

int64_t RowPlan::countTiles() const {
  return schedule.blockRows == 0
             ? 1
             : llvm::divideCeil(schedule.runRows, schedule.blockRows);
}

/// Elements that stay inside for one row or tile.
static int64_t countInside(const RowSchedule &schedule, MemRefType type) {
  return type.getNumElements() / schedule.numRows *
         std::max<int64_t>(schedule.blockRows, 1);
}

FailureOr<RowPlan> remat::cuda::planRows(func::FuncOp function) {
  RowPlan plan;
  RowSchedule &schedule = plan.schedule;
  if (failed(schedule.analyze(function)))
    return failure();
  int64_t bytes = 0;
  for (auto alloc : function.getOps<memref::AllocOp>())
    bytes += countInside(schedule, alloc.getType()) *
             getElementBytes(alloc.getType().getElementType());
  plan.usesWorkspace = bytes > maxInsideBytes;
  if (plan.usesWorkspace)
    schedule.inside.clear();
  plan.blocks = schedule.numUnits;
  if (schedule.blockRows == 0) {
    int64_t points = 1;
    for (const RowStep &step : schedule.steps)
      points = std::max(points, step.nest.numPoints() / schedule.numRows);
    plan.threads = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(points, pointsPerThread)),
        minThreads, maxThreads);
    return plan;
  }
  plan.threads = tileThreads;
  plan.tilesAreBlocks = llvm::none_of(
      schedule.steps, [](const RowStep &step) { return step.summedRuns != 0; });
  if (plan.tilesAreBlocks)
    plan.blocks *= schedule.numRuns * plan.countTiles();
  return plan;
}

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
  LogicalResult emitSteps();

  const RowPlan &plan;
  const RowSchedule &schedule;
  func::FuncOp function;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  RowPosition position;
  Value runInUnit;
};

} // namespace

TileMatmul RowEmission::open(const RowStep &step, LoopNest &nest) {
  nest = schedule.openRows(builder, step, position);
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

LogicalResult RowEmission::emitSteps() {
  for (const RowStep &step : schedule.steps) {
    if (step.isContraction) {
      LoopNest nest;
      emitTileMatmul(launch, step.op->getLoc(), open(step, nest));
    } else {
      LoopNest nest = schedule.openRows(builder, step, position);
      // The rows of a tile are as many as it can have.
      for (Loop &loop : nest.loops)
        if (loop.begin)
          loop.size = schedule.blockRows;
      NestPlan nestPlan = planForBlock(nest, launch.threads);
      NestEmitter emitter(std::move(nest), nestPlan, launch);
      if (failed(emitter.emitInBlock()))
        return failure();
    }
    launch.emitBarrier(loc);
  }
  return success();
}

LogicalResult RowEmission::run() {
  OpBuilder::InsertionGuard guard(builder);
  if (!plan.usesWorkspace)
    for (auto alloc : function.getOps<memref::AllocOp>())
      launch.context.buffers[alloc] =
          launch.addShared(countInside(schedule, alloc.getType()),
                           alloc.getType().getElementType());
  position.run = launch.block;
  if (schedule.blockRows == 0)
    return emitSteps();
  if (plan.tilesAreBlocks) {
    Value tiles = index(plan.countTiles());
    position.run = arith::DivUIOp::create(builder, loc, launch.block, tiles);
    setTile(arith::RemUIOp::create(builder, loc, launch.block, tiles));
    return emitSteps();
  }
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

/// Each thread has some rows of one column in registers, and neighbouring
/// threads have neighbouring columns.
void remat::cuda::emitTileMatmul(LaunchBuilder &launch, Location loc,
                                 const TileMatmul &p) {
  OpBuilder &builder = launch.builder;
  OpBuilder::InsertionGuard guard(builder);
  constexpr int64_t rows = 4;
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b, nsw);
  };
  auto mul = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, index(b), nsw);
  };
  Type f32 = builder.getF32Type();
  auto load = [&](const TileMatrix &matrix, Value row, Value column) -> Value {
    Value at =
        add(matrix.base, add(mul(row, matrix.row), mul(column, matrix.column)));
    Value value = memref::LoadOp::create(builder, loc, matrix.buffer, at);
    return convertFloat(builder, loc, value, f32);
  };
  int64_t groups = llvm::divideCeil(p.maxM, rows);
  Value number = openLoop(builder, loc, launch.thread, index(groups * p.n),
                          launch.threads);
  Value column = arith::RemUIOp::create(builder, loc, number, index(p.n));
  Value first =
      add(p.mBegin,
          mul(arith::DivUIOp::create(builder, loc, number, index(p.n)), rows));
  // Rows behind the end repeat the last one, and are not stored.
  Value last = arith::SubIOp::create(builder, loc, p.mEnd, index(1), nsw);
  SmallVector<Value> place, inside, sums;
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  openIf(builder, loc,
         arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, first,
                               p.mEnd));
  for (int64_t r = 0; r < rows; ++r) {
    Value row = add(first, index(r));
    inside.push_back(arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, row, p.mEnd));
    place.push_back(arith::MinSIOp::create(builder, loc, row, last));
    sums.push_back(p.accumulate ? load(p.c, place.back(), column) : zero);
  }
  auto loop =
      scf::ForOp::create(builder, loc, p.kBegin, p.kEnd, index(1), sums);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value b = load(p.b, k, column);
    SmallVector<Value> updated;
    for (int64_t r = 0; r < rows; ++r) {
      Value term = arith::MulFOp::create(builder, loc, load(p.a, place[r], k),
                                         b, arith::FastMathFlags::contract);
      updated.push_back(arith::AddFOp::create(builder, loc,
                                              loop.getRegionIterArgs()[r], term,
                                              arith::FastMathFlags::contract));
    }
    scf::YieldOp::create(builder, loc, updated);
  }
  Type type = cast<MemRefType>(p.c.buffer.getType()).getElementType();
  for (int64_t r = 0; r < rows; ++r) {
    OpBuilder::InsertionGuard inner(builder);
    openIf(builder, loc, inside[r]);
    Value at =
        add(p.c.base, add(mul(place[r], p.c.row), mul(column, p.c.column)));
    memref::StoreOp::create(builder, loc,
                            convertFloat(builder, loc, loop.getResult(r), type),
                            p.c.buffer, at);
  }
}
