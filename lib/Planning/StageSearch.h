//===- StageSearch.h - ever more moments of a plan at once ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few moments of a plan tell little, and all of them are too many for a
// program. So programs are solved one after the other, and each is asked where
// the next one should look.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_STAGESEARCH_H
#define REMAT_LIB_PLANNING_STAGESEARCH_H

#include "StageRelaxation.h"

#include <atomic>
#include <chrono>
#include <optional>

namespace remat::planning {

struct StageSearchOptions {
  /// Work, in about seconds on a core of 3 GHz.
  double effort = 1.0;
  /// If set, the clock is the limit instead.
  std::optional<double> seconds;
  /// Extra cost of the plan that is known: only cheaper ones matter.
  std::optional<int64_t> known;
  /// When either comes true, the search ends with the best bound so far.
  const std::atomic<bool> *interrupt = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

struct StageBound {
  /// An extra cost that no plan avoids (see CutCosts::mustCost too); of plans
  /// that cost less than the known one, if that is smaller.
  int64_t extra = 0;
  /// No plan meets the budget, or none that costs less than the known one.
  bool infeasible = false;
};

/// What the `moments` that are worth looking at, ascending, tell together. Of
/// these, `best` tells the most by itself; it may be `noOp`.
StageBound searchStages(const Graph &graph, const CutCosts &costs,
                        std::vector<OpId> moments, OpId best,
                        const StageSearchOptions &options);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_STAGESEARCH_H
