//===- RepeatHidden.cpp - regions behind a backward computation -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner knows one border between forward and backward computation: the
// first backward task. A program that asks for several derivatives has forward
// tasks behind it, and a border of their own before the next backward task.
// What regions hide there is repeated before the planner is asked: all that
// reads it behind its border reads a clone.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "mlir/IR/IRMapping.h"

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
  // For each task, the number of the first backward one behind it.
  SmallVector<unsigned> borders(tasks.size());
  unsigned border = tasks.size();
  for (unsigned number = tasks.size(); number-- > 0;) {
    borders[number] = border;
    if (tasks[number].getBackward())
      border = number;
  }
  for (unsigned number = border; number < tasks.size(); ++number) {
    TaskOp task = tasks[number];
    if (task.getBackward() || task.getPinned() ||
        borders[number] == tasks.size())
      continue;
    for (OpResult result : task->getResults())
      if (task.getResultPolicy(result.getResultNumber()) ==
              Policy::MustRecompute &&
          !isReturned(result))
        borderOf[result] = borders[number];
  }
  if (borderOf.empty())
    return;
  for (auto [number, task] : llvm::enumerate(tasks))
    for (OpOperand &operand : task->getOpOperands()) {
      auto hidden = borderOf.find(getViewRoot(operand.get()));
      if (hidden == borderOf.end() || number < hidden->second)
        continue;
      changed.push_back({&operand, operand.get()});
      operand.set(getAgain(operand.get(), task));
    }
}

/// What `value`, or what it looks into, is behind its border.
Value RepeatedTasks::getAgain(Value value, TaskOp reader) {
  if (!borderOf.contains(getViewRoot(value)))
    return value;
  if (Value known = again.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getAgain(operand, reader));
  OpBuilder builder(reader);
  Operation *clone = builder.clone(*op, mapping);
  made.push_back(clone);
  if (auto task = dyn_cast<TaskOp>(clone)) {
    task.setCopy(1);
    task.setPhase(reader.getPhase());
  }
  // What is not hidden is read as it was.
  for (auto [result, repeated] :
       llvm::zip(op->getResults(), clone->getResults()))
    again[result] = repeated;
  return again.lookup(value);
}

void RepeatedTasks::undo() {
  for (auto [operand, value] : changed)
    operand->set(value);
  for (Operation *op : llvm::reverse(made))
    op->erase();
  changed.clear();
  made.clear();
}
