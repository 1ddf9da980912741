//===- RowEmitter.cpp - kernels that work row by row ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row schedule (RowSchedule.h) as loops: what operations hand to each other
// lies on the stack, contractions work on panels and register tiles.
//
// Sums over blocks start from zero before the first and are added to in order,
// whatever the number of threads.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "TileMatmul.h"
#include "Tuning.h"

#include "remat/Codegen/RowSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

class RowEmitter : public Emitter {
public:
  RowEmitter(func::FuncOp function, KernelContext &kernel,
             const TileShape &tile)
      : function(function), kernel(kernel), tile(tile) {}

  LogicalResult prepare();
  int64_t getExtent() const override { return schedule.numUnits; }
  int64_t getCost() const override { return schedule.cost; }
  LogicalResult emit(OpBuilder &builder, Value begin, Value end) override;

private:
  void allocate();
  Value emitColumnEnd(OpBuilder &builder);
  TileMatmul open(OpBuilder &builder, const RowStep &step, LoopNest &nest);
  void emitZeros(OpBuilder &builder, const RowStep &step);
  void emitPacked(OpBuilder &builder, bool forAllRuns);
  void emitPacked(OpBuilder &builder, const RowStep &step, bool forAllRuns,
                  bool wouldBeRead);
  void emitStarts(OpBuilder &builder);
  LogicalResult emitStep(OpBuilder &builder, const RowStep &step);

  func::FuncOp function;
  KernelContext &kernel;
  const TileShape &tile;
  RowSchedule schedule;
  /// The factors B as panels that are packed before the blocks.
  DenseMap<const RowStep *, Value> packed;
  /// What stays inside for one block, and these.
  int64_t stackBytes = 0;
  TileBuffers tileBuffers;
  /// While emitting.
  RowPosition position;
  Value runInUnit;
};

} // namespace

/// Gives what stays inside a buffer on the stack for one row or block.
void RowEmitter::allocate() {
  for (auto alloc : function.getOps<memref::AllocOp>()) {
    MemRefType type = alloc.getType();
    int64_t size = type.getNumElements() / schedule.numRows *
                   std::max<int64_t>(schedule.blockRows, 1);
    OpBuilder onEntry = OpBuilder::atBlockBegin(kernel.entry);
    stackBytes +=
        getBufferBytes(RankedTensorType::get({size}, type.getElementType()));
    kernel.buffers[alloc] = memref::AllocaOp::create(
        onEntry, alloc.getLoc(),
        MemRefType::get({size}, getStorageType(type.getElementType())),
        onEntry.getI64IntegerAttr(64));
  }
}

LogicalResult RowEmitter::prepare() {
  if (failed(schedule.analyze(function)))
    return failure();
  for (const RowStep &step :
       llvm::concat<const RowStep>(schedule.factors, schedule.finals))
    return step.op->emitOpError("of a kernel of rows is not supported on a CPU,"
                                " expected a target without 'row_stages'");
  allocate();
  return success();
}

/// A contraction where code is being emitted, and its loops.
TileMatmul RowEmitter::open(OpBuilder &builder, const RowStep &step,
                            LoopNest &nest) {
  nest = schedule.openRows(builder, step, position);
  return schedule.describe(builder, step, nest, kernel);
}

/// Where a sum over blocks starts.
void RowEmitter::emitZeros(OpBuilder &builder, const RowStep &step) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = step.op->getLoc();
  position.blockBegin = position.blockEnd = emitIndex(builder, loc, 0);
  LoopNest nest;
  TileMatmul matmul = open(builder, step, nest);
  Value row =
      openLoop(builder, loc, matmul.mBegin, matmul.mEnd).getInductionVar();
  Value column = openLoop(builder, loc, emitIndex(builder, loc, 0),
                          emitIndex(builder, loc, matmul.n))
                     .getInductionVar();
  Value address = emitLinear(builder, loc, 0, {matmul.c.row, matmul.c.column},
                             {row, column});
  address = arith::AddIOp::create(builder, loc, address, matmul.c.base);
  Value zero = emitZero(builder, loc, builder.getF32Type());
  memref::StoreOp::create(builder, loc, zero, matmul.c.buffer, address);
}

/// Packs the factors that are the same for all blocks: of all runs of the unit,
/// or of one alone. Those that could be read where they lie get what room is
/// left.
void RowEmitter::emitPacked(OpBuilder &builder, bool forAllRuns) {
  for (bool wouldBeRead : {false, true})
    for (const RowStep &step : schedule.steps)
      if (step.isContraction && step.summedRuns == 0)
        emitPacked(builder, step, forAllRuns, wouldBeRead);
}

