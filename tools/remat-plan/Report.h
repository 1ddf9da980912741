//===- Report.h - what remat-plan says about a plan -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outcome of planning as data, as JSON and as a line of text.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_REPORT_H
#define REMAT_TOOLS_REMAT_PLAN_REPORT_H

#include "common/PlanFlags.h"

#include "remat/Pipelines/StepPlans.h"
#include "remat/Planning/PlanPacking.h"
#include "remat/Planning/Serialization.h"

namespace remat::plan {

/// Everything that one call of the tool found out.
struct Outcome {
  /// As it was asked for, such as "50%"; "none" for no bound.
  std::string requestedBudget = "none";
  /// What was planned, with the budget if there was one. The problem of a model
  /// is that of its graph, whose plan has other peaks than the simulator's.
  planning::Instance instance;
  /// The peak that percentages refer to.
  int64_t saveAllPeak = 0;
  /// Unset if no plan was found within the budget.
  std::optional<planning::Solution> solution;
  /// Of an instance's plan, if that was packed; and whether its arena is what
  /// the budget bounds.
  std::optional<planning::Packing> packing;
  bool boundsArena = false;
  /// Of a model's step, or of an instance's plan if that was packed.
  std::optional<int64_t> arenaBytes;
  /// Of a model's step over parts of a batch: in which order they run.
  std::string microbatchOrder;
  /// In how many parts it does its batch.
  int64_t batchParts = 1;
  /// Rows of slices of wide values; 0 for those that the target asks for.
  int64_t sliceRows = 0;
  /// Whether hidden layers are done in such slices, too.
  bool slicesHidden = false;
  /// How many layers are iterations of loops, by '--fold-layers'.
  int64_t foldedLayers = 0;
  bool isModel = false;
  /// Why; if there is no solution, and what shows it.
  std::string failure, evidence;
  /// How small the budget can get; known if that was asked for or mattered. For
  /// a model there is only a number.
  std::optional<planning::FeasibilityCertificate> certificate;
  std::optional<int64_t> smallestFeasible;
  tools::PlanDetails details;
  /// The file of -o; only if there is a solution.
  llvm::json::Value schedule = nullptr;
  /// What happens in the step of a model; only if that is asked for.
  std::optional<StepReport> step;
  /// The same beside other plans; only with --report.
  std::vector<PlannedStep> plans;
  /// Of the whole search, and when its first plan was there.
  double seconds = 0, firstPlanSeconds = 0;
  bool cutShort = false;
};

llvm::json::Value toJson(const Outcome &outcome);

/// A line on the solution, then the tables that were asked for.
void print(const Outcome &outcome, llvm::raw_ostream &os);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_REPORT_H
