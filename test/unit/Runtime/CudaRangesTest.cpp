//===- CudaRangesTest.cpp - what a profiler is told -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program on its own, as a profiler attaches once, to the first step.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include <cstdlib>

using namespace remat;

extern "C" size_t fakeProfilerCount();
extern "C" const char *fakeProfilerRange(size_t number);

namespace {

TEST(CudaRangesTest, EntriesHaveTheirNamesInEachRun) {
  fakecuda::reset(1);
  ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", "libfakeprofiler.so", 1), 0);
  {
    defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
    constexpr uint64_t bytes = cudaElements * sizeof(float);
    StepTableBuilder builder;
    uint32_t x = addVectorArgument(builder, "x");
    uint32_t y = addVectorResult(builder, "y");
    uint32_t once = builder.addArenaBuffer(0, bytes);
    uint32_t kept = builder.addHostBuffer(0, bytes);
    uint32_t kernel = addKernel(builder, "add");
    StepEntry entry = makeEntry(kernel, {x}, {once});
    entry.name = "add";
    entry.forwardIndex = 7;
    builder.addEntry(entry);
    builder.addEntry(makeCopy(once, kept));
    StepEntry clone = makeEntry(kernel, {x}, {y});
    clone.name = "add";
    clone.task = 1;
    clone.original = 0;
    clone.copy = 1;
    clone.forwardIndex = 7;
    clone.recompute = true;
    builder.addEntry(clone);
    CudaStep step(builder);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor a({cudaElements}, 2), b({cudaElements});
    for (int run = 0; run < 3; ++run)
      ASSERT_EQ(step.run({a}, {b}), REMAT_OK) << step.message;
    EXPECT_EQ(b.values, std::vector<float>(cudaElements, 3));
  }
  std::vector<std::string> expected, found;
  for (int run = 0; run < 3; ++run)
    for (const char *name :
         {"0 add, seq = 7", "0 copy", "0 add, seq = 7, copy = 1"})
      expected.push_back(name);
  for (size_t i = 0; i < fakeProfilerCount(); ++i)
    found.push_back(fakeProfilerRange(i));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(fakecuda::countCalls("cuStreamBeginCapture_v2"), 0u);
  EXPECT_EQ(fakecuda::getComplaints(), std::vector<std::string>());
  EXPECT_EQ(fakecuda::countObjects(), 0u);
}

} // namespace
