//===- Greedy.cpp - greedy repair under a budget --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First plans from repairs with a few tunings; then a search that takes drops
// back in a window of the plan and repairs it again with some noise.
//
//===----------------------------------------------------------------------===//

#include "Greedy.h"

using namespace llvm;

namespace remat::planning {

/// Tunings of the first plans, tried in this order.
static constexpr double keepRatios[] = {0.1, 0.0, 0.3, 1.0};

std::optional<Residency> findFirstPlan(Repair &repair, const Residency &start,
                                       int64_t budget, WorkMeter &work) {
  std::optional<Residency> best;
  int64_t bestTime = 0;
  for (double keepRatio : keepRatios) {
    if (work.overdrawn())
      break;
    repair.load(start);
    RepairTuning tuning;
    tuning.keepRatio = keepRatio;
    if (!repair.fit(budget, tuning))
      continue;
    repair.prune(budget);
    if (best && repair.simulation().time >= bestTime)
      continue;
    best = repair.state();
    bestTime = repair.simulation().time;
  }
  return best;
}

/// Large-neighbourhood search; leaves the best state in `repair`.
static void search(const Graph &graph, Repair &repair, Residency best,
                   int64_t budget, WorkMeter &work, uint64_t seed) {
  std::mt19937_64 generator(seed);
  repair.load(best);
  int64_t bestTime = repair.simulation().time;
  int64_t baseTime = graph.problem.baseCost();
  uint32_t stages = graph.numOps() + 1;
  // Small problems are searched through long before the time is up.
  size_t stalled = 0, patience = 100 + 10 * graph.numOps();
  while (!work.exhausted() && bestTime > baseTime && stalled++ < patience) {
    uint32_t width = 1 + generator() % std::max(1u, stages / 4);
    uint32_t from = generator() % stages;
    repair.load(best);
    repair.restore(from, from + width);
    RepairTuning tuning;
    tuning.keepRatio = keepRatios[generator() % std::size(keepRatios)];
    tuning.noise = 0.5;
    if (!repair.fit(budget, tuning))
      continue;
    repair.prune(budget);
    if (repair.simulation().time > bestTime)
      continue;
    if (repair.simulation().time < bestTime)
      stalled = 0;
    bestTime = repair.simulation().time;
    best = repair.state();
  }
  repair.load(std::move(best));
}

Expected<Solution> planGreedy(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  Repair repair(graph, work, options.seed);
  Residency start = saveAllResidency(graph);
  repair.load(start);
  if (!problem.deviceBudget ||
      repair.simulation().peakBytes <= *problem.deviceBudget)
    return makeSolution(graph, repair.plan().plan, "greedy", watch);

  int64_t budget = *problem.deviceBudget;
  std::optional<Residency> first = findFirstPlan(repair, start, budget, work);
  if (!first)
    return make_error<InfeasibleBudgetError>(budget, 0, std::string());
  search(graph, repair, std::move(*first), budget, work, options.seed);
  return makeSolution(graph, repair.plan().plan, "greedy", watch);
}

} // namespace remat::planning
