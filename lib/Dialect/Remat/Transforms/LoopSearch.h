//===- LoopSearch.h - plans of graphs with loops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSEARCH_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSEARCH_H

#include "LoopSlots.h"
#include "Variants.h"

namespace remat {

/// Finds the best plan of a graph whose loops may keep less than they do, and
/// applies it if `planned` is there. Without a budget, or loops, they stay as
/// they are.
llvm::Expected<GraphPlan> findLoopPlan(GraphOp graph,
                                       const PlanOptions &options,
                                       LoopSlots &slots, PlannedGraph *planned);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSEARCH_H
