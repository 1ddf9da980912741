//===- Regions.h - limits on groups of values -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_REGIONS_H
#define REMAT_LIB_PLANNING_REGIONS_H

#include "Graph.h"

namespace remat::planning {

/// The buffers that a region's budget counts where a backward op reads them as
/// the forward phase left them: its forward values with backward readers.
std::vector<ValueId> valuesToKeep(const Graph &graph, const Region &region);

/// A copy of `problem`, which passed `check`, with MUST_RECOMPUTE on what the
/// budgets of its regions have no room for. Each plan for it is one for
/// `problem`. Fails where values that may not be recomputed exceed a budget.
llvm::Expected<Problem> limitRegions(const Problem &problem);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_REGIONS_H
