//===- Solution.cpp - from a plan to a verified solution ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solutions, their errors, and the gate through which every plan passes.
//
//===----------------------------------------------------------------------===//

#include "Solution.h"
#include "SimulateInto.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace remat::planning {

double SolverOptions::getSecondsLeft() const {
  if (!deadline)
    return std::numeric_limits<double>::infinity();
  std::chrono::duration<double> left =
      *deadline - std::chrono::steady_clock::now();
  return std::max(left.count(), 0.0);
}

double Solution::gap() const {
  return time > 0 ? double(time - lowerBound) / double(time) : 0.0;
}

/// How much `amount` is above `base`, in percent.
static double percentAbove(int64_t amount, int64_t base) {
  return base > 0 ? 100.0 * double(amount - base) / double(base) : 0.0;
}

double Solution::overheadPercent() const {
  return percentAbove(time, baseCost);
}

double Solution::recomputePercent() const {
  return percentAbove(cost, baseCost);
}

double Solution::lowerBoundPercent() const {
  return percentAbove(lowerBound, baseCost);
}

char InfeasibleBudgetError::ID = 0;

void InfeasibleBudgetError::log(raw_ostream &os) const {
  os << "no plan found within the budget of " << budget << " bytes";
  if (smallestFeasible)
    os << "; the smallest feasible budget found is " << smallestFeasible
       << " bytes";
  if (!evidence.empty())
    os << "\n" << evidence;
}

std::error_code InfeasibleBudgetError::convertToErrorCode() const {
  return inconvertibleErrorCode();
}

Expected<Solution> evaluatePlan(const Problem &problem, Plan plan,
                                StringRef solver) {
  return makeSolution(Graph(problem), std::move(plan), solver, Stopwatch());
}

Expected<Solution> makeSolution(const Graph &graph, Plan plan, StringRef solver,
                                const Stopwatch &watch) {
  const Problem &problem = graph.problem;
  auto internal = [&](Error error) {
    return createStringError(
        inconvertibleErrorCode(),
        Twine("planner '") + solver +
            "' made an illegal plan: " + toString(std::move(error)));
  };
  Simulation simulation;
  if (Error error = simulateInto(graph, plan, simulation))
    return internal(std::move(error));
  if (problem.deviceBudget && simulation.peakBytes > *problem.deviceBudget)
    return make_error<InfeasibleBudgetError>(
        *problem.deviceBudget, simulation.peakBytes, std::string());
  if (problem.hostBudget && simulation.hostPeakBytes > *problem.hostBudget)
    return createStringError(inconvertibleErrorCode(),
                             Twine("planner '") + solver + "' needs " +
                                 Twine(simulation.hostPeakBytes) +
                                 " bytes on the host, and the host budget is " +
                                 Twine(*problem.hostBudget) + " bytes");
  if (Error error = verify(graph, plan, simulation))
    return internal(std::move(error));

  Solution solution;
  solution.plan = std::move(plan);
  solution.solver = solver.str();
  solution.peakBytes = simulation.peakBytes;
  solution.hostPeakBytes = simulation.hostPeakBytes;
  solution.cost = simulation.cost;
  solution.time = simulation.time;
  solution.baseCost = problem.baseCost();
  // Every op runs at least once.
  solution.lowerBound = solution.baseCost;
  solution.seconds = watch.seconds();
  return solution;
}

} // namespace remat::planning
