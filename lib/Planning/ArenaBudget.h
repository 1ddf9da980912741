//===- ArenaBudget.h - plans that leave room for packing --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_ARENABUDGET_H
#define REMAT_LIB_PLANNING_ARENABUDGET_H

#include "remat/Planning/PlanPacking.h"

#include <optional>

namespace remat::planning {

/// A plan whose arena is within the device budget, which is set: of the first
/// few that leave room free where ranges stick out of it, the first that fits.
/// It takes a small part of what `solveWithinArena` takes, and proves nothing.
llvm::Expected<std::optional<PackedSolution>>
leaveRoomWithinArena(const Problem &problem, const SolverOptions &options);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_ARENABUDGET_H
