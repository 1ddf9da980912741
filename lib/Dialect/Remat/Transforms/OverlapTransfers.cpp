//===- OverlapTransfers.cpp - copies beside more of the computation -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Planners let an argument in host memory come in late and give the memory of
// what goes back at once, so that the computation may wait for the link. Here a
// copy begins as much earlier, and what is copied stays as much longer, as the
// copy takes, where the plan has room for it: the peak is what it was.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "HostArguments.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

namespace {
class TransferOverlap {
public:
  explicit TransferOverlap(GraphOp graph);

  void run();

private:
  bool keepsPeak() const {
    return GraphLiveness(graph).peak(MemorySpace::Arena).bytes == peak;
  }
  bool isInArena(Value value) const;
  /// What runs between a copy and another task counts, but not other copies.
  int64_t countTime(Operation *op) const;
  bool isBorder(TaskOp transfer, Operation *op) const;
  void beginEarlier(TaskOp transfer);
  void endLater(TaskOp transfer);

  GraphOp graph;
  int64_t peak;
  SmallVector<TaskOp> incoming, outgoing;
  DenseSet<Operation *> transfers;
  SmallVector<ReleaseOp> releases;
};
} // namespace

TransferOverlap::TransferOverlap(GraphOp graph)
    : graph(graph), peak(GraphLiveness(graph).peak(MemorySpace::Arena).bytes) {
  for (auto task : graph.getOps<TaskOp>()) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        graph, task.getKernelAttr());
    if (!kernel || !findTransfer(kernel))
      continue;
    transfers.insert(task);
    bool isArgument = isa<BlockArgument>(getViewRoot(task.getOperand(0)));
    (isArgument ? incoming : outgoing).push_back(task);
  }
}

/// What lies in a result's buffer is there for as long as that was free.
bool TransferOverlap::isInArena(Value value) const {
  Value owner = GraphLiveness::getOwner(value);
  return llvm::any_of(
      GraphLiveness(graph).buffers, [&](const LiveBuffer &buffer) {
        return buffer.value == owner && buffer.space == MemorySpace::Arena;
      });
}

int64_t TransferOverlap::countTime(Operation *op) const {
  auto task = dyn_cast<TaskOp>(op);
  return task && !transfers.contains(op) ? task.getCost() : 0;
}

/// Whether a copy stays on its side of `op`: calls end all copies, and what
/// lives when the backward computation begins is what regions have budgets for.
bool TransferOverlap::isBorder(TaskOp transfer, Operation *op) const {
  auto task = dyn_cast<TaskOp>(op);
  return op->hasTrait<OpTrait::IsTerminator>() ||
         (task && (task.getPhase() != transfer.getPhase() ||
                   task.isPlannedBackward() != transfer.isPlannedBackward()));
}

void TransferOverlap::beginEarlier(TaskOp transfer) {
  if (!isInArena(transfer->getResult(0)))
    return;
  Operation *source = transfer.getOperand(0).getDefiningOp();
  Operation *reader = nullptr;
  forEachReader(transfer->getResult(0), [&](Operation *op) {
    if (!reader || op->isBeforeInBlock(reader))
      reader = op;
  });
  int64_t time = 0;
  for (Operation *op = transfer->getNextNode(); op && op != reader;
       op = op->getNextNode())
    time += countTime(op);
  while (time < int64_t(transfer.getCost())) {
    // Copies come in one after the other.
    Operation *before = transfer->getPrevNode();
    if (!before || before == source || isBorder(transfer, before) ||
        llvm::is_contained(incoming, before))
      return;
    transfer->moveBefore(before);
    if (!keepsPeak()) {
      transfer->moveAfter(before);
      return;
    }
    time += countTime(before);
  }
}

void TransferOverlap::endLater(TaskOp transfer) {
  Value value = transfer.getOperand(0);
  bool isLast = isInArena(value);
  forEachReader(getViewRoot(value), [&](Operation *reader) {
    isLast &= !transfer->isBeforeInBlock(reader);
  });
  if (!isLast)
    return;
  OpBuilder builder(graph.getContext());
  builder.setInsertionPointAfter(transfer);
  auto release = ReleaseOp::create(builder, transfer.getLoc(), value);
  for (int64_t time = 0; time < int64_t(transfer.getCost());) {
    Operation *next = release->getNextNode();
    if (isBorder(transfer, next))
      break;
    release->moveAfter(next);
    if (!keepsPeak()) {
      release->moveBefore(next);
      break;
    }
    time += countTime(next);
  }
  // It changes nothing where no task runs before it.
  for (Operation *op = release->getPrevNode(); op != transfer;
       op = op->getPrevNode())
    if (isa<TaskOp>(op) && !transfers.contains(op)) {
      releases.push_back(release);
      return;
    }
  release.erase();
}

void TransferOverlap::run() {
  if (transfers.empty())
    return;
  Block &block = graph.getBody().front();
  SmallVector<Operation *> before =
      llvm::map_to_vector(block, [](Operation &op) { return &op; });
  int64_t bytes = ArenaLayout(GraphLiveness(graph)).arenaBytes;
  for (TaskOp transfer : incoming)
    beginEarlier(transfer);
  for (TaskOp transfer : outgoing)
    endLater(transfer);
  if (ArenaLayout(GraphLiveness(graph)).arenaBytes <= bytes)
    return;
  for (ReleaseOp release : releases)
    release.erase();
  for (Operation *op : before)
    op->moveBefore(&block, block.end());
}

void remat::overlapTransfers(GraphOp graph) { TransferOverlap(graph).run(); }
