//===- HostSlotsTest.cpp - checkpoints of a loop on the host --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two levels of checkpoints against what the actions of both add up to, and
// their clock against times that are counted by hand.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/HostSlots.h"
#include "LoopSimulator.h"
#include "Problems.h"

using namespace remat;
using namespace remat::planning;
using llvm::cantFail;

namespace {

HostLoop hostLoop(int64_t iterations, int64_t slots, int64_t transferTime) {
  HostLoop loop;
  loop.iterations = iterations;
  loop.slots = slots;
  loop.advanceTime = 10;
  loop.backwardTime = 20;
  loop.transferTime = transferTime;
  return loop;
}

/// The actions on single iterations.
std::vector<LoopAction> expand(const HostLoop &loop, int64_t hostSlots,
                               int64_t period) {
  std::vector<LoopAction> actions;
  int64_t segments = segmentsOf(loop.iterations, period);
  LoopReversal outer(segments, std::min(hostSlots + 1, segments));
  for (LoopAction action; outer.next(action, cutOfRevolve);) {
    int64_t from = action.from * period;
    if (action.kind != LoopActionKind::Backward) {
      actions.push_back({action.kind, from, action.to * period});
      continue;
    }
    int64_t length = std::min(period, loop.iterations - from);
    LoopReversal inner(length, std::min(loop.slots, length));
    for (LoopAction step; inner.next(step, cutOfRevolve);)
      actions.push_back({step.kind, from + step.from, from + step.to});
  }
  return actions;
}

TEST(HostSlots, ReverseAllIterations) {
  for (int64_t n = 1; n <= 40; ++n)
    for (int64_t slots : {1, 2, 5})
      for (int64_t hostSlots : {1, 2, 7, 40})
        for (int64_t period = 1; period <= n; ++period) {
          HostLoop loop = hostLoop(n, slots, 0);
          LoopTotals actions =
              cantFail(simulateLoop(n, expand(loop, hostSlots, period)));
          HostSchedule host = simulateHostSlots(loop, hostSlots, period);
          ASSERT_EQ(host.advances, actions.advances)
              << n << " by " << slots << ", " << hostSlots << " of " << period;
          ASSERT_EQ(host.advances, fewestAdvances(n, slots, hostSlots, period));
          // Copies that take no time are waited for no time.
          ASSERT_EQ(host.time, 10 * host.advances + 20 * n);
          ASSERT_LE(host.hostSlots, hostSlots);
        }
}

TEST(HostSlots, Clock) {
  // Three advances, of which two states leave, and four iterations backward.
  HostSchedule hidden = simulateHostSlots(hostLoop(4, 1, 5), 2, 1);
  EXPECT_EQ(hidden.time, 3 * 10 + 4 * 20);
  EXPECT_EQ(hidden.offloads, 2);
  // The first leaves up to 25, where the third state is made, and the second up
  // to 40. It comes back up to 55, when the last iteration ends.
  EXPECT_EQ(simulateHostSlots(hostLoop(4, 1, 15), 2, 1).time, 35 + 4 * 20);
  // Up to 40 and 70. It comes back from 70 to 100, the first one to 130.
  EXPECT_EQ(simulateHostSlots(hostLoop(4, 1, 30), 2, 1).time, 130 + 2 * 20);
  // Of two links, the second brings it back as late: it has to be there.
  HostLoop duplex = hostLoop(4, 1, 30);
  duplex.duplexLink = true;
  EXPECT_EQ(simulateHostSlots(duplex, 2, 1).time, 130 + 2 * 20);
  // Segments of two: the second state leaves while two iterations run.
  EXPECT_EQ(simulateHostSlots(hostLoop(6, 2, 20), 1, 2).time,
            4 * 10 + 3 * 10 + 6 * 20);
}

TEST(HostSlots, NoPeriodIsFaster) {
  for (int64_t n : {3, 8, 9})
    for (int64_t transferTime : {0, 5, 15, 60, 1000})
      for (int64_t most : {1, 2, 10}) {
        HostLoop loop = hostLoop(n, 1, transferTime);
        int64_t best = 20 * n + 10 * fewestAdvances(n, 1);
        // Two segments need no slot on the host.
        for (int64_t period = 1; segmentsOf(n, period) > 2; ++period)
          best = std::min(best, simulateHostSlots(loop, most, period).time);
        std::optional<HostSchedule> found = planHostSlots(loop, most);
        if (found)
          EXPECT_EQ(found->time, best);
        else
          EXPECT_EQ(20 * n + 10 * fewestAdvances(n, 1), best);
      }
}

TEST(HostSlots, LongerSegmentsForSlowerLinks) {
  int64_t period = 0, time = 0;
  for (int64_t transferTime : {0, 40, 100, 400, 4000}) {
    HostSchedule found =
        *planHostSlots(hostLoop(2000, 12, transferTime), INT64_MAX);
    EXPECT_GE(found.period, period);
    EXPECT_GE(found.time, time);
    period = found.period;
    time = found.time;
  }
  EXPECT_GT(period, 50);
  // As many slots as there are, and none where the link is too slow.
  EXPECT_LE(planHostSlots(hostLoop(2000, 12, 40), 30)->hostSlots, 30);
  EXPECT_FALSE(planHostSlots(hostLoop(2000, 12, 1 << 30), INT64_MAX));
  EXPECT_FALSE(planHostSlots(hostLoop(2000, 12, 40), 0));
  EXPECT_FALSE(planHostSlots(hostLoop(2, 1, 0), 5));
  EXPECT_FALSE(planHostSlots(hostLoop(0, 1, 0), 5));
}

TEST(HostSlots, ManyIterations) {
  for (int64_t slots : {1, 12}) {
    HostLoop loop = hostLoop(100000, slots, 25);
    std::optional<HostSchedule> found = planHostSlots(loop, 1000);
    ASSERT_TRUE(found);
    EXPECT_LE(found->hostSlots, 1000);
    EXPECT_LT(found->advances, fewestAdvances(100000, slots));
  }
  // The arena has room for what needs fewer advances.
  EXPECT_FALSE(planHostSlots(hostLoop(100000, 25000, 25), 1000));
  // Times that are as large as they may be.
  HostLoop large = hostLoop(100000, 3, INT64_MAX);
  large.advanceTime = large.backwardTime = INT64_MAX;
  EXPECT_EQ(simulateHostSlots(large, 10, 100).time, INT64_MAX);
}

} // namespace
