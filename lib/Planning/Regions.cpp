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

std::vector<ValueId> valuesToKeep(const Graph &graph, const Region &region) {
  std::vector<ValueId> roots;
  for (ValueId value : region.values) {
    ValueId root = graph.problem.rootOf(value);
    OpId producer = graph.producer(root);
    bool isForward = producer != noOp && producer < graph.firstBackward();
    bool isRead = any_of(graph.readers(root), [&](OpId reader) {
      return graph.problem.ops[reader].backward;
    });
    if (isForward && isRead && graph.bytes(root) > 0)
      roots.push_back(root);
  }
  llvm::sort(roots);
  roots.erase(llvm::unique(roots), roots.end());
  return roots;
}

/// Makes what does not fit one region MUST_RECOMPUTE in `problem`, a copy of
/// the graph's in which this has been done for other regions.
static Error limitRegion(const Graph &graph, const Region &region,
                         Problem &problem) {
  int64_t forced = 0;
  std::vector<KnapsackFrontier::Item> items;
  std::vector<ValueId> itemValues;
  for (ValueId value : valuesToKeep(graph, region)) {
    OpId producer = graph.producer(value);
    Policy policy = graph.policy(value);
    if (policy == Policy::MustRecompute || policy == Policy::MustCpuOffload ||
        problem.values[value].policy == Policy::MustRecompute)
      continue;
    if (graph.runsOnce(producer)) {
      forced += graph.bytes(value);
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
  return limited;
}

} // namespace remat::planning
