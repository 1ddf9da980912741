//===- RecomputeAll.cpp - the plan that keeps nothing ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other end of the scale: nothing crosses from the forward to the backward
// phase but what has to.
//
//===----------------------------------------------------------------------===//

#include "SavedSet.h"

using namespace llvm;

namespace remat::planning {

Expected<Solution> planRecomputeAll(const Problem &problem,
                                    const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  std::vector<bool> nothing(graph.numValues(), false);
  OpId position = savePosition(graph);
  for (Recomputed recomputed : allRecomputed)
    best.consider(savedSetResidency(graph, position, nothing, recomputed));
  return best.finish("recompute-all", watch);
}

} // namespace remat::planning
