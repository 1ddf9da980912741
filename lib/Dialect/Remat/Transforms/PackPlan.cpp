//===- PackPlan.cpp - plans with addresses, and releases that fit ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While the planner searches, releases take no more of the arena than the plan
// needs anyway: what the search knows of arenas holds with them and without.
// The plan that is chosen gets all that its budget has room for.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanner.h"

#include "remat/Planning/Releases.h"

#include <tuple>

using namespace mlir;
using namespace remat;

/// The work of packing one plan: a small part of what compiling takes for plans
/// of which most are not taken, else as much as the effort is for.
int64_t GraphPlanner::getPackingWork(bool thorough) const {
  constexpr int64_t brief = planning::PackingOptions::briefWork;
  if (!thorough)
    return brief;
  double share = std::min(options.solver.effort * effortScale, 1.0);
  return std::max(brief, int64_t(share * double(allPackingWork)));
}

llvm::Expected<GraphPlanner::Released>
GraphPlanner::tryOutTimed(planning::Plan plan, bool thorough) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  llvm::Expected<Outcome> outcome = tryOut(plan, getPackingWork(thorough));
  if (!outcome)
    return outcome.takeError();
  Released packed;
  packed.plan = std::move(plan);
  packed.time = simulation->time;
  packed.arenaBytes = outcome->arenaBytes;
  packed.peakBytes = outcome->peakBytes;
  packed.plannedPeak = simulation->peakBytes;
  return packed;
}

/// The plan with as many releases as there is room for in the arena that it
/// needs without them, or in `limit` bytes if these are more. With releases, no
/// plan becomes slower.
llvm::Expected<GraphPlanner::Released>
GraphPlanner::release(const planning::Plan &plan, int64_t limit,
                      bool thorough) {
  llvm::Expected<Released> best =
      tryOutTimed(planning::keepReleases(plan, 0), thorough);
  if (!best)
    return best;
  limit = std::max(limit, best->arenaBytes);
  // What is free in the arena is about what more may be live.
  planning::Plan most = planning::addReleases(
      problem, best->plan, best->plannedPeak + limit - best->arenaBytes);
  size_t fitting = 0, tooMany = planning::countReleases(most) + 1;
  for (size_t count = tooMany - 1; count > fitting;
       count = (fitting + tooMany) / 2) {
    llvm::Expected<Released> packed =
        tryOutTimed(planning::keepReleases(most, count), thorough);
    bool fits =
        packed && packed->arenaBytes <= limit && packed->time < best->time;
    (fits ? fitting : tooMany) = count;
    if (fits)
      best = std::move(packed);
    else if (!packed)
      llvm::consumeError(packed.takeError());
  }
  return best;
}

llvm::Expected<planning::PackedPlan>
GraphPlanner::pack(const planning::Plan &plan, bool thorough) {
  llvm::Expected<Released> packed = release(plan, 0, thorough);
  if (!packed)
    return packed.takeError();
  int64_t arena = packed->arenaBytes, time = packed->time;
  bool isBetter = wanted
                      ? arena <= *wanted && time < bestTime
                      : std::tie(arena, time) < std::tie(bestArena, bestTime);
  if (isBetter) {
    bestArena = arena;
    bestTime = time;
    secondsToBest = getSeconds();
    int64_t base = problem.baseCost();
    if (options.solver.onProgress)
      options.solver.onProgress({options.planner, secondsToBest, bestTime,
                                 packed->peakBytes, std::max(base, bound),
                                 base});
  }
  return planning::PackedPlan(std::move(*packed));
}
