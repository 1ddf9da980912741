//===- GraphVerifier.cpp - what a legal graph is --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of remat.graph is the last word on a plan: whatever made the
// plan, its clones, its policies, its peak and its addresses are checked here
// from the IR alone.
//
//===----------------------------------------------------------------------===//

#include "GraphVerifier.h"

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace remat;

/// What computed a value, whichever copy of it this is: a task's number and
/// that of its result, or -1 and the number of an argument.
static std::pair<int64_t, int64_t> getIdentity(Value value) {
  value = getViewRoot(value);
  if (auto reload = value.getDefiningOp<ReloadOp>())
    if (auto offload = reload.getSource().getDefiningOp<OffloadOp>())
      return getIdentity(offload.getSource());
  if (auto result = dyn_cast<OpResult>(value))
    if (auto task = dyn_cast<TaskOp>(result.getOwner()))
      if (Value packed = getUnpackedValue(task))
        return getIdentity(packed);
  if (auto result = dyn_cast<OpResult>(value))
    if (auto task = dyn_cast<TaskOp>(result.getOwner()))
      return {task.getId(), result.getResultNumber()};
  auto argument = dyn_cast<BlockArgument>(value);
  return {-1, argument ? argument.getArgNumber() : -1};
}

using Identity = decltype(getIdentity(Value()));

/// What `task` would read if it absorbed nothing, and what it reads.
static std::set<Identity> collectReads(TaskOp task,
                                       const std::map<int64_t, TaskOp> &tasks) {
  std::set<Identity> reads;
  for (Value operand : task.getOperands())
    reads.insert(getIdentity(operand));
  for (int64_t number : getAbsorbed(task))
    if (auto found = tasks.find(number); found != tasks.end())
      for (Value result : found->second->getResults())
        reads.insert(getIdentity(result));
  return reads;
}

/// Checks that `task` absorbs tasks that may run again and stand before it, and
/// reads what they read or it would read itself. `originals` are the first runs
/// so far, that of `task` included if it is none.
static LogicalResult
verifyAbsorbed(TaskOp task, const std::map<int64_t, TaskOp> &originals) {
  ArrayRef<int64_t> numbers = getAbsorbed(task);
  std::set<Identity> known;
  for (int64_t number : numbers) {
    auto found = originals.find(number);
    if (found == originals.end() ||
        number == static_cast<int64_t>(task.getId()))
      return task.emitOpError("absorbs task ")
             << number << ", expected one that precedes it";
    TaskOp other = found->second;
    if (other.getPinned()) {
      InFlightDiagnostic diag =
          task.emitOpError("absorbs a task that must not be repeated");
      diag.attachNote(other.getLoc()) << "the pinned task";
      return diag;
    }
    std::set<Identity> reads = collectReads(other, originals);
    known.insert(reads.begin(), reads.end());
  }
  if (numbers.empty() || !task.isClone())
    return success();
  std::set<Identity> own = collectReads(originals.at(task.getId()), originals);
  known.insert(own.begin(), own.end());
  for (auto [number, operand] : llvm::enumerate(task.getOperands()))
    if (!known.count(getIdentity(operand)))
      return task.emitOpError("reads as operand ")
             << number
             << " a value that neither it nor a task that it absorbs reads";
  return success();
}

/// Checks that a clone computes what its original does.
static LogicalResult verifyClone(TaskOp original, TaskOp clone,
                                 const std::map<int64_t, TaskOp> &originals) {
  auto emit = [&] {
    return clone.emitOpError("is a copy of task ") << clone.getId() << " but ";
  };
  if (original.getPinned()) {
    InFlightDiagnostic diag =
        clone.emitOpError("repeats a task that must not be repeated");
    diag.attachNote(original.getLoc()) << "the pinned task";
    return diag;
  }
  if (getAbsorbed(original) != getAbsorbed(clone)) {
    if (original->getResultTypes() == clone->getResultTypes())
      return verifyAbsorbed(clone, originals);
    InFlightDiagnostic diag = emit() << "has results of other types";
    diag.attachNote(original.getLoc()) << "the task it repeats";
    return diag;
  }
  if (original.getKernel() != clone.getKernel() &&
      clone.getKernel() !=
          getCopyKernelName(original.getKernel(), clone.getCopy())) {
    InFlightDiagnostic diag = emit()
                              << "calls '" << clone.getKernel()
                              << "', expected '" << original.getKernel() << "'";
    diag.attachNote(original.getLoc()) << "the task it repeats";
    return diag;
  }
  for (auto [number, theirs, ours] :
       llvm::enumerate(original->getOperands(), clone->getOperands())) {
    if (getIdentity(theirs) == getIdentity(ours))
      continue;
    InFlightDiagnostic diag = emit()
                              << "reads another value as operand " << number;
    diag.attachNote(original.getLoc()) << "the task it repeats";
    return diag;
  }
  return success();
}

/// Whether `op` copies what it reads to host memory.
static bool copiesToHost(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  if (!task)
    return isa<OffloadOp>(op);
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      task, task.getKernelAttr());
  return kernel && !kernel.isExternal() && findTransfer(kernel);
}

/// Checks that a value is released once, behind its offload and all readers.
static LogicalResult verifyRelease(ReleaseOp release) {
  bool isOffloaded = false;
  Operation *later = nullptr;
  forEachReader(getViewRoot(release.getSource()), [&](Operation *reader) {
    if (reader == release)
      return;
    if (reader->isBeforeInBlock(release)) {
      isOffloaded |= copiesToHost(reader);
      return;
    }
    if (!later || reader->isBeforeInBlock(later))
      later = reader;
  });
  if (!isOffloaded)
    return release.emitOpError(
        "needs a value that was offloaded before, or it waits for nothing");
  if (!later)
    return success();
  InFlightDiagnostic diag =
      later->emitOpError("reads a value that was released before");
  diag.attachNote(release.getLoc()) << "the release";
  return diag;
}

