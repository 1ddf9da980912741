//===- SaveAll.cpp - the plan that keeps everything -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simplest planner, and the reference for peaks.
//
//===----------------------------------------------------------------------===//

#include "Residency.h"
#include "Solution.h"

using namespace llvm;

namespace remat::planning {

Expected<Solution> planSaveAll(const Problem &problem, const SolverOptions &) {
  Stopwatch watch;
  Graph graph(problem);
  return makeSolution(graph, saveAllPlan(graph), "save-all", watch);
}

} // namespace remat::planning
