//===- LowerBound.h - what no plan can beat ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds that hold for every plan of a problem: any op may run again anywhere,
// any number of times. They prove that a plan is optimal, or that a budget is
// infeasible. See docs/planning-bounds.md.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_LOWERBOUND_H
#define REMAT_PLANNING_LOWERBOUND_H

#include "remat/Planning/Problem.h"

#include <atomic>
#include <chrono>

namespace remat::planning {

/// What the bound may cost, and what is known before.
struct LowerBoundOptions {
  /// How much work to spend, as in SolverOptions: about the number of seconds
  /// on a core of 3 GHz. Counted, not measured.
  double effort = 0.05;
  /// If set, the clock ends the work too.
  std::optional<double> timeLimitSeconds;
  /// The time of a plan that is known. A bound that reaches it proves that plan
  /// optimal, and the work ends. Before, what only slower plans do is left out,
  /// so that the bound may be larger than without, and is at most this.
  std::optional<int64_t> knownTime;
  /// Whether integer programs may be solved; they need HiGHS, and effort.
  bool usePrograms = true;
  /// Whether all plans of a small graph may be searched.
  bool useStates = true;
  /// When it becomes true, the best bound so far is returned.
  const std::atomic<bool> *interrupt = nullptr;
  /// If set, the same at this time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

/// A bound, and what it comes from.
struct LowerBound {
  /// No plan within the device budget takes less `Solution::time`.
  int64_t time = 0;
  /// Whether it is proven that no plan meets the device budget. If so, `time`
  /// has no meaning.
  bool infeasible = false;
  /// The op whose first run is the moment that gave the bound; `noOp` if no
  /// single moment did.
  OpId bindingOp = noOp;
  /// Which argument gave the bound, for messages.
  const char *method = "every op runs once";
};

/// A lower bound on the time of every plan of `problem`, which passed `check`,
/// within its device budget. Deterministic unless the clock or an interrupt
/// cuts it short; valid in any case.
LowerBound lowerBound(const Problem &problem,
                      const LowerBoundOptions &options = {});

} // namespace remat::planning

#endif // REMAT_PLANNING_LOWERBOUND_H
