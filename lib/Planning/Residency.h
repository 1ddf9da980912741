//===- Residency.h - plans as what is carried where -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search space of the heuristics. Stage s runs op s for the first time,
// after whatever it needs has been brought back. A plan is given by the stage
// boundaries across which each value *may* be carried; `schedule` turns that
// into actions: what is missing at a stage is reloaded or recomputed there,
// depth first. Carrying is a permission: a copy that nobody reads any more is
// dead whatever is written here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_RESIDENCY_H
#define REMAT_LIB_PLANNING_RESIDENCY_H

#include "Graph.h"
#include "remat/Planning/Plan.h"

#include "llvm/ADT/SmallVector.h"

namespace remat::planning {

/// Boundary s lies between stage s and stage s + 1; stage `numOps` is the end
/// of the plan, which reads the outputs.
class Residency {
public:
  /// Everything is carried from its op to its last reader, except what a MUST
  /// keeps from crossing into the backward phase.
  explicit Residency(const Graph &graph);

  /// Whether a copy made at stage `from` is still there at stage `to`.
  bool carried(ValueId value, uint32_t from, uint32_t to) const;
  void carry(ValueId value, uint32_t from, uint32_t to);
  void drop(ValueId value, uint32_t from, uint32_t to);

  /// Whether what is missing of `value` comes back from the host.
  bool offloaded(ValueId value) const { return onHost[value]; }

private:
  using Interval = std::pair<uint32_t, uint32_t>;

  const Graph *graph;
  /// Disjoint, ascending, no two adjacent.
  std::vector<llvm::SmallVector<Interval, 2>> intervals;
  std::vector<bool> onHost;
};

/// A plan with the stage of each action.
struct StagedPlan {
  Plan plan;
  std::vector<uint32_t> stages;
};

/// The plan that `residency` stands for. Gives up, with an incomplete plan and
/// false, when it gets longer than `mostActions`.
bool schedule(const Graph &graph, const Residency &residency,
              StagedPlan &result, size_t mostActions = ~size_t(0));

/// The stages of a plan whose ops run for the first time in the given order:
/// an action belongs to the next first run.
StagedPlan stagePlan(const Graph &graph, const Plan &plan);

/// The residency of the save-all plan: what a recomputation that a MUST asks
/// for needs, is carried up to it.
Residency saveAllResidency(const Graph &graph);
/// The save-all plan.
Plan saveAllPlan(const Graph &graph);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_RESIDENCY_H
