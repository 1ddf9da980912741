//===- GraphLiveness.cpp - when the buffers of a graph live ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/GraphLiveness.h"

#include "remat/Dialect/Remat/IR/Donations.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

/// The slot that the operation gives its result, or null.
static SlotAttr getSlot(OpResult value) {
  if (auto task = dyn_cast<TaskOp>(value.getOwner()))
    return task.getResultSlot(value.getResultNumber());
  if (auto offload = dyn_cast<OffloadOp>(value.getOwner()))
    return offload.getPlacement().value_or(SlotAttr());
  return cast<ReloadOp>(value.getOwner()).getPlacement().value_or(SlotAttr());
}

static SlotAttr getWorkspaceSlot(TaskOp task, MemorySpace space,
                                 int64_t bytes) {
  std::optional<uint64_t> offset = space == MemorySpace::Host
                                       ? task.getHostWorkspaceOffset()
                                       : task.getWorkspaceOffset();
  if (!offset)
    return {};
  return SlotAttr::get(task.getContext(), space, static_cast<int64_t>(*offset),
                       bytes);
}

/// The operand that `value` overwrote, or null.
static Value getOverwritten(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto task = result ? dyn_cast<TaskOp>(result.getOwner()) : TaskOp();
  if (!task)
    return {};
  std::optional<unsigned> operand =
      task.getInPlaceOperand(result.getResultNumber());
  return operand ? task.getOperand(*operand) : Value();
}

Value GraphLiveness::getOwner(Value value) {
  while (true) {
    value = getViewRoot(value);
    Value overwritten = getOverwritten(value);
    if (!overwritten)
      return value;
    value = overwritten;
  }
}

/// The positions at which calls begin: behind what first runs in an earlier
/// call, and offloads and releases that follow it.
static SmallVector<unsigned> findCalls(GraphOp graph) {
  SmallVector<unsigned> begins;
  int64_t last = 0;
  unsigned position = 0, end = 0;
  for (Operation &op : graph.getBody().front()) {
    auto task = dyn_cast<TaskOp>(op);
    if (task && !task.isClone()) {
      for (int64_t phase = task.getPhase(); last < phase; ++last)
        begins.push_back(end);
      end = position + 1;
    } else if (isa<OffloadOp, ReleaseOp>(op) && end == position) {
      end = position + 1;
    }
    ++position;
  }
  return begins;
}

/// By the value that owns the buffer of a result which an argument gives, this
/// argument. One that the result is written over is left out.
static DenseMap<Value, Value> findDonors(GraphOp graph) {
  DenseMap<Value, Value> donorOf;
  Operation *terminator = graph.getBody().front().getTerminator();
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands()))
    if (Value owner = GraphLiveness::getOwner(returned);
        donor && owner != donor)
      donorOf[owner] = donor;
  return donorOf;
}

unsigned GraphLiveness::getCall(unsigned position) const {
  return llvm::upper_bound(callBegins, position) - callBegins.begin();
}

GraphLiveness::GraphLiveness(GraphOp graph) : callBegins(findCalls(graph)) {
  TargetAttr target = getTargetFacts(graph);
  DenseMap<Value, unsigned> indexOf;
  // What lies in each buffer that was written in place, or for a result.
  DenseMap<Value, Value> contents;
  auto addBuffer = [&](Value value, Operation *owner, MemorySpace space,
                       int64_t bytes, unsigned position, SlotAttr slot) {
    buffers.push_back(
        {value, owner, space, bytes, position, position, -1, slot});
    if (value)
      indexOf[value] = buffers.size() - 1;
  };
  DenseMap<Value, Value> donorOf = findDonors(graph);
  // What is written in place may be at the end of a long chain.
  DenseMap<Value, Value> owners;
  auto findOwner = [&](Value value) {
    auto it = owners.find(value);
    return it == owners.end() ? getOwner(value) : it->second;
  };
  for (Operation &op : graph.getBody().front()) {
    unsigned position = numPositions++;
    for (Value operand : op.getOperands()) {
      if (isViewOp(&op))
        continue;
      Value owner = findOwner(operand);
      if (auto it = indexOf.find(owner); it != indexOf.end())
        buffers[it->second].end = position;
      auto content = contents.find(owner);
      Value expected = content == contents.end() ? owner : content->second;
      if (getViewRoot(operand) != expected && !brokenReader)
        brokenReader = &op;
    }
    if (isViewOp(&op)) {
      owners[op.getResult(0)] = findOwner(op.getOperand(0));
      continue;
    }
    for (OpResult result : op.getResults()) {
      if (Value overwritten = getOverwritten(result)) {
        Value owner = findOwner(overwritten);
        owners[result] = owner;
        contents[owner] = result;
        continue;
      }
      owners[result] = result;
      if (Value donor = donorOf.lookup(result)) {
        contents[donor] = result;
        if (!brokenReader && llvm::any_of(op.getOperands(), [&](Value operand) {
              return findOwner(operand) == donor;
            }))
          brokenReader = &op;
      }
      auto host = dyn_cast<HostType>(result.getType());
      auto type =
          host ? host.getTensor() : cast<RankedTensorType>(result.getType());
      SlotAttr slot = getSlot(result);
      bool isReused = slot && slot.getSpace() == MemorySpace::Reused;
      addBuffer(result, &op,
                host       ? MemorySpace::Host
                : isReused ? MemorySpace::Reused
                           : MemorySpace::Arena,
                getBufferBytes(type, target), position, slot);
      if (isReused)
        buffers.back().result = slot.getResult();
    }
    auto addWorkspace = [&](TaskOp task, MemorySpace space, int64_t bytes) {
      if (bytes == 0)
        return;
      bytes = llvm::alignTo(bytes, target.getAlignment());
      addBuffer({}, &op, space, bytes, position,
                getWorkspaceSlot(task, space, bytes));
    };
    if (auto task = dyn_cast<TaskOp>(&op)) {
      addWorkspace(task, MemorySpace::Arena, task.getWorkspace());
      addWorkspace(task, MemorySpace::Host, task.getHostWorkspace());
    }
  }
  Operation *terminator = graph.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto it = indexOf.find(findOwner(operand.get()));
    if (it == indexOf.end())
      continue;
    buffers[it->second].space = MemorySpace::Result;
    buffers[it->second].result = operand.getOperandNumber();
  }
}

GraphLiveness::Peak GraphLiveness::peak(MemorySpace space) const {
  SmallVector<int64_t> change(numPositions + 1, 0);
  for (const LiveBuffer &buffer : buffers) {
    if (buffer.space != space)
      continue;
    change[buffer.begin] += buffer.bytes;
    change[buffer.end + 1] -= buffer.bytes;
  }
  Peak peak;
  int64_t live = 0;
  for (unsigned position = 0; position < numPositions; ++position) {
    live += change[position];
    if (live > peak.bytes)
      peak = {live, position};
  }
  return peak;
}
