//===- Report.h - what a run of a step says about itself --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_REPORT_H
#define REMAT_TOOLS_REMAT_RUN_REPORT_H

#include "Benchmark.h"

#include "common/Manifest.h"
#include "common/PlanFlags.h"

#include "remat/Pipelines/StepCompiler.h"
#include "remat/Pipelines/StepPlans.h"
#include "remat/Pipelines/StepProfile.h"
#include "remat/Runtime/Runtime.h"

namespace remat::run {

using tools::GradientSummary;

/// What all calls of a step used together.
remat_step_stats sumCalls(llvm::ArrayRef<remat_step_stats> calls);

/// One step at one budget. Bytes and seconds.
struct RunReport {
  std::string model, planner;
  /// As it was asked for; "none" if it was not.
  std::string requestedBudget;
  /// Set if that has no plan. The run is then one at the smallest feasible
  /// budget.
  struct Infeasible {
    int64_t budget = 0, smallestFeasible = 0;
  };
  std::optional<Infeasible> infeasible;

  /// The requested budget, and what the run has in its place.
  std::string describeBudget() const;

  StepSummary summary;
  remat_step_stats stats{};
  int64_t argumentBytes = 0, hostArgumentBytes = 0, resultBytes = 0,
          rssGrowth = 0;
  /// Of arguments that give their buffers to results, counted in both.
  int64_t donatedBytes = 0;
  double compileSeconds = 0, planSeconds = 0;
  std::vector<double> stepSeconds, stepCpuSeconds;
  std::optional<double> loss;
  /// Name, summary and hash of each gradient.
  struct Gradient {
    std::string name;
    GradientSummary summary;
    uint64_t hash;
    /// False if no differentiable path leads from the argument to the loss.
    bool exists;
  };
  std::vector<Gradient> gradients;
  /// Against the golden values; unset if there are none.
  std::optional<double> maxRelativeError;

  /// What packed values added to the error of a gradient, if it is bounded.
  std::optional<double> gradientError;

  /// What each call used, if forward and backward are separate calls.
  std::vector<remat_step_stats> calls;
  /// What the check and trace of recomputations take beside the arena.
  uint64_t checkBytes = 0;

  /// Empty unless asked for. The frontier is that of the model, and only in the
  /// first report.
  tools::PlanDetails details;
  std::string trace;
  std::optional<StepProfile> profile;
  std::optional<Benchmark> benchmark;
  /// Of all steps, if they were looked for.
  std::optional<int64_t> anomalies;
  /// What happens in the step, and when each entry ran. Empty unless a flag
  /// asks for a view of it.
  StepReport step;
  std::vector<remat_entry_span> spans;
  /// The same beside other plans; only with --report.
  std::optional<PlannedStep> chosen;

  /// Equal for runs whose results are bit-identical.
  uint64_t resultHash = 0;
};

/// The object of the first run. `further_budgets` has those of the others.
llvm::json::Object makeJson(llvm::ArrayRef<RunReport> runs);

/// Prints a table with a row for each run.
void printTable(llvm::raw_ostream &os, llvm::ArrayRef<RunReport> runs);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_REPORT_H
