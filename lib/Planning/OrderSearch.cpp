//===- OrderSearch.cpp - orders of first runs that need less --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is the set of ops that have run. Its live bytes follow from it, so
// two ways to the same set are equally good and one is enough.
//
//===----------------------------------------------------------------------===//

#include "OrderSearch.h"
#include "ListSchedule.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <queue>
#include <random>

using namespace llvm;

namespace remat::planning {

namespace {
class OrderSearch {
public:
  OrderSearch(const Graph &graph, int64_t budget, WorkMeter &work)
      : graph(graph), problem(graph.problem), budget(budget), work(work),
        needs(graph.numOps()), feeds(graph.numOps()), keys(graph.numOps()) {
    connect();
  }

  std::vector<OpId> run(size_t maxStates);

private:
  struct State {
    BitVector ran;
    SmallVector<OpId, 8> ready;
    int64_t live = 0;
    uint64_t hash = 0;
    uint32_t count = 0;
    /// The state before, and the ops that lead from it to this one.
    uint32_t parent = ~0u;
    SmallVector<OpId, 4> path;
  };

  void connect();
  State first() const;
  /// Live bytes after `op` and while it runs.
  int64_t liveAfter(const State &state, OpId op) const;
  int64_t liveDuring(const State &state, OpId op) const;
  void advance(State &state, OpId op) const;
  void close(State &state) const;

  const Graph &graph;
  const Problem &problem;
  int64_t budget;
  WorkMeter &work;
  /// Ops to wait for, and ops that wait.
  std::vector<SmallVector<OpId, 4>> needs, feeds;
  std::vector<uint64_t> keys;
};
} // namespace

void OrderSearch::connect() {
  std::mt19937_64 generator(0);
  OpId lastEffect = noOp;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    keys[op] = generator();
    for (ValueId operand : graph.operands(op))
      if (!graph.isArgument(operand))
        needs[op].push_back(graph.producer(operand));
    if (!problem.ops[op].recomputable) {
      if (lastEffect != noOp)
        needs[op].push_back(lastEffect);
      lastEffect = op;
    }
    for (OpId other : needs[op])
      if (feeds[other].empty() || feeds[other].back() != op)
        feeds[other].push_back(op);
  }
}

OrderSearch::State OrderSearch::first() const {
  State state;
  state.ran.resize(graph.numOps());
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isArgument(value))
      state.live += graph.bytes(value);
  for (OpId op = 0; op < graph.numOps(); ++op)
    if (needs[op].empty())
      state.ready.push_back(op);
  return state;
}

int64_t OrderSearch::liveDuring(const State &state, OpId op) const {
  int64_t live = state.live + problem.ops[op].workspace;
  for (ValueId result : graph.results(op))
    live += graph.bytes(result);
  return live;
}

int64_t OrderSearch::liveAfter(const State &state, OpId op) const {
  int64_t live = state.live;
  for (ValueId result : graph.results(op))
    if (!graph.readers(result).empty() || graph.isOutput(result))
      live += graph.bytes(result);
  for (ValueId operand : graph.operands(op)) {
    if (graph.isOutput(operand))
      continue;
    bool last = llvm::all_of(graph.readers(operand), [&](OpId reader) {
      return reader == op || state.ran.test(reader);
    });
    if (last)
      live -= graph.bytes(operand);
  }
  return live;
}

void OrderSearch::advance(State &state, OpId op) const {
  state.live = liveAfter(state, op);
  state.ran.set(op);
  state.hash ^= keys[op];
  ++state.count;
  state.path.push_back(op);
  state.ready.erase(llvm::find(state.ready, op));
  for (OpId other : feeds[op])
    if (llvm::all_of(needs[other],
                     [&](OpId needed) { return state.ran.test(needed); }))
      state.ready.push_back(other);
  work.add(2 + feeds[op].size());
}

/// Runs what frees as much as it takes.
void OrderSearch::close(State &state) const {
  for (size_t i = 0; i < state.ready.size();) {
    OpId op = state.ready[i];
    work.add(1);
    if (liveDuring(state, op) <= budget && liveAfter(state, op) <= state.live) {
      advance(state, op);
      i = 0;
    } else {
      ++i;
    }
  }
}

std::vector<OpId> OrderSearch::run(size_t maxStates) {
  std::vector<State> states;
  struct Entry {
    uint32_t count;
    int64_t live;
    uint32_t index;
    bool operator<(const Entry &other) const {
      if (count != other.count)
        return count < other.count;
      return live != other.live ? live > other.live : index > other.index;
    }
  };
  std::priority_queue<Entry> queue;
  DenseSet<uint64_t> seen;
  auto push = [&](State state) {
    close(state);
    if (!seen.insert(state.hash >> 1).second)
      return;
    queue.push({state.count, state.live, uint32_t(states.size())});
    states.push_back(std::move(state));
  };
  push(first());
  while (!queue.empty() && states.size() < maxStates && !work.overdrawn()) {
    uint32_t index = queue.top().index;
    queue.pop();
    if (states[index].count == graph.numOps()) {
      std::vector<OpId> order;
      for (uint32_t at = index; at != ~0u; at = states[at].parent)
        order.insert(order.end(), states[at].path.rbegin(),
                     states[at].path.rend());
      std::reverse(order.begin(), order.end());
      return order;
    }
    SmallVector<OpId, 8> ready = states[index].ready;
    for (OpId op : ready) {
      if (liveDuring(states[index], op) > budget)
        continue;
      State next = states[index];
      work.add(next.ran.size() / 64);
      next.parent = index;
      next.path.clear();
      advance(next, op);
      push(std::move(next));
    }
  }
  return {};
}

std::vector<OpId> findOrder(const Graph &graph, int64_t budget,
                            size_t maxStates, WorkMeter &work) {
  return OrderSearch(graph, budget, work).run(maxStates);
}

std::vector<OpId> searchLowOrder(const Graph &graph, int64_t budget,
                                 int64_t peak, size_t maxStates,
                                 WorkMeter &work) {
  std::vector<OpId> best;
  int64_t low = budget;
  while (peak > low && !work.overdrawn()) {
    int64_t target =
        best.empty() && low == budget ? low : low + (peak - low) / 2;
    std::vector<OpId> order = findOrder(graph, target, maxStates, work);
    if (!order.empty()) {
      peak = findPeak(graph, order);
      best = std::move(order);
    } else {
      low = target + 1;
    }
    if (peak - low < peak / 200)
      break;
  }
  return best;
}

} // namespace remat::planning
