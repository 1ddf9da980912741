//===- StepCompiler.h - from a model to a runnable step ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole way for tools and embedders: a model is brought to tasks once and
// can then be planned and compiled under several budgets.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPCOMPILER_H
#define REMAT_PIPELINES_STEPCOMPILER_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/StepOptions.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace remat {

/// What is known of a planned and placed step before it runs, in bytes.
struct StepSummary {
  int64_t saveAllPeak = 0;
  /// What the plan promises.
  int64_t plannedPeak = 0;
  /// What the live ranges of the placed graph add up to.
  int64_t simulatedPeak = 0;
  int64_t arenaBytes = 0;
  /// The part of the arena that lasts from one call of the step to the next.
  int64_t stateBytes = 0;
  int64_t budget = 0;
  int64_t hostArenaBytes = 0;
  /// The same two peaks in host memory.
  int64_t plannedHostPeak = 0, simulatedHostPeak = 0;
  int64_t tasks = 0, distinctTasks = 0, recomputedTasks = 0;
  /// How often a task's kernel makes for itself what another task makes.
  int64_t absorbedTasks = 0;
  int64_t offloadedBytes = 0;
  /// How often values are packed, and by how many bytes their packed forms are
  /// smaller.
  int64_t packedValues = 0, packedBytesSaved = 0;
  /// With `max-gradient-error`, the most that packed values add to the relative
  /// error of a gradient.
  std::optional<double> promisedGradientError;
  /// Of values, in the arena or in reused buffers, that live when the backward
  /// computation begins; and of those that it would read if nothing were fused
  /// or made again.
  int64_t heldBytes = 0, readBytes = 0;
  /// In which order parts of a batch run, "parts" or "layers"; empty if there
  /// are none.
  std::string microbatchOrder;
  /// In how many parts the batch of the step is done, by `split-batch`.
  int64_t batchParts = 1;
  /// Rows of slices of wide values; 0 for those that the target asks for.
  int64_t sliceRows = 0;
  /// Whether hidden layers are done in such slices, too.
  bool slicesHidden = false;
  /// How many layers are iterations of loops, by `fold-layers`.
  int64_t foldedLayers = 0;
};

/// Brings `module` (L0, as exported) to L1, in place. Fails with diagnostics.
llvm::LogicalResult compileToJoint(mlir::ModuleOp module,
                                   const StepOptions &options);

/// Brings `module` (L0, as exported) to L2, in place. Fails with diagnostics.
llvm::LogicalResult compileToTasks(mlir::ModuleOp module,
                                   const StepOptions &options);

/// Plans and places the graph of `module` (L2) in place, and says what the plan
/// is if that is asked for. An infeasible budget is a
/// planning::InfeasibleBudgetError; the module is then unchanged.
llvm::Expected<StepSummary> planModule(mlir::ModuleOp module,
                                       const PlanOptions &options,
                                       GraphPlan *found = nullptr);

/// Places the graph of `module` (L3) in place; with `reuseResultBuffers`,
/// buffers are assigned first. Fails with diagnostics and an error.
llvm::Expected<StepSummary> placeModule(mlir::ModuleOp module,
                                        bool reuseResultBuffers);

/// What is known of a placed graph (L4). Figures that it does not carry are 0.
StepSummary summarizeStep(GraphOp graph);

/// The one graph of a module at L2 to L4; null with a diagnostic if there is
/// not exactly one.
GraphOp getOnlyGraph(mlir::ModuleOp module);

} // namespace remat

#endif // REMAT_PIPELINES_STEPCOMPILER_H
