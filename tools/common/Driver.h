//===- Driver.h - what the compiling tools share ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How command lines are parsed, models are read, and errors are reported: with
// exit status 1, or 3 when the budget is infeasible.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_DRIVER_H
#define REMAT_TOOLS_COMMON_DRIVER_H

#include "common/Tensor.h"

#include "remat/Pipelines/StepCompiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace remat::tools {

/// What every tool does: parses the command line, runs the tool, and reports
/// its error, if it is one. Returns the exit status.
///
/// `getCategory` makes the options of the tool and returns what they belong to.
/// Only these are listed by --help: they are made after LLVM's own options,
/// some of which have the same names, were dropped.
int runMain(int argc, char **argv, llvm::StringLiteral tool,
            llvm::StringRef overview,
            llvm::function_ref<llvm::cl::OptionCategory &()> getCategory,
            llvm::function_ref<llvm::Error()> run);

/// Seconds since some moment.
double now();

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

/// The values at first of the arguments that hold state which the program had
/// in globals (remat-import-random-state). These are the last arguments.
std::vector<Tensor> getInitialState(mlir::FunctionOpInterface entry);

/// An error with only a message.
llvm::Error makeError(const llvm::Twine &message);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_DRIVER_H
