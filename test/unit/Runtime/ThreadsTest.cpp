//===- ThreadsTest.cpp - the pool of threads ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads.h"
#include "FloatScope.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace remat;

namespace {

/// The sum of 0 to 999, by some threads.
int64_t sum() {
  int64_t parts[4] = {};
  parallelFor(4, 1000, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t i = begin; i < end; ++i)
      parts[part] += i;
  });
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// Only the thread that forks is in the child, whose first parallel work would
// wait for the others without end. It makes new ones, as does the parent.
TEST(Threads, Fork) {
  for (int times = 0; times < 3; ++times) {
    ASSERT_EQ(sum(), 499500);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      _exit(sum() == 499500 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

#ifdef __SSE__
// Threads have the mode of the one that made them, which a program may change
// before or behind that.
TEST(Threads, FloatMode) {
  constexpr unsigned plain = 0x1f80, zeroes = 0x8040, mask = 0xffc0;
  unsigned before = _mm_getcsr();
  for (unsigned mode : {plain | zeroes, plain}) {
    _mm_setcsr(mode);
    {
      FloatScope scope;
      EXPECT_EQ(_mm_getcsr() & mask, plain);
      _mm_setcsr(mode);
      parallelFor(4, 4, 1, [&](int64_t, int64_t, int part) {
        if (part > 0)
          EXPECT_EQ(_mm_getcsr() & mask, plain);
      });
    }
    EXPECT_EQ(_mm_getcsr() & mask, mode);
  }
  _mm_setcsr(before);
}
#endif

} // namespace
