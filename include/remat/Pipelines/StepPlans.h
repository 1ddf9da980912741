//===- StepPlans.h - one step under several plans ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step does if everything is saved, as it was asked for, and with more
// or less memory: the same description of each, so that they can be compared.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPPLANS_H
#define REMAT_PIPELINES_STEPPLANS_H

#include "remat/Pipelines/StepReport.h"
#include "remat/Runtime/Runtime.h"

#include "mlir/IR/BuiltinOps.h"

namespace remat {

/// What a plan is in a comparison: that which saves all, that which was asked
/// for, or one of the frontier.
enum class PlanOrigin : uint8_t { SaveAll, Chosen, Frontier };
/// A name for outputs.
llvm::StringRef stringify(PlanOrigin origin);

/// A step under one plan. Times are planned, in nanoseconds.
struct PlannedStep {
  PlanOrigin origin = PlanOrigin::Chosen;
  StepReport report;
  std::string planner;
  bool isOptimal = false;
  /// Without recomputation, with the plan, and what no plan is faster than.
  int64_t baseTime = 0, time = 0, lowerBound = 0;
  /// The order of microbatches, in how many parts the batch is done, the rows
  /// of slices, whether hidden layers have them, too, and how many layers are
  /// iterations of loops: numbers of tasks are the same in plans that agree in
  /// all of them.
  std::string microbatchOrder;
  int64_t batchParts = 1, sliceRows = 0, foldedLayers = 0;
  bool slicesHidden = false;
  /// When each entry ran, or empty.
  std::vector<remat_entry_span> measured;

  /// Whether both run the same in the same memory.
  bool isSameAs(const PlannedStep &other) const;
};

/// The step that `report` describes, which `plan` was carried out in. Reasons
/// are known if decisions were listed, see PlanOptions.
PlannedStep makePlannedStep(PlanOrigin origin, StepReport report,
                            const GraphPlan &plan);

/// The step of `tasks` (L2) in which all is saved but what policies forbid, and
/// those of `frontier`, which has plans of it, by growing arenas. Equal ones
/// are there once; `tasks` stays as it is.
llvm::Expected<std::vector<PlannedStep>>
carryOutPlans(mlir::ModuleOp tasks, const StepOptions &options,
              llvm::ArrayRef<GraphPlan> frontier);

/// How many plans of the frontier a comparison has, unless it is said.
inline constexpr unsigned defaultReportPoints = 5;

/// The steps of `tasks` (L2) to show beside `chosen`, and that: the one with
/// everything saved, and the plans of `frontier`, or if there are none, as many
/// as `points` says (none, or 2 and more), which are searched for with less
/// effort. `search` has the limits of this search.
llvm::Expected<std::vector<PlannedStep>>
collectPlans(mlir::ModuleOp tasks, const StepOptions &options,
             const planning::SolverOptions &search,
             llvm::ArrayRef<GraphPlan> frontier, PlannedStep chosen,
             unsigned points = defaultReportPoints);

} // namespace remat

#endif // REMAT_PIPELINES_STEPPLANS_H
