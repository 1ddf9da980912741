//===- Greedy.cpp - first plans and lowest peaks --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evictions without a search: the cheapest plan of a few rankings within a
// budget, and the lowest peak that stepwise smaller budgets reach.
//
//===----------------------------------------------------------------------===//

#include "Greedy.h"
#include "LocalSearch.h"
#include "SearchTuning.h"

using namespace llvm;

namespace remat::planning {

Expected<Solution> planGreedy(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  LocalSearch search(graph, options, watch, problem.baseCost());
  search.findFirstPlans();
  return search.takeSolution("greedy");
}

Plan findLowestPeak(const Graph &graph, const Plan &start, int64_t lowerBound,
                    WorkMeter &work, uint64_t seed) {
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, seed);
  Plan best = start;
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (const EvictionRanking &ranking : systematicRankings(graph)) {
    timeline.load(start);
    for (int64_t part = DescentTuning::coarsest;
         part <= DescentTuning::finest && !work.overdrawn();) {
      int64_t peak = timeline.peak();
      if (peak < lowest) {
        lowest = peak;
        best = timeline.plan();
      }
      if (lowest <= lowerBound)
        return best;
      int64_t target =
          std::max(lowerBound, peak - std::max<int64_t>(1, peak / part));
      if (evictor.fit(target, ranking)) {
        timeline.commit();
        continue;
      }
      timeline.rollback();
      part *= 2;
    }
  }
  return best;
}

} // namespace remat::planning
