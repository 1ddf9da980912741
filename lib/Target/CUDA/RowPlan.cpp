//===- RowPlan.cpp - how the rows of a kernel are divided -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"
#include "Recompute.h"
#include "SharedMemory.h"
#include "StagedRows.h"
#include "WarpOps.h"

#include "remat/Codegen/KernelWorkspace.h"

#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Points of a row that a thread takes: as few as a vector of floats, where
/// there are few rows, and as many as a thread can read before it needs them.
static constexpr int64_t leastPoints = 4, mostPoints = 32;
static constexpr int64_t maxThreads = 512;
/// Threads and blocks that keep a device busy.
static constexpr int64_t wantedThreads = 1 << 17, wantedBlocks = 256;
/// Warps of a block, each of which takes a row.
static constexpr int64_t mostTeams = 8;
/// Rows of a tile, where there are fewer than wanted.
static constexpr int64_t minTileRows = 8;
/// Rows of a tile that are better than more rows and a larger workspace: those
/// of a warp.
static constexpr int64_t leastSharedRows = 16;
/// Rows of a tile in registers.
static constexpr int64_t registerTileRows = 64;
/// Threads of a block with contractions.
static constexpr int64_t tileThreads = 256;

int64_t RowPlan::countTiles() const {
  return schedule.blockRows == 0
             ? 1
             : llvm::divideCeil(schedule.runRows, schedule.blockRows);
}

int64_t remat::cuda::countInside(const RowSchedule &schedule, MemRefType type) {
  return type.getNumElements() / schedule.numRows *
         std::max<int64_t>(schedule.blockRows, 1);
}

static int64_t countInsideBytes(const RowSchedule &schedule,
                                memref::AllocOp alloc) {
  return countInside(schedule, alloc.getType()) *
         getElementBytes(alloc.getType().getElementType());
}

/// The allocations that are read, those with the most bytes first.
static SmallVector<memref::AllocOp> findInside(const RowSchedule &schedule,
                                               func::FuncOp function) {
  SmallVector<memref::AllocOp> allocs;
  for (auto alloc : function.getOps<memref::AllocOp>())
    if (isAccessed(alloc) && schedule.inside.contains(alloc))
      allocs.push_back(alloc);
  llvm::stable_sort(allocs, [&](memref::AllocOp a, memref::AllocOp b) {
    return countInsideBytes(schedule, a) > countInsideBytes(schedule, b);
  });
  return allocs;
}

/// Divides the rows, as the kernel is now. With `prepare`, launches of their
/// own make all factors.
static LogicalResult analyze(RowPlan &plan, func::FuncOp function,
                             bool prepare) {
  RowSchedule &schedule = plan.schedule;
  schedule = RowSchedule();
  if (failed(schedule.analyze(function)))
    return failure();
  schedule.readSources(plan.readsInAnyOrder);
  plan.prepared.clear();
  if (prepare) {
    for (const RowStep &factor : schedule.factors)
      plan.prepared.push_back(factor.op);
    schedule.factors.clear();
  }
  plan.shared = findInside(schedule, function);
  return success();
}

/// Divides the rows anew, into tiles of so many.
static LogicalResult setBlockRows(RowPlan &plan, func::FuncOp function,
                                  int64_t rows) {
  auto block =
      IntegerAttr::get(IntegerType::get(function.getContext(), 64), rows);
  for (const RowStep &step :
       llvm::concat<const RowStep>(plan.schedule.steps, plan.schedule.copies))
    if (step.op->hasAttr(blockAttrName))
      step.op->setAttr(blockAttrName, block);
  return analyze(plan, function, !plan.prepared.empty());
}

/// Cuts tiles of rows into tiles of columns, of fewer rows if these find no
/// room otherwise. What is elementwise is computed where it is read, but for
/// factors of contractions.
static LogicalResult placeTiles(RowPlan &plan, func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    for (memref::AllocOp alloc : plan.shared)
      changed |= isAccessed(alloc) && recomputeInReaders(alloc, /*some=*/true);
  }
  if (failed(analyze(plan, function, !plan.prepared.empty())))
    return failure();
  RowSchedule &schedule = plan.schedule;
  const int64_t rows = schedule.blockRows;
  // What is staged for tensor cores may be transposed on its way. There, tiles
  // have as many rows as keep four warps busy, if there are so many.
  // Before anything is put into the workspace, tiles have fewer rows.
  for (bool inAnyOrder : {true, false}) {
    plan.readsInAnyOrder = inAnyOrder;
    int64_t first =
        inAnyOrder ? std::min(registerTileRows, schedule.runRows) : rows;
    for (bool repeats : {true, false})
      for (int64_t fewer = first;
           !plan.tiled && fewer >= (repeats ? leastSharedRows : minTileRows);
           fewer /= 2) {
        if (failed(setBlockRows(plan, function, fewer)))
          return failure();
        plan.tiled = planTiledRows(schedule, function, repeats,
                                   getMaxInsideBytes(function, maxThreads));
        if (inAnyOrder && plan.tiled && !plan.tiled->areAllInRegisters())
          plan.tiled.reset();
      }
    if (plan.tiled)
      break;
  }
  if (!plan.tiled)
    return setBlockRows(plan, function, rows);
  plan.shared.clear();
  plan.workspace = plan.tiled->workspace;
  for (memref::AllocOp alloc :
       llvm::concat<memref::AllocOp>(plan.workspace, plan.tiled->tiles))
    schedule.inside.erase(alloc);
  return success();
}

