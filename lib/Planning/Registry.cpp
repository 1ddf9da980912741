//===- Registry.cpp - choosing an algorithm -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms by name.
//
//===----------------------------------------------------------------------===//

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
      {"greedy", "greedy repair and local search", planGreedy},
      {"search", "large-neighbourhood search over evictions", planSearch},
      {"chain-dp", "dynamic program for chains (Beaumont et al. 2019)",
       planChainDp},
      {"lp-rounding", "rounded linear relaxation (Jain et al. 2020)",
       planLpRounding},
      {"exact", "search over all plans of a small problem", planExact},
      {"milp", "integer program (Jain et al. 2020)", planMilp},
  };
  return solvers;
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
  Expected<Solution> solution = info->function(problem, options);
  if (solution)
    return solution;
  // A budget that cannot be met gets the smallest one that can.
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

} // namespace remat::planning
