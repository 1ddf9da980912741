//===- Evictor.h - evicting values until a plan fits ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of the local search. An eviction ends the life of a value between
// two of its readers: the second one gets a new copy, recomputed (with whatever
// that needs), reloaded or unpacked right before it, or its kernel absorbs the
// recomputation. A packed form that is idle can be evicted too. `fit` evicts
// until the timeline fits a budget; `prune` takes back evictions that a fitting
// timeline can do without.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_EVICTOR_H
#define REMAT_LIB_PLANNING_EVICTOR_H

#include "Random.h"
#include "Solution.h"
#include "Timeline.h"

#include <random>

namespace remat::planning {

/// How candidates for an eviction are ranked.
struct EvictionRanking {
  /// An operand that a recomputation would miss is kept until then if its bytes
  /// are at most this fraction of the bytes that the eviction frees. Otherwise
  /// it is recomputed too.
  double keepRatio = 0.1;
  /// Whether such an operand is also kept, whatever its size, if there is room
  /// for it anyway.
  bool keepWhereItFits = true;
  /// Ranks are multiplied by up to 1 + noise at random.
  double noise = 0.0;
  /// Whether an eviction is rated by the bytes that it frees at all steps above
  /// the budget, or only at the step that is being relieved.
  bool rankByArea = true;
  /// How much a nanosecond of the link costs, in nanoseconds of computation.
  double transferWeight = 1.0;
};

/// Rankings to try one after the other, the most promising first.
std::vector<EvictionRanking> systematicRankings(const Graph &graph);
/// A random ranking, with noise.
EvictionRanking randomRanking(std::mt19937_64 &generator);

/// Operands of recomputations whose bytes decided whether they were kept. All
/// decisions would have been the same for any ratio between these.
class KeepDecisions {
public:
  void clear() { *this = KeepDecisions(); }
  /// Decides about `bytes` for the sake of `freed` bytes.
  bool decide(double bytes, double freed, double keepRatio) {
    bool isKept = bytes <= keepRatio * freed;
    if (isKept && bytes * keptFreed > kept * freed)
      kept = bytes, keptFreed = freed;
    else if (!isKept && bytes * leftFreed < left * freed)
      left = bytes, leftFreed = freed;
    return isKept;
  }
  bool wouldBeSame(double keepRatio) const {
    return kept <= keepRatio * keptFreed && !(left <= keepRatio * leftFreed);
  }

private:
  /// The greatest fraction that was kept, and the least that was not.
  double kept = 0, keptFreed = 1;
  double left = std::numeric_limits<double>::infinity(), leftFreed = 1;
};

/// Rankings without noise that were tried from one start, to tell which others
/// would do the same again.
class TriedRankings {
public:
  void add(const EvictionRanking &ranking, const KeepDecisions &decisions) {
    tried.emplace_back(ranking, decisions);
  }
  bool wouldRepeat(const EvictionRanking &ranking) const;

private:
  std::vector<std::pair<EvictionRanking, KeepDecisions>> tried;
};

class Evictor {
public:
  Evictor(const Graph &graph, Timeline &timeline, WorkMeter &work,
          uint64_t seed);

  /// Evicts until the peak is at most `budget`. Fails if no candidate is left
  /// or if there are more than `repeatLimit` repeats; the timeline then stays
  /// as the evictions so far left it.
  bool fit(int64_t budget, const EvictionRanking &ranking,
           size_t repeatLimit = std::numeric_limits<size_t>::max());
  /// Removes repeats, the most expensive ones first, as long as the peak stays
  /// within `budget`. With noise, costs are multiplied by up to 1 + noise
  /// first. The repeats in `newest` come last, whatever they cost.
  void prune(int64_t budget, double noise = 0,
             llvm::ArrayRef<StepId> newest = {});
  /// Tries to evict the value whose life spans `at`, whatever the budget.
  bool evict(ValueId value, StepId at, const EvictionRanking &ranking,
             int64_t budget);

  /// Evicts some value from a gap in which there is little room. False if it
  /// finds no such gap.
  bool evictSome(const EvictionRanking &ranking, int64_t budget);

  std::mt19937_64 &random() { return generator; }

  /// What all evictions since it was last cleared have decided by
  /// `EvictionRanking::keepRatio`.
  KeepDecisions &keepDecisions() { return decisions; }

private:
  /// The life of a value between two uses around a step.
  struct Gap {
    uint32_t copy = 0;
    StepId from = noStep, to = noStep;
  };
  struct Candidate {
    /// Cost over violation removed; a lower bound unless `version` is current.
    double rank = 0;
    /// A value, or a packed form.
    ValueId form = noValue;
    /// Noise and preferences.
    double factor = 1;
    uint32_t version = 0;
    bool operator<(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : form > other.form;
    }
  };
  enum class Way : uint8_t { Rerun, Reload, Unpack, Absorb };
  /// What bringing a value back takes.
  struct Closure {
    Way way = Way::Rerun;
    /// The readers that absorb it; later ones get a new copy.
    uint32_t absorbing = 0;
    /// Whether it is packed first; otherwise a packed form is there.
    bool pack = false;
    /// Ops to run again, each after what it needs.
    llvm::SmallVector<OpId, 16> ops;
    double cost = 0;
    /// Bytes of operands that would have to stay at the worst step and do not
    /// stay there now.
    int64_t extended = 0;
    /// Whether `ops` is complete: the evaluation was not cut off by its limit.
    bool complete = false;
  };

