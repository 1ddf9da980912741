//===- Input.h - what remat-plan plans --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planning problem from a JSON instance or from a model.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_INPUT_H
#define REMAT_TOOLS_REMAT_PLAN_INPUT_H

#include "common/Driver.h"
#include "common/StepFlags.h"

#include "remat/Planning/Serialization.h"

namespace remat::plan {

/// Reads an instance (a JSON object), or a model in MLIR's text or bytecode:
/// one with a graph of tasks, or with a function, which is brought there as
/// `options` and the manifest say, if there is one. "-" is standard input. The
/// limits of `options`, the budget aside, replace those of an instance where
/// `flags` were given. A model's values and tasks get the node ids of
/// `planning::toJson(problem)`.
llvm::Expected<planning::Instance> readInput(llvm::StringRef path,
                                             llvm::StringRef manifestFile,
                                             const tools::StepFlags &flags,
                                             const StepOptions &options);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_INPUT_H
