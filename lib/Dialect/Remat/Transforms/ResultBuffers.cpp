//===- ResultBuffers.cpp - values in buffers of results -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The caller brings a buffer for each result, and most of them are gradients
// that are written late. Until then they hold what the forward computation
// saved: the values that occupy most bytes for the longest time go first, each
// to the buffer that is taken back soonest after its last use.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Donations.h"

using namespace mlir;
using namespace remat;

namespace {

/// The buffer of a result with the values in it.
struct ReusedBuffer {
  int64_t result;
  /// The position at which the caller has given the buffer, and that at which
  /// the result is written.
  unsigned from, until;
  Shelf shelf;
};

} // namespace

static SmallVector<ReusedBuffer> collectBuffers(GraphOp graph,
                                                const GraphLiveness &liveness) {
  SmallVector<ReusedBuffer> buffers;
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (const LiveBuffer &buffer : liveness.buffers) {
    // An argument is in the buffer that it gives to a result.
    if (buffer.space != MemorySpace::Result || donors[buffer.result])
      continue;
    auto type = cast<RankedTensorType>(graph.getResultTypes()[buffer.result]);
    int64_t bytes =
        type.getNumElements() * getElementBytes(type.getElementType());
    unsigned call = liveness.getCall(buffer.begin);
    unsigned from = call == 0 ? 0 : liveness.callBegins[call - 1];
    buffers.push_back({buffer.result, from, buffer.begin, Shelf(bytes)});
  }
  llvm::stable_sort(buffers, [](const ReusedBuffer &a, const ReusedBuffer &b) {
    return a.until < b.until;
  });
  return buffers;
}

static void setReused(const LiveBuffer &value, int64_t result, int64_t offset) {
  auto task = cast<TaskOp>(value.owner);
  MLIRContext *context = task.getContext();
  SmallVector<Attribute> slots(task->getNumResults(), UnitAttr::get(context));
  if (std::optional<ArrayAttr> old = task.getPlacement())
    slots.assign(old->begin(), old->end());
  slots[cast<OpResult>(value.value).getResultNumber()] =
      SlotAttr::get(context, MemorySpace::Reused, offset, value.bytes, result);
  task.setPlacementAttr(ArrayAttr::get(context, slots));
}

bool remat::placeInResultBuffers(GraphOp graph) {
  GraphLiveness liveness(graph);
  SmallVector<ReusedBuffer> buffers = collectBuffers(graph, liveness);
  SmallVector<const LiveBuffer *> values;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Arena && buffer.value &&
        buffer.bytes != 0 && isa<TaskOp>(buffer.owner))
      values.push_back(&buffer);
  sortByArea(values);
  bool any = false;
  for (const LiveBuffer *value : values) {
    auto first = llvm::upper_bound(
        buffers, value->end,
        [](unsigned end, const ReusedBuffer &b) { return end < b.until; });
    unsigned tried = 0;
    for (ReusedBuffer &buffer : llvm::make_range(first, buffers.end())) {
      if (buffer.shelf.getBytes() < value->bytes || buffer.from > value->begin)
        continue;
      if (tried++ == ResultBufferTuning::maxTried)
        break;
      int64_t offset = buffer.shelf.find(*value);
      if (offset < 0)
        continue;
      buffer.shelf.insert(offset, *value);
      setReused(*value, buffer.result, offset);
      any = true;
      break;
    }
  }
  return any;
}
