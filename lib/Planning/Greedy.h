//===- Greedy.h - first plans and lowest peaks ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_GREEDY_H
#define REMAT_LIB_PLANNING_GREEDY_H

#include "Solution.h"

namespace remat::planning {

/// The plan with the lowest peak that evictions reach from `start`, whatever it
/// costs. Ends at `lowerBound`, below which no peak is.
LowPeakPlans::Made findLowestPeak(const Graph &graph, const Plan &start,
                                  int64_t lowerBound, WorkMeter &work,
                                  uint64_t seed);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_GREEDY_H
