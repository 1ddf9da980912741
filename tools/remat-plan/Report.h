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

#include "remat/Planning/Explanation.h"
#include "remat/Planning/Frontier.h"
#include "remat/Planning/Serialization.h"

namespace remat::plan {

/// Everything that one call of the tool found out.
struct Outcome {
  /// As it was asked for, such as "50%"; "none" for no bound.
  std::string requestedBudget = "none";
  /// The peak that percentages refer to.
  int64_t saveAllPeak = 0;
  /// Unset if no plan was found within the budget.
  std::optional<planning::Solution> solution;
  /// Why; if there is no solution.
  std::string failure;
  /// How small the budget can get; known if that was asked for or mattered.
  std::optional<planning::FeasibilityCertificate> certificate;
  std::optional<planning::Frontier> frontier;
  std::optional<planning::Explanation> explanation;
  /// Of the whole search, and when its first plan was there.
  double seconds = 0, firstPlanSeconds = 0;
  bool cutShort = false;
};

llvm::json::Value toJson(const planning::Instance &instance,
                         const Outcome &outcome);

/// A line on the solution, then the tables that were asked for.
void print(const planning::Problem &problem, const Outcome &outcome,
           llvm::raw_ostream &os);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_REPORT_H
