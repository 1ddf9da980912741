//===- ListSchedule.cpp - orders of first runs by what they free ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is in memory from the first to the last of the ops that use it: the
// one that makes it and those that read it. Said like this, time has no
// direction, and a schedule can be made from either end: forward, ops that free
// run as early as they can; backward, ops that allocate run as late as they
// can.
//
// A pass runs what frees at least as much as it takes as soon as it is ready:
// where it fits below the peak that is aimed at, this never makes the rest
// worse, since later it would free no less. The same is true of a small set of
// ops, such as a gradient and the update that reads it. Where nothing is free,
// the next op of a given priority follows.
//
//===----------------------------------------------------------------------===//

#include "ListSchedule.h"
#include "Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <numeric>
#include <set>

using namespace llvm;

namespace remat::planning {

Plan runOnce(ArrayRef<OpId> order) {
  Plan plan;
  for (OpId op : order)
    plan.run(op);
  return plan;
}

int64_t findPeak(const Graph &graph, ArrayRef<OpId> order) {
  // The simulator's count, for plans without repeats.
  std::vector<uint32_t> unread(graph.numValues(), 0);
  int64_t live = 0, peak = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    unread[value] = graph.readers(value).size() + graph.isOutput(value);
    if (graph.isArgument(value))
      live += graph.bytes(value);
  }
  for (OpId op : order) {
    for (ValueId result : graph.results(op))
      live += graph.bytes(result);
    peak = std::max(peak, live + graph.problem.ops[op].workspace);
    for (ValueId operand : graph.operands(op))
      if (--unread[operand] == 0)
        live -= graph.bytes(operand);
    for (ValueId result : graph.results(op))
      if (unread[result] == 0)
        live -= graph.bytes(result);
  }
  return peak;
}

namespace {
/// One pass over a graph, from one end of time to the other.
class ListSchedule {
public:
  ListSchedule(const Graph &graph, bool isReversed, WorkMeter &work);

  /// An order below `limit`, in the direction of the pass; empty if that is not
  /// met, or not before the work is overdrawn. `priority` is a legal order in
  /// that direction.
  std::vector<OpId> run(ArrayRef<OpId> priority, int64_t limit);

private:
  struct Buffer {
    int64_t bytes = 0;
    /// Its users are `size` entries from `begin` on.
    uint32_t begin = 0, size = 0;
    bool isThereAtFirst = false, isThereAtLast = false;
    // The state of a pass: users that have not run, all of them as one number
    // that is the last one's where only one is left, and who was the first.
    uint32_t left = 0, mix = 0;
    OpId first = noOp;

    bool isBegun() const { return isThereAtFirst || first != noOp; }
  };
  struct Step {
    /// What it takes while it runs, and what is left of that afterwards.
    int64_t hill = 0, change = 0;
    uint32_t unmet = 0, rank = 0;
    bool hasRun = false, isQueued = false;
    /// The entry in `freeing`, by its hill.
    std::optional<int64_t> entry;
  };

  void connect(bool isReversed);
  void reset(ArrayRef<OpId> priority);
  void add(OpId op, int64_t hill, int64_t change);
  void apply(OpId op);
  void undo(OpId op);
  void settle();
  void enqueue(OpId op);
  bool collectCone(OpId target);
  bool tryCone(OpId target);
  bool runCone();
  OpId pickNext();
  bool isReady(OpId op) const {
    return !steps[op].hasRun && steps[op].unmet == 0;
  }
  bool fits(OpId op) const { return live + steps[op].hill <= limit; }

  const Graph &graph;
  WorkMeter &work;
  std::vector<Buffer> buffers;
  std::vector<OpId> users;
  std::vector<SmallVector<OpId, 4>> needs, feeds;
  std::vector<SmallVector<uint32_t, 4>> uses;

