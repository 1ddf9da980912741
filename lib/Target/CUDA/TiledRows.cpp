//===- TiledRows.cpp - rows in tiles of columns ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TiledRows.h"
#include "RegisterTiles.h"
#include "TiledFinishes.h"

#include "remat/Codegen/KernelWorkspace.h"
#include "remat/Codegen/Reduction.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Columns of a tile: as many as rows, and whole parts of tensor cores.
static constexpr int64_t maxTileColumns = 64, minTileColumns = 16;

int64_t TiledRows::countThreads(const RowSchedule &schedule, bool overRows,
                                int64_t tileThreads) const {
  if (!getRegisters(overRows))
    return tileThreads;
  // A warp owns 16 rows or columns.
  return 32 * llvm::divideCeil(overRows ? tileColumns : schedule.blockRows, 16);
}

int64_t TiledRows::getPitch(Type elementType) const {
  // Rows begin in different banks, and at multiples of 16 bytes.
  return tileColumns + 16 / getElementBytes(getStorageType(elementType));
}

namespace {

class TilePlanner {
public:
  TilePlanner(const RowSchedule &schedule, func::FuncOp function)
      : schedule(schedule), function(function) {}
  std::optional<TiledRows> run(bool repeats, int64_t maxBytes);

private:
  void findWide();
  bool findColumnLoop(const RowStep &step, TiledStep &tiled);
  bool addColumnLoop(const RowStep &step, const Access &access,
                     TiledStep &tiled);
  bool classify(const RowStep &step, TiledStep &tiled);
  bool addFinal(const RowStep &step);
  bool addFactors(const RowStep &step, TiledStep &tiled);
  bool isRepeatable(const RowStep &step, const TiledStep &tiled) const;
  void placeRows(bool repeats);
  bool isPlaced(bool repeats, int64_t maxBytes);
  bool mayEndInTile() const;
  int64_t countTileBytes(bool overRows) const;
  int64_t countBytes() const;

  const RowSchedule &schedule;
  func::FuncOp function;
  TiledRows plan;
  /// Allocations of rows and columns, and results of them.
  DenseSet<Value> wide, wideResults;
  /// Of each factor as a whole: where it is, and the loop that walks its
  /// columns.
  SmallVector<FactorLayout> factors;
  SmallVector<int> factorColumns;
};

} // namespace

/// Finds the columns: the last dimension of the largest allocations.
void TilePlanner::findWide() {
  int64_t most = 0;
  auto isInside = [&](memref::AllocOp alloc) {
    return isAccessed(alloc) && schedule.inside.contains(alloc);
  };
  auto countColumns = [&](memref::AllocOp alloc) {
    return alloc.getType().getNumElements() / schedule.numRows;
  };
  for (auto alloc : function.getOps<memref::AllocOp>())
    if (isInside(alloc) && alloc.getType().getRank() > 1 &&
        countColumns(alloc) == alloc.getType().getShape().back())
      most = std::max(most, countColumns(alloc));
  for (auto alloc : function.getOps<memref::AllocOp>())
    if (isInside(alloc) && alloc.getType().getRank() > 1 &&
        countColumns(alloc) == most &&
        alloc.getType().getShape().back() == most)
      wide.insert(alloc);
  for (const RowStep &step : schedule.steps)
    for (const Access &output : step.nest.outputs) {
      auto type = cast<MemRefType>(output.root.getType());
      if (isa<BlockArgument>(output.root) && type.getRank() > 1 &&
          type.getNumElements() / schedule.numRows == most &&
          type.getShape().back() == most)
        wideResults.insert(output.root);
    }
  plan.columns = most;
}

/// The loop by which a step walks the columns of `access`; false if there is
/// none, or if it walks those of something else by another one.
bool TilePlanner::addColumnLoop(const RowStep &step, const Access &access,
                                TiledStep &tiled) {
  if (access.nonlinear || access.offset != 0)
    return false;
  int found = -1;
  for (auto [number, loop] : llvm::enumerate(step.nest.loops)) {
    bool isRow = loop.dims.size() == 1 &&
                 llvm::is_contained(step.rows, int64_t(loop.dims[0]));
    if (isRow || access.coefficients[number] == 0)
      continue;
    if (found >= 0 || access.coefficients[number] != 1 ||
        loop.size != plan.columns)
      return false;
    found = number;
  }
  if (found < 0 || (tiled.columnLoop >= 0 && tiled.columnLoop != found))
    return false;
  tiled.columnLoop = found;
  return true;
}

