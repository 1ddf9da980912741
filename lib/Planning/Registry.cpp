//===- Registry.cpp - choosing an algorithm -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms by name, and the gate that what they return has to pass.
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "SimulateInto.h"
#include "Solution.h"
#include "remat/Planning/Releases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <mutex>

using namespace llvm;

namespace remat::planning {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::vector<SolverInfo> makeOwnSolvers() {
  return {
      {"auto", "keeps everything if it fits, else searches for the best plan",
       planAuto},
      {"save-all", "keeps every value unless a MUST policy forbids it",
       planSaveAll},
      {"recompute-all", "keeps only what must be kept, recomputes the rest",
       planRecomputeAll},
      {"sqrt", "keeps the borders of sqrt(n) segments (Chen et al. 2016)",
       planSqrt},
      {"segments", "keeps the borders of segments of equally many ops",
       planSegments},
      {"chen-greedy",
       "keeps the borders of segments by bytes (Chen et al. 2016)",
       planChenGreedy},
      {"min-cut", "saves a minimum cut, like PyTorch's partitioner",
       planMinCut},
      {"knapsack", "saves the costliest values, like PyTorch's memory budget",
       planKnapsack},
      {"lower-sets", "dynamic program over lower sets (Kusumoto et al. 2019)",
       planLowerSets},
      {"revolve", "checkpoints for equal chains (Griewank and Walther 2000)",
       planRevolve},
      {"greedy", "evicts what costs least per byte, in several rankings",
       planGreedy},
      {"search", "large-neighbourhood search over evictions", planSearch},
      {"cut-points", "plans parts that share one value by themselves",
       planCutPoints},
      {"layers", "plans a few of many equal layers for all", planLayers},
      {"stages", "checkpoints of stages by a dynamic program", planStages},
      {"chain-dp", "dynamic program for chains (Beaumont et al. 2019)",
       planChainDp},
      {"lp-rounding",
       "rounds a linear relaxation (Jain et al. 2020), needs HiGHS",
       planLpRounding},
      {"exact", "searches all plans of a problem of a dozen ops", planExact},
      {"milp", "solves an integer program (Jain et al. 2020), needs HiGHS",
       planMilp},
  };
}

namespace {
/// What the process knows. Made at its first use, so that algorithms can be
/// registered before `main` too.
struct Registry {
  std::mutex mutex;
  std::vector<SolverInfo> solvers = makeOwnSolvers();

