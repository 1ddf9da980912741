//===- StepEntries.cpp - what runs in a step ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each entry: what it does, from where in the model it comes, and its
// planned time.
//
//===----------------------------------------------------------------------===//

#include "StepReporter.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Planning/Problem.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;

StepPhase StepReporter::getPhase(TaskOp task) const {
  if (task.isClone())
    return StepPhase::Recompute;
  if (isUpdate(task))
    return StepPhase::Update;
  if (task.getBackward())
    return StepPhase::Backward;
  // The loop before it, which the derivative is of, has done it already.
  return around && around->isBackward ? StepPhase::Recompute
                                      : StepPhase::Forward;
}

/// Tasks share kernels; one analysis is enough for each.
FailureOr<EntryWork> StepReporter::analyze(TaskOp task) {
  if (auto known = kernels.find(task.getKernel()); known != kernels.end())
    return known->second;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      task, task.getKernelAttr());
  if (!kernel)
    return task.emitOpError("calls kernel '")
           << task.getKernel() << "', which is not a function";
  FailureOr<codegen::KernelInfo> info =
      target->analyzeKernel(kernel, options.threads);
  if (failed(info))
    return failure();
  return kernels[task.getKernel()] = {
             info->bytesRead, info->bytesWritten,
             addCounts(info->flops, info->contractionFlops)};
}

int64_t StepReporter::getTransferTime(Value value) const {
  if (link == 0 || link == planning::infiniteBandwidth)
    return 0;
  planning::Problem problem;
  problem.linkBytesPerSecond = link;
  return problem.transferTime(
      getBufferBytes(cast<RankedTensorType>(value.getType())));
}

/// Gives an entry its planned time. A transfer begins when what is before it in
/// the schedule is done and its stream is free; what reads it waits for it, and
/// a release for the transfer that it ends.
void StepReporter::schedule(Operation &op, ReportEntry &entry) {
  int64_t &clock = clocks[entry.stream];
  entry.start = std::max(clock, clocks[REMAT_STREAM_COMPUTE]);
  for (Value operand : op.getOperands()) {
    Value owner = GraphLiveness::getOwner(operand);
    const auto &times = isa<ReleaseOp>(op) ? offloadedAt : readyAt;
    if (auto time = times.find(owner); time != times.end())
      entry.start = std::max(entry.start, time->second);
  }
  clock = entry.start + entry.cost;
  if (entry.stream == REMAT_STREAM_COMPUTE)
    return;
  readyAt[op.getResult(0)] = clock;
  if (isa<OffloadOp>(op))
    offloadedAt[GraphLiveness::getOwner(op.getOperand(0))] = clock;
}

LogicalResult StepReporter::addTask(TaskOp task) {
  ReportEntry entry;
  if (LoopOp loop = findLoop(task)) {
    if (failed(addBodies(task, loop, entry)))
      return failure();
  } else {
    FailureOr<EntryWork> work = analyze(task);
    if (failed(work))
      return failure();
    entry.add(*work, 1);
  }
  entry.kernel = task.getKernel().str();
  entry.kind = describeKind(task);
  entry.phase = getPhase(task);
  entry.cost = task.getCost();
  entry.task = task.getId();
  if (!task.isClone())
    originals[task.getId()] = report.entries.size();
  else if (auto it = originals.find(task.getId()); it != originals.end())
    entry.copyOf = it->second;
  report.entries.push_back(std::move(entry));
  return success();
}

void StepReporter::addTransfer(Operation &op) {
  ReportEntry entry;
  entry.phase = StepPhase::Transfer;
  entry.kind = entry.kernel = op.getName().stripDialect().str();
  Value source = op.getOperand(0);
  if (isa<OffloadOp>(op)) {
    entry.stream = REMAT_STREAM_TO_HOST;
    entry.cost = getTransferTime(source);
  } else if (isa<ReloadOp>(op)) {
    entry.stream = REMAT_STREAM_TO_DEVICE;
    entry.cost = getTransferTime(op.getResult(0));
    if (auto offload = entryOf.find(source.getDefiningOp());
        offload != entryOf.end())
      entry.offloadedBy = offload->second;
  }
  if (entry.stream != REMAT_STREAM_COMPUTE)
    entry.bytesRead = entry.bytesWritten =
        getBufferBytes(cast<RankedTensorType>(
            isa<OffloadOp>(op) ? source.getType() : op.getResult(0).getType()));
  report.entries.push_back(std::move(entry));
}

/// The name that all that the program called by one in the bodies of a loop is
/// in.
static std::string findBodyLabel(LoopOp loop) {
  std::optional<std::string> found;
  for (GraphOp body : findBodies(loop))
    for (auto task : body.getOps<TaskOp>()) {
      LoopOp inner = findLoop(task);
      std::string label = findLabel(task.getLoc()).str();
      if (label.empty() && inner)
        label = findBodyLabel(inner);
      if (!label.empty())
        found = found ? findCommonScope(*found, label).str() : label;
    }
  return found.value_or("");
}

LogicalResult StepReporter::addEntry(Operation &op) {
  entryAt.push_back(report.entries.size());
  if (isViewOp(&op))
    return success();
  entryOf[&op] = report.entries.size();
  if (auto task = dyn_cast<TaskOp>(op)) {
    if (failed(addTask(task)))
      return failure();
  } else {
    addTransfer(op);
  }
  ReportEntry &entry = report.entries.back();
  entry.layer = names->getLayers().getLayer(&op).str();
  // A recomputation is where its original is, whatever is around it.
  if (entry.copyOf)
    entry.layer = report.entries[*entry.copyOf].layer;
  entry.label = findLabel(op.getLoc()).str();
  if (auto task = dyn_cast<TaskOp>(op); task && entry.label.empty())
    if (LoopOp loop = findLoop(task))
      entry.label = findBodyLabel(loop);
  entry.location = describeLocation(op.getLoc());
  entry.name = joinName(entry.layer, entry.kind);
  if (entry.phase == StepPhase::Recompute)
    entry.name += ", recomputed";
  else if (entry.phase == StepPhase::Backward)
    entry.name += ", backward";
  schedule(op, entry);
  return success();
}
