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
#include "SearchTuning.h"

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

/// Makes what does not fit one region MUST_RECOMPUTE in `problem`, a copy of
/// the graph's in which this has been done for other regions.
static Error limitRegion(const Graph &graph, const Region &region,
                         Problem &problem) {
  int64_t forced = 0;
  std::vector<KnapsackFrontier::Item> items;
  std::vector<ValueId> itemValues, unread;
  for (ValueId value : valuesOf(graph, region)) {
    OpId producer = graph.producer(value);
    Policy policy = graph.policy(value);
    if (policy == Policy::MustRecompute || policy == Policy::MustCpuOffload ||
        problem.values[value].policy == Policy::MustRecompute)
      continue;
    bool isRead = graph.isReadByBackward(value);
    if (graph.runsOnce(producer)) {
      forced += isRead ? graph.bytes(value) : 0;
      continue;
    }
    if (!isRead) {
      unread.push_back(value);
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
  size_t mostPoints = std::clamp<size_t>(
      SavedSetTuning::regionEntries / (items.size() + 1),
      SavedSetTuning::fewestRegionPoints, SavedSetTuning::mostRegionPoints);
  KnapsackFrontier frontier(items, mostPoints);
  size_t best = 0;
  for (auto [index, point] : enumerate(frontier.points()))
    if (point.bytes <= region.budget - forced)
      best = index;
  for (auto [value, kept] : zip_equal(itemValues, frontier.chosen(best)))
    if (!kept)
      problem.values[value].policy = Policy::MustRecompute;
  // What is left is for values that only recomputations read.
  int64_t left = region.budget - forced - frontier.points()[best].bytes;
  llvm::stable_sort(unread, [&](ValueId a, ValueId b) {
    return problem.ops[graph.producer(a)].cost >
           problem.ops[graph.producer(b)].cost;
  });
  for (ValueId value : unread) {
    if (graph.bytes(value) <= left)
      left -= graph.bytes(value);
    else
      problem.values[value].policy = Policy::MustRecompute;
  }
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

} // namespace remat::planning
