//===- StepRunner.h - compile and run steps ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_STEPRUNNER_H
#define REMAT_TOOLS_REMAT_RUN_STEPRUNNER_H

#include "Report.h"

#include "common/Driver.h"

#include "remat/Target/Target.h"

namespace remat::run {

struct FreeStep {
  void operator()(remat_step *step) const { remat_step_free(step); }
};
using StepHandle = std::unique_ptr<remat_step, FreeStep>;

/// A compiled step that is ready to run. The machine code outlives the step.
struct LoadedStep {
  std::unique_ptr<LoadedModule> code;
  StepHandle step;
};

/// CPU time of all threads of this process in seconds, since some moment.
double cpuNow();

/// The algorithms of matmuls that the file of costs has and steps of this
/// process have chosen, see remat_step_algorithms.
const std::string &getAlgorithms();

/// Whether there is a file of this name, and not a stream, that costs can be
/// read from.
bool holdsCosts(llvm::StringRef path);

/// Plans and compiles a copy of `tasks` and records sizes and times.
llvm::Expected<LoadedStep> compile(mlir::ModuleOp tasks, llvm::StringRef budget,
                                   RunReport &report);

/// The memory that a step runs on.
struct StepBinding {
  /// Arguments that give their buffers to results are in the results' memory.
  std::vector<remat_tensor> arguments, results;
  std::vector<tools::Tensor> memory;

  /// Results are allocated here.
  static llvm::Expected<StepBinding>
  create(const remat_step *step, llvm::ArrayRef<tools::Tensor> arguments);

  /// Gives the arguments that results replace their values, as before the first
  /// run.
  void reset(const remat_step *step, llvm::ArrayRef<tools::Tensor> values);
};

/// The argument that `lr=argument` of an optimizer adds.
inline constexpr llvm::StringLiteral learningRateName = "optimizer.lr";

/// Runs the step and records what it used. Results are allocated here, so that
/// their pages count as the step's. If there are `learningRates`, each run is
/// given its own, those behind the last one that.
llvm::Expected<std::vector<tools::Tensor>>
execute(remat_step *step, llvm::ArrayRef<tools::Tensor> arguments,
        RunReport &report, llvm::ArrayRef<double> learningRates = {});

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_STEPRUNNER_H
