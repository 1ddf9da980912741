//===- RepeatHidden.cpp - regions behind a backward computation -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner knows one border between forward and backward computation: the
// first backward task of the level that is planned. A program that asks for
// several derivatives has forward tasks behind it, and a border of their own
// before the next backward task. A program with derivatives of derivatives has
// borders of several levels. What regions hide at other borders than the one is
// repeated before the planner is asked: all that reads it there reads a clone.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace remat;

bool remat::isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<ReturnOp>(user) ||
           (isViewOp(user) && isReturned(user->getResult(0)));
  });
}

RepeatedTasks::RepeatedTasks(GraphOp graph) {
  SmallVector<TaskOp> tasks(graph.getOps<TaskOp>());
  findBorders(tasks, graph.getPlannedLevel());
  if (borderOf.empty())
    return;
  for (auto [number, task] : llvm::enumerate(tasks))
    for (OpOperand &operand : task->getOpOperands()) {
      auto hidden = borderOf.find(getViewRoot(operand.get()));
      if (hidden == borderOf.end() || number < hidden->second.number)
        continue;
      // What stands behind the border is as late as what made it one.
      unsigned level = std::max(task.getBackwardLevel(), hidden->second.level);
      changed.push_back({&operand, operand.get()});
      operand.set(getAgain(operand.get(), task, level));
    }
}

/// Finds what is hidden, and where that begins, but for what planners know.
void RepeatedTasks::findBorders(ArrayRef<TaskOp> tasks, unsigned planned) {
  unsigned first = llvm::find_if(tasks,
                                 [&](TaskOp task) {
                                   return task.getBackwardLevel() >= planned;
                                 }) -
                   tasks.begin();
  // By level, the first task of it or a higher one behind the task under way.
  SmallVector<unsigned> next;
  llvm::MapVector<Value, Border> known;
  bool areLevelsMixed = false;
  for (unsigned number = tasks.size(); number-- > 0;) {
    TaskOp task = tasks[number];
    unsigned level = task.getBackwardLevel(),
             about = task.getPolicyDerivative();
    if (!task.getPinned() && about < next.size() && next[about] < tasks.size())
      for (OpResult result : task->getResults()) {
        if (task.getResultPolicy(result.getResultNumber()) !=
                Policy::MustRecompute ||
            isReturned(result))
          continue;
        areLevelsMixed |= about != planned;
        Border border{about, next[about]};
        if (number < first && about == planned)
          known.insert({result, border});
        else
          borderOf[result] = border;
      }
    next.resize(std::max<size_t>(next.size(), level + 1), tasks.size());
    for (unsigned below = 1; below <= level; ++below)
      next[below] = number;
  }
  // A planner would repeat what an inner derivative made again once more for
  // the outer one, beside the clones for that.
  if (areLevelsMixed)
    for (auto [value, border] : known)
      borderOf[value] = border;
}

bool RepeatedTasks::isHiddenFrom(Value value, unsigned level) const {
  auto hidden = borderOf.find(getViewRoot(value));
  return hidden != borderOf.end() && hidden->second.level <= level;
}

/// What `value`, or what it looks into, is for readers of `level`, of which
/// `reader` is the first.
Value RepeatedTasks::getAgain(Value value, TaskOp reader, unsigned level) {
  // Tasks of an inner derivative read clones already.
  Value original = value;
  if (auto known = originalOf.find(value); known != originalOf.end())
    original = known->second;
  if (!isHiddenFrom(original, level))
    return value;
  if (Value known = again.lookup({original, level}))
    return known;
  Operation *op = original.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getAgain(operand, reader, level));
  OpBuilder builder(reader);
  Operation *clone = builder.clone(*op, mapping);
  made.push_back(clone);
  if (auto task = dyn_cast<TaskOp>(clone)) {
    task.setCopy(++copies[task.getId()]);
    task.setPhase(reader.getPhase());
  }
  // What is not hidden is read as it was.
  for (auto [result, repeated] :
       llvm::zip(op->getResults(), clone->getResults())) {
    again[{result, level}] = repeated;
    originalOf[repeated] = result;
  }
  return again.lookup({original, level});
}

void RepeatedTasks::undo() {
  for (auto [operand, value] : changed)
    operand->set(value);
  for (Operation *op : llvm::reverse(made))
    op->erase();
  changed.clear();
  made.clear();
}