/// The loop by which all tiles of a step are walked; false if they are not in
/// the same way.
bool TilePlanner::findColumnLoop(const RowStep &step, TiledStep &tiled) {
  auto add = [&](const DenseSet<Value> &roots) {
    for (const Access &access :
         llvm::concat<const Access>(step.nest.inputs, step.nest.outputs))
      if (roots.contains(access.root) && !addColumnLoop(step, access, tiled))
        return false;
    return true;
  };
  // A sum over rows of a result reads it from memory, where it is complete.
  return add(wide) &&
         (tiled.columnLoop >= 0 || step.summedRuns == 0 || add(wideResults));
}

/// Whether what is reduced may be rounded to the type of the result after each
/// tile.
static bool keepsParts(const LoopNest &nest, const Accumulator &accumulator) {
  auto type = dyn_cast<FloatType>(nest.outputs[accumulator.output].elementType);
  return accumulator.combiner &&
         (!type || type.getWidth() >= 32 ||
          !isa<arith::AddFOp, arith::MulFOp>(accumulator.combiner));
}

bool TilePlanner::classify(const RowStep &step, TiledStep &tiled) {
  const LoopNest &nest = step.nest;
  if (tiled.columnLoop < 0)
    return step.summedRuns == 0;
  if (nest.loops[tiled.columnLoop].isReduction) {
    tiled.kind = TiledStep::OverColumns;
    return step.summedRuns == 0 &&
           (step.isContraction ||
            llvm::all_of(findAccumulators(nest), [&](const Accumulator &sum) {
              return keepsParts(nest, sum);
            }));
  }
  if (step.summedRuns != 0) {
    tiled.kind = TiledStep::OverRows;
    return step.summedRuns == schedule.numRuns;
  }
  tiled.kind = TiledStep::Tile;
  for (const Access &output : nest.outputs)
    tiled.isResult |= !wide.contains(output.root);
  // Contractions with sums over something else are within a tile.
  return step.isContraction || findAccumulators(nest).empty();
}

/// Finds the factors that a step reads; false if it does not read a tile of
/// columns of one, the same loop of the factor as all others.
bool TilePlanner::addFactors(const RowStep &step, TiledStep &tiled) {
  for (const Access &input : step.nest.inputs)
    for (auto [number, factor] : llvm::enumerate(schedule.factors)) {
      if (input.root != factor.getRoot())
        continue;
      if (tiled.columnLoop < 0)
        return false;
      const Access &made = factor.nest.outputs.front();
      int found = -1;
      for (auto [place, loop] : llvm::enumerate(factor.nest.loops))
        if (loop.size == plan.columns && loop.size != 1 &&
            made.coefficients[place] == input.coefficients[tiled.columnLoop])
          found = place;
      int &known = factorColumns[number];
      if (found < 0 || (known >= 0 && known != found))
        return false;
      known = found;
      tiled.factors.push_back(number);
    }
  return true;
}

/// Finds the loop of what finishes a sum over rows that walks its columns;
/// false if it has none.
bool TilePlanner::addFinal(const RowStep &step) {
  for (auto [sum, tiled] : llvm::zip(schedule.steps, plan.steps)) {
    if (tiled.kind != TiledStep::OverRows)
      continue;
    const Access &made = sum.nest.outputs.front();
    for (const Access &input : step.nest.inputs)
      for (auto [number, loop] : llvm::enumerate(step.nest.loops))
        if (input.root == made.root && loop.size == plan.columns &&
            input.coefficients[number] == made.coefficients[tiled.columnLoop]) {
          plan.finals.push_back({static_cast<unsigned>(number)});
          return true;
        }
  }
  return false;
}

