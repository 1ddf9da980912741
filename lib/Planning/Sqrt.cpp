//===- Sqrt.cpp - segments of the forward phase ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chen et al. 2016: keep what crosses segment borders, recompute the rest.
//
//===----------------------------------------------------------------------===//

#include "Residency.h"
#include "SimulateInto.h"
#include "Solution.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

/// The segment of each forward op, when the bytes that the forward phase makes
/// are split into `count` equal parts.
static std::vector<uint32_t> splitForward(const Graph &graph, uint32_t count) {
  uint32_t end = graph.firstBackward();
  std::vector<int64_t> made(end + 1, 0);
  for (OpId op = 0; op < end; ++op) {
    made[op + 1] = made[op];
    for (ValueId result : graph.results(op))
      made[op + 1] += graph.bytes(result);
  }
  std::vector<uint32_t> segment(end);
  for (OpId op = 0; op < end; ++op)
    segment[op] = made[end] ? uint32_t(__int128(made[op]) * count / made[end])
                            : uint32_t(uint64_t(op) * count / end);
  for (uint32_t &s : segment)
    s = std::min(s, count - 1);
  return segment;
}

static Residency keepBorders(const Graph &graph, uint32_t count) {
  Residency residency = saveAllResidency(graph);
  std::vector<uint32_t> segment = splitForward(graph, count);
  uint32_t end = graph.firstBackward();
  for (OpId op = 0; op < end; ++op) {
    for (ValueId value : graph.results(op)) {
      bool crosses = segment[op] + 1 == count;
      for (OpId reader : graph.readers(value))
        crosses |= reader < end && segment[reader] != segment[op];
      if (graph.policy(value) == Policy::PreferSave)
        crosses = true;
      // A border value may be needed by recomputations until the end; others
      // stay from when they come back to their last use.
      if (crosses)
        residency.carry(value, op, graph.numOps());
      else
        residency.drop(value, end - 1, end);
    }
  }
  return residency;
}

Expected<Solution> planSqrt(const Problem &problem, const SolverOptions &) {
  Stopwatch watch;
  Graph graph(problem);
  uint32_t forward = graph.firstBackward();
  // Without a backward phase there is nothing to recompute for.
  uint32_t most =
      forward == graph.numOps() ? 1 : uint32_t(2 * std::sqrt(forward)) + 1;

  StagedPlan staged;
  Simulation simulation;
  Plan best;
  int64_t bestCost = 0, bestPeak = 0;
  bool bestFits = false;
  for (uint32_t count = 1; count <= most; ++count) {
    schedule(graph,
             count == 1 ? saveAllResidency(graph) : keepBorders(graph, count),
             staged);
    if (Error error = simulateInto(graph, staged.plan, simulation))
      return std::move(error);
    bool fits =
        problem.deviceBudget && simulation.peakBytes <= *problem.deviceBudget;
    bool better = fits != bestFits ? fits
                  : fits           ? simulation.cost < bestCost
                                   : simulation.peakBytes < bestPeak;
    if (count > 1 && !better)
      continue;
    best = staged.plan;
    bestCost = simulation.cost;
    bestPeak = simulation.peakBytes;
    bestFits = fits;
  }
  return makeSolution(graph, std::move(best), "sqrt", watch);
}

} // namespace remat::planning