/// Lets tiles have fewer rows, so that what stays inside, of so many bytes now,
/// finds room in shared memory, if as many rows are left as keep a block busy.
static LogicalResult takeFewerRows(RowPlan &plan, func::FuncOp function,
                                   int64_t bytes) {
  RowSchedule &schedule = plan.schedule;
  int64_t rows =
      schedule.blockRows * getMaxInsideBytes(function, maxThreads) / bytes;
  rows -= rows % minTileRows;
  if (rows < minTileRows)
    return success();
  return setBlockRows(plan, function, std::min(rows, schedule.runRows));
}

/// Gives factors a place in what is left of shared memory, as a whole. Else
/// they are prepared.
static LogicalResult placeFactors(RowPlan &plan, func::FuncOp function,
                                  int64_t maxBytes) {
  std::optional<SmallVector<FactorLayout>> layouts =
      layOutFactors(plan.schedule);
  int64_t bytes = 0;
  if (layouts)
    for (const FactorLayout &layout : *layouts)
      bytes += layout.countBytes();
  if (layouts && bytes <= maxBytes) {
    plan.factors = std::move(*layouts);
    return success();
  }
  // What has found a place stays there.
  SmallVector<memref::AllocOp> shared = plan.shared;
  if (failed(analyze(plan, function, /*prepare=*/true)))
    return failure();
  plan.shared = std::move(shared);
  for (memref::AllocOp alloc : plan.workspace)
    plan.schedule.inside.erase(alloc);
  return success();
}

/// Computes again what does not fit into shared memory, cuts rows into tiles,
/// or gives what is left a place in the workspace.
static LogicalResult placeInside(RowPlan &plan, func::FuncOp function) {
  RowSchedule &schedule = plan.schedule;
  const int64_t maxInsideBytes = getMaxInsideBytes(function, maxThreads);
  auto countBytes = [&] {
    int64_t bytes = 0;
    for (memref::AllocOp alloc : plan.shared)
      bytes += countInsideBytes(schedule, alloc);
    return bytes;
  };
  for (bool changed = true, areSeparate = false; changed;) {
    if (failed(analyze(plan, function, /*prepare=*/false)))
      return failure();
    changed = false;
    if (countBytes() <= maxInsideBytes)
      break;
    if (!areSeparate) {
      separateValues(function);
      changed = areSeparate = true;
      continue;
    }
    for (memref::AllocOp alloc : plan.shared)
      changed = changed || recomputeInReaders(alloc);
  }
  if (schedule.blockRows != 0 && countBytes() > maxInsideBytes) {
    if (failed(placeTiles(plan, function)))
      return failure();
    if (!plan.tiled && !schedule.factors.empty() &&
        (failed(analyze(plan, function, /*prepare=*/true)) ||
         failed(placeTiles(plan, function))))
      return failure();
    if (plan.tiled)
      return success();
    if (int64_t bytes = countBytes();
        bytes > maxInsideBytes && failed(takeFewerRows(plan, function, bytes)))
      return failure();
  }
  if (schedule.blockRows == 0 && countBytes() <= maxInsideBytes &&
      stageRows(function, schedule.numRows, maxInsideBytes - countBytes()) &&
      failed(analyze(plan, function, /*prepare=*/false)))
    return failure();
  while (countBytes() > maxInsideBytes) {
    memref::AllocOp alloc = plan.shared.front();
    schedule.inside.erase(alloc);
    plan.workspace.push_back(alloc);
    plan.shared.erase(plan.shared.begin());
  }
  return placeFactors(plan, function, maxInsideBytes - countBytes());
}

/// Gives sums that are finished in the kernel a place in the workspace, if they
/// are in memory at all.
static void placeSums(RowPlan &plan) {
  for (const RowStep &step : plan.schedule.steps) {
    auto alloc =
        step.nest.outputs.front().root.getDefiningOp<memref::AllocOp>();
    if (alloc && step.summedRuns != 0 &&
        !(plan.tiled && plan.tiled->passing.contains(alloc)) &&
        !llvm::is_contained(plan.workspace, alloc))
      plan.workspace.push_back(alloc);
  }
}

