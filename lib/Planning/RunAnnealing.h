//===- RunAnnealing.h - annealing over sequences of runs --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowest peak, whatever it costs: the pebble game, with weights. A state is
// a legal sequence of runs, whether it is within the budget or not. So a way to
// a lower peak may lead over higher ones, where evictions that have to fit one
// by one make ever more be made again.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_RUNANNEALING_H
#define REMAT_LIB_PLANNING_RUNANNEALING_H

#include "Evictor.h"
#include "Reorderer.h"

namespace remat::planning {

class RunAnnealing {
public:
  /// All outlive the annealing. No MUST keeps a value of the graph from
  /// crossing into the backward phase.
  RunAnnealing(const Graph &graph, Timeline &timeline, Evictor &evictor,
               WorkMeter &work);

  /// Lowers the peak of the timeline's plan until it is at most `lowest`,
  /// `patience` rounds have got nowhere, or the first one hardly anywhere, or a
  /// share of the effort is spent; the timeline has the plan with the lowest
  /// peak then. First runs keep their order unless it is free. Offloads, packed
  /// forms and absorptions stay as they are.
  void lowerPeak(int64_t lowest, double share, size_t patience);

  /// Lowers the cost of the timeline's plan, whose peak is at most `most`, in
  /// rounds until one gets hardly anywhere or a share of the effort is spent;
  /// the timeline has the cheapest plan with such a peak then.
  void lowerCost(int64_t most, double share);

  /// Someone who says which changes are kept instead, by a measure of their
  /// own.
  class Judge {
  public:
    virtual ~Judge() = default;
    /// Whether the change just made to the timeline is kept. `moved` is the
    /// step that moved, or `noStep`.
    virtual bool accepts(StepId moved) = 0;
    /// A step where room is wanted.
    virtual StepId pickStep() = 0;
  };

  /// Makes one change to the timeline's plan, and takes it back unless `judge`
  /// accepts it. The change is committed.
  void tryChange(Judge &judge);

private:
  /// The steps strictly between which a change changes bytes.
  struct Range {
    StepId after, before;
  };

  bool isOver(double share) const {
    return work.overdrawn() || work.spent(share);
  }
  void keepIfLower();
  void keepIfCheaper();
  void annealCost(double share);
  double priceOf(OpId op) const;
  bool countsCost() const { return costPrice > 0; }
  Reorderer &pressures() { return countsCost() ? whole : reorderer; }
  size_t countMoves() const;
  void countMove();
  void anneal(int64_t lowest, double share);
  void evict(int64_t lowest);
  bool tryAny(double heat);
  bool tryMove(double heat);
  bool tryEviction(double heat);
  bool tryRemoval(double heat);
  bool finish(const Range &range, double before, double cost, size_t mark,
              double heat);
  Range rangeOfRemoval(StepId step) const;
  StepId pickFullStep();
  StepId pickStepNearby();
  uint32_t pickIdleCopy(StepId at);
  bool makeAgain(OpId op, StepId before, double keep, StepId &from);
  size_t below(size_t limit) { return generator() % limit; }

  const Graph &graph;
  Timeline &timeline;
  Evictor &evictor;
  WorkMeter &work;
  std::mt19937_64 &generator;
  Reorderer reorderer;
  /// Counts nothing within the budget, for the cost.
  Reorderer whole;
  /// Values that can be made again.
  std::vector<ValueId> candidates;

  /// Whoever decides instead of the pressure; null if nobody does.
  Judge *judge = nullptr;
  /// The budget of this round, and steps that were above it not long ago.
  int64_t budget = 0;
  std::vector<StepId> fullSteps;
  size_t picks = 0;
  Plan best;
  /// Its peak, or its cost where that counts.
  int64_t least = 0;
  /// What a run is worth, and a unit of its cost.
  double runPrice = RunAnnealingTuning::runPrice, costPrice = 0;
  /// Ops that `makeAgain` collects.
  llvm::SmallVector<OpId, 16> closure;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_RUNANNEALING_H