void RowEmitter::emitPacked(OpBuilder &builder, const RowStep &step,
                            bool forAllRuns, bool wouldBeRead) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = step.op->getLoc();
  position.blockBegin = emitIndex(builder, loc, 0);
  position.blockEnd = emitIndex(builder, loc, schedule.runRows);
  LoopNest nest;
  TileMatmul matmul = open(builder, step, nest);
  bool isSame = true;
  for (auto [access, original] : llvm::zip(nest.inputs, step.nest.inputs))
    if (kernel.buffers.lookup(access.root) == matmul.b.buffer) {
      if (schedule.inside.contains(access.root))
        return;
      isSame &= schedule.isSameInRuns(step, original);
    }
  if (isSame != forAllRuns || canReadDirectly(matmul) != wouldBeRead)
    return;
  // B must not depend on the block: neither its sum nor its columns may.
  Loop *last = nest.findLoop(step.rows.back());
  bool isRow =
      !last->isReduction &&
      nest.outputs[0].coefficients[last - nest.loops.data()] == matmul.c.row;
  int64_t size = getPackedSize(tile, matmul);
  if (!isRow || matmul.c.column != 1 || size * 4 > RowTuning::maxPackedBytes ||
      stackBytes + size * 4 > RowTuning::maxStackBytes)
    return;
  stackBytes += size * 4;
  OpBuilder onEntry = OpBuilder::atBlockBegin(kernel.entry);
  packed[&step] = memref::AllocaOp::create(
      onEntry, loc, MemRefType::get({size}, builder.getF32Type()),
      onEntry.getI64IntegerAttr(64));
  emitPack(builder, loc, tile, matmul, packed[&step], kernel.status);
}

/// What precedes the blocks of a run.
void RowEmitter::emitStarts(OpBuilder &builder) {
  Location loc = function.getLoc();
  if (schedule.numRuns != 1)
    emitPacked(builder, /*forAllRuns=*/false);
  for (const RowStep &step : schedule.steps) {
    if (step.summedRuns == 0)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    if (step.summedRuns != 1) {
      Value rest = arith::RemUIOp::create(
          builder, loc, runInUnit, emitIndex(builder, loc, step.summedRuns));
      Value isFirst =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                emitIndex(builder, loc, 0));
      auto ifFirst = scf::IfOp::create(builder, loc, isFirst, false);
      builder.setInsertionPointToStart(ifFirst.thenBlock());
    }
    emitZeros(builder, step);
  }
}

LogicalResult RowEmitter::emitStep(OpBuilder &builder, const RowStep &step) {
  Location loc = step.op->getLoc();
  if (step.isContraction) {
    LoopNest nest;
    TileMatmul matmul = open(builder, step, nest);
    matmul.packed = packed.lookup(&step);
    tileBuffers.widenedBytes =
        std::min(getTargetFacts(function).getBlockBytes(),
                 RowTuning::maxStackBytes - stackBytes);
    emitTileMatmul(builder, loc, tile, matmul, kernel.entry, kernel.status,
                   tileBuffers);
    return success();
  }
  std::unique_ptr<Emitter> emitter =
      makeNestEmitter(schedule.openRows(builder, step, position), kernel);
  return emitter->emit(builder, emitIndex(builder, loc, 0),
                       emitIndex(builder, loc, emitter->getExtent()));
}

/// The end of the columns that rows of the block see. Matmuls work on whole
/// panels of columns, so it is the end of one.
Value RowEmitter::emitColumnEnd(OpBuilder &builder) {
  Location loc = function.getLoc();
  Value seen = arith::AddIOp::create(
      builder, loc, position.blockEnd,
      emitIndex(builder, loc, schedule.masked.shift - 1), nsw);
  Value panel = emitIndex(builder, loc, tile.columns);
  Value whole = arith::MulIOp::create(
      builder, loc, arith::CeilDivUIOp::create(builder, loc, seen, panel),
      panel, nsw);
  return arith::MinSIOp::create(builder, loc, whole,
                                emitIndex(builder, loc, schedule.masked.size));
}

LogicalResult RowEmitter::emit(OpBuilder &builder, Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = function.getLoc();
  Value unit = openLoop(builder, loc, begin, end).getInductionVar();
  position.run = unit;
  position.columnEnd = Value();
  if (schedule.blockRows != 0) {
    if (schedule.numRuns != 1)
      position.run = arith::MulIOp::create(
          builder, loc, unit, emitIndex(builder, loc, schedule.numRuns), nsw);
    emitPacked(builder, /*forAllRuns=*/true);
    if (schedule.numRuns != 1) {
      runInUnit = openLoop(builder, loc, emitIndex(builder, loc, 0),
                           emitIndex(builder, loc, schedule.numRuns))
                      .getInductionVar();
      position.run =
          arith::AddIOp::create(builder, loc, position.run, runInUnit, nsw);
    }
    emitStarts(builder);
    int64_t numBlocks = llvm::divideCeil(schedule.runRows, schedule.blockRows);
    Value number = openLoop(builder, loc, emitIndex(builder, loc, 0),
                            emitIndex(builder, loc, numBlocks))
                       .getInductionVar();
    Value block = emitIndex(builder, loc, schedule.blockRows);
    position.blockBegin =
        arith::MulIOp::create(builder, loc, number, block, nsw);
    position.blockEnd =
        arith::AddIOp::create(builder, loc, position.blockBegin, block, nsw);
    if (schedule.runRows % schedule.blockRows != 0)
      position.blockEnd =
          arith::MinSIOp::create(builder, loc, position.blockEnd,
                                 emitIndex(builder, loc, schedule.runRows));
    if (schedule.masked.size != 0)
      position.columnEnd = emitColumnEnd(builder);
  }
  for (const RowStep &step : schedule.steps)
    if (failed(emitStep(builder, step)))
      return failure();
  return success();
}

FailureOr<std::unique_ptr<Emitter>>
remat::cpu::makeRowEmitter(func::FuncOp function, KernelContext &kernel,
                           const TileShape &tile) {
  auto emitter = std::make_unique<RowEmitter>(function, kernel, tile);
  if (failed(emitter->prepare()))
    return failure();
  return std::unique_ptr<Emitter>(std::move(emitter));
}
