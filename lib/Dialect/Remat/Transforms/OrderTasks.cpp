//===- OrderTasks.cpp - an order that holds less --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation leaves operations in the order in which the forward ones are
// visited. What is computed on a padded or spread tensor may so be held beside
// the next large thing before the small part of it that is wanted is taken out.
//
//===----------------------------------------------------------------------===//

#include "OrderTasks.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"

using namespace mlir;
using namespace remat;

namespace {
class TaskOrder {
public:
  explicit TaskOrder(GraphOp graph) : graph(graph) {
    Operation *terminator = graph.getBody().front().getTerminator();
    for (Value value : terminator->getOperands())
      returned.insert(getViewRoot(value));
  }

  void run();

private:
  /// A value that a task makes, and the numbers of that task and its readers.
  struct Range {
    int64_t bytes;
    unsigned begin;
    SmallVector<unsigned, 4> readers;

    unsigned end() const { return readers.empty() ? begin : readers.back(); }
  };

  void collect();
  std::optional<unsigned> findEarlier(unsigned number);
  int64_t countLive(unsigned number, bool afterwards) const;
  void move(unsigned number, unsigned behind);

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

/// The task behind which task `number` could run instead, if less is then held.
std::optional<unsigned> TaskOrder::findEarlier(unsigned number) {
  TaskOp task = tasks[number];
  if (number == 0)
    return std::nullopt;
  unsigned behind = task.getBackward() && numForward != 0 ? numForward - 1 : 0;
  int64_t saved = 0;
  SetVector<Value> roots;
  for (Value operand : task->getOperands())
    roots.insert(getViewRoot(operand));
  for (Value root : roots) {
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
  int64_t made = 0;
  for (Value result : task->getResults())
    made += ranges.find(result)->second.bytes;
  if (saved <= made || behind + 1 >= number)
    return std::nullopt;
  int64_t most = 0;
  for (unsigned other = behind; other <= number; ++other)
    most = std::max(most, countLive(other, /*afterwards=*/false));
  if (countLive(behind, /*afterwards=*/true) + made > most)
    return std::nullopt;
  return behind;
}

/// Moves task `number`, and the views through which it reads.
void TaskOrder::move(unsigned number, unsigned behind) {
  Operation *last = tasks[behind];
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

void TaskOrder::run() {
  collect();
  bool changed = false;
  for (unsigned number = 0; number < tasks.size(); ++number) {
    std::optional<unsigned> behind = findEarlier(number);
    if (!behind)
      continue;
    move(number, *behind);
    collect();
    changed = true;
  }
  if (!changed)
    return;
  for (auto [number, task] : llvm::enumerate(tasks))
    task.setId(number);
}

void remat::runShrinkingTasksEarly(GraphOp graph) { TaskOrder(graph).run(); }
