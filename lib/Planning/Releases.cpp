//===- Releases.cpp - bytes for overlap -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches choose what to offload as if its memory came back at once. When they
// are done, each wait for an offload is looked at, in order: the copy may live
// on until the computation is as far as the transfer, or until there is no more
// room. A release takes time from nothing, but it may give none either, as
// where the next wait is as long: what gives none in the end is taken back.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Releases.h"

#include "SearchTuning.h"
#include "SimulateInto.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

static bool isRelease(const Action &action) {
  return action.kind == ActionKind::Release;
}

namespace {
class Releaser {
public:
  Releaser(const Graph &graph, const Plan &plan, int64_t budget)
      : graph(graph), problem(graph.problem), budget(budget), plan(plan) {}

  /// Whether the plan became faster.
  bool run() {
    if (!simulate(plan))
      return false;
    int64_t before = simulation.time;
    uint64_t work = 0;
    for (uint32_t k = 0;
         k < simulation.hostCopies.size() && work < ReleaseTuning::mostActions;
         ++k)
      if (std::optional<uint32_t> at = findPlace(k)) {
        tryRelease(k, *at);
        work += plan.actions.size();
      }
    if (simulation.time == before)
      return false;
    dropNeedless();
    return true;
  }
  Plan take() { return std::move(plan); }

private:
  bool simulate(const Plan &candidate) {
    Error error = simulateInto(graph, candidate, simulation, &times);
    if (!error)
      error = verify(graph, candidate, simulation);
    bool isLegal = !error && simulation.peakBytes <= budget;
    consumeError(std::move(error));
    return isLegal;
  }

  /// Where the source of host copy `k` would best be released; none if nothing
  /// waits for its offload, or if there is no room.
  std::optional<uint32_t> findPlace(uint32_t k) const {
    const HostCopy &host = simulation.hostCopies[k];
    const Copy &source = simulation.copies[host.source];
    int64_t end = times.offloadEnds[k];
    uint32_t first = source.lastUse + 1, count = plan.actions.size();
    if (first >= count || end <= times.ready[first] ||
        isRelease(plan.actions[source.lastUse]))
      return std::nullopt;
    // As if nothing waited for this offload.
    int64_t saved = times.begin[first] - times.ready[first];
    int64_t bytes = source.bytes(problem);
    uint32_t at = first;
    while (at < count && times.ready[at] - (at > first ? saved : 0) < end &&
           simulation.liveBytes[at] + bytes <= budget)
      ++at;
    // What is absorbed into a kernel stays with it.
    while (at > first && plan.actions[at - 1].kind == ActionKind::Absorb)
      --at;
    return at > first ? std::optional(at) : std::nullopt;
  }

  void tryRelease(uint32_t k, uint32_t at) {
    // A release is about the last offload before it.
    ValueId value = simulation.hostCopies[k].value;
    for (const HostCopy &later :
         ArrayRef(simulation.hostCopies).drop_front(k + 1))
      if (later.value == value && later.offload < at)
        return;
    plan.actions.insert(plan.actions.begin() + at,
                        {ActionKind::Release, value});
    if (simulate(plan))
      return;
    plan.actions.erase(plan.actions.begin() + at);
    simulate(plan);
  }

  void dropNeedless() {
    int64_t time = simulation.time;
    for (size_t i = plan.actions.size(); i-- > 0;) {
      Action action = plan.actions[i];
      if (!isRelease(action))
        continue;
      plan.actions.erase(plan.actions.begin() + i);
      if (!simulate(plan) || simulation.time != time)
        plan.actions.insert(plan.actions.begin() + i, action);
    }
  }

  const Graph &graph;
  const Problem &problem;
  int64_t budget;
  Plan plan;
  Simulation simulation;
  ActionTimes times;
};
} // namespace

Plan addReleases(const Problem &problem, const Plan &plan, int64_t budget) {
  if (none_of(plan.actions, [](const Action &action) {
        return action.kind == ActionKind::Offload;
      }))
    return plan;
  Graph graph(problem);
  Releaser releaser(graph, plan, budget);
  return releaser.run() ? releaser.take() : plan;
}

Solution addReleases(const Problem &problem, Solution solution) {
  // What is nowhere waited for can be no faster.
  if (solution.time == solution.cost)
    return solution;
  Expected<Solution> better = evaluatePlan(
      problem,
      addReleases(problem, solution.plan,
                  problem.deviceBudget.value_or(solution.peakBytes)),
      solution.solver);
  if (!better) {
    consumeError(better.takeError());
    return solution;
  }
  solution.plan = std::move(better->plan);
  solution.peakBytes = better->peakBytes;
  solution.hostPeakBytes = better->hostPeakBytes;
  solution.cost = better->cost;
  solution.time = better->time;
  return solution;
}

Plan keepReleases(const Plan &plan, size_t count) {
  Plan kept = plan;
  erase_if(kept.actions, [&](const Action &action) {
    return isRelease(action) && (count == 0 || count-- == 0);
  });
  return kept;
}

size_t countReleases(const Plan &plan) {
  return count_if(plan.actions, isRelease);
}

} // namespace remat::planning
