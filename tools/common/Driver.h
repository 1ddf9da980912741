//===- Driver.h - what the compiling tools share ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of planning, reading of models, and how errors are reported: with
// exit status 1, or 3 when the budget is infeasible.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_DRIVER_H
#define REMAT_TOOLS_COMMON_DRIVER_H

#include "common/Manifest.h"

#include "remat/Pipelines/StepCompiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace remat::tools {

/// The options of planning beside the budget.
struct PlanFlags {
  explicit PlanFlags(llvm::cl::OptionCategory &category);

  /// The options for one budget, written as for planning::parseBudget. Without
  /// `--time-limit`, the plan does not depend on the machine.
  llvm::Expected<PlanOptions> makeOptions(llvm::StringRef budget) const;

private:
  /// The description of `planner`, which lists all of them. An option keeps no
  /// copy of its description.
  std::string plannerHelp;
  /// What went wrong with a library of planners.
  std::string loadFailure;

public:
  llvm::cl::list<std::string> planners;
  llvm::cl::opt<std::string> planner;
  llvm::cl::opt<double> effort, timeLimit;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> reorder, lend;
  llvm::cl::opt<std::string> hostBudget, linkBandwidth;
  llvm::cl::list<std::string> regionBudgets;
};

/// A context with remat's dialects whose diagnostics go to standard error,
/// with the lines of the model that they are about.
class ModelReader {
public:
  ModelReader();

  /// Reads a module from a file, or standard input for "-".
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> read(llvm::StringRef path);
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  read(std::unique_ptr<llvm::MemoryBuffer> buffer);

private:
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics;
};

/// Checks that the arguments of `function` in `module` are those of the
/// manifest and names them. A function that is not there is left to the
/// compiler to report.
llvm::Error applyManifest(const Manifest &manifest, mlir::ModuleOp module,
                          llvm::StringRef function);

/// The values at first of the arguments that hold state which the program had
/// in globals (remat-import-random-state). These are the last arguments.
std::vector<Tensor> getInitialState(mlir::FunctionOpInterface entry);

/// The numbers of the arguments that are parameters.
llvm::SmallVector<int64_t> getParameters(const Manifest &manifest);

/// An error with only a message.
llvm::Error makeError(const llvm::Twine &message);

/// Prints the error, if it is one; returns the tool's exit status.
int reportError(llvm::StringRef tool, llvm::Error error);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_DRIVER_H
