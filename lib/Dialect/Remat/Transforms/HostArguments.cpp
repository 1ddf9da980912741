//===- HostArguments.cpp - copies of what is in host memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copies are tasks, so that planners count what they hold in the arena, and
// may bring an argument in again instead of holding it.
//
//===----------------------------------------------------------------------===//

#include "HostArguments.h"

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"

using namespace mlir;
using namespace remat;

/// The first task that reads the argument or a view of it.
static TaskOp findFirstReader(BlockArgument argument) {
  TaskOp first;
  forEachReader(argument, [&](Operation *reader) {
    auto task = dyn_cast<TaskOp>(reader);
    if (task && (!first || task->isBeforeInBlock(first)))
      first = task;
  });
  return first;
}

/// Where the copy that `reader` needs begins: before the task in front of it,
/// and before its other copies. The forward computation ends before the
/// backward one begins, copies included.
static Operation *findStart(TaskOp reader,
                            const DenseSet<Operation *> &transfers) {
  bool isBeside = false;
  Operation *start = reader;
  for (Operation *op = reader->getPrevNode(); op; op = op->getPrevNode()) {
    auto task = dyn_cast<TaskOp>(op);
    if (!task || transfers.contains(op))
      continue;
    if (isBeside || task.getBackwardLevel() != reader.getBackwardLevel())
      break;
    isBeside = true;
    start = op;
  }
  return start;
}

void remat::transferHostArguments(GraphOp graph, MakeTransfer makeTransfer) {
  Block &body = graph.getBody().front();
  DenseSet<Operation *> transfers;
  for (BlockArgument argument : body.getArguments()) {
    TaskOp reader = isHostArgument(graph, argument.getArgNumber())
                        ? findFirstReader(argument)
                        : TaskOp();
    if (!reader)
      continue;
    TaskOp transfer = makeTransfer(findStart(reader, transfers), argument,
                                   reader.getBackwardLevel());
    transfers.insert(transfer);
    // Views of the argument may stand before the copy.
    SmallVector<Operation *> views;
    std::function<void(Value)> collect = [&](Value value) {
      for (Operation *user : value.getUsers())
        if (isViewOp(user) && !llvm::is_contained(views, user)) {
          views.push_back(user);
          collect(user->getResult(0));
        }
    };
    collect(argument);
    Operation *last = transfer;
    for (Operation *view : views) {
      view->moveAfter(last);
      last = view;
    }
    argument.replaceAllUsesExcept(transfer->getResult(0), transfer);
  }
  auto *terminator = body.getTerminator();
  for (auto [number, donor] : llvm::enumerate(getDonors(graph))) {
    if (!donor || !isHostArgument(graph, donor.getArgNumber()))
      continue;
    OpOperand &returned = terminator->getOpOperand(number);
    auto maker = cast<TaskOp>(getViewRoot(returned.get()).getDefiningOp());
    Operation *value = returned.get().getDefiningOp();
    returned.set(makeTransfer(value->getNextNode(), returned.get(),
                              maker.getBackwardLevel())
                     ->getResult(0));
  }
}
