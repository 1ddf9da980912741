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
// A search for a budget near the smallest one depends on random choices, and
// may find a slower plan than one for less memory. So budgets from the smallest
// one up are planned, too, the same ones for all budgets, each from the plan of
// the one before. The plan of the smallest is the one that is found for it
// alone.
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"
#include "Solution.h"
#include "remat/Planning/Releases.h"

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

/// The plan of a search for the budget alone, or what is found from the
/// smallest plan if there is none.
static Expected<Solution> solveAlone(const Problem &problem, StringRef solver,
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
  // What is feasible is known.
  if (known)
    first.explainInfeasible = false;
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

namespace {
/// Plans for budgets from the smallest one up to that of the problem.
class Climb {
public:
  Climb(const Problem &problem, const SolverOptions &options,
        const FeasibilityCertificate *known)
      : problem(problem), options(options), budget(*problem.deviceBudget) {
    this->options.onProgress = nullptr;
    this->options.start = nullptr;
    this->options.explainInfeasible = false;
    if (known)
      lowest = *known;
  }

  /// `alone`, the plan of a search for the budget alone, or a faster one.
  Expected<Solution> run(Solution alone);

private:
  bool isNear(int64_t smallest) const {
    return double(budget) <= ClimbTuning::near * double(smallest);
  }
  Error certify();
  void take(const Solution &alone);
  Error climbTo(int64_t bytes, double share);
  Error begin();
  Error climb(const Solution &alone);

  Problem problem;
  SolverOptions options;
  int64_t budget;
  /// Unset where the budget is not near the smallest one.
  std::optional<FeasibilityCertificate> lowest;
  /// The fastest plan so far of those for smaller budgets.
  Plan plan;
  int64_t time = 0;
};
} // namespace

/// The plan with the smallest peak, if the budget is near. A quick one, which
/// has a larger peak, shows of most budgets that they are not.
Error Climb::certify() {
  if (!lowest) {
    Problem unbounded = problem;
    unbounded.deviceBudget.reset();
    SolverOptions quick = options;
    quick.effort = 0;
    quick.anneal = false;
    for (const SolverOptions &search : {quick, options}) {
      Expected<FeasibilityCertificate> found =
          smallestFeasibleBudget(unbounded, search);
      if (!found)
        return found.takeError();
      if (!isNear(found->smallestFeasible)) {
        lowest.reset();
        return Error::success();
      }
      lowest = std::move(*found);
    }
  }
  if (!isNear(lowest->smallestFeasible) || lowest->smallestFeasible > budget)
    lowest.reset();
  return Error::success();
}

/// Takes a plan of a search for the budget alone, if it is faster.
void Climb::take(const Solution &alone) {
  if (alone.time >= time)
    return;
  plan = keepReleases(alone.plan, 0);
  time = alone.time;
}

/// Improves the plan within `bytes`.
Error Climb::climbTo(int64_t bytes, double share) {
  if (options.isInterrupted())
    return Error::success();
  problem.deviceBudget = bytes;
  SolverOptions part = options;
  part.effort *= share;
  Stopwatch watch;
  Graph graph(problem);
  LocalSearch search(graph, part, watch, problem.baseCost());
  search.offer(plan);
  search.improve(ClimbTuning::firstShare);
  search.lowerCost(ClimbTuning::costEffort);
  search.improve(1);
  Expected<Solution> found = search.takeSolution("auto");
  if (!found)
    return found.takeError();
  plan = std::move(found->plan);
  time = found->time;
  return Error::success();
}

/// The fastest plan known for the smallest budget, the same one that there is
/// where that is asked for.
Error Climb::begin() {
  problem.deviceBudget = lowest->smallestFeasible;
  Expected<Solution> alone = solveAlone(problem, "auto", options, &*lowest);
  if (!alone)
    return alone.takeError();
  take(*alone);
  return climbTo(lowest->smallestFeasible, ClimbTuning::lastShare);
}

/// Up to the budget, and there from the faster one of both plans.
Error Climb::climb(const Solution &alone) {
  const int64_t smallest = lowest->smallestFeasible;
  plan = lowest->plan;
  if (Error error = climbTo(smallest, ClimbTuning::share))
    return error;
  // A plan that is much faster already has nothing in common with these.
  const int64_t base = problem.baseCost();
  if (double(alone.time - base) < ClimbTuning::likely * double(time - base))
    return Error::success();
  if (smallest < budget) {
    if (Error error = begin())
      return error;
    int64_t last = smallest;
    for (int64_t part = 1; part < ClimbTuning::finest; part *= 2) {
      int64_t bytes = smallest + smallest * part / ClimbTuning::finest;
      if (bytes >= budget)
        break;
      if (std::exchange(last, bytes) < bytes)
        if (Error error = climbTo(bytes, ClimbTuning::share))
          return error;
    }
  }
  take(alone);
  return climbTo(budget, ClimbTuning::lastShare);
}

Expected<Solution> Climb::run(Solution alone) {
  if (Error error = certify())
    return std::move(error);
  if (!lowest)
    return alone;
  if (Error error = climb(alone))
    return std::move(error);
  problem.deviceBudget = budget;
  Expected<Solution> found = evaluatePlan(problem, plan, "auto");
  if (!found)
    return found.takeError();
  alone.cutShort |= options.isInterrupted();
  *found = addReleases(problem, std::move(*found));
  return found->time < alone.time
             ? takeFaster(std::move(*found), std::move(alone))
             : std::move(alone);
}

/// Whether smaller budgets may have something to offer.
static bool mayClimb(const Problem &problem, const SolverOptions &options,
                     const Solution &alone) {
  double extra = double(alone.time - alone.lowerBound);
  return problem.deviceBudget && !options.timeLimitSeconds &&
         !options.isInterrupted() && problem.regions.empty() &&
         problem.ops.size() <= ClimbTuning::mostOps &&
         extra > ClimbTuning::leastExtra * double(alone.baseCost);
}

Expected<Solution> solveOrTakeSmallest(const Problem &problem, StringRef solver,
                                       const SolverOptions &options,
                                       const FeasibilityCertificate *known) {
  SolverOptions thorough = options;
  thorough.improveAgain = true;
  Expected<Solution> alone = solveAlone(problem, solver, thorough, known);
  if (!alone || solver != "auto" || !mayClimb(problem, options, *alone))
    return alone;
  return Climb(problem, thorough, known).run(std::move(*alone));
}

} // namespace remat::planning
