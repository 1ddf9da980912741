//===- RangesTest.cpp - what profilers are told of a step -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program on its own, as profilers attach once, to the first step. The
// library for ITT sets functions in a record, or only has them.
//
//===----------------------------------------------------------------------===//

#include "LoopTest.h"

#include <cstdlib>

#ifndef REMAT_ITT_LIBRARY
#define REMAT_ITT_LIBRARY "libfakeprofiler.so"
#endif

using namespace remat;

extern "C" size_t fakeProfilerCount();
extern "C" const char *fakeProfilerRange(size_t number);

namespace {

void nothing(void *const *, int64_t, int64_t, remat_kernel_status *) {}

/// An entry, its recomputation for the backward entry, a copy, and a loop whose
/// body has three entries.
TEST(RangesTest, EntriesHaveTheirNamesInEachRun) {
  ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", "libfakeprofiler.so", 1), 0);
  ASSERT_EQ(setenv("INTEL_LIBITTNOTIFY64", REMAT_ITT_LIBRARY, 1), 0);
  CellLoop loop(2, /*isReverse=*/false, /*isInPlace=*/false);
  uint32_t kept = loop.builder.addHostBuffer(0, 64);
  uint32_t once = loop.builder.addArenaBuffer(192, 64);
  StepEntry entry = makeEntry(0, {}, {once});
  entry.name = "exp";
  entry.forwardIndex = 7;
  entry.task = 1;
  loop.builder.addEntry(entry);
  loop.builder.addEntry(makeCopy(once, kept));
  entry.task = 2;
  entry.original = 1;
  entry.copy = 1;
  entry.recompute = true;
  loop.builder.addEntry(entry);
  Step step(loop.builder, {nothing, nothing, nothing}, {1, 0, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor h({3}), w({3}), x({2, 3}), end({3}), s({2, 3});
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(step.run({h, w, x}, {end, s}), REMAT_OK) << step.message;

  std::vector<std::string> expected, found;
  auto begin = [&](int depth, const std::string &name) {
    expected.push_back(std::to_string(depth) + " " + name);
    // The range of NVTX is around it.
    expected.push_back("remat: " + std::to_string(depth + 1) + " " + name);
  };
  for (int run = 0; run < 2; ++run) {
    begin(0, "entry");
    for (int i = 0; i < 2 * 3; ++i) {
      begin(1, "entry");
      expected.push_back("remat: end");
    }
    expected.push_back("remat: end");
    for (const char *name :
         {"exp, seq = 7", "copy", "exp, seq = 7, copy = 1"}) {
      begin(0, name);
      expected.push_back("remat: end");
    }
  }
  for (size_t i = 0; i < fakeProfilerCount(); ++i)
    found.push_back(fakeProfilerRange(i));
  EXPECT_EQ(found, expected);
}

} // namespace
