//===- Exact.h - the best plan of a small problem ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_EXACT_H
#define REMAT_LIB_PLANNING_EXACT_H

#include "Solution.h"

namespace remat::planning {

/// How many roots the exhaustive search can tell apart: a set of them is the
/// bits of a word.
inline constexpr size_t exactRootLimit = 32;

/// The roots (values that are no views) that are in memory at some times and
/// not at others, so that their places are a part of a state of the search.
std::vector<ValueId> trackedRoots(const Graph &graph);

/// Whether the graph has few enough ops and values for the exhaustive search.
bool isSmall(const Graph &graph);

struct ExactPlan {
  enum Outcome { Found, NoneExists, GaveUp } outcome = GaveUp;
  Plan plan;
  /// Its cost, which is the least one if that was asked for.
  int64_t cost = 0;
};

/// What a search over all plans looks for.
struct ExactGoal {
  /// The budget on the device, instead of that of the problem.
  std::optional<int64_t> budget;
  /// The plan of least cost, or any plan.
  bool cheapest = true;
  /// Whether values may go to the host.
  bool transfers = true;
};

/// Searches all plans of a small graph until `work` is exhausted.
ExactPlan findExactPlan(const Graph &graph, const ExactGoal &goal,
                        WorkMeter &work);

/// Lowers the peak of `plan`, a legal plan of a small graph, to the smallest
/// one that any plan has. False if the work was exhausted before.
bool lowerPeakExactly(const Graph &graph, Plan &plan, WorkMeter &work);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_EXACT_H