  bool relieve(StepId worst, int64_t budget, const EvictionRanking &ranking);
  bool findGap(ValueId form, StepId at, Gap &gap) const;
  bool evaluate(ValueId form, const Gap &gap, StepId worst, int64_t budget,
                const EvictionRanking &ranking, double costLimit,
                Closure &closure);
  bool evaluateCopy(ValueId value, int64_t freed, const Gap &gap, StepId worst,
                    int64_t budget, const EvictionRanking &ranking,
                    double costLimit, Closure &closure);
  double reloadCost(ValueId value, const EvictionRanking &ranking) const;
  double preferenceFactor(ValueId value) const;
  bool isKept(ValueId operand, uint32_t copy, int64_t freed, const Gap &gap,
              int64_t budget, const EvictionRanking &ranking);
  void apply(ValueId form, const Gap &gap, StepId worst, int64_t budget,
             const EvictionRanking &ranking, Closure &closure);
  void applyCopy(ValueId value, StepId before, Closure &closure);
  StepId findBlocker(StepId step, const TimelineCopy &made, int64_t budget);
  bool canRemove(StepId step, int64_t budget);

  // Packed forms and absorption: EvictorForms.cpp.
  /// What the absorption of an op into a run takes: ops inside of its kernel
  /// and ops to run before, readers before what they read.
  struct Absorbed {
    llvm::SmallVector<OpId, 8> inside, before;
    double cost = 0;
    int64_t extended = 0;
  };
  void drawForms(const EvictionRanking &ranking);
  bool considerUnpack(ValueId value, const Gap &gap, StepId worst,
                      Closure &closure) const;
  bool considerAbsorb(ValueId value, const Gap &gap, StepId worst,
                      int64_t budget, const EvictionRanking &ranking,
                      Closure &closure);
  bool evaluateAbsorb(OpId root, int64_t freed, const Gap &gap, StepId worst,
                      int64_t budget, const EvictionRanking &ranking,
                      Absorbed &absorbed);
  void applyAbsorb(ValueId value, const Gap &gap, StepId worst, int64_t budget,
                   const EvictionRanking &ranking, uint32_t count);
  void applyUnpack(ValueId value, const Gap &gap, const Closure &closure);
  /// Whether the step is a run whose kernel can make `form` itself.
  bool mayAbsorbAt(ValueId form, StepId step) const {
    return mayAbsorb && !isPackedForm(form) &&
           timeline.kind(step) == StepKind::Run &&
           graph.canAbsorb(graph.producer(form), timeline.op(step));
  }
  bool isPackedForm(ValueId form) const { return form >= graph.numValues(); }
  /// The value of a form.
  ValueId valueOf(ValueId form) const {
    return isPackedForm(form) ? form - graph.numValues() : form;
  }

  void collectViolations(int64_t budget);
  double violationWithin(const Gap &gap, int64_t bytes) const;

  const Graph &graph;
  const Problem &problem;
  const int64_t hostRoom;
  Timeline &timeline;
  WorkMeter &work;
  std::mt19937_64 generator;
  KeepDecisions decisions;

  /// Values and packed forms that can be evicted.
  std::vector<ValueId> evictable;
  /// For each value, a cost that no way back goes below, except over the link.
  std::vector<double> leastCosts;
  /// Whether the problem has packed forms and absorption, and whether this
  /// `fit` uses them.
  bool hasPacked = false, hasAbsorbed = false;
  bool mayPack = false, mayAbsorb = false;
  std::mt19937_64 formGenerator;
  /// Steps above the budget: keys, excess bytes, and prefix sums of those.
  std::vector<uint64_t> overKeys;
  std::vector<int64_t> overBytes, overSums;
  /// Evictions of each form in this `fit`.
  std::vector<uint32_t> drops;
  std::vector<ValueId> dropped;
  /// For each op, the number of the evaluation that last saw it.
  std::vector<uint32_t> visited;
  uint32_t visit = 0;
  uint32_t version = 1;
  std::vector<Candidate> heap;
  /// For each step, the step without room that kept it from being removed the
  /// last time. It is looked at first, since it often still has no room.
  std::vector<StepId> blockers;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_EVICTOR_H
