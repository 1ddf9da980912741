//===- LoopElements.cpp - when a loop uses elements of lists --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/LoopElements.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"

using namespace mlir;
using namespace remat;

/// The place of iteration `number` of `loop` in the order in which they run.
static int64_t getPlace(LoopOp loop, int64_t number) {
  auto count = static_cast<int64_t>(loop.getCount());
  return loop.getReverse() ? count - 1 - number : number;
}

namespace {
/// What a list is to a loop that gets an element of it in each iteration.
enum class ListUse { Slice, StateSlice, Other };
} // namespace

static ListUse findUse(LoopOp loop, StackOp list) {
  if (!list || !list->hasOneUse())
    return ListUse::Other;
  if (llvm::is_contained(loop.getSlices(), list.getResult()))
    return ListUse::Slice;
  return llvm::is_contained(loop.getStateSlices(), list.getResult())
             ? ListUse::StateSlice
             : ListUse::Other;
}

DenseMap<Value, ElementReader> remat::findElementReaders(LoopOp loop) {
  DenseMap<Value, ElementReader> readers;
  if (loop.isCountedAtRunTime())
    return readers;
  SmallPtrSet<Operation *, 8> lists;
  for (Value operand : loop->getOperands())
    if (StackOp list = findStack(operand))
      lists.insert(list);
  DenseSet<Value> others;
  for (Operation *op : lists) {
    auto list = cast<StackOp>(op);
    ListUse use = findUse(loop, list);
    for (auto [number, element] : llvm::enumerate(list.getElements())) {
      ElementReader &reader = readers[element];
      if (use == ListUse::Other) {
        others.insert(element);
        continue;
      }
      // The states before an iteration are made when all those that come later
      // in the other loop have been reversed, and it has not.
      int64_t place = getPlace(loop, int64_t(number));
      bool isSlice = use == ListUse::Slice;
      reader.numSlices += isSlice;
      reader.last = std::max(reader.last, isSlice ? place : place - 1);
    }
  }
  auto isElsewhere = [&](Value element) {
    return others.contains(element) ||
           llvm::any_of(element.getUsers(),
                        [&](Operation *user) { return !lists.contains(user); });
  };
  for (auto reader : llvm::make_early_inc_range(readers))
    if (isElsewhere(reader.first))
      readers.erase(reader.first);
  return readers;
}

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
  DenseMap<Value, ElementReader> readers = findElementReaders(loop);
  for (auto [operand, argument] :
       llvm::zip(task.getOperands(), kernel.getArguments())) {
    auto found = readers.find(argument);
    std::optional<int64_t> reader;
    if (found != readers.end())
      reader = found->second.last;
    auto [known, isNew] = reads.try_emplace(getViewRoot(operand), reader);
    if (!isNew)
      known->second = std::nullopt;
  }
  for (auto [number, returned] :
       llvm::enumerate(kernel.front().getTerminator()->getOperands()))
    if (auto unstack = returned.getDefiningOp<UnstackOp>())
      writes[number] =
          getPlace(loop, cast<OpResult>(returned).getResultNumber());
}

std::optional<int64_t> LoopElements::getReader(Value value) const {
  auto read = reads.find(getViewRoot(value));
  return read == reads.end() ? std::nullopt : read->second;
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
