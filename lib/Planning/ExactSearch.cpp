//===- ExactSearch.cpp - searches all plans of a small problem ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A* [Hart, Nilsson, Raphael, 1968] over what has run and what is where: the
// objective is the cost, what it still takes at least is the cost of the ops
// that have not run. Two observations keep the states few. Having more is never
// worse than having less, so an action drops only what has to go for it: all
// ways to keep as much as fits are tried, and no other. And what no op to come
// can want is dropped at once.
//
// All features are honoured but the time of transfers, which takes a clock per
// state. With a link that takes time the least cost is a lower bound, and a
// plan is optimal if it does not wait.
//
// Exponential: up to 2^(ops + 3 values) states, each with a successor for each
// way to make room.
//
//===----------------------------------------------------------------------===//

#include "Exact.h"
#include "SearchTuning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;

namespace remat::planning {

/// Items are roots, with this added for packed forms.
static constexpr size_t rootLimit = exactRootLimit;
static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;
/// Larger than any room: the size of the smallest of no items.
static constexpr int64_t nothing = std::numeric_limits<int64_t>::max();

namespace {
/// Ops, or roots.
using Set = uint32_t;

Set single(size_t index) { return Set(1) << index; }

/// A copy is stale if a MUST keeps it from being read in the backward phase:
/// because it was computed before, or has not come back from the host.
struct State {
  Set ran = 0;
  Set full = 0, packed = 0, host = 0;
  Set fullStale = 0, packedStale = 0, hostStale = 0;
  /// Whether something ran again that may do so only in the forward phase, and
  /// nothing has run for the first time since: something forward has to.
  bool owesForward = false;

  std::tuple<uint64_t, uint64_t, uint64_t, uint64_t> key() const {
    auto pair = [](Set a, Set b) { return uint64_t(a) << 32 | b; };
    return {pair(ran, full), pair(packed, host), pair(fullStale, packedStale),
            pair(hostStale, owesForward)};
  }
};

/// An action, with what is absorbed into its kernel.
struct Move {
  ActionKind kind = ActionKind::Run;
  uint32_t id = 0;
  Set absorbed = 0;
  Set readsFull = 0, readsPacked = 0, makesFull = 0, makesPacked = 0;
  /// What must not be stale of it, and what must not be unless the forward
  /// phase goes on.
  Set readsFresh = 0, readsForward = 0;
  int64_t cost = 0, workspace = 0;
};

class ExactSearch {
public:
  ExactSearch(const Graph &graph, const ExactGoal &goal, WorkMeter &work);
  ExactPlan run();

private:
  struct Node {
    State state;
    int64_t cost;
    uint32_t parent;
    ActionKind kind;
    uint32_t id;
    Set absorbed;
    bool done = false;
  };
  struct Queued {
    int64_t estimate;
    unsigned left;
    uint32_t node;
    int64_t cost;
    bool operator<(const Queued &other) const {
      return std::tie(estimate, left, node) >
             std::tie(other.estimate, other.left, other.node);
    }
  };

  /// Where a run belongs. In a free order the forward phase ends behind the
  /// last op that runs for the first time before a backward op does, so a run
  /// that repeats something may turn out to be behind it.
  enum class Phase { Forward, Open, Backward };

  static bool has(Set set, size_t index) { return set >> index & 1; }
  Set usefulAfter(Set ran) const;
  Phase phaseOf(const State &state, OpId op) const;
  void addReads(Move &move, OpId op, Phase phase) const;
  bool mayStart(const State &state, OpId op) const;
  void expand(uint32_t node);
  void expandRuns(const State &state, const Move &move, OpId below,
                  Phase phase);
  void expandMoves(const State &state, size_t root);
  void pushRun(const State &state, State to, const Move &move);
  void makeRoom(const State &state, const Move &move);
  void keep(const State &state, const Move &move, size_t item, int64_t room,
            int64_t smallestLeft, Set full, Set packed);
  void keepOnHost(const State &state, const Move &move, size_t root,
                  int64_t room, int64_t smallestLeft, Set host);
  void push(State state, const Move &move);
  /// Whether not even a move that is begun can be finished: there may be
  /// 2^items ways to make room for it.
  bool isFarOver() {
    isCutShort |=
        nodes.size() > 2 * ExactTuning::stateLimit || work.overdrawn();
    return isCutShort;
  }
  int64_t bytesOf(size_t item) const {
    const Value &value = problem.values[roots[item % rootLimit]];
    return item < rootLimit ? value.bytes : value.packed->bytes;
  }
  Plan planTo(uint32_t node) const;

  const Graph &graph;
  const Problem &problem;
  const int64_t hostRoom = std::min(problem.hostRoom(), unlimited);
  const ExactGoal &goal;
  WorkMeter &work;

