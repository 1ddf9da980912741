//===- PlaceBodies.cpp - plans and addresses for bodies of loops ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To the graph around it a loop is a task whose workspace is what an iteration
// needs. So bodies are planned and placed first, the innermost ones before all
// others, and tell the tasks that run them what they take.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "GraphPlanning.h"
#include "LoopCosts.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Utils/Saturating.h"

namespace remat {
#define GEN_PASS_DEF_PLACEBODIESPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct PlaceBodies : remat::impl::PlaceBodiesPassBase<PlaceBodies> {
  using PlaceBodiesPassBase::PlaceBodiesPassBase;

  void runOnOperation() override {
    kernels = findLoopKernels(getOperation());
    for (GraphOp graph : collectStepGraphs(getOperation()))
      if (failed(describeLoops(graph)))
        return signalPassFailure();
  }

private:
  /// Says of each task of `graph` that runs a loop what it takes.
  LogicalResult describeLoops(GraphOp graph) {
    for (auto task : graph.getOps<TaskOp>()) {
      if (!kernels.contains(task.getKernelAttr().getAttr()))
        continue;
      LoopOp loop = findLoop(task);
      GraphOp body = findBody(loop);
      if (!body)
        return task.emitOpError("runs the loop body '")
               << loop.getBody() << "', expected a 'remat.graph'";
      if (!body.isPlaced() && failed(place(body)))
        return failure();
      task.setCost(multiplyCounts(getIterationCost(body), getIterations(loop)));
      task.setWorkspace(getWorkspaceBytes(loop));
      task.setHostWorkspace(getHostWorkspaceBytes(loop));
    }
    return success();
  }

  /// Refuses what an iteration must have in host memory for itself.
  static LogicalResult refuseOffloads(GraphOp body) {
    for (auto task : body.getOps<TaskOp>())
      for (OpResult result : task.getResults())
        if (task.getResultPolicy(result.getResultNumber()) ==
            Policy::MustCpuOffload)
          return task.emitOpError(
              "makes a value that is MUST_CPU_OFFLOAD, and its derivative is "
              "in the same iteration of a loop, as in a part of a batch: host "
              "memory holds what loops keep for other loops; expected another "
              "policy, such as MUST_SAVE, or no loop around both "
              "(microbatches, microbatch-order)");
    return success();
  }

  LogicalResult place(GraphOp &body) {
    if (failed(describeLoops(body)))
      return failure();
    // The host arena is the step's.
    PlanOptions options;
    options.hostBudget = 0;
    if (llvm::Error error = planGraph(body, options)) {
      std::string message = llvm::toString(std::move(error));
      return failed(refuseOffloads(body)) ? failure()
                                          : body.emitOpError(message);
    }
    if (failed(reassignBuffers(body, getOperation())))
      return failure();
    return placeGraph(body);
  }

  DenseSet<StringAttr> kernels;
};
} // namespace
