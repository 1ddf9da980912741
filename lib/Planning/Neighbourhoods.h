//===- Neighbourhoods.h - which evictions to take back ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The destroying half of large-neighbourhood search [Shaw, Using constraint
// programming and local search methods to solve vehicle routing problems,
// 1998]: picks repeats of a timeline that have something to do with each other
// and removes them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_NEIGHBOURHOODS_H
#define REMAT_LIB_PLANNING_NEIGHBOURHOODS_H

#include "Timeline.h"

#include <random>

namespace remat::planning {

class Neighbourhoods {
public:
  Neighbourhoods(const Graph &graph, Timeline &timeline,
                 std::mt19937_64 &generator)
      : graph(graph), timeline(timeline), generator(generator) {}

  /// Removes some repeats, usually a few. Expects a timeline that has repeats.
  void takeBack();

private:
  void takeBackWindow(size_t count);
  void takeBackAround(size_t count);
  void takeBackSome(size_t count);
  void takeBackRelated(size_t count);
  void advance(StepId step);
  bool areRelated(OpId op, OpId other) const;
  uint64_t gapBegin(StepId step) const;
  void thinOut(size_t first, size_t count);
  StepId pick() { return timeline.repeats()[below(timeline.repeats().size())]; }
  size_t below(size_t limit) { return generator() % limit; }

  const Graph &graph;
  Timeline &timeline;
  std::mt19937_64 &generator;
  llvm::SmallVector<StepId, 32> chosen;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_NEIGHBOURHOODS_H
