//===- LoopsTest.cpp - schedules for the backward pass of loops -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules against the closed form and against exhaustive search, for
// every number of iterations and slots.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Loops.h"
#include "Problems.h"

#include <map>
#include <queue>
#include <set>

using namespace remat::planning;
using llvm::cantFail;

namespace {

Loop loopOf(int64_t iterations) {
  Loop loop;
  loop.iterations = iterations;
  loop.stateBytes = 10;
  return loop;
}

std::string failure(llvm::Expected<LoopSchedule> schedule) {
  return message(schedule.takeError());
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

TEST(Loops, ClosedFormIsTheOptimum) {
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

TEST(Loops, RevolveReachesTheClosedForm) {
  for (int64_t n = 0; n <= 70; ++n)
    for (int64_t slots = 1; slots <= n + 2; ++slots) {
      LoopSchedule schedule = cantFail(planLoopRevolve(loopOf(n), slots));
      EXPECT_EQ(schedule.advances, fewestAdvances(n, slots))
          << n << " " << slots;
      EXPECT_LE(schedule.peakSlots, slots);
      EXPECT_EQ(schedule.peakBytes, 10 * schedule.peakSlots);
      EXPECT_EQ(schedule.cost, schedule.advances + 2 * n);
    }
}

TEST(Loops, RevolveOnManyIterations) {
  for (int64_t slots : {1, 2, 7, 30, 100000}) {
    Loop loop = loopOf(slots == 1 ? 2000 : 100001);
    LoopSchedule schedule = cantFail(planLoopRevolve(loop, slots));
    EXPECT_EQ(schedule.advances, fewestAdvances(loop.iterations, slots));
    EXPECT_LE(schedule.peakSlots, slots);
  }
}

TEST(Loops, FewOrNoIterations) {
  using Kind = LoopActionKind;
  for (int64_t slots : {0, 1, 5}) {
    for (auto plan : {planLoopRevolve, planLoopSegments, planLoopUneven}) {
      EXPECT_TRUE(cantFail(plan(loopOf(0), slots)).actions.empty());
      LoopSchedule one = cantFail(plan(loopOf(1), slots));
      EXPECT_EQ(one.actions, (std::vector<LoopAction>{{Kind::Backward, 0, 0}}));
      EXPECT_EQ(one.peakSlots, 0);
      if (slots > 0)
        EXPECT_EQ(cantFail(plan(loopOf(2), slots)).actions,
                  (std::vector<LoopAction>{{Kind::Store, 0, 0},
                                           {Kind::Advance, 0, 1},
                                           {Kind::Backward, 1, 0},
                                           {Kind::Restore, 0, 0},
                                           {Kind::Backward, 0, 0}}));
      else
        EXPECT_TRUE(mentions(failure(plan(loopOf(2), slots)),
                             "2 iterations need a slot"));
    }
  }
  EXPECT_TRUE(cantFail(planLoopSqrt(loopOf(0))).actions.empty());
  EXPECT_EQ(cantFail(planLoopSqrt(loopOf(1))).actions.size(), 1u);
}

TEST(Loops, SqrtOfAnyNumber) {
  for (int64_t n = 1; n <= 300; ++n) {
    LoopSchedule schedule = cantFail(planLoopSqrt(loopOf(n)));
    EXPECT_LT(schedule.peakSlots * schedule.peakSlots, 4 * n) << n;
    EXPECT_LE(schedule.advances, 2 * n);
  }
  LoopSchedule square = cantFail(planLoopSqrt(loopOf(100)));
  EXPECT_EQ(square.peakSlots, 18);
  EXPECT_EQ(square.advances, 90 + 10 * 9);
}

TEST(Loops, SegmentsUseAllSlots) {
  for (int64_t n = 2; n <= 70; ++n)
    for (int64_t slots = 1; slots <= n + 2; ++slots) {
      llvm::Expected<LoopSchedule> schedule =
          planLoopSegments(loopOf(n), slots);
      if (binomialReach(slots, 2) < n) {
        EXPECT_TRUE(mentions(failure(std::move(schedule)),
                             "iterations in segments need at least"));
        continue;
      }
      ASSERT_TRUE(bool(schedule)) << message(schedule.takeError());
      EXPECT_LE(schedule->peakSlots, slots);
      EXPECT_EQ(schedule->advances, fewestAdvances(n, slots))
          << n << " " << slots;
    }
  EXPECT_TRUE(mentions(failure(planLoopSegments(loopOf(100), 3)),
                       "100 iterations in segments need at least 13 slots, "
                       "got 3"));
}

TEST(Loops, UnevenIterations) {
  std::mt19937_64 random(3);
  for (int64_t n = 0; n <= 9; ++n)
    for (int64_t slots = 1; slots <= n + 1; ++slots) {
      Loop loop = loopOf(n);
      for (int64_t i = 0; i < n; ++i)
        loop.forwardCosts.push_back(random() % 10);
      loop.backwardCost = 7;
      LoopSchedule schedule = cantFail(planLoopUneven(loop, slots));
      int64_t sum = 0;
      for (int64_t cost : loop.forwardCosts)
        sum += cost;
      int64_t advanced = schedule.cost - sum - 7 * n;
      EXPECT_EQ(advanced, recurrence(loop.forwardCosts, slots));
      if (n <= 7)
        EXPECT_EQ(advanced, exhaustive(loop.forwardCosts, slots));
      EXPECT_LE(schedule.peakSlots, slots);
    }
  for (int64_t slots : {1, 3, 128}) {
    // On even ones it is as good as Revolve.
    EXPECT_EQ(cantFail(planLoopUneven(loopOf(128), slots)).advances,
              fewestAdvances(128, slots));
  }
}

TEST(Loops, BudgetsInBytes) {
  EXPECT_EQ(loopSlots(loopOf(5), 39), 3);
  EXPECT_EQ(loopSlots(loopOf(5), 0), 0);
  Loop loop = loopOf(5);
  loop.stateBytes = 0;
  EXPECT_EQ(loopSlots(loop, 0), INT64_MAX);
  EXPECT_EQ(cantFail(planLoopRevolve(loop, loopSlots(loop, 0))).advances, 4);
}

TEST(Loops, BadLoops) {
  auto revolve = [](const Loop &loop) {
    return failure(planLoopRevolve(loop, 2));
  };
  EXPECT_TRUE(mentions(revolve(loopOf(-1)), "the loop has -1 iterations"));
  EXPECT_TRUE(mentions(revolve(loopOf(INT64_MAX)), "expected at most 1048576"));
  Loop loop = loopOf(3);
  loop.stateBytes = -1;
  EXPECT_TRUE(mentions(revolve(loop), "state has a negative size: -1"));
  loop = loopOf(3);
  loop.forwardCosts = {1, 2};
  EXPECT_TRUE(mentions(revolve(loop), "3 iterations and 2 forward costs"));
  loop.forwardCosts = {1, 2, 3};
  EXPECT_TRUE(mentions(revolve(loop), "forward costs differ"));
  loop.forwardCosts = {1, 2, -3};
  EXPECT_TRUE(mentions(revolve(loop), "an iteration has a negative cost"));
  EXPECT_TRUE(mentions(failure(planLoopRevolve(loopOf(3), -1)),
                       "the number of slots is negative: -1"));
  EXPECT_TRUE(mentions(failure(planLoopUneven(loopOf(129), 3)),
                       "at most 128 iterations"));
  loop = loopOf(3);
  loop.forwardCost = INT64_MAX / 2;
  EXPECT_TRUE(mentions(revolve(loop), "do not fit 64 bits"));
  EXPECT_TRUE(
      mentions(failure(planLoopUneven(loop, 2)), "the forward costs exceed"));
}

TEST(Loops, BrokenSchedules) {
  using Kind = LoopActionKind;
  auto broken = [](std::vector<LoopAction> actions) {
    return failure(simulateLoop(loopOf(2), std::move(actions)));
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
