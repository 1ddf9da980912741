//===- LoopSearch.cpp - plans of graphs with loops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSearch.h"

#include "Tuning.h"
#include "remat/Dialect/Remat/Transforms/StoredPlan.h"

#include <cmath>

using namespace mlir;
using namespace remat;
using planning::BudgetRequest;

namespace {
/// The best plan of a graph with loops: with stacks or with checkpoints, and
/// with what their bodies need at a time.
class LoopSearch {
public:
  LoopSearch(const PlanOptions &options, LoopSlots &slots, bool applies)
      : options(options), slots(slots), applies(applies),
        stored(options.stored) {
    this->options.stored = nullptr;
    limit = options.solver.timeLimitSeconds;
  }

  llvm::Expected<GraphPlan> run(PlannedGraph *planned);

private:
  bool isSmallest() const {
    return options.budget.kind == BudgetRequest::Kind::Smallest;
  }
  bool isOver() const;
  void shareTime(unsigned plans);
  llvm::Error add(GraphOp graph);
  llvm::Error addChoice(const LoopChoice &choice);
  llvm::Expected<std::optional<int64_t>> findSplit(unsigned level);
  llvm::Error searchLevels(ArrayRef<unsigned> levels, unsigned numLater);
  llvm::Error search();
  bool isHopeless(GraphOp copy, unsigned level);
  llvm::Expected<bool> addStored(GraphOp graph);

  PlanOptions options;
  LoopSlots &slots;
  bool applies;
  std::optional<double> limit;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  /// If set, the plan of one of the copies: no other is looked for.
  std::shared_ptr<const StoredPlan> stored;
  bool hasStored = false;
  std::optional<GraphPlan> best;
  PlannedGraph bestGraph;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  /// Of what was added last: whether it has a plan, whether that is the best,
  /// and by how much it does not fit.
  bool hasPlan = false, isBest = false;
  int64_t excess = 0;
};
} // namespace

/// Whether there is no time for another plan, and there need not be.
bool LoopSearch::isOver() const {
  bool isInterrupted = options.solver.interrupt && *options.solver.interrupt;
  return best &&
         (isInterrupted || (limit && *options.solver.timeLimitSeconds <= 0));
}

/// Gives the next plan, and the plans of bodies for it, a share of what is left
/// of the time for `plans` more.
void LoopSearch::shareTime(unsigned plans) {
  if (!limit)
    return;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  double share = std::max(*limit - passed.count(), 0.0) / std::max(plans, 1u);
  options.solver.timeLimitSeconds = share;
  slots.setTimeLimit(share);
}

/// Takes the stored plan if it is one of `graph`.
llvm::Expected<bool> LoopSearch::addStored(GraphOp graph) {
  PlanOptions given = options;
  given.stored = stored;
  Variants variants(graph, given);
  if (llvm::Error error = variants.prepare())
    return std::move(error);
  if (!variants.isStoredPlan())
    return false;
  llvm::Expected<GraphPlan> plan =
      findPlanOf(graph, given, applies ? &bestGraph : nullptr);
  if (!plan)
    return plan.takeError();
  best = std::move(*plan);
  llvm::append_range(bestGraph.decisions, slots.getDecisions());
  return true;
}

/// Plans `graph`, in which it is decided what loops keep.
llvm::Error LoopSearch::add(GraphOp graph) {
  if (stored) {
    if (llvm::Error error = addStored(graph).moveInto(hasStored))
      return error;
    if (hasStored)
      return llvm::Error::success();
  }
  PlannedGraph applied;
  llvm::Expected<GraphPlan> plan =
      findPlanOf(graph, options, applies ? &applied : nullptr);
  hasPlan = bool(plan);
  isBest = plan && (!best || isBetter(*plan, *best, isSmallest()));
  excess = 0;
  if (isBest) {
    best = std::move(*plan);
    bestGraph = std::move(applied);
    llvm::append_range(bestGraph.decisions, slots.getDecisions());
    return llvm::Error::success();
  }
  llvm::Error error = plan.takeError();
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    if (info.isA<planning::InfeasibleBudgetError>()) {
      auto &infeasible =
          static_cast<const planning::InfeasibleBudgetError &>(info);
      excess = infeasible.getSmallestFeasible() - infeasible.getBudget();
    }
  });
  return keepClosest(std::move(error), failure);
}

