//===- ListSchedule.h - orders of first runs by what they free --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_LISTSCHEDULE_H
#define REMAT_LIB_PLANNING_LISTSCHEDULE_H

#include "Solution.h"

namespace remat::planning {

/// An order of all ops, each of which runs once.
struct LowOrder {
  std::vector<OpId> ops;
  int64_t peak = 0;
};

/// The plan that runs all ops once, in this order.
Plan runOnce(llvm::ArrayRef<OpId> order);

/// The peak of a plan that runs all ops once, in this order.
int64_t findPeak(const Graph &graph, llvm::ArrayRef<OpId> order);

/// An order with a peak as low as list schedules reach, by passes forward and
/// backward in time until none is better. It takes time about in proportion to
/// the edges of the graph. The given order, if that is not improved. There are
/// passes, one at least, up to a share of the effort or the time; a pass ends
/// in vain where the work is overdrawn. A graph that must not be reordered
/// (`Graph::mayReorder`) keeps its order.
LowOrder findLowPeakOrder(const Graph &graph, double share, WorkMeter &work);

/// `problem` with its order fixed. Its plans are plans of `problem`: where the
/// order is free, no packed form may lose anything.
Problem inGivenOrder(const Problem &problem);

/// The same with op order[i] as op i.
Problem withOrder(const Problem &problem, llvm::ArrayRef<OpId> order);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_LISTSCHEDULE_H
