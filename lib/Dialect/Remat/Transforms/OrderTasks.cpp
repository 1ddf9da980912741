//===- OrderTasks.cpp - an order that holds less --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation leaves operations in the order in which the forward ones are
// visited. What is computed on a padded or spread tensor may so be held beside
// the next large thing before the small part of it that is wanted is taken out;
// and the gradient of a convolution's input, made first, waits for that of its
// filter, which may need a large value that is made again.
//
//===----------------------------------------------------------------------===//

#include "OrderTasks.h"

#include "GraphPlanning.h"

using namespace mlir;
using namespace remat;

/// Tasks that make fewer bytes do not wait.
static constexpr int64_t leastBytes = 4096;

namespace {
class TaskOrder {
public:
  explicit TaskOrder(GraphOp graph) : graph(graph) {
    Operation *terminator = graph.getBody().front().getTerminator();
    for (Value value : terminator->getOperands())
      returned.insert(getViewRoot(value));
  }

  /// Runs tasks that shrink what they read last as early as possible. Whether
  /// any was moved.
  bool shrinkEarly();
  /// Runs tasks right before their first reader where less is then held.
  bool growLate();

private:
  /// A value that a task makes, and the numbers of that task and its readers.
  struct Range {
    int64_t bytes;
    unsigned begin;
    SmallVector<unsigned, 4> readers;

    unsigned end() const { return readers.empty() ? begin : readers.back(); }
  };

  void collect();
  SetVector<Value> getRoots(TaskOp task) const;
  int64_t countMade(TaskOp task) const;
  std::optional<unsigned> findEarlier(unsigned number);
  std::optional<unsigned> findLater(unsigned number);
  int64_t countLive(unsigned number, bool afterwards) const;
  void moveBehind(unsigned number, unsigned other);
  void moveBefore(unsigned number, unsigned other);

  GraphOp graph;
  DenseSet<Value> returned;
  SmallVector<TaskOp> tasks;
  llvm::MapVector<Value, Range> ranges;
  unsigned numForward = 0;
};
} // namespace

void TaskOrder::collect() {
  tasks.clear();
  ranges.clear();
  numForward = 0;
  for (auto task : graph.getOps<TaskOp>()) {
    unsigned number = tasks.size();
    tasks.push_back(task);
    if (!task.getBackward())
      numForward = number + 1;
    for (Value operand : task->getOperands())
      if (auto range = ranges.find(getViewRoot(operand)); range != ranges.end())
        range->second.readers.push_back(number);
    // What is returned is in a buffer of the caller.
    for (Value result : task->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      int64_t bytes = returned.contains(result) ? 0 : getBufferBytes(type);
      ranges.insert({result, {bytes, number, {}}});
    }
  }
}

/// Bytes that are live while task `number` runs, or when it has run.
int64_t TaskOrder::countLive(unsigned number, bool afterwards) const {
  int64_t bytes = 0;
  for (const auto &[value, range] : ranges)
    if (range.begin <= number && range.end() >= number + afterwards)
      bytes += range.bytes;
  return bytes;
}

SetVector<Value> TaskOrder::getRoots(TaskOp task) const {
  SetVector<Value> roots;
  for (Value operand : task->getOperands())
    roots.insert(getViewRoot(operand));
  return roots;
}

/// Bytes of what `task` makes.
int64_t TaskOrder::countMade(TaskOp task) const {
  int64_t bytes = 0;
  for (Value result : task->getResults())
    bytes += ranges.find(result)->second.bytes;
  return bytes;
}

/// The task behind which task `number` could run instead, if less is then held.
std::optional<unsigned> TaskOrder::findEarlier(unsigned number) {
  TaskOp task = tasks[number];
  if (number == 0)
    return std::nullopt;
  unsigned behind = task.getBackward() && numForward != 0 ? numForward - 1 : 0;
  int64_t saved = 0;
  for (Value root : getRoots(task)) {
    auto range = ranges.find(root);
    if (range == ranges.end())
      continue;
    behind = std::max(behind, range->second.begin);
    if (range->second.end() != number)
      continue;
    saved += range->second.bytes;
    for (unsigned reader : range->second.readers)
      if (reader != number)
        behind = std::max(behind, reader);
  }
  int64_t made = countMade(task);
  if (saved <= made || behind + 1 >= number)
    return std::nullopt;
  int64_t most = 0;
  for (unsigned other = behind; other <= number; ++other)
    most = std::max(most, countLive(other, /*afterwards=*/false));
  if (countLive(behind, /*afterwards=*/true) + made > most)
    return std::nullopt;
  return behind;
}

