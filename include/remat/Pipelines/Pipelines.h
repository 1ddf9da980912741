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
//   remat-pipeline          L0 as exported       -> L4
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_PIPELINES_H
#define REMAT_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include "remat/AutoDiff/AutoDiff.h"

namespace remat {

/// Which function to compile.
struct ImportPipelineOptions
    : mlir::PassPipelineOptions<ImportPipelineOptions> {
  Option<std::string> function{
      *this, "function", llvm::cl::desc("Name of the function to compile"),
      llvm::cl::init("main")};
};

/// Which function, and what to differentiate.
struct JointPipelineOptions : mlir::PassPipelineOptions<JointPipelineOptions> {
  Option<std::string> function{
      *this, "function", llvm::cl::desc("Name of the function to compile"),
      llvm::cl::init("main")};
  Option<bool> differentiate{*this, "differentiate",
                             llvm::cl::desc("Append the backward computation"),
                             llvm::cl::init(true)};
  ListOption<int64_t> wrt{
      *this, "wrt",
      llvm::cl::desc("Numbers of the arguments to differentiate with respect "
                     "to; none for all floating-point arguments")};
  Option<int64_t> result{
      *this, "result",
      llvm::cl::desc("Number of the result to differentiate; negative numbers "
                     "count from the end"),
      llvm::cl::init(-1)};
  Option<bool> cotangents{
      *this, "cotangents",
      llvm::cl::desc("Differentiate all results, with a cotangent argument for "
                     "each, instead of one"),
      llvm::cl::init(false)};
  Option<bool> tangents{
      *this, "tangents",
      llvm::cl::desc("Then append tangents of all results, gradients included, "
                     "with a tangent argument for each argument to "
                     "differentiate with respect to"),
      llvm::cl::init(false)};
};

struct TasksPipelineOptions : mlir::PassPipelineOptions<TasksPipelineOptions> {
  Option<std::string> function{*this, "function",
                               llvm::cl::desc("Name of the function to cut"),
                               llvm::cl::init("main")};
  Option<int> threads{*this, "threads",
                      llvm::cl::desc("Threads that the step will run on; 0 for "
                                     "all cores"),
                      llvm::cl::init(0)};
  Option<std::string> costs{*this, "costs",
                            llvm::cl::desc("File of measured costs")};
  Option<bool> separateBackward{
      *this, "separate-backward",
      llvm::cl::desc("Let forward and backward computation be separate calls"),
      llvm::cl::init(false)};
};

/// See the options of the pass remat-plan.
struct PlanPipelineOptions : mlir::PassPipelineOptions<PlanPipelineOptions> {
  Option<std::string> budget{
      *this, "budget", llvm::cl::desc("Bytes of the arena, 'N%' or 'min'"),
      llvm::cl::init("")};
  Option<std::string> planner{
      *this, "planner",
      llvm::cl::desc("Name of the planning algorithm; remat-plan --help lists "
                     "them"),
      llvm::cl::init("auto")};
};

/// What remat-pipeline takes: the options of all its parts.
struct FullPipelineOptions : JointPipelineOptions {
  Option<bool> separateBackward{
      *this, "separate-backward",
      llvm::cl::desc("Let forward and backward computation be separate calls"),
      llvm::cl::init(false)};
  Option<int> threads{*this, "threads",
                      llvm::cl::desc("Threads that the step will run on; 0 for "
                                     "all cores"),
                      llvm::cl::init(0)};
  Option<std::string> budget{
      *this, "budget", llvm::cl::desc("Bytes of the arena, 'N%' or 'min'"),
      llvm::cl::init("")};
  Option<std::string> planner{
      *this, "planner",
      llvm::cl::desc("Name of the planning algorithm; remat-plan --help lists "
                     "them"),
      llvm::cl::init("auto")};
};

/// Replaces the derivatives that a program is written with (remat.vjp, rules of
/// functions).
void buildDerivativesPipeline(mlir::OpPassManager &pm);

/// Turns an exporter's module into one function in the form that
/// `remat-import-verify` checks, with elementwise operations fused.
void buildImportPipeline(mlir::OpPassManager &pm,
                         const ImportPipelineOptions &options);

void buildJointPipeline(mlir::OpPassManager &pm,
                        const JointPipelineOptions &options);
/// The same with derivatives that are appended one after the other, each to
/// what the previous one made.
void buildJointPipeline(mlir::OpPassManager &pm, llvm::StringRef function,
                        llvm::ArrayRef<DifferentiateOptions> derivatives);
void buildTasksPipeline(mlir::OpPassManager &pm,
                        const TasksPipelineOptions &options);
void buildPlanPipeline(mlir::OpPassManager &pm,
                       const PlanPipelineOptions &options);

/// From an exporter's module to a placed graph.
void buildRematPipeline(mlir::OpPassManager &pm,
                        const FullPipelineOptions &options);

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
