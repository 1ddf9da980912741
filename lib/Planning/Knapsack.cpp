//===- Knapsack.cpp - saved sets by a knapsack ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The activation memory budget of PyTorch (torch._functorch.partitioners,
// `activation_memory_budget`): of the forward values, save those whose ops cost
// most, within a number of bytes. The knapsack is solved for all numbers of
// bytes at once, by the list of undominated sets [Nemhauser and Ullmann,
// Discrete dynamic programming and capital allocation, 1969]; then the largest
// number whose plan fits is searched for.
//
//===----------------------------------------------------------------------===//

#include "Knapsack.h"
#include "SavedSet.h"
#include "SearchTuning.h"

using namespace llvm;

namespace remat::planning {

/// Drops points until at most `mostPoints` are left: those that gain least over
/// the one before. The first and the last stay.
static void thin(std::vector<KnapsackFrontier::Point> &points,
                 size_t mostPoints) {
  if (points.size() <= mostPoints)
    return;
  size_t last = points.size() - 1;
  for (size_t p = 0; p < mostPoints; ++p)
    points[p] = points[p * last / (mostPoints - 1)];
  points.resize(mostPoints);
}

KnapsackFrontier::KnapsackFrontier(ArrayRef<Item> items, size_t mostPoints)
    : items(items.begin(), items.end()) {
  lists.push_back({{0, 0}});
  for (const Item &item : items) {
    const std::vector<Point> &old = lists.back();
    std::vector<Point> merged;
    merged.reserve(2 * old.size());
    size_t without = 0, with = 0;
    while (with < old.size()) {
      Point added = {old[with].bytes + item.bytes, old[with].gain + item.gain};
      bool takeOld = without < old.size() && old[without].bytes <= added.bytes;
      Point point = takeOld ? old[without++] : added;
      with += !takeOld;
      if (!merged.empty() && point.gain <= merged.back().gain)
        continue;
      if (!merged.empty() && merged.back().bytes == point.bytes)
        merged.pop_back();
      merged.push_back(point);
    }
    exactly &= merged.size() <= mostPoints;
    thin(merged, mostPoints);
    lists.push_back(std::move(merged));
  }
}

std::vector<bool> KnapsackFrontier::chosen(size_t index) const {
  std::vector<bool> taken(items.size(), false);
  Point point = lists.back()[index];
  auto has = [](const std::vector<Point> &list, Point wanted) {
    auto it = partition_point(
        list, [&](const Point &p) { return p.bytes < wanted.bytes; });
    return it != list.end() && it->bytes == wanted.bytes &&
           it->gain == wanted.gain;
  };
  for (size_t i = items.size(); i-- > 0;) {
    if (has(lists[i], point))
      continue;
    taken[i] = true;
    point.bytes -= items[i].bytes;
    point.gain -= items[i].gain;
  }
  return taken;
}

Expected<Solution> planKnapsack(const Problem &problem,
                                const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  if (best.consider(saveAllResidency(graph)))
    return best.finish("knapsack", watch);

  OpId position = savePosition(graph);
  // Values of no bytes, and those that must be there anyway, are no question.
  std::vector<bool> always(graph.numValues(), false);
  std::vector<KnapsackFrontier::Item> items;
  std::vector<ValueId> itemValues;
  for (OpId op = 0; op < position; ++op)
    for (ValueId value : graph.results(op)) {
      if (graph.bytes(value) == 0 || graph.runsOnce(op) ||
          graph.policy(value) == Policy::PreferSave) {
        always[value] = true;
      } else if (graph.policy(value) != Policy::PreferRecompute) {
        items.push_back({graph.bytes(value), problem.ops[op].cost});
        itemValues.push_back(value);
      }
    }
  KnapsackFrontier frontier(items, SavedSetTuning::knapsackPoints);
  work.add(items.size() * SavedSetTuning::knapsackPoints);
  auto fitsAt = [&](size_t index) {
    std::vector<bool> saved = always;
    std::vector<bool> taken = frontier.chosen(index);
    for (auto [value, take] : zip_equal(itemValues, taken))
      saved[value] = take;
    return best.consider(position, saved);
  };
  // Peaks grow with what is saved, but not strictly: a sweep, then bisection
  // above the largest set that fits.
  size_t last = frontier.points().size() - 1;
  constexpr size_t steps = SavedSetTuning::knapsackSteps;
  size_t low = 0, high = last + 1;
  for (size_t step = 0; step <= steps && !work.overdrawn(); ++step) {
    size_t index = last * step / steps;
    if (fitsAt(index)) {
      low = index;
      high = last * (step + 1) / steps;
    }
  }
  while (low + 1 < high && high <= last && !work.exhausted()) {
    size_t middle = (low + high) / 2;
    (fitsAt(middle) ? low : high) = middle;
  }
  return best.finish("knapsack", watch);
}

} // namespace remat::planning