  std::vector<ValueId> roots;
  std::vector<Set> operands, results; // By op.
  /// Ops that may run for the first time before any backward op.
  Set forwardOps = 0;
  Set backwardOps = 0, onceOps = 0, orderedOps = 0;
  Set outputs = 0, arguments = 0;
  /// Guarded by a MUST_RECOMPUTE, and by a MUST_CPU_OFFLOAD.
  Set recomputed = 0, offloaded = 0;

  std::vector<Node> nodes;
  DenseMap<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>, uint32_t> nodeOf;
  std::priority_queue<Queued> queue;
  uint32_t current = 0;
  /// The items that the move at hand may drop.
  SmallVector<size_t, 32> items;
  /// The bytes of each item and all behind it.
  SmallVector<int64_t, 32> bytesFrom;
  /// Whether some ways to make room were left out.
  bool isCutShort = false;
};
} // namespace

/// Arguments that take no bytes are always there, and what nothing reads need
/// not be.
std::vector<ValueId> trackedRoots(const Graph &graph) {
  std::vector<ValueId> roots;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (graph.problem.values[value].viewOf != noValue)
      continue;
    bool counts = !graph.readers(value).empty() || graph.isOutput(value);
    if (graph.isArgument(value) ? counts && graph.bytes(value) > 0 : true)
      roots.push_back(value);
  }
  return roots;
}

ExactSearch::ExactSearch(const Graph &graph, const ExactGoal &goal,
                         WorkMeter &work)
    : graph(graph), problem(graph.problem), goal(goal), work(work),
      roots(trackedRoots(graph)) {
  std::vector<Set> setOf(graph.numValues(), 0);
  for (auto [index, value] : enumerate(roots)) {
    Set set = setOf[value] = single(index);
    arguments |= graph.isArgument(value) ? set : 0;
    outputs |= graph.isOutput(value) ? set : 0;
    if (graph.mustLeaveForward(value))
      (graph.policy(value) == Policy::MustRecompute ? recomputed : offloaded) |=
          set;
  }
  for (OpId op = 0; op < graph.numOps(); ++op) {
    operands.push_back(0);
    results.push_back(0);
    for (ValueId value : graph.operands(op))
      operands.back() |= setOf[value];
    for (ValueId value : graph.results(op))
      results.back() |= setOf[value];
    backwardOps |= problem.ops[op].backward ? single(op) : 0;
    bool isForward = problem.freeOrder ? !problem.ops[op].backward
                                       : op < graph.firstBackward();
    forwardOps |= isForward ? single(op) : 0;
    onceOps |= graph.runsOnce(op) ? single(op) : 0;
    orderedOps |= problem.ops[op].recomputable ? 0 : single(op);
  }
}

/// The roots that an op to come may want, or that are outputs.
Set ExactSearch::usefulAfter(Set ran) const {
  Set useful = outputs;
  for (OpId op = graph.numOps(); op-- > 0;)
    if (!has(ran, op) || (!has(onceOps, op) && (results[op] & useful)))
      useful |= operands[op];
  return useful;
}

/// Whether `op` may run for the first time.
bool ExactSearch::mayStart(const State &state, OpId op) const {
  if (state.owesForward && has(backwardOps, op))
    return false;
  Set before = single(op) - 1;
  return (before & ~state.ran & (problem.freeOrder ? orderedOps : ~Set(0))) ==
             0 ||
         (problem.freeOrder && !has(orderedOps, op));
}

ExactSearch::Phase ExactSearch::phaseOf(const State &state, OpId op) const {
  if (has(backwardOps, op) || (backwardOps & state.ran) ||
      !(forwardOps & ~state.ran))
    return Phase::Backward;
  return problem.freeOrder && has(state.ran, op) ? Phase::Open : Phase::Forward;
}

/// `op` reads its operands, as a part of the move.
void ExactSearch::addReads(Move &move, OpId op, Phase phase) const {
  move.readsFull |= operands[op];
  if (has(backwardOps, op))
    move.readsFresh |= operands[op];
  else if (phase == Phase::Backward)
    move.readsFresh |= operands[op] & recomputed;
  else if (phase == Phase::Open)
    move.readsForward |= operands[op] & recomputed;
}

void ExactSearch::push(State state, const Move &move) {
  Set useful = usefulAfter(state.ran);
  state.full &= useful;
  state.packed &= useful;
  state.host &= useful;
  state.fullStale &= state.full;
  state.packedStale &= state.packed;
  state.hostStale &= state.host;

  work.add(8);
  int64_t cost = 0;
  if (current < nodes.size())
    cost = nodes[current].cost + (goal.cheapest ? move.cost : 0);
  auto [it, added] = nodeOf.try_emplace(state.key(), nodes.size());
  Node node{state, cost, current, move.kind, move.id, move.absorbed};
  if (added)
    nodes.push_back(node);
  else if (nodes[it->second].cost <= cost)
    return;
  else
    nodes[it->second] = node;
  int64_t left = 0;
  unsigned numLeft = 0;
  for (OpId op = 0; op < graph.numOps(); ++op)
    if (!has(state.ran, op)) {
      ++numLeft;
      left += goal.cheapest ? problem.ops[op].cost : 0;
    }
  queue.push({cost + left, numLeft, it->second, cost});
}

