//===- Loops.cpp - checkpointing over the iterations of a loop ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules, and the simulation that all of them pass through.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <optional>

using namespace llvm;

namespace remat::planning {

static Error checkLoop(const Loop &loop) {
  if (loop.iterations < 0)
    return createStringError("the loop has " + Twine(loop.iterations) +
                             " iterations");
  if (loop.iterations > loopIterationLimit)
    return createStringError("the loop has " + Twine(loop.iterations) +
                             " iterations, expected at most " +
                             Twine(loopIterationLimit));
  if (loop.stateBytes < 0)
    return createStringError("the loop's state has a negative size: " +
                             Twine(loop.stateBytes));
  if (loop.forwardCost < 0 || loop.backwardCost < 0 ||
      any_of(loop.forwardCosts, [](int64_t cost) { return cost < 0; }))
    return createStringError("an iteration has a negative cost");
  if (!loop.forwardCosts.empty() &&
      int64_t(loop.forwardCosts.size()) != loop.iterations)
    return createStringError(
        "the loop has " + Twine(loop.iterations) + " iterations and " +
        Twine(loop.forwardCosts.size()) + " forward costs");
  return Error::success();
}

/// Two iterations or more need a slot, for state 0.
static Error checkSlots(const Loop &loop, int64_t slots) {
  if (slots < 0)
    return createStringError("the number of slots is negative: " +
                             Twine(slots));
  if (slots == 0 && loop.iterations > 1)
    return createStringError(Twine(loop.iterations) +
                             " iterations need a slot for a checkpoint, got 0");
  return Error::success();
}

int64_t loopSlots(const Loop &loop, int64_t budgetBytes) {
  return loop.stateBytes > 0 ? budgetBytes / loop.stateBytes : INT64_MAX;
}

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

namespace {
class LoopSimulator {
public:
  LoopSimulator(const Loop &loop, std::vector<LoopAction> actions)
      : loop(loop) {
    out.actions = std::move(actions);
  }

  Expected<LoopSchedule> run() {
    nextBackward = loop.iterations;
    findLastRestores();
    for (int64_t i = 0; i < int64_t(out.actions.size()); ++i)
      if (Error error = step(i, out.actions[i]))
        return std::move(error);
    if (nextBackward > 0)
      return createStringError("iteration " + Twine(nextBackward - 1) +
                               " never runs backward");
    if (MulOverflow(out.peakSlots, loop.stateBytes, out.peakBytes) || !fits)
      return createStringError(
          "the schedule's cost or bytes do not fit 64 bits");
    return std::move(out);
  }

private:
  Error failAt(int64_t i, const Twine &message) const {
    return createStringError("action " + Twine(i) + ": " + message);
  }

  /// A checkpoint stays until its last Restore before it is stored again.
  void findLastRestores() {
    dies.assign(out.actions.size(), false);
    std::map<int64_t, bool> wanted;
    for (int64_t i = out.actions.size(); i-- > 0;) {
      const LoopAction &action = out.actions[i];
      if (action.kind == LoopActionKind::Restore && !wanted[action.from])
        dies[i] = wanted[action.from] = true;
      // What is never restored dies at once.
      if (action.kind == LoopActionKind::Store) {
        dies[i] = !wanted[action.from];
        wanted[action.from] = false;
      }
    }
  }

  void spend(int64_t cost) { fits &= !AddOverflow(out.cost, cost, out.cost); }