/// Whether stacks alone, or what one task needs, are too much for any plan of
/// `copy`. The last level is planned as long as there is no plan, and says what
/// is missing; and a copy by how much it does not fit, as bodies may take less.
bool LoopSearch::isHopeless(GraphOp copy, unsigned level) {
  bool isBounded = options.budget.kind == BudgetRequest::Kind::Bytes;
  bool isComparable = best && (isSmallest() || slots.isOnHost(level));
  if (stored || !(isBounded || isSmallest()))
    return false;
  int64_t most = isBounded ? options.budget.bytes
                 : best    ? best->arenaBytes
                           : INT64_MAX;
  if (isComparable && LoopSlots::getMostWorkspace(copy) > most)
    return true;
  bool mayOffload =
      options.offload && options.linkBandwidth != 0 && options.hostBudget != 0;
  return !mayOffload && (best || level != slots.getNumLevels()) &&
         !slots.isOnHost(level) && slots.getLeastArena(copy) > most;
}

/// Plans the copy of a choice.
llvm::Error LoopSearch::addChoice(const LoopChoice &choice) {
  hasPlan = isBest = false;
  excess = 0;
  unsigned level = choice.level;
  llvm::Expected<GraphOp> copy =
      level == 0 && choice.fewer == 0 ? slots.getWhole() : slots.make(choice);
  if (!copy)
    return copy.takeError();
  if (isHopeless(*copy, level))
    return llvm::Error::success();
  llvm::Error error = add(*copy);
  if (isBest || hasStored) {
    best->loopLevel = level;
    best->loopFewer = choice.fewer;
    best->loopSplit = choice.split;
  }
  // Checkpoints are a plan, too, that of Revolve.
  if (isBest && slots.hasCheckpoints(level) &&
      best->solution.solver == "save-all")
    best->solution.solver =
        slots.isOnHost(level) ? "two-level-revolve" : "revolve";
  return error;
}

/// The fewest iterations that have to be of `level`, where those before them
/// are of the level before, so that what loops keep fits into the budget. Found
/// by interpolation.
llvm::Expected<std::optional<int64_t>> LoopSearch::findSplit(unsigned level) {
  PlanOptions unlimited = options;
  unlimited.budget = BudgetRequest();
  auto count = [&](const LoopChoice &choice) -> llvm::Expected<int64_t> {
    llvm::Expected<GraphOp> copy =
        choice.level == 0 ? slots.getWhole() : slots.make(choice);
    if (!copy)
      return copy.takeError();
    llvm::Expected<GraphPlan> plan = findPlanOf(*copy, unlimited, nullptr);
    if (!plan)
      return plan.takeError();
    return plan->arenaBytes;
  };
  int64_t budget = options.budget.bytes;
  int64_t few = 0, many = slots.getMostSplits();
  llvm::Expected<int64_t> bytesOfFew = count({level - 1, 0, 0});
  if (!bytesOfFew)
    return bytesOfFew.takeError();
  llvm::Expected<int64_t> bytesOfMany = count({level, 0, 0});
  if (!bytesOfMany)
    return bytesOfMany.takeError();
  // A plan that computes something again does not depend on this alone.
  if (*bytesOfFew <= budget || *bytesOfMany > budget)
    return std::nullopt;
  std::optional<int64_t> found;
  for (unsigned trial = 0;
       trial < LoopTuning::mostSplitTrials && many - few > 1; ++trial) {
    double share = double(*bytesOfFew - budget) /
                   double(std::max<int64_t>(*bytesOfFew - *bytesOfMany, 1));
    int64_t late =
        std::clamp(few + int64_t(std::ceil(share * double(many - few))),
                   few + 1, many - 1);
    llvm::Expected<int64_t> bytes = count({level, 0, late});
    if (!bytes)
      return bytes.takeError();
    if (*bytes <= budget)
      found = late;
    (*bytes <= budget ? many : few) = late;
    (*bytes <= budget ? bytesOfMany : bytesOfFew) = *bytes;
  }
  return found;
}

