//===- VerifyPlacement.cpp - where the buffers of a graph lie -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the buffers of a graph: that each has a place that fits it, and that
// none lies where another value is still needed, in the arenas, in the buffers
// of results and in those of arguments.
//
//===----------------------------------------------------------------------===//

#include "GraphVerifier.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/LoopElements.h"

#include <map>
#include <set>

using namespace mlir;
using namespace remat;

/// Checks that one buffer has a slot that fits it.
static LogicalResult verifySlot(GraphOp graph, const LiveBuffer &buffer) {
  if (!buffer.slot)
    return buffer.owner->emitOpError("has no placement in a placed graph");
  if (buffer.slot.getSpace() != buffer.space)
    return buffer.owner->emitOpError("is placed in '")
           << stringifyMemorySpace(buffer.slot.getSpace()) << "', expected '"
           << stringifyMemorySpace(buffer.space) << "'";
  if (buffer.slot.getBytes() != buffer.bytes)
    return buffer.owner->emitOpError("has a slot of ")
           << buffer.slot.getBytes() << " bytes, expected " << buffer.bytes;
  int64_t offset = buffer.slot.getOffset();
  int64_t alignment = getTargetFacts(graph).getAlignment();
  if (buffer.space != MemorySpace::Result && offset % alignment != 0)
    return buffer.owner->emitOpError("is placed at byte ")
           << offset << ", expected a multiple of the target's alignment, "
           << alignment;
  if (buffer.space == MemorySpace::Result) {
    if (offset != buffer.result)
      return buffer.owner->emitOpError("is placed in result ")
             << offset << ", expected result " << buffer.result;
    return success();
  }
  if (buffer.space == MemorySpace::Reused)
    return success();
  int64_t size = buffer.space == MemorySpace::Arena
                     ? *graph.getArenaBytes()
                     : graph.getHostArenaBytes().value_or(0);
  if (offset > size - buffer.bytes)
    return buffer.owner->emitOpError("is placed at byte ")
           << offset << " with " << buffer.bytes << " bytes in an arena of "
           << size;
  return success();
}

/// The first call that is given the argument that `value` is or looks into; 0
/// for other values.
static int64_t getGivenPhase(GraphOp graph, Value value) {
  auto argument = dyn_cast<BlockArgument>(getViewRoot(value));
  auto phase = argument
                   ? graph.getArgAttrOfType<IntegerAttr>(
                         argument.getArgNumber(), RematDialect::phaseAttrName)
                   : IntegerAttr();
  return phase ? phase.getInt() : 0;
}

LogicalResult remat::verifyCalls(GraphOp graph, const GraphLiveness &liveness) {
  int64_t stateBytes = graph.getStateBytes().value_or(0);
  int64_t arenaBytes = graph.getArenaBytes().value_or(0);
  if (graph.isPlaced() && stateBytes > arenaBytes)
    return graph.emitOpError("has a state of ")
           << stateBytes << " bytes in an arena of " << arenaBytes;
  if (!liveness.callBegins.empty())
    for (auto task : graph.getOps<TaskOp>())
      for (Value operand : task.getOperands())
        if (int64_t given = getGivenPhase(graph, operand);
            given > static_cast<int64_t>(task.getPhase()))
          return task.emitOpError("is of phase ")
                 << task.getPhase()
                 << " but reads an argument that is given in phase " << given;
  SmallVector<unsigned> writtenIn(graph.getNumResults(), 0);
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Result)
      writtenIn[buffer.result] = liveness.getCall(buffer.begin);
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.space == MemorySpace::Reused &&
        (liveness.isState(buffer) ||
         liveness.getCall(buffer.begin) != writtenIn[buffer.result]))
      return buffer.owner->emitOpError("reuses the buffer of result ")
             << buffer.result << ", which another call writes";
    if (buffer.space != MemorySpace::Arena || !buffer.slot || buffer.bytes == 0)
      continue;
    int64_t begin = buffer.slot.getOffset(), end = begin + buffer.bytes;
    if (end > stateBytes && (liveness.isState(buffer) || begin < stateBytes))
      return buffer.owner->emitOpError("is placed at bytes ")
             << begin << " to " << end << ", expected it "
             << (liveness.isState(buffer) ? "within" : "within or behind")
             << " the " << stateBytes << " bytes of state";
  }
  return success();
}