  // The state of a pass.
  std::vector<Step> steps;
  std::vector<OpId> order;
  ArrayRef<OpId> priority;
  size_t cursor = 0;
  int64_t live = 0, limit = 0;
  /// Hills and ranks of ready ops that free at least what they take.
  std::set<std::pair<int64_t, uint32_t>> freeing;
  /// Ops whose numbers have changed since `settle`.
  std::vector<OpId> touched;
  /// Ops that may end a set that frees, first in, first out.
  std::vector<OpId> targets;
  size_t nextTarget = 0;
  SmallVector<OpId, ListScheduleTuning::mostOpsAtOnce> cone;
};
} // namespace

ListSchedule::ListSchedule(const Graph &graph, bool isReversed, WorkMeter &work)
    : graph(graph), work(work), buffers(graph.numValues()),
      needs(graph.numOps()), feeds(graph.numOps()), uses(graph.numOps()) {
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    Buffer &buffer = buffers[value];
    buffer.bytes = graph.bytes(value);
    buffer.begin = users.size();
    if (graph.producer(value) != noOp)
      users.push_back(graph.producer(value));
    llvm::append_range(users, graph.readers(value));
    buffer.size = users.size() - buffer.begin;
    bool staysAlone = graph.isArgument(value) && graph.readers(value).empty();
    buffer.isThereAtFirst = graph.isArgument(value);
    buffer.isThereAtLast = graph.isOutput(value) || staysAlone;
    if (isReversed)
      std::swap(buffer.isThereAtFirst, buffer.isThereAtLast);
  }
  connect(isReversed);
}

void ListSchedule::connect(bool isReversed) {
  OpId lastEffect = noOp;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    for (ValueId operand : graph.operands(op)) {
      uses[op].push_back(operand);
      if (!graph.isArgument(operand))
        needs[op].push_back(graph.producer(operand));
    }
    for (ValueId result : graph.results(op))
      uses[op].push_back(result);
    if (!graph.problem.ops[op].recomputable) {
      if (lastEffect != noOp)
        needs[op].push_back(lastEffect);
      lastEffect = op;
    }
    llvm::sort(needs[op]);
    needs[op].erase(llvm::unique(needs[op]), needs[op].end());
    for (OpId other : needs[op])
      feeds[other].push_back(op);
  }
  if (isReversed)
    std::swap(needs, feeds);
}

void ListSchedule::reset(ArrayRef<OpId> priority) {
  this->priority = priority;
  steps.assign(graph.numOps(), Step());
  order.clear();
  freeing.clear();
  touched.clear();
  targets.clear();
  cursor = nextTarget = 0;
  live = 0;
  for (auto [rank, op] : enumerate(priority)) {
    steps[op].rank = rank;
    steps[op].unmet = needs[op].size();
    steps[op].hill = steps[op].change = graph.problem.ops[op].workspace;
    steps[op].change = 0;
    touched.push_back(op);
  }
  for (Buffer &buffer : buffers) {
    buffer.left = buffer.size;
    buffer.mix = 0;
    buffer.first = noOp;
    ArrayRef<OpId> all = ArrayRef(users).slice(buffer.begin, buffer.size);
    for (OpId op : all)
      buffer.mix ^= op;
    if (buffer.isThereAtFirst) {
      live += buffer.bytes;
    } else {
      for (OpId op : all)
        add(op, buffer.bytes, buffer.bytes);
    }
    if (buffer.size == 1 && !buffer.isThereAtLast)
      add(all.front(), 0, -buffer.bytes);
  }
  settle();
}

void ListSchedule::add(OpId op, int64_t hill, int64_t change) {
  steps[op].hill += hill;
  steps[op].change += change;
}

