//===- PeakBound.cpp - what no plan's peak can go below -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pebbling argument, backwards. When an op runs, a set W of values is there:
// its operands, and what stays because no op can make it again. The last of
// them to be made was made by some op p; just before, the rest of W and the
// operands of p were there, and while p ran, its results and workspace too. So
// the peak is at least the smallest, over the choices of p, of what that takes
// and of what the earlier set takes by the same argument. A best-first search
// over sets finds the chain of choices with the lowest peak; cut short, its
// frontier is still a bound.
//
//===----------------------------------------------------------------------===//

#include "PeakBound.h"

#include "llvm/ADT/STLExtras.h"

#include <queue>
#include <unordered_set>

using namespace llvm;

namespace remat::planning {

namespace {
class Pebbling {
public:
  Pebbling(const Graph &graph, uint64_t workLimit,
           llvm::function_ref<bool()> isOver)
      : graph(graph), problem(graph.problem), limit(workLimit), isOver(isOver) {
  }

  PeakBound run();

private:
  using Set = std::vector<ValueId>;
  struct HashSet {
    size_t operator()(const Set &values) const {
      uint64_t hash = values.size();
      for (ValueId value : values)
        hash = (hash ^ value) * 0x9E3779B97F4A7C15 + (hash >> 31);
      return hash;
    }
  };
  struct Target {
    int64_t need;
    OpId op;
  };
  struct State {
    int64_t peak;
    Set values;
    /// Fewer and earlier values first: the search dives.
    bool operator<(const State &other) const {
      if (peak != other.peak)
        return peak > other.peak;
      return std::lexicographical_compare(other.values.rbegin(),
                                          other.values.rend(), values.rbegin(),
                                          values.rend());
    }
  };

  bool stays(ValueId value) const {
    OpId producer = graph.producer(value);
    return producer != noOp && graph.runsOnce(producer) &&
           !graph.canOffload(value) && !graph.canPack(value);
  }
  /// Whether it may be there without taking arena bytes or an op's run.
  bool isElsewhere(ValueId value) const {
    if (graph.isArgument(value) || graph.bytes(value) == 0 ||
        graph.canOffload(value) || graph.canPack(value))
      return true;
    return problem.ops[graph.producer(value)].absorbedCost.has_value();
  }
  int64_t bytesOf(const Set &values) const {
    int64_t sum = 0;
    for (ValueId value : values)
      sum += graph.bytes(value);
    return sum;
  }
  /// Whether an operand is resident for its reader, not absorbed by it.
  bool isOperandThere(ValueId operand, OpId reader) const {
    return graph.isArgument(operand) ||
           !graph.isAbsorber(reader, graph.producer(operand));
  }
  uint32_t lastNeed(ValueId value) const;
  std::vector<Target> targets() const;
  Set valuesOf(const Target &target) const;
  int64_t search(const Target &target, uint64_t until);

  const Graph &graph;
  const Problem &problem;
  uint64_t limit, work = 0;
  llvm::function_ref<bool()> isOver;
};
} // namespace

/// Where values that must stay are needed last: by a reader, or at the end.
uint32_t Pebbling::lastNeed(ValueId value) const {
  if (graph.isOutput(value))
    return graph.numOps();
  ArrayRef<OpId> readers = graph.readers(value);
  return readers.empty() ? graph.producer(value) : readers.back();
}

/// What is there while each op runs for the first time, and at the end.
std::vector<Pebbling::Target> Pebbling::targets() const {
  std::vector<int64_t> staying(graph.numOps() + 2, 0);
  // In a free order another op may read them last.
  if (!problem.freeOrder)
    for (ValueId value = 0; value < graph.numValues(); ++value) {
      if (!stays(value))
        continue;
      staying[graph.producer(value) + 1] += graph.bytes(value);
      staying[lastNeed(value) + 1] -= graph.bytes(value);
    }
  std::vector<Target> list;
  int64_t across = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    // A result that stays, counted with the results, begins after its op.
    across += staying[op];
    int64_t need = across + problem.ops[op].workspace;
    for (ValueId operand : graph.operands(op))
      if (isOperandThere(operand, op) &&
          !(stays(operand) && !problem.freeOrder))
        need += graph.bytes(operand);
    for (ValueId result : graph.results(op))
      need += graph.bytes(result);
    list.push_back({need, op});
  }
  int64_t outputs = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isOutput(value) && problem.values[value].viewOf == noValue)
      outputs += graph.bytes(value);
  list.push_back({outputs, noOp});
  return list;
}

/// The values of a target that some op has to have made before.
Pebbling::Set Pebbling::valuesOf(const Target &target) const {
  Set values;
  bool end = target.op == noOp;
  ArrayRef<ValueId> operands;
  if (!end)
    operands = graph.operands(target.op);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (problem.values[value].viewOf != noValue || isElsewhere(value))
      continue;
    bool there = end ? graph.isOutput(value)
                     : is_contained(operands, value) ||
                           (!problem.freeOrder && stays(value) &&
                            graph.producer(value) < target.op &&
                            lastNeed(value) >= target.op);
    if (there)
      values.push_back(value);
  }
  return values;
}

/// The lowest peak with which the target's values can be brought together, or,
/// when `until` is reached, a bound below it.
int64_t Pebbling::search(const Target &target, uint64_t until) {
  std::priority_queue<State> open;
  std::unordered_set<Set, HashSet> seen;
  open.push({target.need, valuesOf(target)});
  work += graph.numValues();
  while (!open.empty()) {
    State state = open.top();
    if (state.values.empty() || work >= until || isOver())
      return state.peak;
    open.pop();
    if (!seen.insert(state.values).second)
      continue;
    std::vector<OpId> makers;
    for (ValueId value : state.values)
      makers.push_back(graph.producer(value));
    llvm::sort(makers);
    makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
    for (OpId maker : makers) {
      if (work >= until)
        return state.peak;
      ArrayRef<ValueId> results = graph.results(maker);
      State next{0, {}};
      Set &before = next.values;
      int64_t during = problem.ops[maker].workspace;
      for (ValueId value : state.values)
        if (!is_contained(results, value))
          before.push_back(value);
      for (ValueId operand : graph.operands(maker))
        if (!isElsewhere(operand))
          before.push_back(operand);
      llvm::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
      during += bytesOf(before);
      for (ValueId result : results)
        during += graph.bytes(result);
      next.peak = std::max(state.peak, during);
      work += before.size() + results.size() + 1;
      open.push(std::move(next));
    }
  }
  return target.need;
}

PeakBound Pebbling::run() {
  std::vector<Target> list = targets();
  llvm::sort(list, [](const Target &a, const Target &b) {
    return std::pair(-a.need, a.op) < std::pair(-b.need, b.op);
  });
  PeakBound best;
  // What the ops need alone, then how it comes together, the largest first.
  for (const Target &target : list)
    if (target.need > best.bytes)
      best = {target.need, target.op};
  uint64_t share = std::max<uint64_t>(limit / 16, 1);
  for (const Target &target : list) {
    if (work >= limit || isOver())
      break;
    int64_t peak = search(target, std::min(limit, work + share));
    if (peak > best.bytes)
      best = {peak, target.op};
  }
  return best;
}

PeakBound peakBound(const Graph &graph, uint64_t workLimit,
                    llvm::function_ref<bool()> isOver) {
  return Pebbling(graph, workLimit, isOver).run();
}

} // namespace remat::planning
