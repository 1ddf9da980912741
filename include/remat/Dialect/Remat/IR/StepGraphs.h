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
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat {

/// The graphs of `module` that are no bodies of loops.
inline auto getStepGraphs(mlir::ModuleOp module) {
  return llvm::make_filter_range(module.getOps<GraphOp>(), [](GraphOp graph) {
    return !graph.isPrivate();
  });
}

/// On functions and graphs: the number of parts that do the batch.
inline constexpr llvm::StringLiteral batchPartsAttrName = "remat.batch_parts";

/// On arguments: draws of random numbers have the argument as their key.
inline constexpr llvm::StringLiteral keyAttrName = "remat.key";

/// On graphs: convolutions have plans of a library with less workspace than in
/// the graph that this is an alternative to.
inline constexpr llvm::StringLiteral secondPlansAttrName = "remat.second_plans";

/// On graphs: what the forward computation makes by kernels that are run again
/// in the graph that this is an alternative to is kept.
inline constexpr llvm::StringLiteral keepsRepeatedAttrName =
    "remat.keeps_repeated";

/// On functions and graphs: large values that several elementwise operations
/// share are made by one kernel with all of these, see remat-fuse-readers.
inline constexpr llvm::StringLiteral fusedReadersAttrName =
    "remat.fused_readers";

/// On functions and graphs: the rows of slices of wide values, where these are
/// other than those that the target asks for.
inline constexpr llvm::StringLiteral sliceRowsAttrName = "remat.slice_rows";

/// On functions and graphs: hidden layers are done in slices of rows, too.
inline constexpr llvm::StringLiteral slicesHiddenAttrName =
    "remat.slices_hidden";

/// On functions and graphs: the number of layers that are iterations of loops,
/// see remat-fold-layers.
inline constexpr llvm::StringLiteral foldedLayersAttrName =
    "remat.folded_layers";

/// The functions or graphs that may be planned in the place of `function`: each
/// is named by the one before.
llvm::SmallVector<mlir::FunctionOpInterface>
findAlternatives(mlir::FunctionOpInterface function);

/// The graphs of `module` that are no bodies of loops, and the alternatives to
/// them.
llvm::SmallVector<GraphOp> collectStepGraphs(mlir::ModuleOp module);

/// Erases the graphs and kernels that no step graph of `module` needs.
void eraseUnneeded(mlir::ModuleOp module);

/// What stacks `slice`, a slice of a loop, or nothing if it is a buffer.
StackOp findStack(mlir::Value slice);
/// What alone reads `result`, a stacked result of a loop, and unstacks it: each
/// element has a buffer. Nothing if the result is one buffer.
UnstackOp findUnstack(mlir::Value result);
/// What a task that runs `loop` has buffers of: its operands and results, in
/// their order, with the elements of those that are stacked or unstacked around
/// the loop in their places.
llvm::SmallVector<mlir::Value> getBufferOperands(LoopOp loop);
llvm::SmallVector<mlir::Value> getBufferResults(LoopOp loop);

/// The names of the kernels that run loops. Looking for the kernel of each task
/// would take time for each function of the module.
llvm::DenseSet<mlir::StringAttr> findLoopKernels(mlir::ModuleOp module);

/// The loop that `task` runs, or null.
LoopOp findLoop(TaskOp task);

/// The graph that `loop` runs, or null as long as that is a function.
GraphOp findBody(LoopOp loop);

/// The graphs that `loop` runs, those of `again` included.
llvm::SmallVector<GraphOp> findBodies(LoopOp loop);

/// The operands of `loop` that the arguments of `body`, one of the graphs that
/// it runs, are: elements of those that are slices.
llvm::SmallVector<mlir::Value> getBodyOperands(LoopOp loop, GraphOp body);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_STEPGRAPHS_H
