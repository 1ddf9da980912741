//===- EffortSearch.cpp - a search with a part of the effort --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EffortSearch.h"

#include "remat/Planning/Releases.h"

#include <tuple>

using namespace mlir;
using namespace remat;

/// Without effort, a list of plans is cheap enough for most budgets.
static constexpr double ratioWithoutEffort = 2;
/// With less effort, a search for a plan takes less than a bound does.
static constexpr double leastBoundedEffort = 0.1;

// Planners other than `auto` mostly find the same plan whatever effort they may
// spend.
GraphPlanner::EffortSearch::EffortSearch(GraphPlanner &planner, double scale)
    : planner(planner), scale(scale),
      search(*this, planner.options.planner == "auto",
             scale == 0 ? ratioWithoutEffort : 1) {
  begin();
}

void GraphPlanner::EffortSearch::begin() {
  best = Best();
  cutShort = false;
  bound = Bound();
}

bool GraphPlanner::Best::isWorseThan(int64_t otherArena, int64_t otherTime,
                                     std::optional<int64_t> wanted) const {
  if (wanted)
    return otherArena <= *wanted && (arena > *wanted || otherTime < time);
  return std::tie(otherArena, otherTime) < std::tie(arena, time);
}

void GraphPlanner::EffortSearch::tellPlanner() const {
  if (planner.best.isWorseThan(best.arena, best.time, planner.wanted))
    planner.best = best;
  planner.cutShort |= cutShort;
  planner.isSmallestCutShort = isSmallestCutShort;
  planner.bound.raise(bound.time, bound.proof);
}

planning::PackedPlan
GraphPlanner::EffortSearch::improve(int64_t budget, planning::PackedPlan best,
                                    double seconds, bool &goesOn) {
  roundSeconds = seconds;
  cutShort = false;
  best = search.improve(budget, std::move(best));
  roundSeconds.reset();
  goesOn = cutShort;
  return best;
}

/// What a planner may spend that gets a share of the effort.
planning::SolverOptions
GraphPlanner::EffortSearch::getSolverOptions(double share) const {
  planning::SolverOptions solver = planner.getSolverOptions(scale * share);
  // The whole effort is for a request that there is nothing else for.
  solver.overdraft *= share;
  if (roundSeconds)
    solver.timeLimitSeconds =
        std::min(*roundSeconds * share, planner.getSecondsLeft());
  return solver;
}

llvm::Expected<planning::Solution>
GraphPlanner::EffortSearch::plan(const planning::PlanRequest &request) {
  const PlanOptions &options = planner.options;
  planning::Problem attempt = planner.counts[request.way].problem;
  attempt.deviceBudget = request.bytes;
  planning::SolverOptions solver = getSolverOptions(request.effortShare);
  // Its releases may not have room in this request.
  planning::Plan start;
  if (request.start) {
    start = planning::keepReleases(*request.start, 0);
    solver.start = &start;
  }
  solver.explainInfeasible = options.planner != "auto";
  solver.provesBounds = solver.effort >= leastBoundedEffort;
  llvm::Expected<planning::Solution> solution =
      planning::solve(attempt, options.planner, solver);
  if (!solution)
    return solution;
  cutShort |= solution->cutShort;
  // What is proven for at least the budget holds for the budget, as long as
  // everything that is counted lies in the arena.
  if (!options.reuseResultBuffers && planner.wanted &&
      request.bytes >= *planner.wanted)
    bound.raise(solution->lowerBound, solution->proof);
  return solution;
}

llvm::Expected<planning::FeasibilityCertificate>
GraphPlanner::EffortSearch::planSmallest(unsigned way) {
  planning::SolverOptions solver = getSolverOptions(/*share=*/1);
  // The arena counts, and only this plan is packed.
  solver.anneal = false;
  Counted &counted = planner.counts[way];
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(counted.problem, solver,
                                       &counted.lowPeaks);
  if (way == 0)
    isSmallestCutShort = false;
  isSmallestCutShort |= certificate && certificate->cutShort;
  return certificate;
}

llvm::Expected<planning::PackedPlan>
GraphPlanner::EffortSearch::pack(const planning::Plan &plan, bool thorough) {
  const PlanOptions &options = planner.options;
  int64_t work = thorough ? planner.getPackingWork(scale)
                          : int64_t(planning::PackingOptions::briefWork);
  llvm::Expected<Released> packed = planner.release(plan, 0, work);
  if (!packed)
    return packed.takeError();
  int64_t arena = packed->arenaBytes, time = packed->time;
  if (best.isWorseThan(arena, time, planner.wanted)) {
    best = {arena, time, planner.getSeconds()};
    int64_t base = planner.problem.baseCost();
    if (options.solver.onProgress)
      options.solver.onProgress(
          {options.planner, best.seconds, time, packed->peakBytes,
           std::max({base, planner.bound.time, bound.time}), base});
  }
  return planning::PackedPlan(std::move(*packed));
}

llvm::Expected<std::string> GraphPlanner::EffortSearch::explainSmallest(
    const planning::PackedPlan &smallest) {
  return planner.explainSmallest(smallest.plan, isSmallestCutShort,
                                 getSolverOptions(/*share=*/1));
}
