//===- KnapsackTest.cpp - the knapsack against brute force ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Knapsack.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace remat::planning;

namespace {

// The exact optimum on uneven sizes and values.
TEST(Knapsack, AllCapacitiesAgreeWithBruteForce) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<KnapsackFrontier::Item> items(random() % 11);
    for (auto &item : items)
      item = {int64_t(random() % 30), int64_t(random() % 30)};
    std::map<int64_t, int64_t> best;
    for (unsigned set = 0; set < 1u << items.size(); ++set) {
      int64_t bytes = 0, gain = 0;
      for (size_t i = 0; i < items.size(); ++i)
        if (set >> i & 1) {
          bytes += items[i].bytes;
          gain += items[i].gain;
        }
      best[bytes] = std::max(best[bytes], gain);
    }
    KnapsackFrontier frontier(items, 4096);
    ASSERT_TRUE(frontier.exact());
    int64_t most = -1;
    size_t index = 0;
    for (auto [bytes, gain] : best) {
      if (gain <= most)
        continue;
      most = gain;
      ASSERT_LT(index, frontier.points().size());
      EXPECT_EQ(frontier.points()[index].bytes, bytes);
      EXPECT_EQ(frontier.points()[index].gain, gain);
      std::vector<bool> chosen = frontier.chosen(index++);
      int64_t sumBytes = 0, sumGain = 0;
      for (size_t i = 0; i < items.size(); ++i)
        if (chosen[i]) {
          sumBytes += items[i].bytes;
          sumGain += items[i].gain;
        }
      EXPECT_EQ(sumBytes, bytes);
      EXPECT_EQ(sumGain, gain);
    }
    EXPECT_EQ(index, frontier.points().size());
  }
}

TEST(Knapsack, StaysWithinItsSpace) {
  std::mt19937_64 random(1);
  std::vector<KnapsackFrontier::Item> items(200);
  for (auto &item : items)
    item = {int64_t(random() % 1000000), int64_t(random() % 1000000)};
  KnapsackFrontier frontier(items, 64);
  EXPECT_FALSE(frontier.exact());
  EXPECT_LE(frontier.points().size(), 64u);
  // The empty set and the full one are always there.
  EXPECT_EQ(frontier.points().front().bytes, 0);
  std::vector<bool> all = frontier.chosen(frontier.points().size() - 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), false), 0);
}

} // namespace
