//===- StateSearch.h - all plans of a small graph in an order ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A* [Hart, Nilsson, Raphael, 1968] over the states that plans in a fixed order
// go through: how many ops have run for the first time, and what is resident.
// The least estimate that is left is a bound whenever the search ends.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_STATESEARCH_H
#define REMAT_LIB_PLANNING_STATESEARCH_H

#include "SingleCut.h"

namespace remat::planning {

/// Whether the states of the graph are sets that the search can hold, and
/// recomputation is all that it has to look at.
bool canSearchStates(const Graph &graph);

struct StateBound {
  /// An extra cost that no plan avoids (see CutCosts::mustCost too).
  int64_t extra = 0;
  bool infeasible = false;
};

/// The least extra cost of all plans that keep the order of the problem and fit
/// its budget, or a bound on it if that reaches `enough`, or the work is used
/// up. Only ops of `costs` run again. `later[op]` is a bound on what runs again
/// behind the first run of `op`.
StateBound searchStates(const Graph &graph, const CutCosts &costs,
                        llvm::ArrayRef<int64_t> later, int64_t enough,
                        uint64_t &work, uint64_t workLimit,
                        llvm::function_ref<bool()> stop);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_STATESEARCH_H
