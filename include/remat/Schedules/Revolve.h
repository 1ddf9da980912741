//===- Revolve.h - reversing a loop with few checkpoints --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binomial checkpointing [Griewank, Walther: Algorithm 799: revolve, ACM TOMS
// 2000]: what the planner plans and the run time does, action by action. It
// stands on nothing, so that the run time needs no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SCHEDULES_REVOLVE_H
#define REMAT_SCHEDULES_REVOLVE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace remat {

/// The most iterations that `slots` checkpoints can reverse with no iteration
/// advanced more than `repetitions` times: the binomial coefficient (slots +
/// repetitions) over slots. INT64_MAX if it does not fit.
inline int64_t binomialReach(int64_t slots, int64_t repetitions) {
  if (slots < 0 || repetitions < 0)
    return 0;
  // The coefficient is symmetric: count up to the smaller one.
  int64_t large = std::max(slots, repetitions);
  __int128 reach = 1;
  for (int64_t i = 1; i <= std::min(slots, repetitions); ++i) {
    reach = reach * (__int128(large) + i) / i;
    if (reach > INT64_MAX)
      return INT64_MAX;
  }
  return static_cast<int64_t>(reach);
}

/// The fewest repetitions that reach `iterations`.
inline int64_t fewestRepetitions(int64_t iterations, int64_t slots) {
  if (slots == 1)
    return std::max<int64_t>(iterations - 1, 0);
  // Mostly few are enough.
  int64_t enough = 1, tooFew = -1;
  while (binomialReach(slots, enough) < iterations) {
    tooFew = enough;
    enough *= 2;
  }
  while (enough - tooFew > 1) {
    int64_t middle = tooFew + (enough - tooFew) / 2;
    (binomialReach(slots, middle) < iterations ? tooFew : enough) = middle;
  }
  return enough;
}

/// The fewest advances that reverse `iterations` with `slots` checkpoints
/// [section 2]: r n - binomialReach(s + 1, r - 1), where r is the least number
/// of repetitions that reaches n. INT64_MAX for two iterations or more without
/// a slot.
inline int64_t fewestAdvances(int64_t iterations, int64_t slots) {
  if (iterations < 2)
    return 0;
  if (slots < 1)
    return INT64_MAX;
  slots = std::min(slots, iterations);
  int64_t repetitions = fewestRepetitions(iterations, slots);
  return repetitions * iterations - binomialReach(slots + 1, repetitions - 1);
}

/// Where Revolve cuts the iterations [from, to), two or more, when state `from`
/// is current and `slots` may be taken, its own included: the next state to
/// store. The repetitions on both sides are as few as possible: what is in
/// front of the cut is advanced once more than what is behind it, so it has to
/// be reached with one repetition less.
inline int64_t cutOfRevolve(int64_t from, int64_t to, int64_t slots) {
  int64_t n = to - from;
  int64_t repetitions = fewestRepetitions(n, slots);
  return from + std::min(binomialReach(slots, repetitions - 1),
                         n - binomialReach(slots - 1, repetitions - 1));
}

/// How many segments of `period` iterations there are, the last of which may be
/// shorter.
inline int64_t segmentsOf(int64_t iterations, int64_t period) {
  return iterations / period + (iterations % period != 0);
}

/// The advances of two levels: Revolve reverses segments of `period` iterations
/// with `hostSlots` checkpoints beside the first state, and the iterations of
/// each segment with `slots`. INT64_MAX if they do not fit.
inline int64_t fewestAdvances(int64_t iterations, int64_t slots,
                              int64_t hostSlots, int64_t period) {
  period = std::min(period, iterations);
  if (hostSlots < 1 || period < 1)
    return fewestAdvances(iterations, slots);
  int64_t segments = segmentsOf(iterations, period);
  int64_t last = iterations - (segments - 1) * period;
  __int128 advances =
      __int128(period) * fewestAdvances(segments, hostSlots + 1) +
      __int128(segments - 1) * fewestAdvances(period, slots) +
      fewestAdvances(last, slots);
  return static_cast<int64_t>(std::min<__int128>(advances, INT64_MAX));
}

/// Whether each state is stored as soon as it is made, and no iteration is
/// advanced again: all states but the first and the last are on the host.
inline bool areAllOnHost(int64_t iterations, int64_t hostSlots,
                         int64_t period) {
  return hostSlots > 0 && period == 1 && hostSlots >= iterations - 2;
}

/// What a step of the reversal of a loop does.
enum class LoopActionKind : uint8_t {
  /// Keep a checkpoint of the current state `from`.
  Store,
  /// Make checkpoint `from` the current state. The last one frees its slot.
  Restore,
  /// Run the iterations `from` to `to`, which is not included.
  Advance,
  /// Run iteration `from` from the current state once more, now with all that
  /// its backward needs, and then its backward. There is no current state
  /// afterwards.
  Backward,
};

/// One step of a reversal. The fields mean what the kind says of them.
struct LoopAction {
  LoopActionKind kind = LoopActionKind::Advance;
  int64_t from = 0, to = 0;

  bool operator==(const LoopAction &other) const {
    return kind == other.kind && from == other.from && to == other.to;
  }
};

/// The actions that reverse all iterations: advances to a cut, reverses what is
/// behind it with a slot less, and comes back. State 0 is current at first.
class LoopReversal {
public:
  LoopReversal(int64_t iterations, int64_t slots) : slots(slots) {
    if (iterations > 0)
      ranges.push_back({0, iterations, slots, /*isCurrent=*/true});
  }

  /// The next action, if there is one. `chooseCut` is called as cutOfRevolve.
  template <typename ChooseCut>
  bool next(LoopAction &action, const ChooseCut &chooseCut) {
    if (ranges.empty())
      return false;
    Range &range = ranges.back();
    slot = slots - range.slots;
    if (!range.isCurrent) {
      action = {LoopActionKind::Restore, range.from, 0};
      range.isCurrent = range.isStored = true;
      return true;
    }
    if (range.to - range.from == 1) {
      action = {LoopActionKind::Backward, range.from, 0};
      ranges.pop_back();
      return true;
    }
    if (!range.isStored) {
      action = {LoopActionKind::Store, range.from, 0};
      range.isStored = true;
      return true;
    }
    Range behind = range;
    int64_t cut = chooseCut(range.from, range.to, range.slots);
    action = {LoopActionKind::Advance, range.from, cut};
    range = {range.from, cut, range.slots, /*isCurrent=*/false};
    ranges.push_back({cut, behind.to, behind.slots - 1, /*isCurrent=*/true});
    return true;
  }

  /// Which slot the last action stored to or restored from; state 0 is in
  /// slot 0, and in no other.
  int64_t getSlot() const { return slot; }

private:
  /// The iterations [from, to) are reversed with so many slots.
  struct Range {
    int64_t from, to, slots;
    /// Whether state `from` is the current one, and whether it is stored.
    bool isCurrent, isStored = false;
  };
  int64_t slots, slot = 0;
  /// The next one is the last in the list; no more than there are slots, and
  /// one.
  std::vector<Range> ranges;
};

} // namespace remat

#endif // REMAT_SCHEDULES_REVOLVE_H
