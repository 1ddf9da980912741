//===- StateSearch.cpp - all plans of a small graph in an order -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in ExactSearch.cpp, having more is never worse than having less: an action
// drops only what has to go for it, in all ways that keep as much as fits. What
// is read later, is not there and cannot be made of what is there without them,
// are ops that run again in any case: the cost of those is the estimate of what
// is left.
//
//===----------------------------------------------------------------------===//

#include "StateSearch.h"
#include "SearchTuning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;

namespace remat::planning {

namespace {
/// Values, by their index in `roots`.
using Set = uint64_t;
constexpr size_t setSize = 64;

Set single(size_t root) { return Set(1) << root; }
bool has(Set set, size_t root) { return set >> root & 1; }

class StateSearch {
public:
  StateSearch(const Graph &graph, const CutCosts &costs,
              ArrayRef<int64_t> later);

  StateBound run(int64_t enough, uint64_t &work, uint64_t workLimit,
                 function_ref<bool()> stop);

private:
  struct Queued {
    int64_t estimate;
    OpId next;
    Set resident;
    int64_t cost;
    /// Least first; of equal ones those that have come furthest.
    bool operator<(const Queued &other) const {
      return std::tuple(other.estimate, next, other.resident, other.cost) <
             std::tuple(estimate, other.next, resident, cost);
    }
  };
  using Key = std::pair<OpId, Set>;

  std::optional<int64_t> costLeft(OpId next, Set resident);
  void push(OpId next, Set resident, int64_t cost);
  void expand(const Queued &state);
  void expandRun(const Queued &state, OpId op);
  void keep(size_t item, int64_t room, int64_t smallestLeft, Set kept);
  bool isUsedUp() const { return steps >= stepLimit; }

  const Graph &graph;
  const CutCosts &costs;
  std::vector<ValueId> roots;
  std::vector<int64_t> bytes; // By root.
  std::vector<OpId> producers;
  std::vector<Set> operands, results; // By op.
  /// When so many ops have run for the first time: what the others read, and
  /// what they or ops that run again may.
  std::vector<Set> needed, useful;
  std::vector<int64_t> later;

  DenseMap<Key, int64_t> costOf;
  std::priority_queue<Queued> queue;
  uint64_t steps = 0, stepLimit = 0;

  // The run that is made room for.
  std::vector<uint32_t> items;
  OpId nextAfter = 0;
  int64_t costAfter = 0;
};
} // namespace

/// Whether it may be missing at a time at which it is wanted.
static bool isTracked(const Graph &graph, ValueId value) {
  return graph.problem.values[value].viewOf == noValue &&
         graph.bytes(value) > 0 &&
         (graph.isOutput(value) || !graph.readers(value).empty());
}

bool canSearchStates(const Graph &graph) {
  size_t count = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    count += isTracked(graph, value);
  return !graph.problem.freeOrder && graph.problem.deviceBudget &&
         graph.recomputesOnly() && count <= setSize;
}

StateSearch::StateSearch(const Graph &graph, const CutCosts &costs,
                         ArrayRef<int64_t> later)
    : graph(graph), costs(costs), operands(graph.numOps(), 0),
      results(graph.numOps(), 0), needed(graph.numOps() + 1, 0),
      useful(graph.numOps() + 1, 0), later(later) {
  this->later.push_back(0);
  for (OpId op = graph.numOps(); op-- > 0;)
    this->later[op] = std::max(this->later[op], this->later[op + 1]);
  Set outputs = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (!isTracked(graph, value))
      continue;
    size_t root = roots.size();
    roots.push_back(value);
    bytes.push_back(graph.bytes(value));
    producers.push_back(graph.producer(value));
    if (!graph.isArgument(value))
      results[graph.producer(value)] |= single(root);
    for (OpId reader : graph.readers(value))
      operands[reader] |= single(root);
    if (graph.isOutput(value))
      outputs |= single(root);
  }
  Set made = 0;
  for (size_t root = 0; root < roots.size(); ++root)
    if (graph.isArgument(roots[root]))
      made |= single(root);
  std::vector<Set> readFrom(graph.numOps() + 1, outputs);
  for (OpId op = graph.numOps(); op-- > 0;)
    readFrom[op] = readFrom[op + 1] | operands[op];
  for (OpId next = 0; next <= graph.numOps(); ++next) {
    needed[next] = readFrom[next] & made;
    useful[next] = needed[next];
    for (OpId op = next; op-- > 0;)
      if (costs.canRunAgain(op) && (results[op] & useful[next]) != 0)
        useful[next] |= operands[op];
    if (next < graph.numOps())
      made |= results[next];
  }
}