/// Checks that buffers that are live at the same time do not overlap: sweeps
/// over the positions with the live ranges of one space ordered by address.
static LogicalResult verifyNoOverlap(ArrayRef<LiveBuffer> buffers) {
  SmallVector<const LiveBuffer *> byBegin, byEnd;
  for (const LiveBuffer &buffer : buffers)
    if (buffer.bytes != 0)
      byBegin.push_back(&buffer);
  byEnd = byBegin;
  llvm::sort(byEnd, [](const LiveBuffer *a, const LiveBuffer *b) {
    return std::tie(a->end, a) < std::tie(b->end, b);
  });
  auto before = [](const LiveBuffer *a, const LiveBuffer *b) {
    return a->slot.getOffset() < b->slot.getOffset();
  };
  std::set<const LiveBuffer *, decltype(before)> live(before);
  auto overlap = [](const LiveBuffer *a, const LiveBuffer *b) {
    return a->slot.getOffset() < b->slot.getOffset() + b->bytes &&
           b->slot.getOffset() < a->slot.getOffset() + a->bytes;
  };
  auto nextDead = byEnd.begin();
  for (const LiveBuffer *buffer : byBegin) {
    for (; (*nextDead)->end < buffer->begin; ++nextDead)
      live.erase(*nextDead);
    auto next = live.lower_bound(buffer);
    const LiveBuffer *clash = nullptr;
    if (next != live.end() && overlap(*next, buffer))
      clash = *next;
    else if (next != live.begin() && overlap(*std::prev(next), buffer))
      clash = *std::prev(next);
    if (clash) {
      InFlightDiagnostic diag =
          buffer->owner->emitOpError("overlaps a live value at offset ")
          << clash->slot.getOffset() << " of " << clash->bytes
          << " bytes, its own offset is " << buffer->slot.getOffset();
      diag.attachNote(clash->owner->getLoc()) << "the live value";
      return diag;
    }
    live.insert(buffer);
  }
  return success();
}

static LogicalResult verifyNoOverlap(const GraphLiveness &liveness,
                                     MemorySpace space) {
  return verifyNoOverlap(
      llvm::filter_to_vector(liveness.buffers, [&](const LiveBuffer &buffer) {
        return buffer.space == space;
      }));
}

/// Whether a task that runs a loop writes result `written` of the graph and
/// reads `value` for the last time, in an iteration that has ended by then.
static bool
isReadByEarlierIteration(const LiveBuffer &value, const LiveBuffer &written,
                         std::map<Operation *, LoopElements> &elements) {
  auto task = dyn_cast<TaskOp>(written.owner);
  if (!task || !written.value || value.end != written.begin)
    return false;
  auto known = elements.find(task);
  if (known == elements.end())
    known = elements
                .emplace(task,
                         LoopElements(
                             task,
                             SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                                 task, task.getKernelAttr())))
                .first;
  return known->second.isReadBefore(
      value.value, cast<OpResult>(written.value).getResultNumber());
}

