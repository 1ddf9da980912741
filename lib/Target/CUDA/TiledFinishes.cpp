//===- TiledFinishes.cpp - sums that threads finish -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TiledFinishes.h"
#include "NestEmitter.h"
#include "RegisterTiles.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static bool isPlain(const Access &access) {
  return !access.nonlinear && !access.base;
}

/// Whether each point of the loops is done by itself, from its operands alone.
static bool isElementwise(const LoopNest &nest) {
  return llvm::none_of(nest.loops,
                       [](const Loop &loop) { return loop.isReduction; }) &&
         llvm::none_of(nest.outputs,
                       [](const Access &output) { return output.isRead; }) &&
         llvm::all_of(nest.outputs, isPlain) && !hasChecks(nest) &&
         nest.body->getOps<memref::LoadOp>().empty() &&
         nest.body->getOps<linalg::IndexOp>().empty();
}

static bool isRowLoop(const RowStep &step, const Loop &loop) {
  return llvm::any_of(loop.dims, [&](unsigned dim) {
    return llvm::is_contained(step.rows, int64_t(dim));
  });
}

namespace {

class FinishPlanner {
public:
  FinishPlanner(const RowSchedule &schedule, TiledRows &plan)
      : schedule(schedule), plan(plan) {}
  void run();

private:
  int findSum(const Access &read, TiledStep::Kind kind) const;
  int findSide(const RowStep &step, const Access &read, int columnLoop,
               unsigned sum) const;
  void finishUnit(const RowStep &step, TiledFinal &tiled);
  void finishRows(unsigned number);
  std::optional<std::pair<size_t, size_t>> findPass(unsigned number) const;
  bool isKnown(Value root, unsigned sum) const;
  std::optional<unsigned> findDerived(const RowStep &reader, const Access &read,
                                      unsigned sum) const;

  const RowSchedule &schedule;
  TiledRows &plan;
};

} // namespace

/// The contraction that alone writes what `read` reads, if it is of this kind
/// and nothing else reads it; -1 if there is none.
int FinishPlanner::findSum(const Access &read, TiledStep::Kind kind) const {
  if (!read.root || !isPlain(read) ||
      !read.root.getDefiningOp<memref::AllocOp>())
    return -1;
  int sum = -1;
  unsigned reads = 0;
  for (auto [number, step] : llvm::enumerate(schedule.steps)) {
    reads += llvm::count_if(step.nest.inputs, [&](const Access &access) {
      return access.root == read.root;
    });
    for (const Access &access : step.nest.outputs)
      if (access.root == read.root) {
        if (sum >= 0)
          return -1;
        sum = number;
      }
  }
  for (const RowStep &step : schedule.finals)
    for (const Access &access :
         llvm::concat<const Access>(step.nest.inputs, step.nest.outputs))
      reads += access.root == read.root;
  return reads == 1 && sum >= 0 && plan.steps[sum].kind == kind &&
                 schedule.steps[sum].isContraction
             ? sum
             : -1;
}

/// The loop of `step` that walks the other side of the product, whose elements
/// lie as the product has them; -1 if there is none.
int FinishPlanner::findSide(const RowStep &step, const Access &read,
                            int columnLoop, unsigned sum) const {
  const RowStep &product = schedule.steps[sum];
  const Access &made = product.nest.outputs.front();
  if (made.offset != read.offset || made.elementType != read.elementType)
    return -1;
  int side = -1;
  for (auto [number, loop] : llvm::enumerate(step.nest.loops)) {
    if (isRowLoop(step, loop) || int(number) == columnLoop || loop.size == 1)
      continue;
    if (side >= 0)
      return -1;
    side = number;
  }
  if (side < 0)
    return -1;
  for (auto [number, loop] : llvm::enumerate(product.nest.loops))
    if (!loop.isReduction && int(number) != plan.steps[sum].columnLoop &&
        loop.size == step.nest.loops[side].size &&
        made.coefficients[number] == read.coefficients[side] &&
        !isRowLoop(product, loop))
      return side;
  return -1;
}

/// Finishes a sum over rows. A block makes all results of its columns, so that
/// each result is written once.
void FinishPlanner::finishUnit(const RowStep &step, TiledFinal &tiled) {
  const Access *read = nullptr;
  for (const Access &input : step.nest.inputs)
    if (input.root && input.isRead) {
      if (read)
        return;
      read = &input;
    }
  if (!read || !isElementwise(step.nest))
    return;
  int sum = findSum(*read, TiledStep::OverRows);
  int side = sum < 0 ? -1 : findSide(step, *read, tiled.columnLoop, sum);
  if (side < 0)
    return;
  tiled.sum = sum;
  tiled.sideLoop = side;
  plan.passing.insert(read->root);
}

