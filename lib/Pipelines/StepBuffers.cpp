//===- StepBuffers.cpp - what is in memory in a step ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each buffer: where it lies, when it is live, what it is for, and what was
// decided of the value in it.
//
//===----------------------------------------------------------------------===//

#include "StepReporter.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Utils/TypeNames.h"

using namespace mlir;
using namespace remat;

/// Whether the kernel makes the packed form of a value.
bool StepReporter::isPacking(TaskOp task) const {
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom(task, task.getKernelAttr());
  return kernel && kernel->walk([](PackOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
}

BufferRole StepReporter::getRole(const LiveBuffer &buffer) const {
  if (!buffer.value)
    return BufferRole::Workspace;
  auto task = dyn_cast<TaskOp>(buffer.owner);
  return task ? getRole(task) : BufferRole::Activation;
}

/// That of what a task makes.
BufferRole StepReporter::getRole(TaskOp task) const {
  switch (getPhase(task)) {
  case StepPhase::Recompute:
    return BufferRole::Recomputed;
  case StepPhase::Update:
    return BufferRole::Optimizer;
  case StepPhase::Backward:
    return BufferRole::Gradient;
  default:
    return BufferRole::Activation;
  }
}

/// What happens to a value between its making and its last use.
void StepReporter::decide(const LiveBuffer &live, ReportBuffer &buffer) const {
  auto task = dyn_cast<TaskOp>(live.owner);
  if (!live.value || !task)
    return;
  // Of what backward tasks make, nothing waits, but it may be made again.
  if (task.isPlannedBackward()) {
    if (!task.isClone() && cloned.count(task.getId()))
      buffer.decision = BufferDecision::Recomputed;
    return;
  }
  if (around && around->isBackward && !task.isClone()) {
    buffer.reason = "made again in each iteration, as the loop before has not "
                    "kept it";
    return;
  }
  auto result = cast<OpResult>(live.value);
  if (std::optional<Policy> policy =
          task.getResultPolicy(result.getResultNumber()))
    buffer.why = stringifyPolicy(*policy).str();
  else if (task.getPinned())
    buffer.why = "runs once";
  bool crosses = false;
  for (const ReportEntry *entry = &report.entries[buffer.birth];
       entry <= &report.entries[buffer.death]; ++entry)
    crosses |= entry->phase == StepPhase::Backward;
  auto isUser = [&](auto isWanted) {
    return llvm::any_of(live.value.getUsers(), isWanted);
  };
  if (isUser(llvm::IsaPred<OffloadOp>))
    buffer.decision = BufferDecision::Offloaded;
  else if (isUser([&](Operation *user) {
             auto reader = dyn_cast<TaskOp>(user);
             return reader && isPacking(reader);
           }))
    buffer.decision = BufferDecision::Packed;
  else if (cloned.count(task.getId()))
    buffer.decision = BufferDecision::Recomputed;
  else if (crosses)
    buffer.decision = BufferDecision::Saved;
}

BufferRole StepReporter::getArgumentRole(unsigned number) const {
  if (around)
    return around->roles[number];
  if (parameters.contains(number))
    return BufferRole::Parameter;
  if (!options.optimizer.empty() &&
      GraphOp(graph).getArgAttr(number, RematDialect::initialValueAttrName))
    return BufferRole::Optimizer;
  return BufferRole::Input;
}

/// The caller's memory, which is there all the time; of a body of a loop, that
/// around the loop.
void StepReporter::addCallers() {
  auto add = [&](std::string name, BufferRole role, Type type) {
    ReportBuffer &buffer = report.buffers.emplace_back();
    buffer.name = std::move(name);
    buffer.role = role;
    buffer.isCallers = true;
    buffer.bytes = getBufferBytes(cast<RankedTensorType>(type));
    buffer.death = report.entries.size() - 1;
  };
  for (BlockArgument argument : graph.getBody().front().getArguments()) {
    unsigned number = argument.getArgNumber();
    bufferOf[argument] = report.buffers.size();
    bool isCarried = around && number < around->numCarried;
    add(isCarried ? nameCarried(number) : getArgumentName(number),
        getArgumentRole(number), argument.getType());
  }
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (auto [number, type] : llvm::enumerate(graph.getResultTypes())) {
    // It is the argument's buffer.
    if (donors[number])
      continue;
    bufferOfResult[number] = report.buffers.size();
    bool isGradient = !gradients[number].empty();
    std::string name = "result " + std::to_string(number);
    if (around)
      name = nameBodyResult(number);
    else if (isGradient)
      name = "gradient of " + gradients[number];
    else if (auto given = graph.getResultAttrOfType<StringAttr>(
                 number, RematDialect::nameAttrName))
      name = "result " + given.str();
    add(std::move(name), isGradient ? BufferRole::Gradient : BufferRole::Result,
        type);
  }
}

/// A buffer is called by what makes the value in it, or needs it as workspace.
void StepReporter::nameBuffer(const LiveBuffer &live, ReportBuffer &buffer) {
  const std::string &maker = report.entries[buffer.birth].name;
  if (!live.value) {
    LoopOp loop = findLoop(cast<TaskOp>(live.owner));
    bool isOnHost = live.space == MemorySpace::Host;
    buffer.name =
        (loop && isOnHost && loop.getHostSlots() ? "states in host memory of "
                                                 : "workspace of ") +
        maker;
    return;
  }
  buffer.name = maker;
  // What a loop stacks is called by what iterations make.
  if (auto task = dyn_cast<TaskOp>(live.owner); task && findLoop(task)) {
    unsigned number = cast<OpResult>(live.value).getResultNumber();
    if (const std::string &made = names->getLoopResults(task)[number].name;
        !made.empty())
      buffer.name = task.isClone() ? made + ", recomputed" : made;
  }
  // What is on its way to the host is no tensor.
  if (auto type = dyn_cast<RankedTensorType>(live.value.getType())) {
    buffer.type = describeType(type);
    buffer.name += " " + buffer.type;
  }
}

void StepReporter::addBuffers() {
  for (const LiveBuffer &live : liveness.buffers) {
    // The caller has these anyway.
    if (live.space == MemorySpace::Result)
      continue;
    if (live.value)
      bufferOf[live.value] = report.buffers.size();
    ReportBuffer &buffer = report.buffers.emplace_back();
    buffer.role = getRole(live);
    buffer.space = live.space;
    buffer.bytes = live.bytes;
    if (live.slot)
      buffer.offset = live.slot.getOffset();
    if (auto result = bufferOfResult.find(live.result);
        live.space == MemorySpace::Reused && result != bufferOfResult.end())
      buffer.within = result->second;
    buffer.birth = entryOf.lookup(live.owner);
    // The entry at the last use, or before it if that is a view's.
    size_t next = live.end + 1 < entryAt.size() ? entryAt[live.end + 1]
                                                : report.entries.size();
    buffer.death = std::max(buffer.birth, next == 0 ? 0 : next - 1);
    nameBuffer(live, buffer);
    LoopOp loop = live.value ? LoopOp() : findLoop(cast<TaskOp>(live.owner));
    if (loop && live.space == MemorySpace::Arena &&
        getWorkspaceParts(loop).getBytes() == live.bytes) {
      ReportBuffer whole = report.buffers.back();
      report.buffers.pop_back();
      addWorkspaceParts(loop, whole);
      continue;
    }
    decide(live, buffer);
    if (OpResult origin = findOrigin(live.value)) {
      buffer.task = cast<TaskOp>(origin.getOwner()).getId();
      buffer.result = origin.getResultNumber();
      if (std::string reason = reasons.find(*buffer.task, buffer.result);
          !reason.empty())
        buffer.reason = std::move(reason);
    }
  }
}

void StepReporter::addReads() {
  for (auto [op, entry] : entryOf) {
    std::vector<size_t> &reads = report.entries[entry].reads;
    for (Value operand : op->getOperands())
      if (auto buffer = bufferOf.find(GraphLiveness::getOwner(operand));
          buffer != bufferOf.end())
        reads.push_back(buffer->second);
    llvm::sort(reads);
    reads.erase(llvm::unique(reads), reads.end());
  }
}

void StepReporter::countLive() {
  for (const ReportBuffer &buffer : report.buffers) {
    if (buffer.isCallers || buffer.space != MemorySpace::Arena)
      continue;
    for (size_t i = buffer.birth; i <= buffer.death; ++i) {
      report.entries[i].liveBytes += buffer.bytes;
      report.entries[i].live[unsigned(buffer.role)] += buffer.bytes;
    }
  }
}
