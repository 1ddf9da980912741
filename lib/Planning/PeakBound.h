//===- PeakBound.h - what no plan's peak can go below -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lower bound on the peak of every plan of a problem, whatever it recomputes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_PEAKBOUND_H
#define REMAT_LIB_PLANNING_PEAKBOUND_H

#include "Graph.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace remat::planning {

struct PeakBound {
  int64_t bytes = 0;
  /// The op whose run needs that much, or whose operands cannot be brought
  /// together with less; `noOp` for the outputs at the end.
  OpId op = noOp;
};

/// Computes the bound in about `workLimit` steps, each of which looks at one
/// value of a state of the search. Ends early, with a weaker bound, when
/// `isOver` says so.
PeakBound peakBound(const Graph &graph, uint64_t workLimit,
                    llvm::function_ref<bool()> isOver);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_PEAKBOUND_H
