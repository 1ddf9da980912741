//===- SavedSet.cpp - plans from what is kept at one place ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saved sets as residencies, and the choice among many plans.
//
//===----------------------------------------------------------------------===//

#include "SavedSet.h"
#include "SearchTuning.h"
#include "SimulateInto.h"

using namespace llvm;

namespace remat::planning {

OpId savePosition(const Graph &graph) {
  if (graph.firstBackward() < graph.numOps())
    return graph.firstBackward();
  StagedPlan staged;
  Simulation simulation;
  schedule(graph, saveAllResidency(graph), staged);
  // A plan that does not simulate is reported where it is used.
  consumeError(simulateInto(graph, staged.plan, simulation));
  if (staged.stages.empty())
    return 0;
  OpId peak = staged.stages[simulation.peakAction];
  return std::min<OpId>(peak + 1, graph.numOps() - 1);
}

Residency savedSetResidency(const Graph &graph, OpId position,
                            const std::vector<bool> &saved,
                            Recomputed recomputed) {
  Residency residency(graph);
  OpId end = graph.numOps();
  for (OpId op = 0; op < position; ++op)
    for (ValueId value : graph.results(op)) {
      if (saved[value]) {
        // Recomputations may need it until the end; a copy that nobody reads
        // any more dies by itself.
        residency.carry(value, op, end);
        continue;
      }
      residency.drop(value, position - 1, position);
      if (recomputed == Recomputed::ToTheEnd)
        residency.carry(value, position, end);
      else if (recomputed == Recomputed::OneStage)
        residency.drop(value, position, end);
    }
  return residency;
}

bool BestPlan::consider(const Residency &residency) {
  // Recomputing everything for every reader can be quadratic.
  size_t limit = SavedSetTuning::actionsPerOp * graph.numOps() +
                 SavedSetTuning::leastActions;
  bool scheduled = schedule(graph, residency, staged, limit);
  work.add(staged.plan.actions.size());
  if (!scheduled)
    return false;
  if (Error error = simulateInto(graph, staged.plan, simulation)) {
    consumeError(std::move(error));
    return false;
  }
  work.add(staged.plan.actions.size() + simulation.reads.size());
  bool fits =
      hasBudget() && simulation.peakBytes <= *graph.problem.deviceBudget;
  // Costs decide between plans that fit, peaks between those that do not.
  auto rank = [&](int64_t cost, int64_t peak) {
    return fits ? std::pair(cost, peak) : std::pair(peak, cost);
  };
  bool better =
      !hasPlan || fits > bestFits ||
      (fits == bestFits &&
       rank(simulation.cost, simulation.peakBytes) < rank(bestCost, bestPeak));
  if (better) {
    best = staged.plan;
    hasPlan = true;
    bestFits = fits;
    bestCost = simulation.cost;
    bestPeak = simulation.peakBytes;
  }
  return fits;
}

bool BestPlan::consider(OpId position, const std::vector<bool> &saved) {
  if (!hasBudget())
    return consider(
        savedSetResidency(graph, position, saved, Recomputed::ToLastReader));
  for (Recomputed recomputed : allRecomputed)
    if (consider(savedSetResidency(graph, position, saved, recomputed)))
      return true;
  return false;
}

Expected<Solution> BestPlan::finish(StringRef solver, const Stopwatch &watch) {
  if (!hasPlan)
    return make_error<InfeasibleBudgetError>(
        graph.problem.deviceBudget.value_or(0), 0, std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(best), solver, watch);
  if (solution)
    solution->cutShort = work.wasCutShort();
  return solution;
}

} // namespace remat::planning
