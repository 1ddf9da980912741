//===- SavedSet.h - plans from what is kept at one place --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many methods only decide which values to save at the border between the
// forward and the backward phase. Here such a set becomes plans: what is not
// saved and is needed later is recomputed right before it is, depth first.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SAVEDSET_H
#define REMAT_LIB_PLANNING_SAVEDSET_H

#include "Residency.h"
#include "Solution.h"
#include "remat/Planning/Simulator.h"

namespace remat::planning {

/// How long what was recomputed stays.
enum class Recomputed {
  /// Until its last reader of any kind, other recomputations included.
  ToTheEnd,
  /// Until its last reader in the given order; what other recomputations need
  /// after it is recomputed again.
  ToLastReader,
  /// It is dropped at once and recomputed for each reader: the least memory
  /// and the most time.
  OneStage,
};
inline constexpr Recomputed allRecomputed[] = {
    Recomputed::ToTheEnd, Recomputed::ToLastReader, Recomputed::OneStage};

/// The op before which saved sets are chosen: the first of the backward phase,
/// or the one after the peak of the save-all plan (at most the last) if
/// none is marked.
OpId savePosition(const Graph &graph);

/// The residency in which, of what the ops before `position` make, only the
/// values in `saved` (by value id) are carried across that place.
Residency savedSetResidency(const Graph &graph, OpId position,
                            const std::vector<bool> &saved,
                            Recomputed recomputed);

/// Remembers the best of many plans: the cheapest one within the budget. If no
/// plan fits or there is no budget, the one with the lowest peak.
class BestPlan {
public:
  BestPlan(const Graph &graph, WorkMeter &work) : graph(graph), work(work) {}

  /// Makes the plan of `residency` and simulates it. False if the plan exceeds
  /// the budget or got so long that it was given up.
  bool consider(const Residency &residency);
  /// The plans of a saved set, from the fastest to the one with the least
  /// memory, until one fits; without a budget just the one in between.
  bool consider(OpId position, const std::vector<bool> &saved);

  bool fits() const { return bestFits; }
  int64_t cost() const { return bestCost; }
  /// Whether plans have to fit.
  bool hasBudget() const { return graph.problem.deviceBudget.has_value(); }

  llvm::Expected<Solution> finish(llvm::StringRef solver,
                                  const Stopwatch &watch);

private:
  const Graph &graph;
  WorkMeter &work;
  StagedPlan staged;
  Simulation simulation;
  Plan best;
  bool hasPlan = false, bestFits = false;
  int64_t bestCost = 0, bestPeak = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SAVEDSET_H
