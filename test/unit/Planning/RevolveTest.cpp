//===- RevolveTest.cpp - the order in which a loop is reversed ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Revolve's schedules against the closed form, and that against exhaustive
// search, for every number of iterations and slots.
//
//===----------------------------------------------------------------------===//

#include "LoopSimulator.h"
#include "Problems.h"

#include <map>
#include <queue>
#include <set>

using namespace remat;
using namespace remat::planning;
using llvm::cantFail;

namespace {

std::vector<LoopAction> revolve(int64_t iterations, int64_t slots) {
  std::vector<LoopAction> actions;
  LoopReversal reversal(iterations, std::min(slots, iterations));
  for (LoopAction action; reversal.next(action, cutOfRevolve);)
    actions.push_back(action);
  return actions;
}

/// The least advance cost by the recurrence over where the first checkpoint
/// goes; nothing where there is no schedule.
std::optional<int64_t> recurrence(llvm::ArrayRef<int64_t> costs,
                                  int64_t slots) {
  if (costs.size() < 2)
    return 0;
  if (slots == 0)
    return std::nullopt;
  std::optional<int64_t> best;
  int64_t advance = 0;
  for (size_t cut = 1; cut < costs.size(); ++cut) {
    advance += costs[cut - 1];
    auto behind = recurrence(costs.drop_front(cut), slots - 1);
    auto before = recurrence(costs.take_front(cut), slots);
    if (behind && before)
      best = std::min(best.value_or(INT64_MAX), advance + *behind + *before);
  }
  return best;
}

/// The least advance cost over everything that can be done: Dijkstra over
/// (iterations left, current state, stored states). Assumes no structure.
std::optional<int64_t> exhaustive(llvm::ArrayRef<int64_t> costs,
                                  unsigned slots) {
  struct State {
    unsigned left, current, stored;
    bool operator<(const State &other) const {
      return std::tie(left, current, stored) <
             std::tie(other.left, other.current, other.stored);
    }
  };
  constexpr unsigned nowhere = 31;
  std::map<State, int64_t> best;
  std::set<std::pair<int64_t, State>> queue;
  auto push = [&](int64_t cost, State state) {
    auto [it, added] = best.try_emplace(state, cost);
    if (!added && it->second <= cost)
      return;
    it->second = cost;
    queue.insert({cost, state});
  };
  push(0, {unsigned(costs.size()), 0, 0});
  while (!queue.empty()) {
    auto [cost, s] = *queue.begin();
    queue.erase(queue.begin());
    if (s.left == 0)
      return cost;
    for (unsigned i = 0; i < s.left; ++i)
      if (s.stored >> i & 1) {
        push(cost, {s.left, i, s.stored});
        push(cost, {s.left, s.current, s.stored & ~(1u << i)});
      }
    if (s.current == nowhere)
      continue;
    if (llvm::popcount(s.stored) < int(slots))
      push(cost, {s.left, s.current, s.stored | 1u << s.current});
    if (s.current + 1 == s.left)
      push(cost, {s.left - 1, nowhere, s.stored});
    else if (s.current + 1 < s.left)
      push(cost + costs[s.current], {s.left, s.current + 1, s.stored});
  }
  return std::nullopt;
}

TEST(Revolve, ClosedFormIsTheOptimum) {
  for (int64_t n = 0; n <= 12; ++n)
    for (int64_t slots = 1; slots <= n + 2; ++slots) {
      std::vector<int64_t> ones(n, 1);
      EXPECT_EQ(fewestAdvances(n, slots), recurrence(ones, slots))
          << n << " " << slots;
      if (n <= 8)
        EXPECT_EQ(fewestAdvances(n, slots), exhaustive(ones, slots))
            << n << " " << slots;
    }
  // Known numbers: one slot, all slots, and sums of binomials.
  EXPECT_EQ(fewestAdvances(10, 1), 45);
  EXPECT_EQ(fewestAdvances(10, 9), 9);
  EXPECT_EQ(fewestAdvances(10, 3), 2 * 10 - 5);
  EXPECT_EQ(binomialReach(3, 2), 10);
  EXPECT_EQ(binomialReach(10, 10), 184756);
  EXPECT_EQ(binomialReach(100, 100), INT64_MAX);
  EXPECT_EQ(binomialReach(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(binomialReach(INT64_MAX, 0), 1);
  EXPECT_EQ(fewestAdvances(10, INT64_MAX), 9);
  EXPECT_EQ(fewestAdvances(2, 0), INT64_MAX);
}

TEST(Revolve, ReachesTheClosedForm) {
  for (int64_t n = 0; n <= 70; ++n)
    for (int64_t slots = 1; slots <= n + 2; ++slots) {
      LoopTotals totals = cantFail(simulateLoop(n, revolve(n, slots)));
      EXPECT_EQ(totals.advances, fewestAdvances(n, slots)) << n << " " << slots;
      EXPECT_LE(totals.peakSlots, slots);
    }
}

TEST(Revolve, ManyIterations) {
  for (int64_t slots : {7, 30, 2000})
    EXPECT_EQ(cantFail(simulateLoop(2001, revolve(2001, slots))).advances,
              fewestAdvances(2001, slots));
}

TEST(Revolve, FewOrNoIterations) {
  using Kind = LoopActionKind;
  for (int64_t slots : {0, 1, 5}) {
    EXPECT_TRUE(revolve(0, slots).empty());
    EXPECT_EQ(revolve(1, slots),
              (std::vector<LoopAction>{{Kind::Backward, 0, 0}}));
  }
  for (int64_t slots : {1, 5})
    EXPECT_EQ(revolve(2, slots),
              (std::vector<LoopAction>{{Kind::Store, 0, 0},
                                       {Kind::Advance, 0, 1},
                                       {Kind::Backward, 1, 0},
                                       {Kind::Restore, 0, 0},
                                       {Kind::Backward, 0, 0}}));
}

TEST(Revolve, BrokenSchedules) {
  using Kind = LoopActionKind;
  auto broken = [](std::vector<LoopAction> actions) {
    return message(simulateLoop(2, actions).takeError());
  };
  EXPECT_TRUE(mentions(broken({}), "iteration 1 never runs backward"));
  EXPECT_TRUE(mentions(broken({{Kind::Backward, 0, 0}}),
                       "action 0: iteration 0 runs backward, expected 1"));
  EXPECT_TRUE(mentions(broken({{Kind::Backward, 1, 0}}),
                       "action 0: state 1 is not the current one"));
  EXPECT_TRUE(mentions(broken({{Kind::Store, 1, 0}}), "is not the current"));
  EXPECT_TRUE(mentions(broken({{Kind::Restore, 0, 0}}), "is not stored"));
  for (int64_t to : {-1, 0, 3})
    EXPECT_TRUE(mentions(broken({{Kind::Advance, 0, to}}),
                         "action 0: advances from 0 to"));
  EXPECT_TRUE(mentions(broken({{Kind::Advance, 0, 1},
                               {Kind::Backward, 1, 0},
                               {Kind::Backward, 0, 0}}),
                       "action 2: state 0 is not the current one"));
  EXPECT_TRUE(mentions(broken({{Kind::Advance, 0, 1},
                               {Kind::Backward, 1, 0},
                               {Kind::Store, -1, 0}}),
                       "action 2: state -1 is not the current one"));
  EXPECT_TRUE(mentions(broken({{Kind::Store, 77, 0}}), "is not the current"));
}

} // namespace
