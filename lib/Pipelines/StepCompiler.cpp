//===- StepCompiler.cpp - from a model to a runnable step -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepCompiler.h"

#include "TransformScript.h"

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Pipelines/Pipelines.h"

#include "mlir/IR/Verifier.h"

#include <set>

using namespace mlir;
using namespace remat;

/// Runs passes that are tested with a verifier after each; here one runs once,
/// on what is handed out, since it would take half of the time.
static LogicalResult runPasses(PassManager &pm, ModuleOp module) {
  pm.enableVerifier(false);
  return success(succeeded(pm.run(module)) && succeeded(verify(module)));
}

/// Brings a module with functions to a level.
static LogicalResult compileTo(StepLevel level, ModuleOp module,
                               const StepOptions &options) {
  if (!findEntry(module, options.function))
    return reportNoEntry(module, options.function);
  if (llvm::Error error = checkStepOptions(options))
    return module.emitError(llvm::toString(std::move(error)));
  PassManager pm(module.getContext());
  buildRematPipeline(pm, options, level);
  return runPasses(pm, module);
}

LogicalResult remat::compileToJoint(ModuleOp module,
                                    const StepOptions &options) {
  return compileTo(StepLevel::Joint, module, options);
}

LogicalResult remat::compileToTasks(ModuleOp module,
                                    const StepOptions &options) {
  return compileTo(StepLevel::Tasks, module, options);
}

GraphOp remat::getOnlyGraph(ModuleOp module) {
  auto graphs = getStepGraphs(module);
  if (!llvm::hasSingleElement(graphs)) {
    module.emitError("expected one 'remat.graph', found ")
        << std::distance(graphs.begin(), graphs.end());
    return {};
  }
  // One that is to be run on functions has been, and is gone.
  for (Operation &op : module.getOps())
    if (isTransformScript(op)) {
      op.emitError("transform script has no effect on a graph of tasks, run it "
                   "on the function that the graph is made of");
      return {};
    }
  return *graphs.begin();
}

/// Bytes of values that are live between the forward computation and the first
/// task of the backward one.
static int64_t countHeldBytes(GraphOp graph, const GraphLiveness &liveness) {
  unsigned position = 0;
  for (Operation &op : graph.getBody().front()) {
    auto task = dyn_cast<TaskOp>(op);
    if (task && task.isPlannedBackward())
      break;
    ++position;
  }
  int64_t bytes = 0;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.value && buffer.begin < position && buffer.end >= position &&
        (buffer.space == MemorySpace::Arena ||
         buffer.space == MemorySpace::Reused))
      bytes += buffer.bytes;
  return bytes;
}

StepSummary remat::summarizeStep(GraphOp graph) {
  StepSummary summary;
  GraphLiveness liveness(graph);
  summary.heldBytes = countHeldBytes(graph, liveness);
  if (auto bytes =
          graph->getAttrOfType<IntegerAttr>(RematDialect::readBytesAttrName))
    summary.readBytes = bytes.getInt();
  if (auto order = graph->getAttrOfType<StringAttr>(
          RematDialect::microbatchOrderAttrName))
    summary.microbatchOrder = order.str();
  if (auto parts = graph->getAttrOfType<IntegerAttr>(batchPartsAttrName))
    summary.batchParts = parts.getInt();
  if (auto rows = graph->getAttrOfType<IntegerAttr>(sliceRowsAttrName))
    summary.sliceRows = rows.getInt();
  summary.slicesHidden = graph->hasAttr(slicesHiddenAttrName);
  if (auto layers = graph->getAttrOfType<IntegerAttr>(foldedLayersAttrName))
    summary.foldedLayers = layers.getInt();
  summary.saveAllPeak = graph.getSaveAllPeak().value_or(0);
  summary.plannedPeak = graph.getPlannedPeak().value_or(0);
  summary.simulatedPeak = liveness.peak(MemorySpace::Arena).bytes;
  summary.arenaBytes = graph.getArenaBytes().value_or(0);
  summary.stateBytes = graph.getStateBytes().value_or(0);
  summary.hostArenaBytes = graph.getHostArenaBytes().value_or(0);
  summary.simulatedHostPeak = liveness.peak(MemorySpace::Host).bytes;
  summary.plannedHostPeak = summary.simulatedHostPeak;
  summary.budget = graph.getBudget().value_or(summary.arenaBytes);
  std::set<StringRef> kernels;
  std::set<int64_t> packed;
  for (auto task : graph.getOps<TaskOp>()) {
    ++summary.tasks;
    summary.recomputedTasks += task.isClone();
    summary.absorbedTasks += static_cast<int64_t>(getAbsorbed(task).size());
    kernels.insert(task.getKernel());
    if (!task->hasAttr(packsAttrName))
      continue;
    ++summary.packedValues;
    auto error = task->getAttrOfType<FloatAttr>(gradientErrorAttrName);
    if (error && packed.insert(task.getId()).second)
      summary.promisedGradientError =
          summary.promisedGradientError.value_or(0) + error.getValueAsDouble();
    summary.packedBytesSaved += getBufferBytes(task.getOperand(0));
    for (Value part : task->getResults())
      summary.packedBytesSaved -= getBufferBytes(part);
  }
  summary.distinctTasks = kernels.size();
  for (auto task : graph.getOps<TaskOp>())
    if (task.getHostWorkspace() != 0)
      summary.offloadedBytes += getOffloadedBytes(findLoop(task));
  for (auto offload : graph.getOps<OffloadOp>())
    summary.offloadedBytes +=
        getBufferBytes(cast<RankedTensorType>(offload.getSource().getType()));
  return summary;
}

llvm::Expected<StepSummary> remat::planModule(ModuleOp module,
                                              const PlanOptions &options,
                                              GraphPlan *found) {
  GraphOp graph = getOnlyGraph(module);
  if (!graph)
    return llvm::createStringError("the module holds no step");
  GraphPlan plan;
  if (llvm::Error error = planGraph(graph, options, &plan))
    return std::move(error);
  llvm::Expected<StepSummary> summary =
      placeModule(module, options.reuseResultBuffers);
  if (summary)
    summary->plannedHostPeak = plan.solution.hostPeakBytes;
  if (found)
    *found = std::move(plan);
  return summary;
}

llvm::Expected<StepSummary> remat::placeModule(ModuleOp module,
                                               bool reuseResultBuffers) {
  PassManager pm(module.getContext());
  buildPlacePipeline(pm, reuseResultBuffers);
  if (failed(runPasses(pm, module)))
    return llvm::createStringError("the step could not be placed");
  return summarizeStep(getOnlyGraph(module));
}
