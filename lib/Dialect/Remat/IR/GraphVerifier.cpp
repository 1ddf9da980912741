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

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/LoopElements.h"
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

/// The first user of `value`, or of a view of it, for which `isWanted` holds.
/// With `throughHost`, copies that came back from the host count too.
static Operation *findUser(Value value, bool throughHost,
                           function_ref<bool(Operation *)> isWanted) {
  for (Operation *user : value.getUsers()) {
    if (isWanted(user))
      return user;
    if (isViewOp(user) || (throughHost && isa<OffloadOp, ReloadOp>(user)))
      if (Operation *found =
              findUser(user->getResult(0), throughHost, isWanted))
        return found;
  }
  return nullptr;
}

/// Whether `op` is a task of the backward computation of a derivative of
/// `level` or a higher one.
static bool isBackwardTask(Operation *op, unsigned level) {
  auto task = dyn_cast<TaskOp>(op);
  return task && task.getBackwardLevel() >= level;
}

static LogicalResult emitBrokenPolicy(TaskOp task, unsigned result,
                                      Policy policy, Operation *culprit,
                                      StringRef what) {
  InFlightDiagnostic diag = task.emitOpError("result ")
                            << result << " has policy '"
                            << stringifyPolicy(policy) << "' but " << what;
  if (culprit)
    diag.attachNote(culprit->getLoc()) << "here";
  return diag;
}

/// The last task before the backward computation that is planned, clones aside;
/// null without one.
static TaskOp findLastForward(GraphOp graph) {
  TaskOp last;
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isPlannedBackward())
      break;
    if (!task.isClone())
      last = task;
  }
  return last;
}

/// Checks the MUST policies of a planned graph.
static LogicalResult verifyPolicies(GraphOp graph) {
  TaskOp lastForward = findLastForward(graph);
  unsigned planned = graph.getPlannedLevel(), highest = 0;
  for (auto task : graph.getOps<TaskOp>())
    highest = std::max(highest, task.getBackwardLevel());
  // Repeated tasks behind the border are for the backward computation. Others
  // that stand there, as those that write over a donated argument at last, are
  // not.
  auto runsInBackward = [&](Operation *op) {
    auto task = dyn_cast<TaskOp>(op);
    return isBackwardTask(op, planned) ||
           (task && task.isClone() && lastForward &&
            lastForward->isBeforeInBlock(op));
  };
  // What makes the results of a task again.
  std::map<int64_t, TaskOp> clones;
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isClone())
      clones.try_emplace(task.getId(), task);
    for (int64_t absorbed : getAbsorbed(task))
      clones.try_emplace(absorbed, task);
  }
  for (auto task : graph.getOps<TaskOp>()) {
    unsigned level = task.getPolicyDerivative();
    // Nothing is asked of the last derivative.
    if (task.isClone() || (level > 1 && level > highest))
      continue;
    auto isAbout = [&](Operation *op) { return isBackwardTask(op, level); };
    for (OpResult result : task->getResults()) {
      unsigned number = result.getResultNumber();
      std::optional<Policy> policy = task.getResultPolicy(number);
      bool isReturned =
          findUser(result, /*throughHost=*/false, llvm::IsaPred<ReturnOp>);
      if (!policy || (isReturned && *policy != Policy::MustSave))
        continue;
      auto found = clones.find(task.getId());
      TaskOp clone = found == clones.end() ? TaskOp() : found->second;
      bool runsOnce =
          *policy == Policy::MustSave || *policy == Policy::MustCpuOffload;
      if (runsOnce && clone)
        return emitBrokenPolicy(task, number, *policy, clone,
                                "the task is repeated");
      // A copy that comes back from the host is what the forward computation
      // made, too: offloading does not recompute.
      Operation *reader = nullptr;
      // Behind the first backward task, and for derivatives of another level,
      // there are other borders between forward and backward tasks, and forward
      // tasks run between them.
      bool isLater = level != planned ||
                     (lastForward && lastForward->isBeforeInBlock(task));
      if (*policy == Policy::MustRecompute && isLater)
        reader = findUser(result, /*throughHost=*/true, isAbout);
      else if (*policy == Policy::MustRecompute)
        reader = findUser(result, /*throughHost=*/true, runsInBackward);
      else if (*policy == Policy::MustCpuOffload)
        reader = findUser(result, /*throughHost=*/false, isAbout);
      if (reader)
        return emitBrokenPolicy(task, number, *policy, reader,
                                "the backward computation reads it");
      if (*policy == Policy::MustSave)
        if (Operation *offload = findUser(result, /*throughHost=*/false,
                                          llvm::IsaPred<OffloadOp>))
          return emitBrokenPolicy(task, number, *policy, offload,
                                  "it is offloaded");
    }
  }
  return success();
}