/// Checks that every operation may stand in a graph and that tasks are
/// numbered so that clones and originals can be told apart.
static LogicalResult verifyTasks(GraphOp graph) {
  // A user's number may be any, so it is no key of a DenseMap, which has two
  // for itself.
  std::map<int64_t, TaskOp> originals;
  int64_t phase = 0;
  std::set<std::pair<int64_t, int64_t>> copies;
  for (Operation &op : graph.getBody().front()) {
    if (!isa<TaskOp, OffloadOp, ReloadOp, ReleaseOp, ReturnOp>(op) &&
        !isViewOp(&op))
      return op.emitOpError("may not stand in a 'remat.graph', expected tasks, "
                            "transfers, views and 'remat.return'");
    if (auto release = dyn_cast<ReleaseOp>(op))
      if (failed(verifyRelease(release)))
        return failure();
    auto task = dyn_cast<TaskOp>(&op);
    if (!task)
      continue;
    int64_t id = task.getId(), copy = task.getCopy();
    if (!copies.insert({id, copy}).second)
      return task.emitOpError("has id ")
             << id << " and copy " << copy << ", which another task has";
    if (!task.isClone()) {
      originals[id] = task;
      if (static_cast<int64_t>(task.getPhase()) < phase)
        return task.emitOpError("is of phase ")
               << task.getPhase() << " but stands behind one of phase "
               << phase;
      phase = task.getPhase();
      if (failed(verifyAbsorbed(task, originals)))
        return failure();
      continue;
    }
    auto original = originals.find(id);
    if (original == originals.end())
      return task.emitOpError("is copy ")
             << copy << " of task " << id << ", which does not precede it";
    if (failed(verifyClone(original->second, task, originals)))
      return failure();
  }
  return success();
}

/// Refuses graphs whose buffers together have more bytes than can be counted:
/// no sum of some of them overflows then.
static LogicalResult verifySum(GraphOp graph, const GraphLiveness &liveness) {
  int64_t sum = 0;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (llvm::AddOverflow(sum, buffer.bytes, sum))
      return buffer.owner->emitOpError(
          "has a buffer with which those of the graph have 2^63 bytes or more");
  return success();
}

/// Compares the peak that the plan promises with what the order needs.
static LogicalResult verifyPeak(GraphOp graph, const GraphLiveness &liveness) {
  GraphLiveness::Peak peak = liveness.peak(MemorySpace::Arena);
  int64_t planned = *graph.getPlannedPeak();
  auto attachResident = [&](InFlightDiagnostic &diag) {
    auto resident =
        llvm::filter_to_vector(liveness.buffers, [&](const LiveBuffer &buffer) {
          return buffer.space == MemorySpace::Arena &&
                 buffer.begin <= peak.position && peak.position <= buffer.end;
        });
    llvm::sort(resident, [](const LiveBuffer &a, const LiveBuffer &b) {
      return std::tuple(-a.bytes, a.begin) < std::tuple(-b.bytes, b.begin);
    });
    for (const LiveBuffer &buffer : ArrayRef(resident).take_front(4))
      diag.attachNote(buffer.owner->getLoc())
          << buffer.bytes << " bytes are live"
          << (buffer.value ? "" : " as workspace");
  };
  if (peak.bytes != planned) {
    InFlightDiagnostic diag =
        graph.emitOpError("needs ")
        << peak.bytes << " bytes at its peak, expected the planned " << planned;
    attachResident(diag);
    return diag;
  }
  // Until buffers are assigned, more may be counted than the arena will hold.
  if (graph.isPlaced() && graph.getBudget() &&
      planned > static_cast<int64_t>(*graph.getBudget())) {
    InFlightDiagnostic diag = graph.emitOpError("peak ")
                              << planned << " bytes exceeds budget "
                              << static_cast<int64_t>(*graph.getBudget());
    attachResident(diag);
    return diag;
  }
  int64_t hostPeak = liveness.peak(MemorySpace::Host).bytes;
  if (graph.getHostBudget() &&
      hostPeak > static_cast<int64_t>(*graph.getHostBudget()))
    return graph.emitOpError("host peak ")
           << hostPeak << " bytes exceeds host budget "
           << static_cast<int64_t>(*graph.getHostBudget());
  return success();
}

LogicalResult GraphOp::verifyRegions() {
  if (failed(verifyDonations(*this)) || failed(verifyTasks(*this)))
    return failure();
  if (!isPlanned())
    return success();
  if (failed(verifyOverOperands(*this)))
    return failure();
  GraphLiveness liveness(*this);
  if (liveness.brokenReader)
    return liveness.brokenReader->emitOpError(
        "reads a value that another task has overwritten");
  if (failed(verifySum(*this, liveness)) || failed(verifyPolicies(*this)) ||
      failed(verifyReused(*this, liveness)) ||
      failed(verifyCalls(*this, liveness)) ||
      failed(verifyRegionBudgets(*this)) || failed(verifyPeak(*this, liveness)))
    return failure();
  if (!isPlaced())
    return success();
  if (getBudget() && *getArenaBytes() > *getBudget())
    return emitOpError("arena of ")
           << *getArenaBytes() << " bytes exceeds budget " << *getBudget();
  return verifyPlacement(*this, liveness);
}
