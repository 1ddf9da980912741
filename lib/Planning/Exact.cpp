//===- Exact.cpp - the best plan of a small problem -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner 'exact' and the smallest peak, by searches over all plans.
//
//===----------------------------------------------------------------------===//

#include "Exact.h"
#include "SimulateInto.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

bool isSmall(const Graph &graph) {
  return graph.numOps() <= exactOpLimit &&
         trackedRoots(graph).size() <= exactRootLimit;
}

bool lowerPeakExactly(const Graph &graph, Plan &plan, WorkMeter &work) {
  ExactGoal goal;
  goal.cheapest = false;
  while (true) {
    Simulation simulation;
    if (Error error = simulateInto(graph, plan, simulation)) {
      consumeError(std::move(error));
      return false;
    }
    if (simulation.peakBytes == 0)
      return true;
    goal.budget = simulation.peakBytes - 1;
    ExactPlan lower = findExactPlan(graph, goal, work);
    if (lower.outcome != ExactPlan::Found)
      return lower.outcome == ExactPlan::NoneExists;
    plan = std::move(lower.plan);
  }
}

/// Takes out actions that a plan can do without: among plans of equal cost, the
/// search prefers none.
static void dropNeedless(const Graph &graph, Plan &plan) {
  Simulation simulation;
  for (size_t i = plan.actions.size(); i-- > 0;) {
    Plan without = plan;
    without.actions.erase(without.actions.begin() + i);
    Error error = simulateInto(graph, without, simulation);
    if (!error)
      error = verify(graph, without, simulation);
    if (!error)
      plan = std::move(without);
    consumeError(std::move(error));
  }
}

Expected<Solution> planExact(const Problem &problem,
                             const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  if (!isSmall(graph))
    return createStringError(
        inconvertibleErrorCode(),
        "planner 'exact' takes up to " + Twine(exactOpLimit) + " ops and " +
            Twine(exactRootLimit) + " values, and the problem has " +
            Twine(graph.numOps()) + " and " +
            Twine(trackedRoots(graph).size()));
  ExactGoal goal;
  goal.budget = problem.deviceBudget;
  ExactPlan found = findExactPlan(graph, goal, work);
  if (found.outcome == ExactPlan::NoneExists)
    return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0),
                                             0, std::string());
  if (found.outcome == ExactPlan::GaveUp)
    return createStringError(
        inconvertibleErrorCode(),
        "planner 'exact' ran out of effort before it found a plan");
  int64_t bound = found.cost;
  auto solutionOf = [&](Plan plan) {
    dropNeedless(graph, plan);
    return makeSolution(graph, std::move(plan), "exact", watch);
  };
  Expected<Solution> solution = solutionOf(std::move(found.plan));
  // If that waits for transfers, there may be a faster one without.
  if (solution && solution->time > bound) {
    goal.transfers = false;
    found = findExactPlan(graph, goal, work);
    if (found.outcome == ExactPlan::Found) {
      Expected<Solution> other = solutionOf(std::move(found.plan));
      if (other && other->time < solution->time)
        solution = std::move(other);
      else
        consumeError(other.takeError());
    }
  }
  if (solution) {
    solution->lowerBound = bound;
    solution->proof = "search over all plans";
    solution->seconds = solution->secondsToBest = watch.seconds();
    solution->cutShort = work.wasCutShort();
  }
  return solution;
}

} // namespace remat::planning