/// Runs an op. What changes for others is only told to `settle`.
void ListSchedule::apply(OpId op) {
  for (uint32_t index : uses[op]) {
    Buffer &buffer = buffers[index];
    if (!buffer.isBegun()) {
      buffer.first = op;
      live += buffer.bytes;
      for (OpId user : ArrayRef(users).slice(buffer.begin, buffer.size))
        if (user != op) {
          add(user, -buffer.bytes, -buffer.bytes);
          touched.push_back(user);
        }
      work.add(buffer.size);
    }
    --buffer.left;
    buffer.mix ^= op;
    if (buffer.isThereAtLast)
      continue;
    if (buffer.left == 1) {
      add(buffer.mix, 0, -buffer.bytes);
      touched.push_back(buffer.mix);
    } else if (buffer.left == 0) {
      live -= buffer.bytes;
    }
  }
  for (OpId other : feeds[op])
    if (--steps[other].unmet == 0)
      touched.push_back(other);
  steps[op].hasRun = true;
  touched.push_back(op);
  order.push_back(op);
  work.add(1 + uses[op].size() + feeds[op].size());
}

/// Takes the last `apply` back.
void ListSchedule::undo(OpId op) {
  order.pop_back();
  steps[op].hasRun = false;
  for (OpId other : feeds[op])
    ++steps[other].unmet;
  for (uint32_t index : llvm::reverse(uses[op])) {
    Buffer &buffer = buffers[index];
    if (!buffer.isThereAtLast) {
      if (buffer.left == 1)
        add(buffer.mix, 0, buffer.bytes);
      else if (buffer.left == 0)
        live += buffer.bytes;
    }
    ++buffer.left;
    buffer.mix ^= op;
    if (buffer.first != op)
      continue;
    buffer.first = noOp;
    live -= buffer.bytes;
    for (OpId user : ArrayRef(users).slice(buffer.begin, buffer.size))
      if (user != op)
        add(user, buffer.bytes, buffer.bytes);
  }
}

void ListSchedule::enqueue(OpId op) {
  if (steps[op].hasRun || steps[op].isQueued)
    return;
  steps[op].isQueued = true;
  targets.push_back(op);
}

/// Brings the lists up to date with what has run.
void ListSchedule::settle() {
  for (OpId op : touched) {
    Step &step = steps[op];
    bool isFreeing = isReady(op) && step.change <= 0;
    if (step.entry && (!isFreeing || *step.entry != step.hill)) {
      freeing.erase({*step.entry, step.rank});
      step.entry.reset();
    }
    if (isFreeing && !step.entry) {
      freeing.insert({step.hill, step.rank});
      step.entry = step.hill;
    }
    enqueue(op);
    for (OpId other :
         ArrayRef(feeds[op]).take_front(ListScheduleTuning::mostTargets))
      enqueue(other);
  }
  work.add(2 * touched.size());
  touched.clear();
}

/// What has to run for `target`, in the order of the priority. False if that is
/// too much, or no more than the op itself.
bool ListSchedule::collectCone(OpId target) {
  cone.assign(1, target);
  for (size_t i = 0; i < cone.size(); ++i) {
    work.add(1);
    // An op that waits for many is asked again whenever one of them runs: that
    // it is too early must not cost a look at all.
    uint32_t unmet = steps[cone[i]].unmet;
    if (unmet >= ListScheduleTuning::mostOpsAtOnce ||
        uses[cone[i]].size() > ListScheduleTuning::mostUsers)
      return false;
    work.add(uses[cone[i]].size());
    for (uint32_t index : uses[cone[i]])
      if (!buffers[index].isBegun() &&
          buffers[index].size > ListScheduleTuning::mostUsers)
        return false;
    if (unmet == 0)
      continue;
    work.add(needs[cone[i]].size());
    for (OpId other : needs[cone[i]])
      if (!steps[other].hasRun && !is_contained(cone, other)) {
        if (cone.size() == ListScheduleTuning::mostOpsAtOnce)
          return false;
        cone.push_back(other);
      }
  }
  llvm::sort(cone,
             [&](OpId a, OpId b) { return steps[a].rank < steps[b].rank; });
  return true;
}

