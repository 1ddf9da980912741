//===- Planning.h - the searches of remat-plan ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_PLANNING_H
#define REMAT_TOOLS_REMAT_PLAN_PLANNING_H

#include "Input.h"
#include "Report.h"

namespace remat::plan {

/// Everything that was asked for of an instance, or of a model's step. That
/// there is no plan is an outcome, not an error. A time limit is for all of it.
/// Where the instance's budget counts the peak, its plan gets addresses only if
/// `packs`: they take about a second.
llvm::Expected<Outcome> planInstance(planning::Instance instance,
                                     const PlanOptions &options,
                                     const tools::PlanFlags &flags, bool packs);
/// `keepsFrontierPlans` is for reports.
llvm::Expected<Outcome> planModel(GraphOp graph, const PlanOptions &options,
                                  const tools::PlanFlags &flags,
                                  bool keepsFrontierPlans);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_PLANNING_H
