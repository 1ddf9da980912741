//===- Oracle.h - the best plan of a tiny problem ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exhaustive search over all plans of a problem with a handful of ops. It knows
// nothing of the planning library but the problem's and the plan's plain data:
// memory, phases, policies and costs are written down here a second time, so
// that it checks the simulator and the verifier as well as the algorithms.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_ORACLE_H
#define REMAT_TEST_UNIT_PLANNING_ORACLE_H

#include "remat/Planning/Plan.h"

#include <optional>

namespace remat::planning {

struct BestPlan {
  /// The smallest cost, or the smallest peak, whatever was asked for.
  int64_t value = 0;
  Plan plan;
};

/// The cheapest plan whose arena stays within `budget`. First runs come in the
/// order of the ops, or in any if that is free; everything else can happen at
/// any place and as often as it helps. Takes at most 8 ops and 10 roots, and a
/// link of infinite bandwidth or none. In a free order, more than 5 ops take
/// long. Nothing if there is no such plan.
std::optional<BestPlan> cheapestPlan(const Problem &problem, int64_t budget);

/// The plan with the smallest peak at any cost. Nothing if there is no legal
/// plan at all.
std::optional<BestPlan> smallestPlan(const Problem &problem);

/// The bytes in the arena during each action, straight from the definition and
/// slowly. `plan` can be simulated; any problem.
std::vector<int64_t> bytesByDefinition(const Problem &problem,
                                       const Plan &plan);

/// A random problem within these limits, with views, workspaces, several
/// results or none, ops that run once, policies, and in turn a link, packed
/// forms or absorption.
Problem tinyProblem(uint64_t seed);

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_ORACLE_H
