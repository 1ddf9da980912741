//===- Place.cpp - addresses for values (L3 to L4) ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "HostArguments.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "remat/Dialect/Remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_PLACEPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Slots of the values of a graph, and the workspace offsets of its tasks.
struct Slots {
  DenseMap<Value, SlotAttr> ofValue;
  DenseMap<Operation *, int64_t> ofWorkspace, ofHostWorkspace;
};
} // namespace

/// Records the slots of the buffers of one space.
static void record(MLIRContext *context, ArrayRef<const LiveBuffer *> buffers,
                   ArrayRef<int64_t> offsets, Slots &slots) {
  for (auto [buffer, offset] : llvm::zip(buffers, offsets)) {
    if (buffer->value)
      slots.ofValue[buffer->value] =
          SlotAttr::get(context, buffer->space, offset, buffer->bytes);
    else if (buffer->space == MemorySpace::Host)
      slots.ofHostWorkspace[buffer->owner] = offset;
    else
      slots.ofWorkspace[buffer->owner] = offset;
  }
}

static void annotate(GraphOp graph, const Slots &slots) {
  for (Operation &op : graph.getBody().front()) {
    if (auto offload = dyn_cast<OffloadOp>(&op))
      offload.setPlacementAttr(slots.ofValue.at(offload.getResult()));
    if (auto reload = dyn_cast<ReloadOp>(&op))
      reload.setPlacementAttr(slots.ofValue.at(reload.getResult()));
    auto task = dyn_cast<TaskOp>(&op);
    if (!task)
      continue;
    // What is in the place of an operand stays so.
    SmallVector<Attribute> placement;
    for (OpResult result : task->getResults()) {
      unsigned number = result.getResultNumber();
      if (task.getInPlaceOperand(number))
        placement.push_back((*task.getPlacement())[number]);
      else
        placement.push_back(slots.ofValue.at(result));
    }
    task.setPlacementAttr(ArrayAttr::get(task.getContext(), placement));
    if (auto it = slots.ofWorkspace.find(task); it != slots.ofWorkspace.end())
      task.setWorkspaceOffset(it->second);
    if (auto it = slots.ofHostWorkspace.find(task);
        it != slots.ofHostWorkspace.end())
      task.setHostWorkspaceOffset(it->second);
  }
}

FailureOr<int64_t> remat::placeGraph(GraphOp graph) {
  if (!graph.isPlanned())
    return graph.emitOpError("must be planned before it is placed");
  GraphLiveness liveness(graph);
  MLIRContext *context = graph.getContext();
  Slots slots;
  ArenaLayout layout(liveness);
  record(context, layout.buffers, layout.offsets, slots);
  int64_t arena = layout.arenaBytes;
  SpaceRanges hostRanges(liveness, MemorySpace::Host);
  planning::Packing host = planning::packLiveRanges(hostRanges.ranges);
  record(context, hostRanges.buffers, host.offsets, slots);
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Reused)
      slots.ofValue[buffer.value] = buffer.slot;
    else if (buffer.space == MemorySpace::Result)
      slots.ofValue[buffer.value] = SlotAttr::get(context, MemorySpace::Result,
                                                  buffer.result, buffer.bytes);
  if (graph.getBudget() && arena > static_cast<int64_t>(*graph.getBudget())) {
    InFlightDiagnostic diag = graph.emitOpError("needs an arena of ")
                              << arena << " bytes, budget is "
                              << static_cast<int64_t>(*graph.getBudget());
    if (llvm::none_of(graph.getOps<TaskOp>(),
                      [](TaskOp task) { return task.getPlacement(); }))
      diag.attachNote() << "no value shares a buffer; run "
                           "'remat-assign-buffers' before, as planning "
                           "counts on it";
    return diag;
  }
  annotate(graph, slots);
  graph.setArenaBytes(arena);
  graph.setHostArenaBytes(host.totalBytes);
  if (!liveness.callBegins.empty())
    graph.setStateBytes(layout.stateBytes);
  return arena;
}

namespace {
struct Place : remat::impl::PlacePassBase<Place> {
  void runOnOperation() override {
    for (GraphOp graph : getStepGraphs(getOperation())) {
      if (graph.isPlanned())
        overlapTransfers(graph);
      FailureOr<int64_t> arena = placeGraph(graph);
      if (failed(arena))
        return signalPassFailure();
      arenaBytes += *arena;
    }
  }
};
} // namespace