/// Whether a launch may do a step for rows again for itself: it is elementwise,
/// of arguments that nobody writes.
bool TilePlanner::isRepeatable(const RowStep &step,
                               const TiledStep &tiled) const {
  auto isWritten = [&](Value root) {
    return llvm::any_of(
        llvm::concat<const RowStep>(schedule.steps, schedule.finals),
        [&](const RowStep &other) {
          return llvm::any_of(other.nest.outputs, [&](const Access &output) {
            return output.root == root;
          });
        });
  };
  return tiled.kind == TiledStep::RowsOnly &&
         llvm::none_of(step.nest.loops,
                       [](const Loop &loop) { return loop.isReduction; }) &&
         llvm::all_of(step.nest.inputs, [&](const Access &input) {
           return !input.root ||
                  (isa<BlockArgument>(input.root) && !isWritten(input.root));
         });
}

/// Decides where the allocations for rows are: both launches see what is in the
/// workspace. With `repeats`, both make what is cheap for themselves.
void TilePlanner::placeRows(bool repeats) {
  plan.tiles.clear();
  plan.rows.clear();
  plan.workspace.clear();
  DenseMap<Value, unsigned> repeated;
  if (repeats)
    for (auto [number, step] : llvm::enumerate(schedule.steps))
      if (isRepeatable(step, plan.steps[number]))
        for (const Access &output : step.nest.outputs)
          if (!isa<BlockArgument>(output.root))
            repeated[output.root] = number;
  DenseSet<Value> shared;
  std::vector<bool> needed(plan.steps.size());
  for (unsigned number = plan.steps.size(); number-- > 0;) {
    TiledStep &tiled = plan.steps[number];
    needed[number] = needed[number] || tiled.kind == TiledStep::OverRows;
    if (!needed[number])
      continue;
    for (const Access &input : schedule.steps[number].nest.inputs)
      if (auto it = repeated.find(input.root); it != repeated.end())
        tiled.tiles.push_back(it->second);
      else if (input.isRead)
        shared.insert(input.root);
    for (unsigned tile : tiled.tiles)
      needed[tile] = true;
  }
  // What no step makes here, or nobody.
  DenseSet<Value> absent;
  for (const RowStep &step :
       llvm::concat<const RowStep>(schedule.factors, schedule.copies))
    absent.insert(step.getRoot());
  for (auto alloc : function.getOps<memref::AllocOp>()) {
    if (!isAccessed(alloc) || absent.contains(alloc) ||
        plan.passing.contains(alloc))
      continue;
    bool isWhole = shared.contains(alloc) || !schedule.inside.contains(alloc);
    (wide.contains(alloc) ? plan.tiles
     : isWhole            ? plan.workspace
                          : plan.rows)
        .push_back(alloc);
  }
}

/// Whether the last tile may have fewer columns than the others: what is
/// reduced over them is so by the slowest loop of all that are.
bool TilePlanner::mayEndInTile() const {
  for (auto [step, tiled] : llvm::zip(schedule.steps, plan.steps)) {
    if (tiled.kind != TiledStep::OverColumns || step.isContraction)
      continue;
    for (const Loop &loop :
         ArrayRef(step.nest.loops).take_front(tiled.columnLoop))
      if (loop.isReduction)
        return false;
  }
  return true;
}

/// What a launch has in shared memory of its tiles, or for them.
int64_t TilePlanner::countTileBytes(bool overRows) const {
  if (const RegisterTiles *registers = plan.getRegisters(overRows))
    return registers->countBytes(schedule.blockRows, plan.tileColumns);
  int64_t bytes = 0;
  for (memref::AllocOp alloc : plan.tiles) {
    Type type = alloc.getType().getElementType();
    bytes += schedule.blockRows * plan.getPitch(type) * getElementBytes(type);
  }
  return bytes;
}

