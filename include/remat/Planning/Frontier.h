//===- Frontier.h - memory against time -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole trade of memory for time in one call.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_FRONTIER_H
#define REMAT_PLANNING_FRONTIER_H

#include "remat/Planning/Algorithms.h"

#include "llvm/Support/JSON.h"

namespace remat::planning {

struct FrontierOptions {
  /// The algorithm that plans each budget.
  std::string solver = "auto";
  /// How many budgets, both ends included; at least 2.
  unsigned points = 20;
  /// The effort is that of each budget, the time limit that of all together.
  SolverOptions search;
};

struct FrontierPoint {
  int64_t budgetBytes = 0;
  /// The best plan within the budget that was found for any budget.
  Solution solution;
};

/// Budgets at equal distances from the smallest feasible one to the peak of the
/// save-all plan, ascending. As the budget grows, the peak never falls and the
/// time never rises.
struct Frontier {
  std::vector<FrontierPoint> points;
  /// Whether the clock or an interrupt ended a search.
  bool cutShort = false;
};

/// Plans from the largest budget to the smallest, each search from the plan
/// before it; a plan then serves every budget that it fits, and a lower bound
/// every budget below its own. The problem's own device budget is ignored.
/// There is a single point if the smallest budget is that of save-all. Fails if
/// there is no plan at any budget or the solver is unknown.
llvm::Expected<Frontier> computeFrontier(const Problem &problem,
                                         const FrontierOptions &options = {});

/// [{"budget_bytes", "peak_bytes", "host_peak_bytes", "tdi_percent", "time",
///   "lower_bound_tdi_percent", "optimal", "planner"}, ...]
llvm::json::Value toJson(const Frontier &frontier);
/// The same as a table.
void print(const Frontier &frontier, llvm::raw_ostream &os);

} // namespace remat::planning

#endif // REMAT_PLANNING_FRONTIER_H
