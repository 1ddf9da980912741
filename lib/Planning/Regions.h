//===- Regions.h - limits on groups of values -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_REGIONS_H
#define REMAT_LIB_PLANNING_REGIONS_H

#include "Graph.h"
#include "remat/Planning/Plan.h"
#include "remat/Planning/Simulator.h"

namespace remat::planning {

/// The buffers that a region's budget counts where they are carried from the
/// forward into the backward phase: its forward values.
std::vector<ValueId> valuesOf(const Graph &graph, const Region &region);

/// Bytes of the region's values that are carried into the backward phase, in
/// whatever form.
int64_t keptBytes(const Graph &graph, const Region &region,
                  const Simulation &simulation);

/// A copy of `problem`, which passed `check`, with MUST_RECOMPUTE on what the
/// budgets of its regions have no room for, and without regions. The values
/// that its plans carry fit the budgets, each in one form. Where values that
/// may not be recomputed have no room, ops that read them may not run again,
/// and the order is not free. Fails where that is not enough.
llvm::Expected<Problem> limitRegions(const Problem &problem);

/// Changes a plan for what `limitRegions` made of the graph's problem where it
/// carries more into the backward phase than it has to: both forms of a value,
/// or what may come back from the host there. Its peak does not grow. False if
/// it still carries more than the budgets of the regions allow, because there
/// is no room on the host for what stays there longer.
bool fitRegions(const Graph &graph, Plan &plan);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_REGIONS_H
