//===- EffortSearch.h - a search with a part of the effort ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner searches with several parts of the effort, at the same time but for
// the smallest peaks: what one search makes for these, the others need not make
// again. All that they share of the planner else, they only read.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_EFFORTSEARCH_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_EFFORTSEARCH_H

#include "GraphPlanner.h"

namespace remat {

class GraphPlanner::EffortSearch : private planning::BudgetClient {
public:
  using Found = llvm::Expected<planning::PackedPlan>;

  /// With `scale` of the effort of the planner's options.
  EffortSearch(GraphPlanner &planner, double scale);

  /// Forgets what is known of the plan that was looked for last.
  void begin();

  /// The functions of the same names of BudgetSearch.
  llvm::Error makeSmallest() { return search.makeSmallest(); }
  llvm::Expected<int64_t> findSmallestArena() {
    return search.findSmallestArena();
  }
  Found planSmallest() { return search.planSmallest(); }
  Found planWithin(int64_t budget) { return search.planWithin(budget); }
  Found planSoon(int64_t budget) { return search.planSoon(budget); }

  /// `best`, which fits, or a faster plan, for which each planner has about
  /// `seconds`. Whether one of them would go on for longer is in `goesOn`.
  planning::PackedPlan improve(int64_t budget, planning::PackedPlan best,
                               double seconds, bool &goesOn);

  /// Adds to what the planner knows what this has found out.
  void tellPlanner() const;

private:
  unsigned getNumWays() const override { return planner.counts.size(); }
  int64_t getBytesElsewhere(unsigned way) const override {
    return planner.counts[way].reusedBytes;
  }
  llvm::Expected<planning::Solution>
  plan(const planning::PlanRequest &request) override;
  llvm::Expected<planning::FeasibilityCertificate>
  planSmallest(unsigned way) override;
  Found pack(const planning::Plan &plan, bool thorough) override;
  llvm::Expected<std::string>
  explainSmallest(const planning::PackedPlan &smallest) override;
  bool isOver() const override { return planner.isOver(); }
  double getGap() const override { return planner.options.solver.gap; }

  planning::SolverOptions getSolverOptions(double share) const;

  GraphPlanner &planner;
  double scale;
  planning::BudgetSearch search;
  /// The time that a planner has in place of the effort, if it has any.
  std::optional<double> roundSeconds;

  Best best;
  bool cutShort = false;
  /// Whether effort or the clock ended a search for the smallest budget.
  bool isSmallestCutShort = false;
  /// What no plan is faster than, and what proves it.
  Bound bound;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_EFFORTSEARCH_H