/// The task before which task `number` could run instead, its first reader, if
/// less is held at the most on the way there.
std::optional<unsigned> TaskOrder::findLater(unsigned number) {
  TaskOp task = tasks[number];
  unsigned before = task.getBackward() ? tasks.size() : numForward;
  for (Value result : task->getResults())
    if (const Range &range = ranges.find(result)->second;
        !range.readers.empty())
      before = std::min(before, range.readers.front());
  int64_t made = countMade(task);
  if (before == tasks.size() || before <= number + 1 || made < leastBytes)
    return std::nullopt;
  // What it reads is held for as long as it waits.
  auto countHeld = [&](unsigned other) {
    int64_t bytes = 0;
    for (Value root : getRoots(task))
      if (auto range = ranges.find(root);
          range != ranges.end() && range->second.end() < other)
        bytes += range->second.bytes;
    return bytes;
  };
  int64_t most = countLive(number, /*afterwards=*/false), mostThen = 0;
  for (unsigned other = number + 1; other < before; ++other) {
    int64_t live = countLive(other, /*afterwards=*/false);
    most = std::max(most, live);
    mostThen = std::max(mostThen, live - made + countHeld(other));
  }
  mostThen = std::max(mostThen, countLive(before - 1, /*afterwards=*/true) +
                                    countHeld(before));
  if (mostThen >= most)
    return std::nullopt;
  return before;
}

/// Moves task `number`, and the views through which it reads.
void TaskOrder::moveBehind(unsigned number, unsigned other) {
  Operation *last = tasks[other];
  SetVector<Operation *> moving;
  for (Value operand : tasks[number]->getOperands()) {
    SmallVector<Operation *> views;
    for (Operation *view = operand.getDefiningOp();
         view && isViewOp(view) && last->isBeforeInBlock(view);
         view = view->getOperand(0).getDefiningOp())
      views.push_back(view);
    moving.insert(views.rbegin(), views.rend());
  }
  moving.insert(tasks[number]);
  for (Operation *op : moving) {
    op->moveAfter(last);
    last = op;
  }
}

/// Moves task `number`, and the views of what it makes.
void TaskOrder::moveBefore(unsigned number, unsigned other) {
  TaskOp task = tasks[number];
  task->moveBefore(tasks[other]);
  Operation *last = task;
  SmallVector<Operation *> stack(task->getUsers());
  while (!stack.empty()) {
    Operation *view = stack.pop_back_val();
    if (!isViewOp(view) || !view->isBeforeInBlock(task))
      continue;
    view->moveAfter(last);
    last = view;
    llvm::append_range(stack, view->getUsers());
  }
}

bool TaskOrder::shrinkEarly() {
  collect();
  bool changed = false;
  for (unsigned number = 0; number < tasks.size(); ++number) {
    std::optional<unsigned> behind = findEarlier(number);
    if (!behind)
      continue;
    moveBehind(number, *behind);
    collect();
    changed = true;
  }
  return changed;
}

bool TaskOrder::growLate() {
  collect();
  bool changed = false;
  for (unsigned number = tasks.size(); number-- > 0;) {
    std::optional<unsigned> before = findLater(number);
    if (!before)
      continue;
    moveBefore(number, *before);
    collect();
    changed = true;
  }
  return changed;
}

/// Bytes that the graph needs, with what is written in place and lent.
static int64_t countPeak(GraphOp graph) {
  OwningOpRef<GraphOp> copy(graph.clone());
  writeInPlace(*copy, graph->getParentOfType<ModuleOp>());
  lendResults(*copy);
  return GraphLiveness(*copy).peak(MemorySpace::Arena).bytes;
}

/// Moves tasks by `rule`, unless that is worse when it is known which of their
/// results share a buffer.
static void apply(GraphOp graph, bool (TaskOrder::*rule)()) {
  SmallVector<Operation *> order;
  for (Operation &op : graph.getBody().front())
    order.push_back(&op);
  int64_t before = countPeak(graph);
  if (!(TaskOrder(graph).*rule)() || countPeak(graph) <= before)
    return;
  for (Operation *op : order)
    op->moveBefore(&graph.getBody().front(), graph.getBody().front().end());
}

void remat::orderTasks(GraphOp graph) {
  apply(graph, &TaskOrder::shrinkEarly);
  apply(graph, &TaskOrder::growLate);
  for (auto [number, task] : llvm::enumerate(graph.getOps<TaskOp>()))
    task.setId(number);
}
