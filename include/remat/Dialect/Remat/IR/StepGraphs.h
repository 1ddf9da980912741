//===- StepGraphs.h - graphs of steps and of loops' bodies ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module holds the graph of a step and, private to it, the graphs of the
// bodies of its loops.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_STEPGRAPHS_H
#define REMAT_DIALECT_REMAT_IR_STEPGRAPHS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/BuiltinOps.h"

namespace remat {

/// The graphs of `module` that are no bodies of loops.
inline auto getStepGraphs(mlir::ModuleOp module) {
  return llvm::make_filter_range(module.getOps<GraphOp>(), [](GraphOp graph) {
    return !graph.isPrivate();
  });
}

/// The loop that `task` runs, or null.
LoopOp findLoop(TaskOp task);

/// The graph that `loop` runs, or null as long as that is a function.
GraphOp findBody(LoopOp loop);

/// The graphs that `loop` runs, those of `again` included.
llvm::SmallVector<GraphOp> findBodies(LoopOp loop);

/// The time of one iteration of a body, in nanoseconds.
int64_t getIterationCost(GraphOp body);

/// Scratch bytes of `loop`, whose bodies are placed graphs: the larger arena of
/// both; a buffer for each carried value that the body does not update in
/// place; and if it makes states again, two buffers for the current ones and
/// one for each slot but the first, which is an operand.
int64_t getWorkspaceBytes(LoopOp loop);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_STEPGRAPHS_H
