//===- Regions.cpp - limits on groups of values ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits of regions become MUST_RECOMPUTEs, which every algorithm knows:
// of a region's values, a knapsack keeps those whose ops cost most.
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "Knapsack.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace llvm;

namespace remat::planning {

std::vector<ValueId> valuesOf(const Graph &graph, const Region &region) {
  std::vector<ValueId> roots;
  for (ValueId value : region.values) {
    ValueId root = graph.problem.rootOf(value);
    OpId producer = graph.producer(root);
    bool isForward = producer != noOp && producer < graph.firstBackward();
    if (isForward && graph.bytes(root) > 0)
      roots.push_back(root);
  }
  llvm::sort(roots);
  roots.erase(llvm::unique(roots), roots.end());
  return roots;
}

int64_t keptBytes(const Graph &graph, const Region &region,
                  const Simulation &simulation) {
  std::vector<ValueId> values = valuesOf(graph, region);
  int64_t bytes = 0;
  for (const Copy &copy : simulation.copies)
    if (copy.def < simulation.backwardBegin &&
        copy.lastUse >= simulation.backwardBegin &&
        binary_search(values, copy.value))
      bytes += copy.bytes(graph.problem);
  return bytes;
}

static bool isReadByBackward(const Graph &graph, ValueId value) {
  return any_of(graph.readers(value), [&](OpId reader) {
    return graph.problem.ops[reader].backward;
  });
}

/// Makes what does not fit one region MUST_RECOMPUTE in `problem`, a copy of
/// the graph's in which this has been done for other regions.
static Error limitRegion(const Graph &graph, const Region &region,
                         Problem &problem) {
  int64_t forced = 0;
  std::vector<KnapsackFrontier::Item> items;
  std::vector<ValueId> itemValues;
  for (ValueId value : valuesOf(graph, region)) {
    OpId producer = graph.producer(value);
    Policy policy = graph.policy(value);
    if (policy == Policy::MustRecompute || policy == Policy::MustCpuOffload ||
        problem.values[value].policy == Policy::MustRecompute)
      continue;
    bool isRead = isReadByBackward(graph, value);
    if (graph.runsOnce(producer)) {
      forced += isRead ? graph.bytes(value) : 0;
      continue;
    }
    if (!isRead) {
      problem.values[value].policy = Policy::MustRecompute;
      continue;
    }
    // Of values that cost nothing, more is better, too.
    items.push_back({graph.bytes(value), problem.ops[producer].cost + 1});
    itemValues.push_back(value);
  }
  if (forced > region.budget)
    return createStringError(
        inconvertibleErrorCode(),
        "the budget of region '" + region.name + "' is " +
            Twine(region.budget) + " bytes, but values of " + Twine(forced) +
            " bytes may not be recomputed: expected at least " + Twine(forced));
  // The lists of all items are kept.
  constexpr size_t mostEntries = size_t(1) << 22;
  size_t mostPoints =
      std::clamp<size_t>(mostEntries / (items.size() + 1), 16, 512);
  KnapsackFrontier frontier(items, mostPoints);
  size_t best = 0;
  for (auto [index, point] : enumerate(frontier.points()))
    if (point.bytes <= region.budget - forced)
      best = index;
  for (auto [value, kept] : zip_equal(itemValues, frontier.chosen(best)))
    if (!kept)
      problem.values[value].policy = Policy::MustRecompute;
  return Error::success();
}

Expected<Problem> limitRegions(const Problem &problem) {
  Problem limited = problem;
  if (problem.regions.empty())
    return limited;
  Graph graph(problem);
  for (const Region &region : problem.regions)
    if (Error error = limitRegion(graph, region, limited))
      return std::move(error);
  limited.regions.clear();
  return limited;
}

namespace {
/// Copies a plan and computes again, behind the forward phase, what must not be
/// carried there.
class RegionDropper {
public:
  RegionDropper(const Graph &graph, std::vector<bool> isDropped)
      : graph(graph), isDropped(std::move(isDropped)) {}

  Plan run(const Plan &plan, uint32_t backwardBegin) {
    for (auto [index, action] : enumerate(plan.actions)) {
      bool actsOnOp =
          action.kind == ActionKind::Run || action.kind == ActionKind::Absorb;
      if (index >= backwardBegin && actsOnOp) {
        provideOperands(action.id);
        for (ValueId made : graph.results(action.id))
          isDropped[made] = false;
      } else if (index >= backwardBegin && action.kind == ActionKind::Reload) {
        isDropped[action.id] = false;
      } else if (index >= backwardBegin) {
        provide(action.id);
      }
      result.actions.push_back(action);
    }
    return std::move(result);
  }

private:
  void provideOperands(OpId op) {
    // Depth first, without recursion: chains may be long.
    SmallVector<OpId> pending = {op};
    while (!pending.empty()) {
      size_t before = pending.size();
      for (ValueId operand : graph.operands(pending.back()))
        if (isDropped[operand])
          pending.push_back(graph.producer(operand));
      if (pending.size() != before)
        continue;
      OpId ready = pending.pop_back_val();
      if (ready != op)
        runAgain(ready);
    }
  }

  void provide(ValueId value) {
    if (!isDropped[value])
      return;
    provideOperands(graph.producer(value));
    runAgain(graph.producer(value));
  }

  void runAgain(OpId op) {
    bool isMissing = any_of(graph.results(op),
                            [&](ValueId made) { return isDropped[made]; });
    if (!isMissing)
      return;
    result.run(op);
    for (ValueId made : graph.results(op))
      isDropped[made] = false;
  }

  const Graph &graph;
  std::vector<bool> isDropped;
  Plan result;
};
} // namespace

Expected<Plan> dropRegionValues(const Problem &problem, const Problem &limited,
                                Plan plan) {
  Graph graph(limited);
  Expected<Simulation> simulation = simulate(limited, plan);
  if (!simulation)
    return simulation.takeError();
  std::vector<bool> isDropped(graph.numValues(), false);
  bool isWithin = true;
  for (const Region &region : problem.regions) {
    isWithin &= keptBytes(graph, region, *simulation) <= region.budget;
    for (ValueId value : valuesOf(graph, region))
      isDropped[value] = graph.policy(value) == Policy::MustRecompute;
  }
  if (isWithin)
    return plan;
  return RegionDropper(graph, std::move(isDropped))
      .run(plan, simulation->backwardBegin);
}

} // namespace remat::planning
