//===- Repair.h - dropping values until a plan fits -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine behind the greedy planner and its search: takes a residency whose
// plan exceeds a budget and drops values until it fits, or takes drops back
// that a plan within the budget does not need.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_REPAIR_H
#define REMAT_LIB_PLANNING_REPAIR_H

#include "Residency.h"
#include "Solution.h"
#include "remat/Planning/Simulator.h"

#include <random>

namespace remat::planning {

/// How candidates are ranked.
struct RepairTuning {
  /// A missing operand of a recomputation is kept instead of recomputed if it
  /// is at most this fraction of what the recomputation lets go.
  double keepRatio = 0.1;
  /// Ranks are multiplied by up to 1 + noise at random.
  double noise = 0.0;
};

class Repair {
public:
  Repair(const Graph &graph, WorkMeter &work, uint64_t seed);

  /// The state and its plan; `load` replaces both.
  void load(Residency state);
  const Residency &state() const { return residency; }
  const StagedPlan &plan() const { return staged; }
  const Simulation &simulation() const { return simulated; }

  /// Drops values until the peak is at most `budget`. On failure the state is
  /// the one with the lowest peak on the way.
  bool fit(int64_t budget, const RepairTuning &tuning);

  /// Takes drops back, the most expensive recomputations first, as long as the
  /// peak stays within `budget`.
  void prune(int64_t budget);

  /// Takes back all drops that end in stages [from, to).
  void restore(uint32_t from, uint32_t to);

private:
  /// A value idle at the worst action, and what dropping it would take.
  struct Candidate {
    ValueId value = noValue;
    /// Stages of its last use before and its next use after.
    uint32_t from = 0, to = 0;
    bool offload = false;
    double rank = 0;
  };
  /// What bringing a value back at a stage takes.
  struct Closure {
    /// Values whose ops run again, and missing values to keep instead.
    llvm::SmallVector<ValueId, 16> recomputed, kept;
    int64_t cost = 0;
    /// Bytes of values that are not resident at the worst action, but would
    /// have to be.
    int64_t extended = 0;
  };

  void evaluate();
  void indexReads();
  uint32_t copyBefore(ValueId value, uint32_t stage) const;
  bool findClosure(ValueId value, uint32_t stage, uint32_t worst,
                   double keepRatio, Closure &closure);
  std::optional<Candidate> bestCandidate(uint32_t worst, int64_t budget,
                                         const RepairTuning &tuning);
  void rank(Candidate &candidate, uint32_t worst, int64_t over,
            int64_t overSteps, const RepairTuning &tuning,
            std::optional<Candidate> &best);
  void apply(const Candidate &candidate, const RepairTuning &tuning);
  double random();

  const Graph &graph;
  const Problem &problem;
  WorkMeter &work;
  std::mt19937_64 generator;

  Residency residency;
  StagedPlan staged;
  Simulation simulated;

  /// The actions that read each copy, in order, back to back per copy.
  std::vector<uint32_t> readActions, readActionsBegin;
  /// The latest copy of each value, and the copy before each copy.
  std::vector<uint32_t> latestCopy, previousCopy;
  /// How often each value was dropped since `load`.
  std::vector<uint32_t> drops;
  /// The search that last visited an op in `findClosure`.
  std::vector<uint32_t> visited;
  uint32_t visit = 0;
  int64_t hostBytes = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_REPAIR_H
