//===- Reorderer.h - moving the steps of a timeline -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves that keep every step reading the copies that it reads. They cost no
// time; they are worth making where they leave fewer bytes live at the steps
// that are short of memory.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_REORDERER_H
#define REMAT_LIB_PLANNING_REORDERER_H

#include "Random.h"
#include "SearchTuning.h"
#include "Solution.h"
#include "Timeline.h"

#include <random>

namespace remat::planning {

class Reorderer {
public:
  /// Steps with less than `pressureBegins` of the budget are under no pressure.
  Reorderer(const Graph &graph, Timeline &timeline, WorkMeter &work,
            std::mt19937_64 &generator,
            double pressureBegins = ReordererTuning::pressureBegins);

  /// Simulated annealing of the order, in at most `rounds` moves; stops as soon
  /// as the timeline fits the budget.
  void reduce(int64_t budget, size_t rounds);
  /// Makes up to `count` moves that leave the timeline within the budget if it
  /// is, and no fuller than before. Returns how many were made.
  size_t smooth(int64_t budget, size_t count);

  /// One random move of `step`; taken back unless it lowers the pressure or
  /// raises it by less than `heat` allows.
  bool tryMove(StepId step, int64_t budget, double heat);
  /// The sum over the steps strictly between two of the squares of what they
  /// have above `pressureBegins` of the budget, in parts of that.
  double pressure(StepId from, StepId to, int64_t budget) const;

  /// Any run: the first of an op, or a repeat.
  StepId pickStep();

private:
  /// The steps between which a step may stand.
  struct Range {
    StepId after, before;
  };
  Range rangeOf(StepId step) const;

  const Graph &graph;
  Timeline &timeline;
  WorkMeter &work;
  std::mt19937_64 &generator;
  double pressureBegins;
  /// Change of the pressure by the last move.
  double lastChange = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_REORDERER_H