/// Whether something else is written where a factor is.
static bool sharesBuffers(func::FuncOp function) {
  DenseMap<Value, unsigned> writers;
  SmallVector<Value> roots;
  for (auto op : function.getOps<linalg::GenericOp>())
    for (Value init : op.getDpsInits())
      if (FailureOr<BufferView> view = resolveView(init); succeeded(view)) {
        ++writers[view->root];
        if (op->hasAttr(factorAttrName))
          roots.push_back(view->root);
      }
  return llvm::any_of(roots, [&](Value root) { return writers[root] != 1; });
}

/// Chooses how many threads take a row together, and how many rows a block
/// takes. Few threads have more loads under way each, and less to wait for.
static void chooseTeams(RowPlan &plan, func::FuncOp function) {
  const RowSchedule &schedule = plan.schedule;
  int64_t points = 1;
  for (const RowStep &step : schedule.steps)
    points = std::max(points, step.nest.numPoints() / schedule.numRows);
  auto countThreads = [&](int64_t each) {
    return std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(points, each)), warpSize,
        maxThreads);
  };
  plan.threads = countThreads(mostPoints);
  while (plan.threads < countThreads(leastPoints) &&
         multiplyCounts(plan.blocks, plan.threads) < wantedThreads)
    plan.threads *= 2;
  if (plan.threads != warpSize || !plan.factors.empty() ||
      llvm::any_of(schedule.steps,
                   [](const RowStep &step) { return step.isContraction; }))
    return;
  int64_t bytes = 0;
  for (memref::AllocOp alloc : plan.shared)
    bytes += countInsideBytes(schedule, alloc);
  // Half of what a block may have, so that there are several on each
  // multiprocessor.
  while (plan.teams < mostTeams &&
         2 * plan.teams * bytes <=
             getMaxInsideBytes(function, maxThreads) / 2 &&
         plan.blocks / (2 * plan.teams) >= wantedBlocks)
    plan.teams *= 2;
  plan.blocks = llvm::divideCeil(plan.blocks, plan.teams);
}

/// Whether a contraction of tiles has only factors of 16 bits.
static bool hasNarrowFactors(func::FuncOp function) {
  return llvm::any_of(
      function.getOps<linalg::GenericOp>(), [](linalg::GenericOp op) {
        return op->hasAttr(blockAttrName) && op.getNumReductionLoops() != 0 &&
               op.getNumDpsInputs() == 2 &&
               llvm::all_of(op.getDpsInputs(), [](Value factor) {
                 Type type = getElementTypeOrSelf(factor.getType());
                 return type.isBF16() || type.isF16();
               });
      });
}

/// Cuts rows into tiles that stay in registers, in all launches, if they can.
static LogicalResult placeInRegisters(RowPlan &plan, func::FuncOp function) {
  separateValues(function);
  plan.readsInAnyOrder = true;
  if (failed(analyze(plan, function, /*prepare=*/false)))
    return failure();
  if (plan.schedule.blockRows == 0)
    return success();
  if (failed(placeTiles(plan, function)))
    return failure();
  if (plan.tiled && !plan.tiled->areAllInRegisters())
    plan.tiled.reset();
  return success();
}

/// Whether the rows of a kernel can be cut into such tiles. What would be
/// changed for it is tried on a copy.
static bool fitsRegisters(func::FuncOp function) {
  if (!hasNarrowFactors(function))
    return false;
  OpBuilder builder(function);
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  RowPlan plan;
  bool fits = succeeded(placeInRegisters(plan, copy)) && plan.tiled;
  copy->erase();
  return fits;
}

FailureOr<RowPlan> remat::cuda::planRows(func::FuncOp function) {
  RowPlan plan;
  RowSchedule &schedule = plan.schedule;
  if (fitsRegisters(function)) {
    if (failed(placeInRegisters(plan, function)))
      return failure();
  } else {
    if (sharesBuffers(function))
      separateValues(function);
    if (failed(placeInside(plan, function)))
      return failure();
  }
  placeSums(plan);
  for (linalg::GenericOp op : plan.prepared) {
    FailureOr<BufferView> view = resolveView(op.getDpsInits().front());
    if (failed(view))
      return failure();
    auto alloc = view->root.getDefiningOp<memref::AllocOp>();
    if (!llvm::is_contained(plan.workspace, alloc))
      plan.workspace.push_back(alloc);
  }
  plan.blocks = schedule.numUnits;
  if (schedule.blockRows == 0) {
    chooseTeams(plan, function);
    return plan;
  }
  plan.threads = tileThreads;
  if (plan.tiled) {
    plan.blocks *= schedule.numRuns * plan.countTiles();
    return plan;
  }
  plan.tilesAreBlocks = llvm::none_of(
      schedule.steps, [](const RowStep &step) { return step.summedRuns != 0; });
  if (plan.tilesAreBlocks)
    plan.blocks *= schedule.numRuns * plan.countTiles();
  return plan;
}
