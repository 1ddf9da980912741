//===- Input.h - what remat-plan plans --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planning problem from a JSON instance, or a model.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_INPUT_H
#define REMAT_TOOLS_REMAT_PLAN_INPUT_H

#include "common/Driver.h"
#include "common/StepFlags.h"

#include "remat/Planning/Serialization.h"

#include <variant>

namespace remat::plan {

/// A model, brought to tasks.
struct Model {
  /// Owns what the module is made of.
  std::unique_ptr<tools::ModelReader> reader;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphOp graph;
  /// What it was brought there with.
  StepOptions options;
};

using Input = std::variant<planning::Instance, Model>;

/// Reads an instance (a JSON object), or a model in MLIR's text or bytecode:
/// one with a graph of tasks, or with a function, which is brought there as
/// `options` and the manifest say, if there is one. "-" is standard input. The
/// limits of `options`, the budget aside, replace those of an instance where
/// `flags` were given.
llvm::Expected<Input> readInput(llvm::StringRef path,
                                llvm::StringRef manifestFile,
                                const tools::StepFlags &flags,
                                const StepOptions &options);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_INPUT_H
