//===- CoreWatchTest.cpp - when other processes take the cores ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreWatch.h"

#include <gtest/gtest.h>

using namespace remat;

namespace {

constexpr int64_t millisecond = 1000000;

/// Runs a process until `end`. Each of its threads loses its core after
/// `turn` of work, 0 if it never does. Returns how long it ran on one thread.
struct Process {
  int64_t run(int64_t end, int64_t turn) {
    int64_t alone = 0;
    for (; now < end; now += millisecond) {
      int64_t work = (watch.isBusy() ? 1 : 2) * millisecond;
      usage.cpu += work;
      alone += watch.isBusy() ? millisecond : 0;
      for (rest += turn ? work : 0; turn && rest >= turn; rest -= turn)
        ++usage.switches;
      if (now >= watch.nextLook()) {
        watch.look(now, usage);
        ++looks;
      }
    }
    return alone;
  }

  CoreWatch watch;
  CoreUsage usage;
  int64_t now = 0, rest = 0, looks = 0;
};

/// Where no core is taken, or seldom, as by what a system does now and then.
TEST(CoreWatch, IdleMachine) {
  Process process;
  EXPECT_EQ(process.run(2000 * millisecond, 0), 0);
  EXPECT_EQ(process.run(9000 * millisecond, 100 * millisecond), 0);
  EXPECT_LE(process.looks, 900);
}

/// On a busy machine, one thread runs almost all of the time.
TEST(CoreWatch, BusyMachine) {
  Process process;
  EXPECT_GT(process.run(10000 * millisecond, 3 * millisecond),
            9000 * millisecond);
}

/// When the others have ended, all threads run again within a second, and
/// what was learnt is forgotten.
TEST(CoreWatch, BecomesIdle) {
  Process process;
  process.run(5000 * millisecond, 3 * millisecond);
  EXPECT_LE(process.run(15000 * millisecond, 0), 640 * millisecond);
  process.run(15040 * millisecond, 3 * millisecond);
  EXPECT_LE(process.run(17000 * millisecond, 0), 80 * millisecond);
}

} // namespace
