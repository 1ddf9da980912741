//===- LoopElements.cpp - when a loop uses elements of lists --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/LoopElements.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"

using namespace mlir;
using namespace remat;

LoopElements::LoopElements(TaskOp task, func::FuncOp kernel) {
  if (!kernel || kernel.isExternal() ||
      kernel.getNumArguments() != task->getNumOperands())
    return;
  auto loops = kernel.getOps<LoopOp>();
  if (loops.empty())
    return;
  LoopOp loop = *loops.begin();
  if (loop.isCountedAtRunTime())
    return;
  auto count = static_cast<int64_t>(loop.getCount());
  auto placeOf = [&](int64_t iteration) {
    return loop.getReverse() ? count - 1 - iteration : iteration;
  };
  DenseMap<Value, int64_t> readOf;
  for (Value slice : loop.getSlices())
    if (StackOp stack = findStack(slice); stack && slice.hasOneUse())
      for (auto [iteration, element] : llvm::enumerate(stack.getElements()))
        if (element.hasOneUse())
          readOf[element] = placeOf(int64_t(iteration));
  for (auto [operand, argument] :
       llvm::zip(task.getOperands(), kernel.getArguments())) {
    auto read = readOf.find(argument);
    auto [known, isNew] = reads.try_emplace(
        getViewRoot(operand), read == readOf.end() ? -1 : read->second);
    if (!isNew)
      known->second = -1;
  }
  for (auto [number, returned] :
       llvm::enumerate(kernel.front().getTerminator()->getOperands()))
    if (auto unstack = returned.getDefiningOp<UnstackOp>())
      writes[number] = placeOf(cast<OpResult>(returned).getResultNumber());
}

std::optional<int64_t> LoopElements::getReader(Value value) const {
  auto read = reads.find(getViewRoot(value));
  if (read == reads.end() || read->second < 0)
    return std::nullopt;
  return read->second;
}

std::optional<int64_t> LoopElements::getWriter(unsigned number) const {
  auto write = writes.find(number);
  if (write == writes.end())
    return std::nullopt;
  return write->second;
}

bool LoopElements::isReadBefore(Value value, unsigned number) const {
  std::optional<int64_t> reader = getReader(value), writer = getWriter(number);
  return reader && writer && *reader < *writer;
}
