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

/// Which budgets are planned, and how.
struct FrontierOptions {
  /// The algorithm that plans each budget.
  std::string solver = "auto";
  /// How many budgets, both ends included; at least 2.
  unsigned points = 20;
  /// Whether budgets bound the arena that a plan's copies are packed into, not
  /// its peak.
  bool countsArena = false;
  /// How to search. Each budget gets the whole effort; the time limit is for
  /// all budgets together.
  SolverOptions search;
};

/// A budget and its plan.
struct FrontierPoint {
  int64_t budgetBytes = 0;
  /// The best plan within the budget, among those found for any budget.
  Solution solution;
  /// What the buffers are packed into, where the budget is a bound on that.
  std::optional<int64_t> arenaBytes = std::nullopt;
};

/// Budgets at equal distances from the smallest feasible one to the peak of the
/// save-all plan, ascending. As the budget grows, the peak never falls and the
/// time never rises. Where budgets bound the arena, it stands for the peak.
struct Frontier {
  std::vector<FrontierPoint> points;
  /// Whether the clock or an interrupt ended a search.
  bool cutShort = false;
};

/// Plans from the largest budget to the smallest; each search starts from the
/// plan of the one before. Every budget then gets the best plan that fits it,
/// and the best bound that was proven for it or for a larger budget. The
/// problem's own device budget is ignored. There is a single point if the
/// smallest budget is that of save-all. Fails if there is no plan at any budget
/// or the planner is unknown.
llvm::Expected<Frontier> computeFrontier(const Problem &problem,
                                         const FrontierOptions &options = {});

/// At most `points` (2 or more) different budgets at equal distances,
/// ascending.
std::vector<int64_t> spaceBudgets(int64_t smallest, int64_t largest,
                                  unsigned points);

/// [{"budget_bytes", "arena_bytes"?, "peak_bytes", "host_peak_bytes",
///   "tdi_percent", "recompute_percent", "time", "lower_bound_tdi_percent",
///   "optimal", "planner"}, ...]
llvm::json::Value toJson(const Frontier &frontier);
/// The same as a table.
void print(const Frontier &frontier, llvm::raw_ostream &os);

} // namespace remat::planning

#endif // REMAT_PLANNING_FRONTIER_H
