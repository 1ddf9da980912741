//===- ParallelTest.cpp - independent work on threads ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

using namespace mlir;
using namespace remat;

TEST(ParallelTest, EachCallIsMadeOnceAlsoWithinACall) {
  MLIRContext context;
  constexpr size_t outer = 8, inner = 5;
  std::array<std::atomic<int>, outer * inner> calls = {};
  forEachInParallel(&context, outer, [&](size_t i) {
    forEachInParallel(&context, inner,
                      [&](size_t j) { ++calls[i * inner + j]; });
  });
  for (const std::atomic<int> &count : calls)
    EXPECT_EQ(count, 1);
  forEachInParallel(&context, 0, [](size_t) { FAIL(); });
}

TEST(ParallelTest, TheCallingThreadMakesTheFirstCall) {
  MLIRContext context;
  std::thread::id first;
  forEachInParallel(&context, 3, [&](size_t i) {
    if (i == 0)
      first = std::this_thread::get_id();
  });
  EXPECT_EQ(first, std::this_thread::get_id());
}

TEST(ParallelTest, OneThreadCallsInOrder) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::vector<size_t> order;
  forEachInParallel(&context, 4, [&](size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3}));
}