//===----------------------------------------------------------------------===//
// Making room
//===----------------------------------------------------------------------===//

/// Pushes the state after `move`, for each way to keep as much as there is room
/// for while it is made.
void ExactSearch::makeRoom(const State &state, const Move &move) {
  int64_t room = goal.budget.value_or(unlimited) - move.workspace;
  Set full = move.readsFull | move.makesFull;
  Set packed = move.readsPacked | move.makesPacked;
  items.clear();
  for (size_t root = 0; root < roots.size(); ++root) {
    const Value &value = problem.values[roots[root]];
    if (has(full, root))
      room -= value.bytes;
    else if (has(state.full, root))
      items.push_back(root);
    if (has(packed, root))
      room -= value.packed->bytes;
    else if (has(state.packed, root))
      items.push_back(root + rootLimit);
  }
  bytesFrom.assign(items.size() + 1, 0);
  for (size_t item = items.size(); item-- > 0;)
    bytesFrom[item] = bytesFrom[item + 1] + bytesOf(items[item]);
  if (room >= 0)
    keep(state, move, 0, room, nothing, full, packed);
}

/// Decides on the items from `item` on. `smallestLeft` is the size of the
/// smallest one that is dropped.
void ExactSearch::keep(const State &state, const Move &move, size_t item,
                       int64_t room, int64_t smallestLeft, Set full,
                       Set packed) {
  if (smallestLeft <= room - bytesFrom[item])
    return; // It could have stayed, whatever else does.
  if (isFarOver())
    return;
  if (item < items.size()) {
    size_t root = items[item] % rootLimit;
    bool isPacked = items[item] >= rootLimit;
    int64_t bytes = bytesOf(items[item]);
    if (bytes <= room)
      keep(state, move, item + 1, room - bytes, smallestLeft,
           isPacked ? full : full | single(root),
           isPacked ? packed | single(root) : packed);
    if (bytes > 0)
      keep(state, move, item + 1, room, std::min(bytes, smallestLeft), full,
           packed);
    return;
  }
  State to = state;
  to.full = full;
  to.packed = packed;
  auto inherit = [&](Set &stale, Set source) {
    stale = (stale & ~single(move.id)) | (source & single(move.id));
  };
  switch (move.kind) {
  case ActionKind::Run:
    return pushRun(state, to, move);
  case ActionKind::Pack:
    inherit(to.packedStale, state.fullStale);
    return push(to, move);
  case ActionKind::Unpack:
    inherit(to.fullStale, state.packedStale);
    return push(to, move);
  case ActionKind::Reload:
    inherit(to.fullStale, state.hostStale & ~offloaded);
    return push(to, move);
  case ActionKind::Offload:
    inherit(to.hostStale, state.fullStale);
    return keepOnHost(to, move, 0,
                      hostRoom - problem.values[roots[move.id]].transferBytes,
                      nothing, single(move.id));
  case ActionKind::Absorb:
  case ActionKind::Release:
    return;
  }
}

/// Pushes the state after a run; `to` is that state but for what ran.
void ExactSearch::pushRun(const State &state, State to, const Move &move) {
  Set made = move.makesFull;
  to.fullStale = (to.fullStale & ~made) | (made & offloaded);
  to.owesForward |= (move.readsForward & state.fullStale) != 0;
  bool first = !has(state.ran, move.id);
  to.ran |= single(move.id);
  if (first && !(to.ran & backwardOps)) {
    to.fullStale |= recomputed;
    to.packedStale |= recomputed;
    to.hostStale |= recomputed;
    to.owesForward = false;
  }
  push(to, move);
}

