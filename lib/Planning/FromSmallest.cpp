//===- FromSmallest.cpp - searches that begin with the smallest plan ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What shows that a budget is feasible is a plan for it, even if a search for
// that budget finds none. Such a plan was made for its peak at any cost, so a
// second search begins with it.
//
//===----------------------------------------------------------------------===//

#include "Solution.h"

using namespace llvm;

namespace remat::planning {

/// The faster of both, with all that is proven and said of either.
static Solution takeFaster(Solution smallest, Solution found) {
  if (found.time <= smallest.time)
    return found;
  smallest.lowerBound = std::min(found.lowerBound, smallest.time);
  smallest.proof = std::move(found.proof);
  smallest.cutShort = found.cutShort;
  return smallest;
}

/// The faster of a plan and what a search from it finds.
static Expected<Solution> improve(const Problem &problem,
                                  const SolverOptions &options,
                                  Solution smallest) {
  if (options.isInterrupted() || options.timeLimitSeconds == 0.0) {
    smallest.cutShort = true;
    return smallest;
  }
  SolverOptions rest = options;
  rest.start = &smallest.plan;
  rest.explainInfeasible = false;
  Expected<Solution> found = solve(problem, "auto", rest);
  if (found)
    return takeFaster(std::move(smallest), std::move(*found));
  if (!found.errorIsA<InfeasibleBudgetError>())
    return found.takeError();
  consumeError(found.takeError());
  return smallest;
}

Expected<Solution> solveOrTakeSmallest(const Problem &problem, StringRef solver,
                                       const SolverOptions &options,
                                       const FeasibilityCertificate *known) {
  Stopwatch watch;
  const int64_t budget =
      problem.deviceBudget.value_or(std::numeric_limits<int64_t>::max());
  if (solver != "auto" || (known && known->smallestFeasible > budget))
    known = nullptr;
  SolverOptions first = options;
  // A clock has no time for a second search.
  if (known && options.timeLimitSeconds && !first.start)
    first.start = &known->plan;
  Expected<Solution> found = solve(problem, solver, first);
  if (found && !known)
    return found;

  std::optional<Solution> smallest;
  auto take = [&](const Plan &plan) -> Error {
    Expected<Solution> solution = evaluatePlan(problem, plan, "smallest");
    if (!solution)
      return solution.takeError();
    smallest = std::move(*solution);
    return Error::success();
  };
  if (known)
    if (Error error = take(known->plan))
      return joinErrors(std::move(error), found.takeError());
  if (found)
    return takeFaster(std::move(*smallest), std::move(*found));
  Error rest = handleErrors(
      found.takeError(),
      [&](std::unique_ptr<InfeasibleBudgetError> error) -> Error {
        const FeasibilityCertificate *shown = error->getCertificate();
        if (!smallest && solver == "auto" && shown &&
            shown->smallestFeasible <= budget)
          return take(shown->plan);
        return smallest ? Error::success() : Error(std::move(error));
      });
  if (rest)
    return std::move(rest);

  SolverOptions second = options;
  if (options.timeLimitSeconds)
    second.timeLimitSeconds =
        std::max(*options.timeLimitSeconds - watch.seconds(), 0.0);
  return improve(problem, second, std::move(*smallest));
}

} // namespace remat::planning