/// What runs again in any case, if nothing else stands in the way.
std::optional<int64_t> StateSearch::costLeft(OpId next, Set resident) {
  int64_t cost = 0;
  Set there = resident, missing = needed[next] & ~resident;
  for (OpId op = next; op-- > 0 && missing != 0;) {
    ++steps;
    if ((results[op] & missing) == 0)
      continue;
    if (!costs.canRunAgain(op))
      return std::nullopt;
    cost += costs.runAgain(op);
    there |= results[op];
    missing = (missing | operands[op]) & ~there;
  }
  // Arguments do not come back.
  if (missing)
    return std::nullopt;
  return cost;
}

void StateSearch::push(OpId next, Set resident, int64_t cost) {
  steps += StateTuning::pushSteps;
  auto [it, added] = costOf.try_emplace({next, resident}, cost);
  if (!added && it->second <= cost)
    return;
  it->second = cost;
  std::optional<int64_t> left = costLeft(next, resident);
  if (left)
    queue.push({cost + std::max(*left, later[next]), next, resident, cost});
}

/// Decides on the items from `item` on. `smallestLeft` is the size of the
/// smallest one that is dropped.
void StateSearch::keep(size_t item, int64_t room, int64_t smallestLeft,
                       Set kept) {
  ++steps;
  if (isUsedUp())
    return;
  if (item == items.size()) {
    if (smallestLeft > room) // Else it could have stayed.
      push(nextAfter, kept & useful[nextAfter], costAfter);
    return;
  }
  int64_t size = bytes[items[item]];
  if (size <= room)
    keep(item + 1, room - size, smallestLeft, kept | single(items[item]));
  keep(item + 1, room, std::min(size, smallestLeft), kept);
}

void StateSearch::expandRun(const Queued &state, OpId op) {
  if (operands[op] & ~state.resident)
    return;
  bool isFirst = op == state.next;
  nextAfter = state.next + isFirst;
  costAfter = state.cost + (isFirst ? 0 : costs.runAgain(op));
  Set held = operands[op] | results[op];
  int64_t room = *graph.problem.deviceBudget - graph.problem.ops[op].workspace;
  for (ValueId value : graph.results(op))
    if (!isTracked(graph, value))
      room -= graph.bytes(value);
  items.clear();
  for (uint32_t root = 0; root < roots.size(); ++root)
    if (has(held, root))
      room -= bytes[root];
    else if (has(state.resident, root) && has(useful[nextAfter], root))
      items.push_back(root);
  if (room >= 0)
    keep(0, room, std::numeric_limits<int64_t>::max(), held);
}

void StateSearch::expand(const Queued &state) {
  if (state.next < graph.numOps())
    expandRun(state, state.next);
  Set wanted = useful[state.next] & ~state.resident;
  for (OpId op = 0; op < state.next; ++op)
    if (costs.canRunAgain(op) && (results[op] & wanted) != 0)
      expandRun(state, op);
}

StateBound StateSearch::run(int64_t enough, uint64_t &work, uint64_t workLimit,
                            function_ref<bool()> stop) {
  stepLimit = workLimit > work ? workLimit - work : 0;
  StateBound best;
  push(0, needed[0], 0);
  // What a search that is used up has left out is no better than the state that
  // it looked at last.
  while (!isUsedUp()) {
    if (queue.empty()) {
      best.infeasible = true;
      break;
    }
    Queued state = queue.top();
    queue.pop();
    best.extra = std::max(best.extra, state.estimate);
    bool isDone =
        state.next == graph.numOps() && (needed.back() & ~state.resident) == 0;
    if (isDone || best.extra >= enough || stop() ||
        costOf.size() > StateTuning::stateLimit)
      break;
    if (costOf.lookup({state.next, state.resident}) == state.cost)
      expand(state);
  }
  work += steps;
  return best;
}

StateBound searchStates(const Graph &graph, const CutCosts &costs,
                        ArrayRef<int64_t> later, int64_t enough, uint64_t &work,
                        uint64_t workLimit, function_ref<bool()> stop) {
  return StateSearch(graph, costs, later).run(enough, work, workLimit, stop);
}

} // namespace remat::planning
