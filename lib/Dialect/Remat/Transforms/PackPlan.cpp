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

using namespace mlir;
using namespace remat;

/// The work of packing one plan with `scale` of the effort. Most plans are not
/// taken and are packed with a small part of what compiling takes.
int64_t GraphPlanner::getPackingWork(double scale) const {
  double share = std::min(options.solver.effort * scale, 1.0);
  return std::max<int64_t>(planning::PackingOptions::briefWork,
                           int64_t(share * double(allPackingWork)));
}

llvm::Expected<GraphPlanner::Released>
GraphPlanner::tryOutTimed(planning::Plan plan, int64_t packingWork) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  llvm::Expected<Outcome> outcome = tryOut(plan, packingWork);
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
                      int64_t packingWork) {
  llvm::Expected<Released> best =
      tryOutTimed(planning::keepReleases(plan, 0), packingWork);
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
        tryOutTimed(planning::keepReleases(most, count), packingWork);
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
