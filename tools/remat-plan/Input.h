//===- Input.h - what remat-plan plans --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planning problem or one of a fast memory from JSON, or a model.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_INPUT_H
#define REMAT_TOOLS_REMAT_PLAN_INPUT_H

#include "common/Driver.h"
#include "common/StepFlags.h"

#include "remat/Planning/FastMemory.h"
#include "remat/Planning/Serialization.h"

#include <variant>

namespace remat::plan {

/// A model as it was read: a function, or a graph of tasks.
struct ModelSource {
  /// Owns what the module is made of.
  std::unique_ptr<tools::ModelReader> reader;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What it is brought to tasks with.
  StepOptions options;
};

/// A model, brought to tasks.
struct Model : ModelSource {
  GraphOp graph;
};

using Source = std::variant<planning::Instance, planning::fastmemory::Problem,
                            ModelSource>;
using Input =
    std::variant<planning::Instance, planning::fastmemory::Problem, Model>;

/// Reads an instance or a problem of a fast memory (a JSON object), or a model
/// in MLIR's text or bytecode, for which `options` are completed as the
/// manifest says, if there is one. "-" is standard input. The limits of
/// `options`, the budget aside, replace those of an instance where `flags` were
/// given.
llvm::Expected<Source> readSource(llvm::StringRef path,
                                  llvm::StringRef manifestFile,
                                  const tools::StepFlags &flags,
                                  const StepOptions &options);

/// The same, and brings a function to tasks.
llvm::Expected<Input> readInput(llvm::StringRef path,
                                llvm::StringRef manifestFile,
                                const tools::StepFlags &flags,
                                const StepOptions &options);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_INPUT_H