  static Registry &get() {
    // Never destroyed: planners of a shared library may be unloaded before.
    static Registry &registry = *new Registry;
    return registry;
  }
};
} // namespace

static auto named(StringRef name) {
  return [name](const SolverInfo &info) { return info.name == name; };
}

std::vector<SolverInfo> getSolvers() {
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.solvers;
}

Error registerSolver(SolverInfo info) {
  auto isLegal = [](char c) {
    return isAlnum(c) || StringRef("-_.").contains(c);
  };
  if (info.name.empty() || !all_of(info.name, isLegal))
    return createStringError(
        inconvertibleErrorCode(),
        "a planner's name must consist of letters, digits, '-', '_' and '.', "
        "got '" +
            info.name + "'");
  if (!info.function)
    return createStringError(inconvertibleErrorCode(),
                             "planner '" + info.name + "' has no function");
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (any_of(registry.solvers, named(info.name)))
    return createStringError(inconvertibleErrorCode(),
                             "there is a planner '" + info.name +
                                 "' already; register this one under another "
                                 "name");
  registry.solvers.push_back(std::move(info));
  return Error::success();
}

Expected<SolverInfo> findSolver(StringRef name) {
  std::vector<SolverInfo> solvers = getSolvers();
  auto info = find_if(solvers, named(name));
  if (info != solvers.end())
    return std::move(*info);
  std::string names;
  for (const SolverInfo &known : solvers)
    names += (names.empty() ? "'" : ", '") + known.name + "'";
  return createStringError(inconvertibleErrorCode(),
                           "unknown planner '" + name + "', expected one of " +
                               names);
}

//===----------------------------------------------------------------------===//
// Solving
//===----------------------------------------------------------------------===//

/// Simulates the plan of a solution again and compares. An algorithm of this
/// library has done that itself, but one from outside may not have.
static Error verifySolution(const Problem &problem, StringRef solver,
                            const Solution &solution) {
  Graph graph(problem);
  Simulation simulation;
  Error error = simulateInto(graph, solution.plan, simulation);
  if (!error)
    error = verify(graph, solution.plan, simulation);
  if (error)
    return createStringError(inconvertibleErrorCode(),
                             "planner '" + solver + "' made an illegal plan: " +
                                 toString(std::move(error)));
  error = verifyClaims(simulation, {solution.peakBytes, solution.hostPeakBytes,
                                    solution.cost, solution.time});
  if (!error && solution.lowerBound > simulation.time)
    error = createStringError(
        inconvertibleErrorCode(),
        "no plan is said to take less than " + Twine(solution.lowerBound) +
            ", and this one takes " + Twine(simulation.time));
  if (error)
    return createStringError(
        inconvertibleErrorCode(),
        "planner '" + solver +
            "' returned a wrong solution: " + toString(std::move(error)));
  return Error::success();
}

/// Whether a plan is one for `problem`, whatever the budgets of device and
/// host.
static bool obeys(Problem problem, const Plan &plan) {
  problem.deviceBudget.reset();
  problem.hostBudget.reset();
  Error error = verify(problem, plan);
  bool obeys = !error;
  consumeError(std::move(error));
  return obeys;
}

/// Makes what a plan for `limited` carries into the backward phase fit the
/// budgets of the regions, which its algorithm has not heard of.
static Error fitRegions(const Problem &problem, const Problem &limited,
                        StringRef solver, Solution &solution) {
  if (problem.regions.empty())
    return Error::success();
  Graph graph(problem);
  Simulation simulation;
  Plan plan = solution.plan;
  if (!fitRegions(graph, plan)) {
    // Verification says what is wrong with a plan for another problem.
    if (!obeys(limited, solution.plan))
      return Error::success();
    return createStringError(inconvertibleErrorCode(),
                             "planner '" + solver +
                                 "' found no plan within the budgets of the "
                                 "regions and of the host");
  }
  // What the algorithm says of a plan that fits as it is, is verified.
  if (plan == solution.plan)
    return Error::success();
  if (Error error = simulateInto(graph, plan, simulation))
    return error;
  solution.plan = std::move(plan);
  solution.peakBytes = simulation.peakBytes;
  solution.hostPeakBytes = simulation.hostPeakBytes;
  solution.cost = simulation.cost;
  solution.time = simulation.time;
  return Error::success();
}

/// The answer of one algorithm to `limited`, which is `problem` or what the
/// budgets of its regions make of it. If the algorithm finds no plan within the
/// budget, the error says which budget is feasible.
static Expected<Solution> solveWith(const SolverInfo &info,
                                    const Problem &problem,
                                    const Problem &limited,
                                    const SolverOptions &options) {
  Stopwatch watch;
  Expected<Solution> solution = info.function(limited, options);
  if (solution) {
    if (Error error = fitRegions(problem, limited, info.name, *solution))
      return std::move(error);
    if (Error error = verifySolution(problem, info.name, *solution))
      return std::move(error);
    *solution = addReleases(problem, std::move(*solution));
    solution->baseCost = problem.baseCost();
    return solution;
  }
  if (!options.explainInfeasible)
    return solution;
  auto explain = [&](const InfeasibleBudgetError &error) -> Error {
    SolverOptions rest = options;
    if (rest.timeLimitSeconds)
      rest.timeLimitSeconds =
          std::max(*rest.timeLimitSeconds - watch.seconds(), 0.0);
    // The search has taken the time, so it says how far it got.
    if (const FeasibilityCertificate *found = error.getCertificate())
      rest.start = &found->plan;
    Expected<FeasibilityCertificate> certificate =
        smallestFeasibleBudget(problem, rest);
    if (!certificate)
      return certificate.takeError();
    auto shared =
        std::make_shared<FeasibilityCertificate>(std::move(*certificate));
    return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0),
                                             shared->smallestFeasible,
                                             shared->describe(problem), shared);
  };
  return handleErrors(solution.takeError(), explain);
}

Expected<Solution> solve(const Problem &problem, StringRef solver,
                         const SolverOptions &options) {
  Expected<SolverInfo> info = findSolver(solver);
  if (!info)
    return info.takeError();
  if (Error error = check(problem))
    return std::move(error);
  if (problem.regions.empty())
    return solveWith(*info, problem, problem, options);
  Expected<Problem> limited = limitRegions(problem);
  if (!limited)
    return limited.takeError();
  SolverOptions own = options;
  if (own.start && !obeys(*limited, *own.start))
    own.start = nullptr;
  Expected<Solution> solution = solveWith(*info, problem, *limited, own);
  if (solution) {
    // A bound holds for this choice of what the regions keep, not for all: the
    // base cost is all that is known.
    solution->lowerBound = solution->baseCost;
    solution->proof = Solution().proof;
  }
  return solution;
}

} // namespace remat::planning
