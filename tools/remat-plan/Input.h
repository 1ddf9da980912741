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

#include "remat/Planning/Serialization.h"

namespace remat::plan {

/// How a model becomes a graph of tasks; without effect on anything else.
struct ModelFlags {
  explicit ModelFlags(llvm::cl::OptionCategory &category);

  llvm::cl::opt<std::string> function, manifestFile;
  llvm::cl::list<int64_t> wrt;
  llvm::cl::opt<bool> noGradients;
};

/// Reads an instance (a JSON object), or a model in MLIR's text or bytecode:
/// one with a graph of tasks, or with a function, which is brought there. "-"
/// is standard input. The limits of `plan`, the budget aside, replace those of
/// an instance where `flags` were given. A model's values and tasks get the
/// node ids of `planning::toJson(problem)`.
llvm::Expected<planning::Instance> readInput(llvm::StringRef path,
                                             const ModelFlags &model,
                                             const tools::PlanFlags &flags,
                                             const PlanOptions &plan);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_INPUT_H
