//===- SequenceNumbers.cpp - which task a backward one is of --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The location of an operation in a derivative has that of the forward
// operation in it. Several forward tasks have the same one where a model calls
// a function again: the backward computation goes through them from the last
// to the first, with as many tasks for each.
//
//===----------------------------------------------------------------------===//

#include "SequenceNumbers.h"

#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

/// The location of a task, then those of its operations. What several tasks
/// call has the locations of one of them.
static SmallVector<Location> getLocations(TaskOp task, bool isShared) {
  SmallVector<Location> locations = {task.getLoc()};
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (kernel && !isShared)
    kernel.walk([&](Operation *op) { locations.push_back(op->getLoc()); });
  return locations;
}

SequenceNumbers::SequenceNumbers(GraphOp graph) {
  llvm::DenseMap<Location, SmallVector<int64_t, 1>> forward;
  llvm::MapVector<Location, SmallVector<int64_t, 1>> backward;
  llvm::StringMap<unsigned> calls;
  for (auto task : graph.getOps<TaskOp>())
    calls[task.getKernel()] += !task.isClone();
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isClone())
      continue;
    bool isShared = calls[task.getKernel()] > 1;
    if (!task.getBackward()) {
      int64_t id = numbers[task.getId()] = task.getId();
      for (Location loc : getLocations(task, isShared))
        if (auto &ids = forward[loc]; ids.empty() || ids.back() != id)
          ids.push_back(id);
      continue;
    }
    for (Location loc : getLocations(task, isShared))
      if (std::optional<Location> source = findForwardLocation(loc);
          source && forward.contains(*source)) {
        backward[*source].push_back(task.getId());
        break;
      }
  }
  for (const auto &[source, tasks] : backward) {
    const auto &ids = forward[source];
    for (auto [index, task] : llvm::enumerate(tasks))
      numbers[task] = ids[ids.size() - 1 - index * ids.size() / tasks.size()];
  }
}

int64_t SequenceNumbers::get(TaskOp task) const {
  auto found = numbers.find(task.getId());
  return found == numbers.end() ? -1 : found->second;
}
