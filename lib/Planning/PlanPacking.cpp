//===- PlanPacking.cpp - addresses for the copies of a plan ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/PlanPacking.h"

#include "remat/Planning/Simulator.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace remat::planning;

Expected<std::vector<LiveRange>>
remat::planning::findLiveRanges(const Problem &problem, const Plan &plan) {
  Expected<Simulation> simulation = simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  std::vector<LiveRange> ranges;
  if (plan.actions.empty()) // As in the simulation: nothing runs.
    return ranges;
  std::vector<int64_t> held(plan.actions.size() + 1, 0);
  for (const Copy &copy : simulation->copies) {
    uint32_t begin = copy.def == Copy::beforeStart ? 0 : copy.def;
    ranges.push_back({copy.bytes(problem), begin, copy.lastUse});
    held[begin] += ranges.back().bytes;
    held[copy.lastUse + 1] -= ranges.back().bytes;
  }
  // What an action takes beside all copies is its workspace.
  int64_t live = 0;
  for (auto [action, total] : enumerate(simulation->liveBytes)) {
    live += held[action];
    if (total > live)
      ranges.push_back({total - live, uint32_t(action), uint32_t(action)});
  }
  return ranges;
}

Expected<Packing> remat::planning::packPlan(const Problem &problem,
                                            const Plan &plan,
                                            const PackingOptions &options) {
  Expected<std::vector<LiveRange>> ranges = findLiveRanges(problem, plan);
  if (!ranges)
    return ranges.takeError();
  Packing packing = packLiveRanges(*ranges, options);
  if (std::optional<std::string> fault = findPackingFault(*ranges, packing))
    return createStringError("internal error: " + *fault);
  return packing;
}