/// Runs `target` and what it needs, and then what became free, if memory is no
/// fuller in the end. Else nothing has changed.
bool ListSchedule::tryCone(OpId target) {
  if (!collectCone(target))
    return false;
  int64_t before = live;
  size_t begin = order.size();
  bool isGood = true;
  for (OpId op : cone) {
    isGood = fits(op);
    if (!isGood)
      break;
    apply(op);
  }
  for (size_t i = 0; isGood && live > before && i < touched.size() &&
                     order.size() - begin < ListScheduleTuning::mostOpsAtOnce;
       ++i)
    if (OpId op = touched[i]; isReady(op) && steps[op].change <= 0 && fits(op))
      apply(op);
  if (isGood && live <= before) {
    settle();
    return true;
  }
  while (order.size() > begin)
    undo(order.back());
  touched.clear();
  return false;
}

bool ListSchedule::runCone() {
  while (nextTarget < targets.size() && !work.overdrawn()) {
    OpId target = targets[nextTarget++];
    steps[target].isQueued = false;
    if (!steps[target].hasRun && tryCone(target))
      return true;
  }
  targets.clear();
  nextTarget = 0;
  return false;
}

/// The first op of the priority that fits.
OpId ListSchedule::pickNext() {
  while (steps[priority[cursor]].hasRun)
    ++cursor;
  size_t end =
      std::min(priority.size(), cursor + ListScheduleTuning::mostSkipped);
  for (OpId op : priority.slice(cursor, end - cursor))
    if (isReady(op) && fits(op))
      return op;
  return noOp;
}

std::vector<OpId> ListSchedule::run(ArrayRef<OpId> priority, int64_t limit) {
  this->limit = limit;
  reset(priority);
  while (order.size() < priority.size()) {
    if (work.overdrawn())
      return {};
    if (!freeing.empty() && live + freeing.begin()->first <= limit) {
      apply(priority[freeing.begin()->second]);
      settle();
      continue;
    }
    if (runCone())
      continue;
    OpId next = pickNext();
    if (next == noOp)
      return {};
    apply(next);
    settle();
  }
  return std::move(order);
}

LowOrder findLowPeakOrder(const Graph &graph, double share, WorkMeter &work) {
  LowOrder best;
  best.ops.resize(graph.numOps());
  std::iota(best.ops.begin(), best.ops.end(), 0);
  best.peak = findPeak(graph, best.ops);
  if (!graph.mayReorder())
    return best;
  ListSchedule forward(graph, false, work), backward(graph, true, work);
  // Every pass starts from the best order, and has to be better.
  for (size_t inVain = 0, pass = 0; inVain < 2; ++pass) {
    if (work.overdrawn() || (pass > 0 && work.spent(share)))
      break;
    bool isReversed = inVain == 1;
    std::vector<OpId> priority = best.ops;
    if (isReversed)
      std::reverse(priority.begin(), priority.end());
    std::vector<OpId> order =
        (isReversed ? backward : forward).run(priority, best.peak - 1);
    if (order.empty()) {
      ++inVain;
      continue;
    }
    if (isReversed)
      std::reverse(order.begin(), order.end());
    best.peak = findPeak(graph, order);
    best.ops = std::move(order);
    inVain = 0;
  }
  return best;
}

Problem inGivenOrder(const Problem &problem) {
  Problem other = problem;
  other.freeOrder = false;
  for (Value &value : other.values)
    if (problem.freeOrder && value.packed && value.packed->lossy)
      value.packed.reset();
  return other;
}

Problem withOrder(const Problem &problem, ArrayRef<OpId> order) {
  Problem other = inGivenOrder(problem);
  std::vector<OpId> place(order.size());
  for (auto [id, given] : enumerate(order))
    place[given] = id;
  for (auto [id, given] : enumerate(order)) {
    other.ops[id] = problem.ops[given];
    renumberAbsorbers(other.ops[id],
                      [&](OpId absorber) { return place[absorber]; });
    for (ValueId result : other.ops[id].results)
      other.values[result].producer = id;
  }
  return other;
}

} // namespace remat::planning