int64_t TilePlanner::countBytes() const {
  int64_t bytes = countTileBytes(/*overRows=*/false);
  if (plan.hasOverRows)
    bytes = std::max(bytes, countTileBytes(/*overRows=*/true));
  for (memref::AllocOp alloc : plan.rows)
    bytes += alloc.getType().getNumElements() / schedule.numRows *
             schedule.blockRows *
             getElementBytes(alloc.getType().getElementType());
  for (const FactorLayout &factor : plan.factors)
    bytes += factor.countBytes();
  return bytes;
}

/// Whether all that is in shared memory finds room with tiles of as many
/// columns. Places it.
bool TilePlanner::isPlaced(bool repeats, int64_t maxBytes) {
  plan.factors = factors;
  for (auto [factor, loop] : llvm::zip(plan.factors, factorColumns))
    if (loop >= 0)
      factor.cut(loop, plan.tileColumns);
  const std::vector<TiledStep> steps = plan.steps;
  placeRows(repeats);
  if (countBytes() <= maxBytes)
    return true;
  plan.steps = steps;
  return false;
}

std::optional<TiledRows> TilePlanner::run(bool repeats, int64_t maxBytes) {
  findWide();
  std::optional<SmallVector<FactorLayout>> layouts = layOutFactors(schedule);
  if (wide.empty() || !layouts)
    return std::nullopt;
  factors = std::move(*layouts);
  factorColumns.assign(factors.size(), -1);
  // Of each root, the step that writes it and the sweep after which it is
  // there.
  DenseMap<Value, unsigned> writers, ready;
  for (const RowStep &step : schedule.steps) {
    TiledStep tiled;
    if (!findColumnLoop(step, tiled) || !classify(step, tiled) ||
        !addFactors(step, tiled))
      return std::nullopt;
    for (const Access &input : step.nest.inputs) {
      // Operands that only tell the sizes of loops.
      if (!input.isRead)
        continue;
      tiled.sweep = std::max(tiled.sweep, ready.lookup(input.root));
      auto writer = writers.find(input.root);
      if (writer != writers.end() && wide.contains(input.root))
        tiled.tiles.push_back(writer->second);
    }
    bool ends = tiled.kind == TiledStep::OverColumns;
    for (const Access &output : step.nest.outputs) {
      // Nothing is updated in place. Parts of a concatenation are results.
      if (!writers.try_emplace(output.root, plan.steps.size()).second &&
          !isa<BlockArgument>(output.root))
        return std::nullopt;
      // What is read as a whole is there when all of its tiles are.
      bool isTile = tiled.kind == TiledStep::Tile && wide.contains(output.root);
      bool isParts = ends || (tiled.columnLoop >= 0 && !isTile);
      ready[output.root] = tiled.sweep + (isParts ? 1 : 0);
    }
    if (ends || tiled.isResult)
      plan.numSweeps = std::max(plan.numSweeps, tiled.sweep + 1);
    plan.hasOverRows |= tiled.kind == TiledStep::OverRows;
    plan.steps.push_back(std::move(tiled));
  }
  for (const RowStep &step : schedule.finals)
    if (!addFinal(step))
      return std::nullopt;
  auto findRegisters =
      [&](bool overRows) -> std::shared_ptr<const RegisterTiles> {
    std::optional<RegisterTiles> found =
        planRegisterTiles(schedule, plan, wide, overRows);
    return found ? std::make_shared<RegisterTiles>(std::move(*found)) : nullptr;
  };
  plan.rowRegisters = findRegisters(/*overRows=*/false);
  if (plan.hasOverRows)
    plan.sumRegisters = findRegisters(/*overRows=*/true);
  planFinishes(schedule, plan);
  for (bool areWhole : {true, false})
    for (plan.tileColumns = maxTileColumns; plan.tileColumns >= minTileColumns;
         plan.tileColumns /= 2)
      if ((plan.hasWholeTiles() || (!areWhole && mayEndInTile())) &&
          isPlaced(repeats, maxBytes))
        return plan;
  return std::nullopt;
}

std::optional<TiledRows> remat::cuda::planTiledRows(const RowSchedule &schedule,
                                                    func::FuncOp function,
                                                    bool repeats,
                                                    int64_t maxBytes) {
  return TilePlanner(schedule, function).run(repeats, maxBytes);
}
