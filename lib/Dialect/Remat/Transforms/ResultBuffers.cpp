//===- ResultBuffers.cpp - values in buffers of results -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The caller brings a buffer for each result, and most of them are gradients
// that are written late. Until then they hold what the forward computation
// saved: the values that occupy most bytes for the longest time go first, each
// to the buffer that is taken back soonest after its last use. A task that runs
// a loop writes gradients of layers one after the other: what one iteration
// reads may be in the buffer that a later one writes.
//
// A backward call may be given the buffer of a result when it is first used. A
// value goes to one that is there anyway, or else to the one that is thereby
// needed for the fewest bytes and the shortest time more.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/LoopElements.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace remat;

namespace {

/// The buffer of a result with the values in it.
struct ReusedBuffer {
  int64_t result;
  /// The position at which the caller has given the buffer, and that at which
  /// the result is written.
  unsigned from, until;
  /// The first position at which it is used so far; that of the first call for
  /// a result that is there from the beginning.
  unsigned first;
  Shelf shelf;
  /// Of an element that an iteration of a loop writes, the loop's task, the
  /// number of its result, and the place in the order of iterations.
  Operation *loop = nullptr;
  unsigned number = 0;
  int64_t writer = -1;
};

/// The elements of tasks that run loops.
class ElementsOf {
public:
  explicit ElementsOf(ModuleOp module) {
    if (module)
      symbols.emplace(module);
  }

  /// Null if `op` runs no loop that reads and writes lists.
  const LoopElements *get(Operation *op);

private:
  std::optional<SymbolTable> symbols;
  DenseMap<Operation *, std::unique_ptr<LoopElements>> elements;
};

} // namespace

const LoopElements *ElementsOf::get(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  if (!task || !symbols || task.getNumResults() < 2)
    return nullptr;
  auto [known, isNew] = elements.try_emplace(op);
  if (isNew) {
    auto found = std::make_unique<LoopElements>(
        task, symbols->lookup<func::FuncOp>(task.getKernel()));
    if (found->hasBoth())
      known->second = std::move(found);
  }
  return known->second.get();
}

static SmallVector<ReusedBuffer> collectBuffers(GraphOp graph,
                                                const GraphLiveness &liveness,
                                                ElementsOf &elements) {
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
    ReusedBuffer &reused = buffers.emplace_back(
        ReusedBuffer{buffer.result, from, buffer.begin,
                     call == 0 ? 0 : buffer.begin, Shelf(bytes)});
    const LoopElements *lists = elements.get(buffer.owner);
    if (!lists || !buffer.value)
      continue;
    reused.number = cast<OpResult>(buffer.value).getResultNumber();
    if (std::optional<int64_t> writer = lists->getWriter(reused.number)) {
      reused.loop = buffer.owner;
      reused.writer = *writer;
    }
  }
  llvm::stable_sort(buffers, [](const ReusedBuffer &a, const ReusedBuffer &b) {
    return std::tie(a.until, a.writer) < std::tie(b.until, b.writer);
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

bool remat::placeInResultBuffers(GraphOp graph, ModuleOp module) {
  GraphLiveness liveness(graph);
  ElementsOf elements(module);
  SmallVector<ReusedBuffer> buffers = collectBuffers(graph, liveness, elements);
  SmallVector<const LiveBuffer *> values;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Arena && buffer.value &&
        buffer.bytes != 0 && isa<TaskOp>(buffer.owner))
      values.push_back(&buffer);
  sortByArea(values);
  bool any = false;
  for (const LiveBuffer *value : values) {
    auto first = llvm::lower_bound(
        buffers, value->end,
        [](const ReusedBuffer &b, unsigned end) { return b.until < end; });
    unsigned tried = 0;
    ReusedBuffer *best = nullptr;
    int64_t bestOffset = 0;
    double least = 0;
    for (ReusedBuffer &buffer : llvm::make_range(first, buffers.end())) {
      if (buffer.shelf.getBytes() < value->bytes || buffer.from > value->begin)
        continue;
      if (buffer.until == value->end &&
          (!buffer.loop || !elements.get(buffer.loop)
                                ->isReadBefore(value->value, buffer.number)))
        continue;
      if (tried++ == ResultBufferTuning::maxTried)
        break;
      int64_t offset = buffer.shelf.find(*value);
      if (offset < 0)
        continue;
      double more =
          double(buffer.first - std::min(buffer.first, value->begin)) *
          buffer.shelf.getBytes();
      if (best && more >= least)
        continue;
      best = &buffer;
      bestOffset = offset;
      least = more;
      if (more == 0)
        break;
    }
    if (!best)
      continue;
    best->shelf.insert(bestOffset, *value);
    best->first = std::min(best->first, value->begin);
    setReused(*value, best->result, bestOffset);
    any = true;
  }
  return any;
}
