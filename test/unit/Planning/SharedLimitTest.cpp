//===- SharedLimitTest.cpp - limits of time -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/SharedLimit.h"

#include "gtest/gtest.h"

using namespace remat::planning;

namespace {

TEST(SharedLimit, DeadlinesBeyondTheClock) {
  auto now = std::chrono::steady_clock::now();
  for (double seconds : {1e9, 1e10, 1e300})
    EXPECT_GT(deadlineAfter(seconds), now + std::chrono::hours(24 * 365));
  EXPECT_GE(deadlineAfter(-1), now);
  EXPECT_LT(deadlineAfter(-1e300), now + std::chrono::hours(1));
}

} // namespace
