//===- CheckmateMilp.cpp - the integer program of Checkmate ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves the program of CheckmateModel.h.
//
//===----------------------------------------------------------------------===//

#include "CheckmateModel.h"
#include "SimulateInto.h"
#include "Solution.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

Expected<Solution> planMilp(const Problem &original,
                            const SolverOptions &options) {
  Stopwatch watch;
  // The program has no transfers, so its start must not have any either.
  Problem problem = original;
  Graph graph(original);
  if (Error error = checkModelSize(graph, "milp"))
    return std::move(error);
  problem.linkBytesPerSecond = 0;

  SolverOptions startOptions = options;
  double timeLimit = options.timeLimitSeconds.value_or(options.effort);
  startOptions.timeLimitSeconds.reset();
  startOptions.effort = std::min(1.0, timeLimit / 10);
  Expected<Solution> greedy = planGreedy(problem, startOptions);
  if (!greedy && !greedy.errorIsA<InfeasibleBudgetError>())
    return greedy.takeError();
  if (!greedy)
    consumeError(greedy.takeError());

  CheckmateModel model(graph);
  std::vector<double> start;
  if (greedy)
    start = model.encode(stagePlan(graph, greedy->plan));
  Expected<ProgramResult> result =
      minimize(model.getProgram(), start, timeLimit - watch.seconds(), 1.0);
  if (!result)
    return result.takeError();

  std::optional<Plan> best;
  if (greedy)
    best = greedy->plan;
  if (result->assignment) {
    Plan exact = model.decode(*result->assignment);
    Expected<Solution> solution = makeSolution(graph, exact, "milp", watch);
    // Rounding may have lost what the budget allowed.
    if (solution && (!greedy || solution->cost <= greedy->cost))
      best = std::move(exact);
    if (!solution)
      consumeError(solution.takeError());
  }
  if (!best)
    return make_error<InfeasibleBudgetError>(original.deviceBudget.value_or(0),
                                             0, std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(*best), "milp", watch);
  if (!solution || result->status == ProgramResult::Status::Infeasible ||
      !std::isfinite(result->bound))
    return solution;
  // All costs are multiples of the unit; what is lost to rounding is given
  // back.
  double units = std::ceil(result->bound * (1 - 1e-9) - 1e-6);
  int64_t bound = int64_t(units) * model.unitCost();
  solution->lowerBound =
      std::clamp(bound, solution->lowerBound, solution->cost);
  return solution;
}

} // namespace remat::planning
