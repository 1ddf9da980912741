//===- OrderSearch.h - orders of first runs that need less ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_ORDERSEARCH_H
#define REMAT_LIB_PLANNING_ORDERSEARCH_H

#include "Solution.h"

namespace remat::planning {

/// Searches for an order of all ops, each run once, whose peak is at most
/// `budget`. A best-first search over sets of ops that have run: larger sets
/// come first, then sets with fewer live bytes. An op that fits and leaves no
/// more bytes live than before runs at once, which never rules out a solution.
/// Gives up after `maxStates` sets, so an empty answer proves nothing. Ops that
/// are not recomputable keep their relative order.
std::vector<OpId> findOrder(const Graph &graph, int64_t budget,
                            size_t maxStates, WorkMeter &work);

/// The order with the lowest peak that bisection over `findOrder` reaches;
/// empty if that is not below `peak`.
std::vector<OpId> searchLowOrder(const Graph &graph, int64_t budget,
                                 int64_t peak, size_t maxStates,
                                 WorkMeter &work);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_ORDERSEARCH_H