/// Plans the copies of `levels`, which keep ever less, or ever more if that is
/// asked for which keeps the least. Behind them come `numLater` others.
llvm::Error LoopSearch::searchLevels(ArrayRef<unsigned> levels,
                                     unsigned numLater) {
  unsigned withoutGain = 0;
  for (auto [step, level] : llvm::enumerate(levels)) {
    // Stacks may lie in buffers of results, which checkpoints do not.
    if (step > 0 && slots.canSpread() &&
        slots.hasCheckpoints(level) != slots.hasCheckpoints(levels[step - 1]))
      withoutGain = 0;
    // What keeps more rarely takes less.
    if (isSmallest() && !stored && withoutGain == LoopTuning::mostWithoutGain) {
      if (!slots.canSpread())
        break;
      continue;
    }
    unsigned plansLeft = 3 * (levels.size() - step + numLater);
    shareTime(plansLeft);
    if (isOver())
      break;
    if (llvm::Error error = addChoice({level, 0, 0}))
      return error;
    bool isGain = isBest;
    // Fewer stacks than are needed cost more.
    bool isSlower =
        slots.isOnHost(level) ? hasPlan && !isBest : best && !isBest;
    // Some iterations may keep more.
    if (isBest && level > 0 && slots.maySplitLevel(level) && !hasStored &&
        options.budget.kind == BudgetRequest::Kind::Bytes) {
      llvm::Expected<std::optional<int64_t>> split = findSplit(level);
      if (!split)
        return split.takeError();
      if (*split)
        if (llvm::Error error = addChoice({level, 0, **split}))
          return error;
    }
    if (hasStored || (isSlower && !isSmallest() && !stored))
      break;
    shareTime(plansLeft - 1);
    if (isOver())
      break;
    SmallVector<int64_t, 2> smaller;
    if (excess > 0 && !isSmallest())
      smaller.push_back(excess);
    if (isSmallest() || stored)
      smaller.push_back(INT64_MAX);
    for (int64_t fewer : smaller) {
      if (llvm::Error error = addChoice({level, fewer, 0}))
        return error;
      isGain |= isBest;
      if (hasStored)
        return llvm::Error::success();
    }
    withoutGain = isGain ? 0 : withoutGain + 1;
  }
  return llvm::Error::success();
}

llvm::Error LoopSearch::search() {
  unsigned numLevels = slots.getNumLevels();
  // A stored plan says of which copy it is. Those of other copies may be it,
  // too.
  if (stored && stored->loopLevel <= numLevels + slots.getNumHostLevels()) {
    bool isSplit = slots.maySplitLevel(stored->loopLevel) &&
                   stored->loopSplit < slots.getMostSplits();
    llvm::Error error = addChoice({stored->loopLevel, stored->loopFewer,
                                   isSplit ? stored->loopSplit : 0});
    if (error || hasStored)
      return error;
  }
  auto levels = llvm::to_vector(llvm::seq(0u, numLevels + 1));
  auto onHost = llvm::to_vector(
      llvm::seq(numLevels + 1, numLevels + slots.getNumHostLevels() + 1));
  if (isSmallest()) {
    std::reverse(levels.begin(), levels.end());
    std::reverse(onHost.begin(), onHost.end());
  }
  if (llvm::Error error = searchLevels(levels, onHost.size()))
    return error;
  return hasStored ? llvm::Error::success()
                   : searchLevels(onHost, /*numLater=*/0);
}

llvm::Expected<GraphPlan> LoopSearch::run(PlannedGraph *planned) {
  // Percentages mean the same for all.
  PlanOptions unlimited = options;
  unlimited.budget = BudgetRequest();
  llvm::Expected<GraphOp> stacking = slots.getWhole();
  if (!stacking)
    return stacking.takeError();
  llvm::Expected<GraphPlan> whole = findPlanOf(*stacking, unlimited, nullptr);
  if (!whole)
    return whole.takeError();
  options.mayLackRegions = true;
  if (options.budget.kind == BudgetRequest::Kind::Percent)
    options.budget = {BudgetRequest::Kind::Bytes,
                      options.budget.resolve(whole->saveAllBytes)};
  if (llvm::Error error = search())
    return std::move(error);
  // Says that the stored plan is of another graph.
  if (stored && !hasStored) {
    options.stored = stored;
    return findPlanOf(*stacking, options, planned);
  }
  if (!best)
    return llvm::Error(std::move(failure));
  best->saveAllPeak = whole->saveAllPeak;
  best->saveAllBytes = whole->saveAllBytes;
  // What is proven of one copy is not of the others.
  planning::Solution &solution = best->solution;
  solution.baseCost = solution.lowerBound = whole->solution.baseCost;
  solution.proof = planning::Solution().proof;
  if (planned)
    *planned = std::move(bestGraph);
  return std::move(*best);
}

llvm::Expected<GraphPlan> remat::findLoopPlan(GraphOp graph,
                                              const PlanOptions &options,
                                              LoopSlots &slots,
                                              PlannedGraph *planned) {
  bool isFree = options.budget.kind == BudgetRequest::Kind::Unlimited;
  if (!slots.hasLoops() || (isFree && !options.stored)) {
    llvm::Expected<GraphOp> whole = slots.getWhole();
    return whole ? findPlanOf(*whole, options, planned) : whole.takeError();
  }
  return LoopSearch(options, slots, planned != nullptr).run(planned);
}
