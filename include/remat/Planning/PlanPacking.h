//===- PlanPacking.h - addresses for the copies of a plan -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan's peak counts the bytes that are live together. Its arena is what they
// are packed into, which is larger where addresses leave gaps.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_PLANPACKING_H
#define REMAT_PLANNING_PLANPACKING_H

#include "remat/Planning/Packing.h"
#include "remat/Planning/Plan.h"

namespace remat::planning {

/// What lives on the device while `plan` runs: its copies in the order of
/// `Simulation::copies`, then the workspaces of its actions. Positions are
/// those of the actions. The ranges' peak is the plan's.
llvm::Expected<std::vector<LiveRange>> findLiveRanges(const Problem &problem,
                                                      const Plan &plan);

} // namespace remat::planning

#endif // REMAT_PLANNING_PLANPACKING_H
