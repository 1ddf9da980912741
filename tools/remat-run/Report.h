//===- Report.h - what a run of a step says about itself --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_REPORT_H
#define REMAT_TOOLS_REMAT_RUN_REPORT_H

#include "Manifest.h"

#include "remat/Pipelines/StepCompiler.h"
#include "remat/Runtime/Runtime.h"

namespace remat::run {

/// One step at one budget. Bytes and seconds.
struct RunReport {
  std::string model, planner, budgetText;
  StepSummary summary;
  remat_step_stats stats{};
  int64_t argumentBytes = 0, resultBytes = 0, rssGrowth = 0;
  double compileSeconds = 0, planSeconds = 0;
  std::vector<double> stepSeconds;
  std::optional<double> loss;
  /// Name, summary, number of elements and hash of each gradient.
  struct Gradient {
    std::string name;
    GradientSummary summary;
    uint64_t hash;
  };
  std::vector<Gradient> gradients;
  /// Against the golden values; unset if there are none.
  std::optional<double> maxRelativeError;

  /// Equal for runs whose loss and gradients are bit-identical.
  uint64_t resultHash = 0;
};

/// Writes one object, or an array of them for several runs.
llvm::Error writeJson(llvm::StringRef path, llvm::ArrayRef<RunReport> runs);

/// Prints a table with a row for each run.
void printTable(llvm::raw_ostream &os, llvm::ArrayRef<RunReport> runs);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_REPORT_H