/// Adds the copies of a value that come back from the host.
static void collectReloads(Value value, SmallVectorImpl<Value> &copies) {
  for (Operation *user : value.getUsers()) {
    if (isa<ReloadOp>(user))
      copies.push_back(user->getResult(0));
    if (isViewOp(user) || isa<OffloadOp, ReloadOp>(user))
      collectReloads(user->getResult(0), copies);
  }
}

/// Checks the budgets of regions: what is kept of values with a name when the
/// last forward task is done. What comes back from the host before that is kept
/// as well. Returned values are in buffers of the caller.
static LogicalResult verifyRegionBudgets(GraphOp graph) {
  std::optional<DictionaryAttr> budgets = graph.getRegionBudgets();
  if (!budgets)
    return success();
  Operation *last = findLastForward(graph);
  if (!last)
    return success();
  // What leaves right behind it was not kept.
  while (isa_and_nonnull<OffloadOp, ReleaseOp>(last->getNextNode()))
    last = last->getNextNode();
  auto isLater = [&](Operation *op) { return last->isBeforeInBlock(op); };
  std::map<StringRef, int64_t> kept;
  TargetAttr target = getTargetFacts(graph);
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isPlannedBackward() || isLater(task))
      continue;
    for (OpResult result : task->getResults()) {
      if (findUser(result, /*throughHost=*/true, llvm::IsaPred<ReturnOp>))
        continue;
      SmallVector<Value> copies = {result};
      collectReloads(result, copies);
      int64_t numKept = llvm::count_if(copies, [&](Value copy) {
        return !isLater(copy.getDefiningOp()) &&
               findUser(copy, /*throughHost=*/false, isLater);
      });
      for (Attribute name : task.getResultNames(result.getResultNumber()))
        kept[cast<StringAttr>(name).getValue()] +=
            numKept *
            getBufferBytes(cast<RankedTensorType>(result.getType()), target);
    }
  }
  for (NamedAttribute region : *budgets) {
    StringRef name = region.getName().getValue();
    auto budget = dyn_cast<IntegerAttr>(region.getValue());
    if (!budget || budget.getInt() < 0)
      return graph.emitOpError("region '")
             << name << "' has budget " << region.getValue()
             << ", expected a number of bytes";
    if (kept[name] > budget.getInt())
      return graph.emitOpError("keeps ")
             << kept[name] << " bytes of region '" << name
             << "', its budget is " << budget.getInt();
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

/// Checks where a step in several calls keeps what later calls need: in the
/// arena's first bytes, apart from each call's scratch memory, and in no buffer
/// that a call has not been given.
static LogicalResult verifyCalls(GraphOp graph, const GraphLiveness &liveness) {
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

/// Checks the values that are in buffers of results: that they lie within them,
/// do not overlap, and are dead when the result is written.
static LogicalResult verifyReused(GraphOp graph,
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

/// Checks what is written over arguments: only what becomes, in their place,
/// the result that they give their buffers to.
static LogicalResult verifyOverArguments(GraphOp graph) {
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

LogicalResult GraphOp::verifyRegions() {
  if (failed(verifyDonations(*this)) || failed(verifyTasks(*this)))
    return failure();
  if (!isPlanned())
    return success();
  if (failed(verifyOverArguments(*this)))
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
  for (const LiveBuffer &buffer : liveness.buffers)
    if (failed(verifySlot(*this, buffer)))
      return failure();
  return success(succeeded(verifyNoOverlap(liveness, MemorySpace::Arena)) &&
                 succeeded(verifyNoOverlap(liveness, MemorySpace::Host)));
}
