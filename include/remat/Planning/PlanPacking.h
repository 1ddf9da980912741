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

#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Packing.h"

namespace remat::planning {

/// What lives on the device while `plan` runs: its copies in the order of
/// `Simulation::copies`, then the workspaces of its actions. Positions are
/// those of the actions. The ranges' peak is the plan's.
llvm::Expected<std::vector<LiveRange>> findLiveRanges(const Problem &problem,
                                                      const Plan &plan);

/// Addresses for what lives on the device while `plan` runs.
llvm::Expected<Packing> packPlan(const Problem &problem, const Plan &plan,
                                 const PackingOptions &options = {});

/// A solution, and the addresses of its live ranges.
struct PackedSolution {
  Solution solution;
  Packing packing;
};

/// The plan with the smallest arena that is known, and the fastest of those:
/// that of `certificate`, which is what `smallestFeasibleBudget` says of the
/// problem, or one of plans for somewhat larger peaks. Where the former does
/// not reach its peak, runs and addresses are annealed together, and plans that
/// leave room free are searched for in smaller and smaller arenas, unless the
/// options forbid to anneal. That takes a few times the effort, or the time
/// limit. The problem's own device budget is ignored.
llvm::Expected<PackedSolution>
findSmallestArena(const Problem &problem,
                  const FeasibilityCertificate &certificate,
                  const SolverOptions &options = {});

/// What is known of the smallest budgets of a problem.
struct SmallestPlans {
  FeasibilityCertificate lowestPeak;
  PackedSolution smallestArena;
};

/// As `solve`, but the device budget, which is set, bounds the arena: the live
/// ranges of the plan are packed into it. Where the plan of `solver` does not
/// fit, other plans are asked for: for smaller budgets, and such that leave
/// room free where ranges stick out of the budget. The fastest one that fits is
/// taken, or, of `auto`, the one that `findSmallestArena` finds if only that
/// fits, or if that is faster and is in `known`, where it is not looked for
/// again. A time limit is for all of it, and so is effort, but for the latter.
/// `SolverOptions::onProgress` hears of plans that fit. An
/// InfeasibleBudgetError if no plan is found that does, with the smallest arena
/// that was seen.
llvm::Expected<PackedSolution>
solveWithinArena(const Problem &problem, llvm::StringRef solver,
                 const SolverOptions &options = {},
                 const SmallestPlans *known = nullptr);

} // namespace remat::planning

#endif // REMAT_PLANNING_PLANPACKING_H