void ExactSearch::keepOnHost(const State &state, const Move &move, size_t root,
                             int64_t room, int64_t smallestLeft, Set host) {
  if (room < 0 || isFarOver())
    return;
  while (root < roots.size() && (root == move.id || !has(state.host, root)))
    ++root;
  if (root < roots.size()) {
    int64_t bytes = problem.values[roots[root]].transferBytes;
    keepOnHost(state, move, root + 1, room - bytes, smallestLeft,
               host | single(root));
    if (bytes > 0)
      keepOnHost(state, move, root + 1, room, std::min(bytes, smallestLeft),
                 host);
    return;
  }
  if (smallestLeft <= room)
    return;
  State to = state;
  to.host = host;
  push(to, move);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Runs a kernel as it is, and with every set of ops absorbed into it of which
/// each is read there: ids below `below`, readers before what they read.
void ExactSearch::expandRuns(const State &state, const Move &move, OpId below,
                             Phase phase) {
  if (!(move.readsFull & ~state.full) && !(move.readsFresh & state.fullStale))
    makeRoom(state, move);
  for (OpId op = below; op-- > 0;) {
    if (!has(state.ran, op) || !graph.canAbsorb(op, move.id) ||
        !(results[op] & move.readsFull))
      continue;
    Move with = move;
    with.absorbed |= single(op);
    for (Set *reads : {&with.readsFull, &with.readsFresh, &with.readsForward})
      *reads &= ~results[op];
    addReads(with, op, phase);
    with.cost += *problem.ops[op].absorbedCost;
    expandRuns(state, with, op, phase);
  }
}

/// What can be done with one root beside running its op.
void ExactSearch::expandMoves(const State &state, size_t root) {
  const Value &value = problem.values[roots[root]];
  bool full = has(state.full, root), stale = has(state.fullStale, root);
  auto isBetter = [&](bool there, bool otherStale) {
    return !there || (otherStale && !stale);
  };
  Move move;
  move.id = root;
  if (full) {
    move.readsFull = single(root);
    move.kind = ActionKind::Offload;
    if (goal.transfers && graph.canOffload(roots[root]) &&
        isBetter(has(state.host, root), has(state.hostStale, root)))
      makeRoom(state, move);
    move.kind = ActionKind::Pack;
    move.makesPacked = single(root);
    if (graph.canPack(roots[root]) &&
        isBetter(has(state.packed, root), has(state.packedStale, root))) {
      move.cost = value.packed->packCost;
      makeRoom(state, move);
    }
  }
  move = Move();
  move.id = root;
  move.makesFull = single(root);
  if (has(state.host, root) &&
      (!full || (stale && !has(state.hostStale & ~offloaded, root)))) {
    move.kind = ActionKind::Reload;
    makeRoom(state, move);
  }
  bool mayUnpack = !value.packed || !value.packed->lossy ||
                   (backwardOps & state.ran) || !(forwardOps & ~state.ran);
  if (has(state.packed, root) && mayUnpack &&
      (!full || (stale && !has(state.packedStale, root)))) {
    move.kind = ActionKind::Unpack;
    move.readsPacked = single(root);
    move.cost = value.packed->unpackCost;
    makeRoom(state, move);
  }
}

void ExactSearch::expand(uint32_t node) {
  current = node;
  State state = nodes[node].state;
  Set wanted = usefulAfter(state.ran) & (~state.full | state.fullStale);
  for (OpId op = 0; op < graph.numOps(); ++op) {
    bool again = has(state.ran, op);
    if (again ? has(onceOps, op) || !(results[op] & wanted)
              : !mayStart(state, op))
      continue;
    Move move;
    move.id = op;
    Phase phase = phaseOf(state, op);
    addReads(move, op, phase);
    move.makesFull = results[op];
    move.cost = problem.ops[op].cost;
    move.workspace = problem.ops[op].workspace;
    expandRuns(state, move, op, phase);
  }
  for (size_t root = 0; root < roots.size(); ++root)
    expandMoves(state, root);
}

Plan ExactSearch::planTo(uint32_t node) const {
  SmallVector<uint32_t, 32> path;
  for (; node != 0; node = nodes[node].parent)
    path.push_back(node);
  Plan plan;
  for (uint32_t index : reverse(path)) {
    const Node &at = nodes[index];
    for (OpId op = 0; op < graph.numOps(); ++op)
      if (has(at.absorbed, op))
        plan.absorb(op);
    plan.actions.push_back({at.kind, actsOnOp(at.kind) ? at.id : roots[at.id]});
  }
  return plan;
}

ExactPlan ExactSearch::run() {
  State start;
  start.full = arguments;
  push(start, Move());
  Set all = graph.numOps() ? ~Set(0) >> (rootLimit - graph.numOps()) : 0;
  while (!queue.empty()) {
    Queued queued = queue.top();
    queue.pop();
    Node &node = nodes[queued.node];
    if (node.done || node.cost < queued.cost)
      continue;
    node.done = true;
    if (node.state.ran == all && (outputs & ~node.state.full) == 0)
      return {ExactPlan::Found, planTo(queued.node), node.cost};
    if (nodes.size() > ExactTuning::stateLimit || work.exhausted())
      return {};
    expand(queued.node);
    if (isCutShort)
      return {};
  }
  return {ExactPlan::NoneExists, {}, 0};
}

ExactPlan findExactPlan(const Graph &graph, const ExactGoal &goal,
                        WorkMeter &work) {
  return ExactSearch(graph, goal, work).run();
}

} // namespace remat::planning
