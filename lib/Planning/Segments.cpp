//===- Segments.cpp - segments of the forward phase -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chen et al. 2016: keep what crosses segment borders, recompute the rest. The
// segments have equal bytes, or an equal number of ops; or they are cut where
// a number of bytes has accumulated.
//
//===----------------------------------------------------------------------===//

#include "Segments.h"
#include "SavedSet.h"
#include "SearchTuning.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

/// Bytes that the ops before each op make.
static std::vector<int64_t> bytesBefore(const Graph &graph, OpId end) {
  std::vector<int64_t> made(end + 1, 0);
  for (OpId op = 0; op < end; ++op) {
    made[op + 1] = made[op];
    for (ValueId result : graph.results(op))
      made[op + 1] += graph.bytes(result);
  }
  return made;
}

/// Splits the ops before `end` into `count` segments of equal bytes, or of
/// equally many ops.
static std::vector<uint32_t> splitEvenly(ArrayRef<int64_t> made, uint32_t count,
                                         bool byBytes) {
  uint32_t end = made.size() - 1;
  std::vector<uint32_t> segment(end);
  for (OpId op = 0; op < end; ++op) {
    segment[op] = byBytes && made[end]
                      ? uint32_t(__int128(made[op]) * count / made[end])
                      : uint32_t(uint64_t(op) * count / end);
    segment[op] = std::min(segment[op], count - 1);
  }
  return segment;
}

Expected<Solution> planSqrt(const Problem &problem,
                            const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  best.consider(saveAllResidency(graph));
  // Without a backward phase there is nothing to recompute for.
  OpId end = graph.firstBackward();
  uint32_t most = end == graph.numOps() ? 1 : uint32_t(2 * std::sqrt(end)) + 1;
  std::vector<int64_t> made = bytesBefore(graph, end);
  for (uint32_t count = 2; count <= most && !work.overdrawn(); ++count)
    best.consider(end, savedByBorders(graph, splitEvenly(made, count, true)));
  return best.finish("sqrt", watch);
}

Expected<Solution> planSegments(const Problem &problem,
                                const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  best.consider(saveAllResidency(graph));
  OpId end = savePosition(graph);
  std::vector<int64_t> made = bytesBefore(graph, end);
  // All small counts; of the others every eighth of an octave.
  for (uint32_t count = 2; count <= end && !work.overdrawn();
       count += std::max(1u, count / 12))
    best.consider(end, savedByBorders(graph, splitEvenly(made, count, false)));
  return best.finish("segments", watch);
}

/// Whether at most one value is read across the place before each op.
static std::vector<bool> narrowPlaces(const Graph &graph, OpId end) {
  std::vector<int32_t> change(end + 1, 0);
  for (OpId op = 0; op < end; ++op)
    for (ValueId value : graph.results(op)) {
      OpId last = op;
      for (OpId reader : graph.readers(value))
        if (reader < end)
          last = reader;
      ++change[op + 1];
      --change[std::min(last + 1, end)];
    }
  std::vector<bool> narrow(end + 1, false);
  int32_t across = 0;
  for (OpId op = 0; op <= end; ++op) {
    across += change[op];
    narrow[op] = across <= 1;
  }
  return narrow;
}

Expected<Solution> planChenGreedy(const Problem &problem,
                                  const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  best.consider(saveAllResidency(graph));
  OpId end = savePosition(graph);
  std::vector<int64_t> made = bytesBefore(graph, end);
  std::vector<bool> narrow = narrowPlaces(graph, end);
  std::vector<uint32_t> segment(end), previous;
  // Byte budgets of a segment from everything down, in steps of a quarter.
  double limit = double(made[end]);
  for (unsigned step = 0;
       step < SavedSetTuning::segmentSteps && limit >= 1 && end > 0; ++step) {
    limit *= SavedSetTuning::segmentFactor;
    for (bool onlyNarrow : {true, false}) {
      uint32_t current = 0;
      int64_t begin = 0;
      for (OpId op = 0; op < end; ++op) {
        if (op > 0 && double(made[op] - begin) > limit &&
            (narrow[op] || !onlyNarrow)) {
          ++current;
          begin = made[op];
        }
        segment[op] = current;
      }
      if (current == 0 || segment == previous)
        continue;
      previous = segment;
      if (work.overdrawn())
        break;
      best.consider(end, savedByBorders(graph, segment));
    }
  }
  return best.finish("chen-greedy", watch);
}

} // namespace remat::planning
