//===- Pipelines.h - named pipelines, one for each level --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the passes are put together. Each function takes a module from one level
// to the next; all are also pipelines of remat-opt:
//
//   remat-import-pipeline   L0 as exported       -> L0 in canonical form
//   remat-joint-pipeline    L0                   -> L1 forward and backward
//   remat-tasks-pipeline    L1                   -> L2 tasks with costs
//   remat-plan-pipeline     L2                   -> L4 planned and placed
//   remat-pipeline          L0 as exported       -> L4, or another level
//
// Their options are those of a step (StepOptions.h) that they read.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_PIPELINES_H
#define REMAT_PIPELINES_PIPELINES_H

#include "remat/Pipelines/StepOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace remat {

/// Turns an exporter's module into one function in the form that
/// `remat-import-verify` checks, with elementwise operations fused, and those
/// of which it takes derivatives (remat.vjp, remat.jvp).
void buildImportPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// The part of the import that changes the signatures of functions, which
/// manifests, files of arguments and names are about: unsigned integers, tuples
/// and tokens of foreign dialects, random state in globals, and memrefs among
/// the arguments. A module without them stays as it is.
llvm::LogicalResult importSignatures(mlir::ModuleOp module);

/// Takes the derivatives that the program is written with and those that
/// options ask for, and fuses across forward and backward.
void buildJointPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// Cuts the joint function into tasks with costs.
void buildTasksPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// Plans the graph of tasks under the budget and gives values their addresses.
void buildPlanPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// Gives the values of a planned graph their addresses; with
/// `reuseResultBuffers`, buffers are assigned first.
void buildPlacePipeline(mlir::OpPassManager &pm, bool reuseResultBuffers);

/// From an exporter's module up to `level`.
void buildRematPipeline(mlir::OpPassManager &pm, const StepOptions &options,
                        StepLevel level = StepLevel::Placed);

/// Canonicalizations of upstream, by their debug names, that pipelines leave
/// out since they find nothing to do but take long.
llvm::ArrayRef<llvm::StringRef> getDisabledCanonicalizations();

/// Registers all dialects, interfaces and external models that remat's passes
/// need, remat's own dialect included.
void registerRematDialects(mlir::DialectRegistry &registry);

/// The part of the above that is not upstream's: remat's dialect, and what its
/// passes attach to the operations of others. For programs that have upstream's
/// dialects and extensions registered themselves.
void registerRematExtensions(mlir::DialectRegistry &registry);

/// Registers all passes of remat and the pipelines above.
void registerRematPasses();

} // namespace remat

#endif // REMAT_PIPELINES_PIPELINES_H
