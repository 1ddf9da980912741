//===- AssignBuffers.cpp - which values share a buffer (L3) ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Planning/Algorithms.h"

namespace remat {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

void remat::assignBuffers(GraphOp graph, ModuleOp module) {
  writeInPlace(graph, module);
  placeInResultBuffers(graph, module);
}

llvm::Expected<int64_t> remat::simulatePeak(GraphOp graph) {
  planning::Problem schedule = GraphProblem(graph).problem;
  // The policies are obeyed; what they ask for is not asked of a clone again.
  for (planning::Value &value : schedule.values)
    value.policy = planning::Policy::None;
  llvm::Expected<planning::Solution> solution =
      planning::solve(schedule, "save-all");
  if (!solution)
    return solution.takeError();
  return solution->peakBytes;
}

LogicalResult remat::reassignBuffers(GraphOp graph, ModuleOp module) {
  if (!graph.isPlanned() || graph.isPlaced())
    return graph.emitOpError("is ")
           << (graph.isPlaced() ? "placed" : "not planned")
           << ", expected it planned and not yet placed to assign buffers";
  for (auto task : graph.getOps<TaskOp>())
    task.removePlacementAttr();
  assignBuffers(graph, module);
  llvm::Expected<int64_t> peak = simulatePeak(graph);
  if (!peak)
    return graph.emitOpError(llvm::toString(peak.takeError()));
  graph.setPlannedPeak(*peak);
  return success();
}

namespace {
struct AssignBuffersPass
    : remat::impl::AssignBuffersPassBase<AssignBuffersPass> {
  void runOnOperation() override {
    for (GraphOp graph : getStepGraphs(getOperation()))
      if (failed(reassignBuffers(graph, getOperation())))
        return signalPassFailure();
  }
};
} // namespace