LogicalResult remat::verifyReused(GraphOp graph,
                                  const GraphLiveness &liveness) {
  std::map<int64_t, SmallVector<LiveBuffer>> buffersOf;
  std::map<Operation *, LoopElements> elements;
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.space != MemorySpace::Reused)
      continue;
    SlotAttr slot = buffer.slot;
    int64_t result = slot.getResult();
    if (result >= static_cast<int64_t>(graph.getNumResults()))
      return buffer.owner->emitOpError("reuses the buffer of result ")
             << result << " of " << graph.getNumResults();
    auto type = cast<RankedTensorType>(graph.getResultTypes()[result]);
    int64_t size =
        type.getNumElements() * getElementBytes(type.getElementType());
    if (slot.getBytes() != buffer.bytes ||
        slot.getOffset() > size - buffer.bytes)
      return buffer.owner->emitOpError("has ")
             << buffer.bytes << " bytes but reuses " << slot.getBytes()
             << " at byte " << slot.getOffset() << " of a result of " << size;
    if (BlockArgument donor = donors[result])
      return buffer.owner->emitOpError("reuses the buffer of result ")
             << result << ", which argument " << donor.getArgNumber()
             << " gives and occupies";
    buffersOf[result].push_back(buffer);
  }
  for (const LiveBuffer &buffer : liveness.buffers) {
    auto it = buffersOf.find(buffer.result);
    if (buffer.space != MemorySpace::Result || it == buffersOf.end())
      continue;
    for (LiveBuffer &reused : it->second)
      if (isReadByEarlierIteration(reused, buffer, elements))
        --reused.end;
    it->second.push_back(buffer);
    it->second.back().slot =
        SlotAttr::get(graph.getContext(), MemorySpace::Arena, 0, buffer.bytes);
  }
  for (auto &[result, buffers] : buffersOf) {
    llvm::stable_sort(buffers, [](const LiveBuffer &a, const LiveBuffer &b) {
      return a.begin < b.begin;
    });
    if (failed(verifyNoOverlap(buffers)))
      return failure();
  }
  return success();
}

/// Checks that tasks read once what they write results over.
static LogicalResult verifyReadOnce(TaskOp task) {
  std::optional<DenseMap<Value, unsigned>> reads;
  for (unsigned number = 0; number < task->getNumResults(); ++number) {
    std::optional<unsigned> operand = task.getInPlaceOperand(number);
    if (!operand)
      continue;
    if (!reads) {
      reads.emplace();
      for (Value read : task.getOperands())
        ++(*reads)[getViewRoot(read)];
    }
    if (reads->lookup(getViewRoot(task.getOperand(*operand))) != 1)
      return task.emitOpError("result ")
             << number << " is written over operand " << *operand
             << ", which another operand is, too, or is a view of";
  }
  return success();
}

LogicalResult remat::verifyOverOperands(GraphOp graph) {
  for (auto task : graph.getOps<TaskOp>())
    if (failed(verifyReadOnce(task)))
      return failure();
  ValueRange returned = graph.getBody().front().getTerminator()->getOperands();
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (auto task : graph.getOps<TaskOp>())
    for (OpResult result : task->getResults()) {
      unsigned number = result.getResultNumber();
      std::optional<unsigned> operand = task.getInPlaceOperand(number);
      auto argument =
          operand
              ? dyn_cast<BlockArgument>(getViewRoot(task.getOperand(*operand)))
              : BlockArgument();
      if (!argument)
        continue;
      auto *donation = llvm::find(donors, argument);
      if (donation == donors.end())
        return task.emitOpError("result ")
               << number << " is written over argument "
               << argument.getArgNumber()
               << ", which gives its buffer to no result";
      unsigned donated = donation - donors.begin();
      if (GraphLiveness::getOwner(returned[donated]) != argument)
        return task.emitOpError("result ")
               << number << " is written over argument "
               << argument.getArgNumber() << ", which gives its buffer to "
               << "result " << donated;
    }
  return success();
}

LogicalResult remat::verifyPlacement(GraphOp graph,
                                     const GraphLiveness &liveness) {
  for (const LiveBuffer &buffer : liveness.buffers)
    if (failed(verifySlot(graph, buffer)))
      return failure();
  return success(succeeded(verifyNoOverlap(liveness, MemorySpace::Arena)) &&
                 succeeded(verifyNoOverlap(liveness, MemorySpace::Host)));
}
