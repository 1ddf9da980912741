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

#include <numeric>

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

/// The bytes that all peaks are multiples of.
static int64_t findGranularity(const Problem &problem) {
  int64_t common = 0;
  for (const Value &value : problem.values) {
    common = std::gcd(common, value.bytes);
    if (value.packed)
      common = std::gcd(common, value.packed->bytes);
  }
  for (const Op &op : problem.ops)
    common = std::gcd(common, op.workspace);
  return std::max<int64_t>(common, 1);
}

LowPeakPlans::Made findLowestPeak(const Graph &graph, const Plan &start,
                                  int64_t lowerBound, WorkMeter &work,
                                  uint64_t seed) {
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, seed);
  LowPeakPlans::Made best;
  best.plan = start;
  best.lowest = lowerBound;
  best.leastAsked = std::numeric_limits<int64_t>::max();
  int64_t lowest = std::numeric_limits<int64_t>::max();
  int64_t granularity = findGranularity(graph.problem);
  TriedRankings tried;
  unsigned numLowest = 0;
  const uint64_t before = work.steps(), beyond = work.stepsBeyond();
  for (const EvictionRanking &ranking : systematicRankings(graph)) {
    // Where two ways end at the same peak, others seldom go below it.
    if (numLowest >= 2 && work.steps() - before > DescentTuning::patience)
      break;
    if (tried.wouldRepeat(ranking))
      continue;
    evictor.keepDecisions().clear();
    timeline.load(start);
    const uint64_t first = work.counted();
    bool leads = false;
    for (int64_t part = DescentTuning::coarsest;
         part <= DescentTuning::finest;) {
      int64_t peak = timeline.peak();
      if (peak < lowest) {
        lowest = peak;
        best.plan = timeline.plan();
        numLowest = 0;
        leads = true;
        work.setCap(std::nullopt);
      }
      best.leastAsked = std::min(best.leastAsked, peak);
      if (lowest <= lowerBound || work.overdrawn())
        break;
      auto getStep = [&] {
        return std::max(granularity, peak / part / granularity * granularity);
      };
      int64_t step = getStep();
      best.leastAsked = std::min(best.leastAsked, peak - step);
      if (evictor.fit(std::max(lowerBound, peak - step), ranking)) {
        timeline.commit();
        continue;
      }
      timeline.rollback();
      // A smaller step that leads to the same peaks fails again.
      while (part <= DescentTuning::finest && getStep() == step)
        part *= 2;
    }
    if (lowest <= lowerBound || work.overdrawn())
      break;
    // All that come after take no more work than this one.
    if (leads)
      work.setCap(std::max(DescentTuning::patience, work.counted() - first));
    numLowest += timeline.peak() == lowest;
    tried.add(ranking, evictor.keepDecisions());
  }
  work.setCap(std::nullopt);
  best.steps = work.steps() - before;
  best.stepsBeyond = work.stepsBeyond() - beyond;
  return best;
}

} // namespace remat::planning
