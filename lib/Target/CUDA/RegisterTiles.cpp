//===- RegisterTiles.cpp - tiles of scores in registers -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTiles.h"

#include "remat/Codegen/Reduction.h"
#include "remat/Utils/ReductionOrder.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Sums that a thread keeps through a pass.
static constexpr int64_t maxThreadSums = 128;

std::vector<bool> remat::cuda::findTiledSteps(
    const TiledRows &plan,
    llvm::function_ref<bool(unsigned, const TiledStep &)> wanted) {
  std::vector<bool> needed(plan.steps.size());
  for (unsigned number = plan.steps.size(); number-- > 0;) {
    needed[number] = needed[number] || wanted(number, plan.steps[number]);
    if (needed[number])
      for (unsigned tile : plan.steps[number].tiles)
        needed[tile] = true;
  }
  return needed;
}

int64_t RegisterTiles::countBytes(int64_t rows, int64_t columns) const {
  int64_t bytes = 0;
  for (const TileFactor &factor : factors) {
    int64_t lines = llvm::alignTo(factor.ofRows ? rows : columns, uint64_t(16));
    int64_t side = factor.getPaddedSide();
    // Either may be next to each other; a gap keeps lines in other banks.
    int64_t elements = std::max(lines * (side + 8), side * (lines + 8));
    bytes += 2 * elements * (isOwned(factor) ? 1 : 2);
  }
  return bytes;
}

SmallVector<int64_t> remat::cuda::getOuterCoefficients(const RowStep &step,
                                                       const Access &access) {
  SmallVector<int64_t> coefficients;
  for (int64_t dim : ArrayRef(step.rows).drop_back()) {
    coefficients.push_back(0);
    for (auto [loop, coefficient] :
         llvm::zip(step.nest.loops, access.coefficients))
      if (llvm::is_contained(loop.dims, unsigned(dim)))
        coefficients.back() += coefficient;
  }
  return coefficients;
}

namespace {

class RegisterPlanner {
public:
  RegisterPlanner(const RowSchedule &schedule, const TiledRows &plan,
                  const DenseSet<Value> &wide, bool overRows)
      : schedule(schedule), plan(plan), wide(wide) {
    tiles.overRows = overRows;
    tiles.factorOf.assign(plan.steps.size(), {-1, -1});
    tiles.partsOf.assign(plan.steps.size(), 1);
  }
  std::optional<RegisterTiles> run();

private:
  bool addSweep(llvm::function_ref<bool(const TiledStep &)> wanted);
  bool addStep(unsigned number);
  bool isElementwise(const RowStep &step, const TiledStep &tiled) const;
  bool isRounded(const RowStep &step) const;
  bool addContraction(unsigned number);
  int addFactor(unsigned number, unsigned input, bool ofRows, unsigned side);

  const RowSchedule &schedule;
  const TiledRows &plan;
  const DenseSet<Value> &wide;
  RegisterTiles tiles;
};

} // namespace

static bool isRowLoop(const RowStep &step, const Loop &loop) {
  return loop.dims.size() == 1 &&
         llvm::is_contained(step.rows, int64_t(loop.dims[0]));
}

static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// Whether the body can be done for single elements that are in registers.
static bool hasPlainBody(const LoopNest &nest) {
  return llvm::all_of(*nest.body, [](Operation &op) {
    return op.getNumRegions() == 0 &&
           (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
            isa<linalg::IndexOp, linalg::YieldOp>(op));
  });
}

/// Whether a step that is no contraction walks rows and columns only.
bool RegisterPlanner::isElementwise(const RowStep &step,
                                    const TiledStep &tiled) const {
  const LoopNest &nest = step.nest;
  if (!hasPlainBody(nest))
    return false;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    if (loop.size != 1 && !isRowLoop(step, loop) &&
        int(number) != tiled.columnLoop)
      return false;
  for (const Access &access :
       llvm::concat<const Access>(nest.inputs, nest.outputs))
    if (access.nonlinear)
      return false;
  // What is no tile and no result of the kernel would have to be in memory.
  if (tiled.kind == TiledStep::Tile)
    return llvm::none_of(nest.outputs, [&](const Access &output) {
      return output.isRead ||
             (!wide.contains(output.root) && !isa<BlockArgument>(output.root));
    });
  SmallVector<Accumulator> sums = findAccumulators(nest);
  return sums.size() == nest.outputs.size() &&
         llvm::all_of(sums, [&](const Accumulator &sum) {
           return sum.combiner && nest.inits[sum.output] &&
                  getNeutralElement(sum.combiner);
         });
}

/// Finds a factor among those that are known, or adds it.
int RegisterPlanner::addFactor(unsigned number, unsigned input, bool ofRows,
                               unsigned side) {
  auto getStrides = [&](unsigned step, unsigned operand, unsigned sideLoop) {
    const LoopNest &nest = schedule.steps[step].nest;
    const Access &access = nest.inputs[operand];
    int64_t along = 0;
    for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
      if (&loop != &nest.loops[sideLoop] &&
          (!isRowLoop(schedule.steps[step], loop) ||
           int64_t(loop.dims[0]) == schedule.steps[step].rows.back()))
        along += coefficient;
    return std::tuple(access.root, access.offset, along,
                      access.coefficients[sideLoop], nest.loops[sideLoop].size,
                      getOuterCoefficients(schedule.steps[step], access));
  };
  for (auto [place, known] : llvm::enumerate(tiles.factors))
    if (known.ofRows == ofRows &&
        getStrides(known.step, known.input, known.sideLoop) ==
            getStrides(number, input, side))
      return place;
  tiles.factors.push_back({number, input, ofRows, side,
                           schedule.steps[number].nest.loops[side].size});
  return tiles.factors.size() - 1;
}

