//===- PackingTest.cpp - addresses for live ranges ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Packing.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace remat::planning;

namespace {
/// Cuts a rectangle of positions and bytes into about 2^depth live ranges, in
/// random order: they fill an arena as small as their peak without a gap.
class Partition {
public:
  Partition(unsigned seed, unsigned depth) : random(seed) {
    cut(0, 100, 0, 10'000, depth);
    // std::shuffle differs between standard libraries.
    for (size_t i = ranges.size(); i > 1; --i)
      std::swap(ranges[i - 1], ranges[random() % i]);
  }

  std::vector<LiveRange> ranges;

private:
  void cut(uint32_t begin, uint32_t end, int64_t low, int64_t high,
           unsigned depth) {
    if (depth == 0) {
      ranges.push_back({high - low, begin, end - 1});
    } else if (random() % 2 == 0 && end - begin >= 2) {
      uint32_t middle = begin + 1 + random() % (end - begin - 1);
      cut(begin, middle, low, high, depth - 1);
      cut(middle, end, low, high, depth - 1);
    } else if (high - low >= 2) {
      int64_t middle = low + 1 + random() % (high - low - 1);
      cut(begin, end, low, middle, depth - 1);
      cut(begin, end, middle, high, depth - 1);
    } else {
      cut(begin, end, low, high, depth - 1);
    }
  }

  std::mt19937 random;
};
} // namespace

static void expectNoOverlap(const std::vector<LiveRange> &ranges,
                            const Packing &packing) {
  ASSERT_EQ(packing.offsets.size(), ranges.size());
  int64_t total = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const LiveRange &a = ranges[i];
    total = std::max(total, packing.offsets[i] + a.bytes);
    EXPECT_GE(packing.offsets[i], 0);
    for (size_t j = 0; j < i; ++j) {
      const LiveRange &b = ranges[j];
      bool together = a.begin <= b.end && b.begin <= a.end;
      bool apart = packing.offsets[i] + a.bytes <= packing.offsets[j] ||
                   packing.offsets[j] + b.bytes <= packing.offsets[i];
      EXPECT_TRUE(!together || apart || a.bytes == 0 || b.bytes == 0)
          << "ranges " << j << " and " << i;
    }
  }
  EXPECT_EQ(packing.totalBytes, total);
}

TEST(PackingTest, Degenerate) {
  EXPECT_EQ(packLiveRanges({}).totalBytes, 0);
  std::vector<LiveRange> ranges = {{0, 3, 7}, {64, 5, 5}, {0, 5, 5}};
  Packing packing = packLiveRanges(ranges);
  expectNoOverlap(ranges, packing);
  EXPECT_EQ(packing.totalBytes, 64);
  EXPECT_EQ(packing.peakBytes, 64);
}

// E6: no more than the live peak, where the orders alone leave gaps.
TEST(PackingTest, FillsTheArenaWithoutGaps) {
  unsigned unsolvedByOrders = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<LiveRange> ranges = Partition(seed, 6).ranges;
    Packing packing = packLiveRanges(ranges);
    expectNoOverlap(ranges, packing);
    EXPECT_EQ(packing.peakBytes, 10'000);
    EXPECT_TRUE(packing.optimal())
        << "seed " << seed << ": " << packing.totalBytes;
    unsolvedByOrders += !packLiveRanges(ranges, /*maxWork=*/0).optimal();
  }
  EXPECT_GT(unsolvedByOrders, 10u);
}

// A search that cannot place all ranges once is not begun.
TEST(PackingTest, WorkIsBounded) {
  std::vector<LiveRange> ranges = Partition(1, 9).ranges;
  Packing packing = packLiveRanges(ranges, /*maxWork=*/100'000);
  expectNoOverlap(ranges, packing);
  EXPECT_EQ(packing.offsets, packLiveRanges(ranges, /*maxWork=*/0).offsets);
  EXPECT_LT(packLiveRanges(ranges, /*maxWork=*/100'000'000).totalBytes,
            packing.totalBytes);
}
