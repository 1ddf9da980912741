//===- Registry.cpp - choosing an algorithm -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms by name.
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

ArrayRef<SolverInfo> getSolvers() {
  static const SolverInfo solvers[] = {
      {"auto", "save everything if it fits, else the best of the others",
       planAuto},
      {"save-all", "save everything that no MUST says otherwise", planSaveAll},
      {"recompute-all", "save nothing that need not be", planRecomputeAll},
      {"sqrt", "sqrt(n) segments (Chen et al. 2016)", planSqrt},
      {"segments", "segments of equally many ops", planSegments},
      {"chen-greedy", "segments by bytes (Chen et al. 2016)", planChenGreedy},
      {"min-cut", "cheapest saved set (PyTorch's partitioner)", planMinCut},
      {"knapsack", "most valuable saved set (PyTorch's memory budget)",
       planKnapsack},
      {"lower-sets", "dynamic program over lower sets (Kusumoto et al. 2019)",
       planLowerSets},
      {"revolve", "checkpoints of equal chains (Griewank and Walther 2000)",
       planRevolve},
      {"greedy", "cheapest evictions per byte, several rankings", planGreedy},
      {"search", "large-neighbourhood search over evictions", planSearch},
      {"cut-points", "parts that share one value, each by auto", planCutPoints},
      {"layers", "few of many equal layers solved for all", planLayers},
      {"chain-dp", "dynamic program for chains (Beaumont et al. 2019)",
       planChainDp},
      {"lp-rounding", "rounded linear relaxation (Jain et al. 2020)",
       planLpRounding},
      {"exact", "search over all plans of a small problem", planExact},
      {"milp", "integer program (Jain et al. 2020)", planMilp},
  };
  return solvers;
}

/// The answer of one algorithm to `limited`, which is `problem` or what the
/// budgets of its regions make of it. To a budget that cannot be met, the
/// smallest one that can.
static Expected<Solution> solveWith(const SolverInfo &info,
                                    const Problem &problem,
                                    const Problem &limited,
                                    const SolverOptions &options) {
  Expected<Solution> solution = info.function(limited, options);
  if (solution)
    return solution;
  return handleExpected(
      std::move(solution),
      [&]() -> Expected<Solution> {
        Expected<FeasibilityCertificate> certificate =
            smallestFeasibleBudget(problem, options);
        if (!certificate)
          return certificate.takeError();
        auto shared =
            std::make_shared<FeasibilityCertificate>(std::move(*certificate));
        return make_error<InfeasibleBudgetError>(
            problem.deviceBudget.value_or(0), shared->smallestFeasible,
            shared->describe(problem), shared);
      },
      [](const InfeasibleBudgetError &) {});
}

Expected<Solution> solve(const Problem &problem, StringRef solver,
                         const SolverOptions &options) {
  if (Error error = check(problem))
    return std::move(error);
  const SolverInfo *info = find_if(
      getSolvers(), [&](const SolverInfo &s) { return s.name == solver; });
  if (info == getSolvers().end()) {
    std::string names;
    for (const SolverInfo &known : getSolvers())
      names += (names.empty() ? "'" : ", '") + known.name.str() + "'";
    return createStringError(inconvertibleErrorCode(),
                             "unknown solver '" + solver +
                                 "', expected one of " + names);
  }
  if (problem.regions.empty())
    return solveWith(*info, problem, problem, options);
  Expected<Problem> limited = limitRegions(problem);
  if (!limited)
    return limited.takeError();
  Expected<Solution> found = solveWith(*info, problem, *limited, options);
  if (!found)
    return found.takeError();
  Expected<Solution> solution =
      evaluatePlan(problem, std::move(found->plan), found->solver);
  // A bound holds for this choice of what the regions keep, not for all: the
  // base cost is all that is known.
  if (solution) {
    solution->seconds = found->seconds;
    solution->cutShort = found->cutShort;
  }
  return solution;
}

} // namespace remat::planning