/// Whether all that reads what a step makes rounds it to 16 bits.
bool RegisterPlanner::isRounded(const RowStep &step) const {
  Value root = step.getRoot();
  if (isa<BlockArgument>(root))
    return false;
  for (const RowStep &other :
       llvm::concat<const RowStep>(schedule.steps, schedule.finals)) {
    for (auto [input, argument] :
         llvm::zip(other.nest.inputs, other.nest.body->getArguments()))
      if (input.root == root && input.isRead &&
          (other.isContraction || !isRoundedInBody(argument)))
        return false;
  }
  return true;
}

/// Adds a contraction of two factors in memory to a tile, or of a tile and one
/// factor over columns or rows.
bool RegisterPlanner::addContraction(unsigned number) {
  const RowStep &step = schedule.steps[number];
  const TiledStep &tiled = plan.steps[number];
  const LoopNest &nest = step.nest;
  int row = -1, side = -1;
  for (auto [place, loop] : llvm::enumerate(nest.loops)) {
    if (int(place) == tiled.columnLoop || loop.size == 1)
      continue;
    if (!isRowLoop(step, loop)) {
      if (side >= 0)
        return false;
      side = place;
    } else if (int64_t(loop.dims[0]) == step.rows.back()) {
      row = place;
    }
  }
  if (row < 0 || side < 0)
    return false;
  Type types[] = {nest.inputs[0].elementType, nest.inputs[1].elementType};
  for (unsigned i = 0; i < 2; ++i) {
    const Access &input = nest.inputs[i];
    bool hasRow = input.coefficients[row] != 0,
         hasColumn = input.coefficients[tiled.columnLoop] != 0;
    if (input.nonlinear || !input.root)
      return false;
    if (hasRow && hasColumn) {
      // Wide factors are taken apart, which takes the exponents of bf16.
      if (!wide.contains(input.root) || tiled.kind == TiledStep::Tile ||
          !(types[i] == types[1 - i] ||
            (types[i].isF32() && types[1 - i].isBF16())))
        return false;
      bool isExact = !isRounded(step);
      (isExact ? tiles.hasExact : tiles.hasRounded) = true;
      if (types[i].isF32())
        tiles.partsOf[number] = isExact ? 3 : 2;
      continue;
    }
    if (!isHalf(types[i]) || input.coefficients[side] == 0 ||
        (tiled.kind == TiledStep::Tile && types[i] != types[1 - i]))
      return false;
    tiles.factorOf[number][i] = addFactor(number, i, hasRow, side);
  }
  Type made = nest.outputs[0].elementType;
  return made.isF32() || isHalf(made);
}

bool RegisterPlanner::addStep(unsigned number) {
  const TiledStep &tiled = plan.steps[number];
  if (tiled.kind == TiledStep::RowsOnly)
    return true;
  return schedule.steps[number].isContraction
             ? addContraction(number)
             : isElementwise(schedule.steps[number], tiled);
}

/// Adds a sweep, in as many passes as its sums need.
bool RegisterPlanner::addSweep(
    llvm::function_ref<bool(const TiledStep &)> wanted) {
  std::vector<bool> needed = findTiledSteps(
      plan, [&](unsigned, const TiledStep &step) { return wanted(step); });
  int64_t sums = 0;
  SmallVector<SmallVector<unsigned>> groups(1);
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    if (!needed[number])
      continue;
    if (!addStep(number))
      return false;
    if (!wanted(step))
      continue;
    int64_t mine = 0;
    if (schedule.steps[number].isContraction)
      for (int factor : tiles.factorOf[number])
        if (factor >= 0 && step.kind != TiledStep::Tile)
          mine = countThreadSums(tiles.factors[factor].side);
    if (mine > maxThreadSums)
      return false;
    if (sums + mine > maxThreadSums) {
      groups.emplace_back();
      sums = 0;
    }
    sums += mine;
    groups.back().push_back(number);
  }
  SmallVector<TilePass> &passes = tiles.sweeps.emplace_back();
  for (SmallVector<unsigned> &group : groups)
    passes.push_back({findTiledSteps(plan,
                                     [&](unsigned number, const TiledStep &) {
                                       return llvm::is_contained(group, number);
                                     }),
                      group, std::nullopt});
  return true;
}

std::optional<RegisterTiles> RegisterPlanner::run() {
  if (tiles.overRows) {
    if (!addSweep([](const TiledStep &step) {
          return step.kind == TiledStep::OverRows;
        }))
      return std::nullopt;
  } else {
    for (unsigned sweep = 0; sweep < plan.numSweeps; ++sweep)
      if (!addSweep([&](const TiledStep &step) {
            return step.sweep == sweep &&
                   (step.kind == TiledStep::OverColumns || step.isResult);
          }))
        return std::nullopt;
  }
  // Without contractions there is nothing to gain.
  if (tiles.factors.empty())
    return std::nullopt;
  if (!tiles.overRows)
    joinSweeps(schedule, plan, maxThreadSums, tiles);
  return std::move(tiles);
}

std::optional<RegisterTiles>
remat::cuda::planRegisterTiles(const RowSchedule &schedule,
                               const TiledRows &plan,
                               const DenseSet<Value> &wide, bool overRows) {
  return RegisterPlanner(schedule, plan, wide, overRows).run();
}
