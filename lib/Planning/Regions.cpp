//===- Regions.cpp - limits on groups of values ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits of regions become MUST_RECOMPUTEs, which every algorithm knows:
// of a region's values, a knapsack keeps those whose ops cost most. What may
// run only once stays for recomputations that read it; where it has no room,
// these do not run. In which form values are carried, and when they come back
// from the host, is mended when there is a plan.
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
    ValueId root = graph.rootOf(value);
    OpId producer = graph.producer(root);
    bool isForward = producer != noOp && producer < graph.firstBackward();
    // What is returned is there for the caller, whatever is read of it.
    if (isForward && graph.bytes(root) > 0 && !graph.isOutput(root))
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

namespace {
/// Makes what does not fit the regions MUST_RECOMPUTE in a copy of the graph's
/// problem. No plan for the copy has to carry more than the budgets allow,
/// whatever it recomputes: what may stay has room, and nothing else may stay.
class RegionLimiter {
public:
  RegionLimiter(const Graph &graph, Problem &limited)
      : graph(graph), limited(limited) {}

  Error limit(const Region &region);
  /// Ops that must not run again, because there is no room for what they read.
  /// If there are any, what is limited so far is of no use.
  ArrayRef<OpId> getFrozen() const { return frozen; }

private:
  /// The values of a region, as far as they may stay.
  struct Values {
    /// Bytes of what may run only once and is read behind the forward phase.
    int64_t forced = 0;
    /// What may run only once and is read there by recomputations at most.
    std::vector<ValueId> sources;
    /// What can run again and is read there; what is read by recomputations at
    /// most.
    std::vector<ValueId> read, unread;
  };

  Values classify(const Region &region) const;
  bool isReadLate(ValueId value) const;
  bool mayStayForRecomputation(ValueId value) const;
  Expected<int64_t> makeRoomForSources(const Region &region,
                                       const Values &values);
  bool freezeReaders(ValueId value);
  Policy policyOf(ValueId value) const {
    return limited.values[value].policy == Policy::MustRecompute
               ? Policy::MustRecompute
               : graph.policy(value);
  }
  int64_t costOf(ValueId value) const {
    return limited.ops[graph.producer(value)].cost;
  }

  const Graph &graph;
  Problem &limited;
  std::vector<OpId> frozen;
};
} // namespace

/// Whether an op that comes behind the first backward op reads the value as it
/// was kept.
bool RegionLimiter::isReadLate(ValueId value) const {
  bool isOffloaded = graph.policy(value) == Policy::MustCpuOffload;
  return any_of(graph.readers(value), [&](OpId reader) {
    return reader >= graph.firstBackward() &&
           !(isOffloaded && limited.ops[reader].backward);
  });
}

/// Whether forward ops may read the value behind the forward phase. In a free
/// order, they may run for the first time there.
bool RegionLimiter::mayStayForRecomputation(ValueId value) const {
  return any_of(graph.readers(value), [&](OpId reader) {
    return reader < graph.firstBackward() &&
           (limited.freeOrder || !graph.runsOnce(reader));
  });
}

RegionLimiter::Values RegionLimiter::classify(const Region &region) const {
  Values values;
  for (ValueId value : valuesOf(graph, region)) {
    if (policyOf(value) == Policy::MustRecompute)
      continue;
    bool isRead = isReadLate(value);
    if (!graph.runsOnce(graph.producer(value)))
      (isRead ? values.read : values.unread).push_back(value);
    else if (isRead)
      values.forced += graph.bytes(value);
    else if (mayStayForRecomputation(value))
      values.sources.push_back(value);
  }
  return values;
}

/// No forward op that reads the value runs again. False if one has to.
bool RegionLimiter::freezeReaders(ValueId value) {
  for (OpId reader : graph.readers(value)) {
    if (reader >= graph.firstBackward())
      continue;
    if (any_of(graph.results(reader), [&](ValueId result) {
          return graph.policy(result) == Policy::MustRecompute;
        }))
      return false;
    frozen.push_back(reader);
  }
  return true;
}

/// The room that is left for what can run again. Sources come first: they let
/// all that is computed from them run again. Where there is no room for one,
/// nothing is computed from it again.
Expected<int64_t> RegionLimiter::makeRoomForSources(const Region &region,
                                                    const Values &values) {
  auto fail = [&](int64_t least) {
    return createStringError(
        inconvertibleErrorCode(),
        "the budget of region '" + region.name + "' is " +
            Twine(region.budget) + " bytes, but values of " + Twine(least) +
            " bytes may not be recomputed: expected at least " + Twine(least));
  };
  int64_t room = region.budget - values.forced;
  if (room < 0)
    return fail(values.forced);
  for (ValueId source : values.sources) {
    if (graph.bytes(source) <= room)
      room -= graph.bytes(source);
    else if (!freezeReaders(source))
      return fail(region.budget - room + graph.bytes(source));
  }
  return room;
}

Error RegionLimiter::limit(const Region &region) {
  Values values = classify(region);
  Expected<int64_t> room = makeRoomForSources(region, values);
  if (!room)
    return room.takeError();
  std::vector<KnapsackFrontier::Item> items;
  // Of values that cost nothing, more is better, too.
  for (ValueId value : values.read)
    items.push_back({graph.bytes(value), costOf(value) + 1});
  // The lists of all items are kept.
  size_t mostPoints = std::clamp<size_t>(
      SavedSetTuning::regionEntries / (items.size() + 1),
      SavedSetTuning::fewestRegionPoints, SavedSetTuning::mostRegionPoints);
  KnapsackFrontier frontier(items, mostPoints);
  size_t best = 0;
  for (auto [index, point] : enumerate(frontier.points()))
    if (point.bytes <= *room)
      best = index;
  for (auto [value, kept] : zip_equal(values.read, frontier.chosen(best)))
    if (!kept)
      limited.values[value].policy = Policy::MustRecompute;
  // What is left is for values that only recomputations read.
  int64_t left = *room - frontier.points()[best].bytes;
  llvm::stable_sort(values.unread, [&](ValueId a, ValueId b) {
    return costOf(a) > costOf(b);
  });
  for (ValueId value : values.unread) {
    if (graph.bytes(value) <= left)
      left -= graph.bytes(value);
    else
      limited.values[value].policy = Policy::MustRecompute;
  }
  return Error::success();
}

/// Ops that may not run again, and run in the given order.
static void freeze(Problem &problem, ArrayRef<OpId> ops) {
  problem.freeOrder = false;
  for (OpId op : ops) {
    problem.ops[op].recomputable = false;
    problem.ops[op].absorbedCost.reset();
    problem.ops[op].absorbers.clear();
  }
}

Expected<Problem> limitRegions(const Problem &problem) {
  Problem limited = problem;
  if (problem.regions.empty())
    return limited;
  // Each round freezes more ops.
  for (Problem start = problem;;) {
    limited = start;
    Graph graph(start);
    RegionLimiter limiter(graph, limited);
    for (const Region &region : problem.regions)
      if (Error error = limiter.limit(region))
        return std::move(error);
    if (limiter.getFrozen().empty())
      break;
    freeze(start, limiter.getFrozen());
  }
  // What stays has room as it is.
  for (Value &value : limited.values)
    if (value.packed && value.packed->bytes > value.bytes)
      value.packed.reset();
  limited.regions.clear();
  return limited;
}

} // namespace remat::planning