/// Where a step that reduces is complete: the sweep and the pass.
std::optional<std::pair<size_t, size_t>>
FinishPlanner::findPass(unsigned number) const {
  for (auto [sweep, passes] : llvm::enumerate(plan.rowRegisters->sweeps))
    for (auto [place, pass] : llvm::enumerate(passes))
      if (llvm::is_contained(pass.ends, number))
        return std::pair(sweep, place);
  return std::nullopt;
}

/// Whether what is at `root` is there when the pass of `sum` ends.
bool FinishPlanner::isKnown(Value root, unsigned sum) const {
  for (auto [number, step] : llvm::enumerate(schedule.steps)) {
    if (llvm::none_of(step.nest.outputs, [&](const Access &output) {
          return output.root == root;
        }))
      continue;
    const TiledStep &tiled = plan.steps[number];
    auto last = findPass(sum), mine = findPass(number);
    bool isBefore = tiled.kind == TiledStep::RowsOnly
                        ? tiled.sum < 0 && tiled.sweep <= last->first
                        : mine && tiled.kind == TiledStep::OverColumns &&
                              !step.isContraction && *mine <= *last;
    if (!isBefore)
      return false;
  }
  return true;
}

/// The loop of a step that walks the rows of a run.
static const Loop *findRowLoop(const RowStep &step) {
  for (const Loop &loop : step.nest.loops)
    if (loop.dims.size() == 1 && int64_t(loop.dims[0]) == step.rows.back())
      return &loop;
  return nullptr;
}

/// How what a step reads or writes lies along its rows.
static std::tuple<int64_t, int64_t, SmallVector<int64_t>>
describeRows(const RowStep &step, const Access &access) {
  const Loop *row = findRowLoop(step);
  return {access.offset,
          row ? access.coefficients[row - step.nest.loops.data()] : 0,
          getOuterCoefficients(step, access)};
}

/// The step that makes what `read` is, if it makes one number of each row, of
/// what is known of that row.
std::optional<unsigned> FinishPlanner::findDerived(const RowStep &reader,
                                                   const Access &read,
                                                   unsigned sum) const {
  std::optional<unsigned> found;
  for (unsigned number = 0; number < schedule.steps.size(); ++number) {
    const RowStep &step = schedule.steps[number];
    const LoopNest &nest = step.nest;
    if (llvm::none_of(nest.outputs, [&](const Access &output) {
          return output.root == read.root;
        }))
      continue;
    bool isOfRows =
        !found && plan.steps[number].kind == TiledStep::RowsOnly &&
        plan.steps[number].sum < 0 && !step.isContraction &&
        nest.outputs.size() == 1 && isElementwise(nest) && findRowLoop(step) &&
        llvm::all_of(
            nest.loops,
            [&](const Loop &loop) {
              return loop.size == 1 || isRowLoop(step, loop);
            }) &&
        llvm::all_of(
            nest.inputs,
            [&](const Access &input) {
              return !input.root || !input.isRead ||
                     (isPlain(input) && isKnown(input.root, sum));
            }) &&
        describeRows(step, nest.outputs[0]) == describeRows(reader, read);
    if (!isOfRows)
      return std::nullopt;
    found = number;
  }
  return found;
}

/// Finishes a sum over columns, of each of which a warp has all rows.
void FinishPlanner::finishRows(unsigned number) {
  const RowStep &step = schedule.steps[number];
  const LoopNest &nest = step.nest;
  TiledStep &tiled = plan.steps[number];
  if (tiled.kind != TiledStep::RowsOnly || step.isContraction ||
      !isElementwise(nest))
    return;
  const Access *read = nullptr;
  int sum = -1, side = -1;
  for (const Access &input : nest.inputs) {
    int found = findSum(input, TiledStep::OverColumns);
    if (found < 0)
      continue;
    if (read)
      return;
    read = &input;
    sum = found;
    side = findSide(step, input, /*columnLoop=*/-1, sum);
  }
  if (!read || side < 0 || !findPass(sum))
    return;
  SmallVector<std::pair<Value, unsigned>> derived;
  for (const Access &input : nest.inputs) {
    if (&input == read || !input.root || !input.isRead)
      continue;
    if (!isPlain(input) || input.coefficients[side] != 0)
      return;
    if (isKnown(input.root, sum))
      continue;
    std::optional<unsigned> maker = findDerived(step, input, sum);
    if (!maker)
      return;
    derived.emplace_back(input.root, *maker);
  }
  plan.derived.insert(derived.begin(), derived.end());
  tiled.sum = sum;
  tiled.sideLoop = side;
  plan.passing.insert(read->root);
}

void FinishPlanner::run() {
  if (plan.sumRegisters)
    for (auto [step, tiled] : llvm::zip(schedule.finals, plan.finals))
      finishUnit(step, tiled);
  if (plan.rowRegisters)
    for (unsigned number = 0; number < plan.steps.size(); ++number)
      finishRows(number);
}

void remat::cuda::planFinishes(const RowSchedule &schedule, TiledRows &plan) {
  FinishPlanner(schedule, plan).run();
}
