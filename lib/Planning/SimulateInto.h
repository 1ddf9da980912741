//===- SimulateInto.h - simulation for inner loops --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator behind `simulate`, for searches that call it a thousand times:
// the graph is resolved once and the tables of the last simulation are reused.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SIMULATEINTO_H
#define REMAT_LIB_PLANNING_SIMULATEINTO_H

#include "Graph.h"
#include "remat/Planning/Simulator.h"

namespace remat::planning {

/// What an action of a legal plan occupies the compute engine for.
int64_t computeTime(const Problem &problem, const Action &action);

/// When things happen in a plan with offloads; empty for one without.
struct ActionTimes {
  /// When the compute engine comes to each action, and when it begins it, after
  /// it has waited for transfers.
  std::vector<int64_t> ready, begin;
  /// When the offload of each host copy ends.
  std::vector<int64_t> offloadEnds;
};

/// `times` are recorded if they are asked for.
llvm::Error simulateInto(const Graph &graph, const Plan &plan,
                         Simulation &simulation, ActionTimes *times = nullptr);
llvm::Error verify(const Graph &graph, const Plan &plan,
                   const Simulation &simulation);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SIMULATEINTO_H