  Error step(int64_t i, const LoopAction &action) {
    int64_t from = action.from;
    if (action.kind == LoopActionKind::Restore) {
      if (!stored.count(from))
        return failAt(i, "state " + Twine(from) + " is not stored");
      current = from;
    } else if (current != from) {
      return failAt(i, "state " + Twine(from) + " is not the current one");
    }
    switch (action.kind) {
    case LoopActionKind::Restore:
      break;
    case LoopActionKind::Store:
      stored[from] = true;
      out.peakSlots = std::max<int64_t>(out.peakSlots, stored.size());
      break;
    case LoopActionKind::Advance:
      if (action.to <= from || action.to > loop.iterations)
        return failAt(i, "advances from " + Twine(from) + " to " +
                             Twine(action.to) + " of " +
                             Twine(loop.iterations));
      advance(from, action.to);
      current = action.to;
      break;
    case LoopActionKind::Backward:
      if (from != nextBackward - 1)
        return failAt(i, "iteration " + Twine(from) +
                             " runs backward, expected " +
                             Twine(nextBackward - 1));
      nextBackward = from;
      spend(loop.forwardCostOf(from));
      spend(loop.backwardCost);
      current.reset();
      break;
    }
    if (dies[i])
      stored.erase(from);
    return Error::success();
  }

  void advance(int64_t from, int64_t to) {
    out.advances += to - from;
    if (loop.forwardCosts.empty()) {
      int64_t cost = 0;
      fits &= !MulOverflow(loop.forwardCost, to - from, cost);
      spend(cost);
      return;
    }
    for (int64_t i = from; i < to; ++i)
      spend(loop.forwardCosts[i]);
  }

