//===- Auto.cpp - the portfolio that chooses by itself --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fits as it is, is left alone. Everything else gets a bound, first plans
// of the local search and of the classical algorithms, and a search from the
// best of them that stops where the bound is met.
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"

using namespace llvm;

namespace remat::planning {

/// Algorithms whose plans the search may start from, cheap ones.
static constexpr Expected<Solution> (*starters[])(const Problem &,
                                                  const SolverOptions &) = {
    planChainDp, planMinCut, planKnapsack, planChenGreedy};
/// Beyond this many ops a starter costs more than the search needs.
static constexpr size_t starterOps = 5000;

static void offerStarts(const Problem &problem, const SolverOptions &options,
                        LocalSearch &search) {
  if (problem.ops.size() > starterOps)
    return;
  SolverOptions brief = options;
  brief.effort = std::min(options.effort, 0.5);
  brief.onProgress = nullptr;
  if (options.timeLimitSeconds)
    brief.timeLimitSeconds = *options.timeLimitSeconds / 4;
  for (auto *starter : starters) {
    if (search.done())
      return;
    Expected<Solution> solution = starter(problem, brief);
    // One that does not apply, or finds nothing, is not needed.
    if (solution)
      search.offer(solution->plan);
    else
      consumeError(solution.takeError());
  }
}

Expected<Solution> planAuto(const Problem &problem,
                            const SolverOptions &options) {
  Stopwatch watch;
  // Nothing is recomputed when everything fits.
  Expected<Solution> saveAll = planSaveAll(problem, options);
  if (saveAll)
    return saveAll;
  consumeError(saveAll.takeError());

  Graph graph(problem);
  LocalSearch search(graph, options, watch, problem.baseCost());
  search.findFirstPlans();
  offerStarts(problem, options, search);
  if (!search.hasPlan())
    search.searchLowPeak();
  search.improve(search.mayReorder() ? 0.5 : 1.0);
  search.improveInFreeOrder(1.0);
  return search.takeSolution("auto");
}

} // namespace remat::planning
