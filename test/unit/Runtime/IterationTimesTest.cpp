//===- IterationTimesTest.cpp - tests of what entries of loops take -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterationTimes.h"

#include <gtest/gtest.h>

using namespace remat;

namespace {
/// What is found out about a loop of two entries.
struct Found {
  int64_t timed = 0;
  std::vector<int64_t> sums = {0, 0};
};
} // namespace

/// Runs iterations whose entries take what `takes` says; reading the clock
/// takes 20 ns.
template <typename Takes>
static Found runIterations(IterationTimes &times, int64_t count, Takes takes) {
  Found found;
  for (int64_t i = 0; i < count; ++i) {
    times.begin();
    for (size_t entry = 0; times.isTimed() && entry < 2; ++entry)
      times.record(entry, takes(i, entry) + 20);
    found.timed += times.isTimed();
    if (times.isTimed())
      times.end();
    const std::vector<int64_t> &took =
        times.isTimed() ? times.getLatest() : times.getTypical();
    for (size_t entry = 0; entry < 2; ++entry)
      found.sums[entry] += took[entry];
  }
  return found;
}

template <typename Takes>
static Found runIterations(int64_t count, Takes takes) {
  IterationTimes times(2, 20);
  return runIterations(times, count, takes);
}

/// Clocks are read as long as they take, in all, a hundredth of what entries
/// do, and the sums are those of all iterations. Without sampling they would be
/// read for four fifths of the time.
TEST(IterationTimes, ClocksTakeAHundredth) {
  auto takes = [](int64_t, size_t entry) { return entry == 0 ? 15 : 5; };
  Found found = runIterations(20000, takes);
  // Four readings of 20 ns each, of 20 ns in an iteration.
  EXPECT_LE(found.timed * 4 * 20 * 100, 20000 * 20 * 12 / 10);
  EXPECT_GE(found.timed, 45);
  EXPECT_EQ(found.sums, (std::vector<int64_t>{300000, 100000}));
}

/// Where clocks take next to nothing of the time, all is measured as it is.
TEST(IterationTimes, LongIterationsAreAllTimed) {
  auto takes = [](int64_t i, size_t entry) {
    return entry == 0 ? 8000 + 10 * i : 1000;
  };
  Found found = runIterations(100, takes);
  EXPECT_EQ(found.timed, 100);
  EXPECT_EQ(found.sums[0], 100 * 8000 + 10 * 99 * 50);
  EXPECT_EQ(found.sums[1], 100000);
}

/// What the first iteration takes longer, and one that is interrupted, counts
/// once, and not as often as there are iterations that are not timed.
TEST(IterationTimes, WhatIsUnusualCountsOnce) {
  auto takes = [](int64_t i, size_t) { return i == 0 ? 9000 : 10; };
  EXPECT_EQ(runIterations(1000, takes).sums[0], 9000 + 999 * 10);
  int64_t calls = 0;
  auto interrupted = [&](int64_t, size_t) {
    return ++calls == 21 ? 4000000 : 10;
  };
  EXPECT_EQ(runIterations(1000, interrupted).sums[0], 4000000 + 999 * 10);
}

/// The first iterations of each run are timed, so a short loop is, too.
TEST(IterationTimes, BeginAnew) {
  IterationTimes times(2, 20);
  auto takes = [](int64_t, size_t) { return 10; };
  runIterations(times, 1000, takes);
  times.restart();
  auto slower = [](int64_t, size_t) { return 30; };
  Found found = runIterations(times, 4, slower);
  EXPECT_EQ(found.sums, (std::vector<int64_t>{120, 120}));
  EXPECT_EQ(found.timed, 3);
}

/// Entries that take nothing are looked at now and then.
TEST(IterationTimes, Nothing) {
  auto takes = [](int64_t, size_t) { return 0; };
  Found found = runIterations(100000, takes);
  EXPECT_EQ(found.sums, (std::vector<int64_t>{0, 0}));
  EXPECT_GE(found.timed, 100);
  EXPECT_LE(found.timed, 120);
}
