//===- Greedy.h - first plans by greedy repair ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the greedy planner shares with the search for the smallest budget.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_GREEDY_H
#define REMAT_LIB_PLANNING_GREEDY_H

#include "Repair.h"

namespace remat::planning {

/// The cheapest pruned state within `budget` among those that repairs of
/// `start` with a few tunings reach; fewer on graphs where they take long.
std::optional<Residency> findFirstPlan(Repair &repair, const Residency &start,
                                       int64_t budget, WorkMeter &work);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_GREEDY_H