  const Loop &loop;
  LoopSchedule out;
  std::vector<bool> dies;
  std::map<int64_t, bool> stored;
  std::optional<int64_t> current = 0;
  int64_t nextBackward = 0;
  bool fits = true;
};
} // namespace

Expected<LoopSchedule> simulateLoop(const Loop &loop,
                                    std::vector<LoopAction> actions) {
  if (Error error = checkLoop(loop))
    return std::move(error);
  return LoopSimulator(loop, std::move(actions)).run();
}

//===----------------------------------------------------------------------===//
// Revolve
//===----------------------------------------------------------------------===//

namespace {
/// Where to cut the iterations [from, to) when state `from` is current and
/// `slots` may be taken, its own included: the next state to store.
using ChooseCut =
    function_ref<int64_t(int64_t from, int64_t to, int64_t slots)>;
} // namespace

static std::vector<LoopAction> reverseByCuts(int64_t iterations, int64_t slots,
                                             ChooseCut chooseCut) {
  std::vector<LoopAction> actions;
  LoopReversal reversal(iterations, slots);
  for (LoopAction action; reversal.next(action, chooseCut);)
    actions.push_back(action);
  return actions;
}

Expected<LoopSchedule> planLoopRevolve(const Loop &loop, int64_t slots) {
  if (Error error = checkLoop(loop))
    return std::move(error);
  if (Error error = checkSlots(loop, slots))
    return std::move(error);
  if (!loop.forwardCosts.empty() && !all_equal(loop.forwardCosts))
    return createStringError("the iterations' forward costs differ");
  slots = std::min(slots, loop.iterations);
  return simulateLoop(loop,
                      reverseByCuts(loop.iterations, slots, cutOfRevolve));
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Keeps the first state of each segment, then all states of one segment after
/// the other.
static std::vector<LoopAction> reverseBySegments(ArrayRef<int64_t> lengths) {
  std::vector<LoopAction> actions;
  int64_t begin = 0;
  for (int64_t length : lengths.drop_back(!lengths.empty())) {
    actions.push_back({LoopActionKind::Store, begin, 0});
    actions.push_back({LoopActionKind::Advance, begin, begin + length});
    begin += length;
  }
  for (size_t segment = lengths.size(); segment-- > 0;) {
    int64_t end = begin + lengths[segment];
    bool isLast = segment + 1 == lengths.size();
    if (!isLast)
      actions.push_back({LoopActionKind::Restore, begin, 0});
    for (int64_t i = begin; i + 1 < end; ++i) {
      // The first state of all segments but the last one is still stored.
      if (isLast || i > begin)
        actions.push_back({LoopActionKind::Store, i, 0});
      actions.push_back({LoopActionKind::Advance, i, i + 1});
    }
    for (int64_t i = end; i-- > begin;) {
      if (i + 1 < end)
        actions.push_back({LoopActionKind::Restore, i, 0});
      actions.push_back({LoopActionKind::Backward, i, 0});
    }
    if (segment > 0)
      begin -= lengths[segment - 1];
  }
  return actions;
}

Expected<LoopSchedule> planLoopSqrt(const Loop &loop) {
  if (Error error = checkLoop(loop))
    return std::move(error);
  int64_t n = loop.iterations, segments = 0;
  while (segments * segments < n)
    ++segments;
  std::vector<int64_t> lengths;
  for (int64_t k = 0; k < segments; ++k)
    lengths.push_back(n * (k + 1) / segments - n * k / segments);
  return simulateLoop(loop, reverseBySegments(lengths));
}

Expected<LoopSchedule> planLoopSegments(const Loop &loop, int64_t slots) {
  if (Error error = checkLoop(loop))
    return std::move(error);
  if (Error error = checkSlots(loop, slots))
    return std::move(error);
  // Segment k runs backward next to k checkpoints before it, and stores all of
  // its states but the last one.
  std::vector<int64_t> lengths;
  int64_t covered = 0;
  slots = std::min(slots, loop.iterations);
  for (int64_t length = slots + 1; covered < loop.iterations; --length) {
    if (length == 0) {
      int64_t least = slots;
      while (binomialReach(least, 2) < loop.iterations)
        ++least;
      return createStringError(Twine(loop.iterations) +
                               " iterations in segments need at least " +
                               Twine(least) + " slots, got " + Twine(slots));
    }
    lengths.push_back(length);
    covered += length;
  }
  // The first segment is the one that is advanced most often.
  if (!lengths.empty())
    lengths.front() -= covered - loop.iterations;
  return simulateLoop(loop, reverseBySegments(lengths));
}

//===----------------------------------------------------------------------===//
// Uneven iterations
//===----------------------------------------------------------------------===//

Expected<LoopSchedule> planLoopUneven(const Loop &loop, int64_t slots) {
  if (Error error = checkLoop(loop))
    return std::move(error);
  if (Error error = checkSlots(loop, slots))
    return std::move(error);
  int64_t n = loop.iterations;
  if (n > unevenLoopLimit)
    return createStringError("takes at most " + Twine(unevenLoopLimit) +
                             " iterations of different costs, got " + Twine(n));
  slots = std::min(slots, n);

  // The cost of all iterations before each; what no sum of n^2 of them exceeds.
  std::vector<int64_t> before(n + 1, 0);
  constexpr int64_t sumLimit = INT64_MAX / (2 * unevenLoopLimit);
  for (int64_t i = 0; i < n; ++i)
    if (AddOverflow(before[i], loop.forwardCostOf(i), before[i + 1]) ||
        before[i + 1] > sumLimit)
      return createStringError("the forward costs exceed " + Twine(sumLimit) +
                               " at iteration " + Twine(i));

  // The least cost of the advances that reverse [from, to) with s slots, and
  // the cut that it takes.
  struct Cell {
    int64_t cost = 0, cut = 0;
  };
  std::vector<Cell> table((n + 1) * (n + 1) * (slots + 1));
  auto cell = [&](int64_t from, int64_t to, int64_t s) -> Cell & {
    return table[(from * (n + 1) + to) * (slots + 1) + s];
  };
  for (int64_t length = 2; length <= n; ++length)
    for (int64_t from = 0; from + length <= n; ++from)
      for (int64_t s = 1; s <= slots; ++s) {
        int64_t to = from + length;
        Cell &best = cell(from, to, s);
        best.cost = INT64_MAX;
        // Without a slot, one iteration is what can be left behind the cut.
        for (int64_t cut = s == 1 ? to - 1 : from + 1; cut < to; ++cut) {
          int64_t cost = before[cut] - before[from] +
                         cell(cut, to, s - 1).cost + cell(from, cut, s).cost;
          if (cost < best.cost)
            best = {cost, cut};
        }
      }
  return simulateLoop(
      loop, reverseByCuts(n, slots, [&](int64_t from, int64_t to, int64_t s) {
        return cell(from, to, s).cut;
      }));
}

} // namespace remat::planning
