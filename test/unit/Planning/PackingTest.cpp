//===- PackingTest.cpp - addresses for live ranges ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/PackingCache.h"
#include "remat/Planning/PlanPacking.h"
#include "remat/Planning/Simulator.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

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

static Packing pack(const std::vector<LiveRange> &ranges,
                    const PackingOptions &options = {}) {
  Packing packing = packLiveRanges(ranges, options);
  EXPECT_EQ(findPackingFault(ranges, packing).value_or(""), "");
  return packing;
}

static PackingOptions withWork(int64_t maxWork) {
  PackingOptions options;
  options.maxWork = maxWork;
  return options;
}

/// Random lives and sizes.
static std::vector<LiveRange> makeRandom(unsigned seed, unsigned count,
                                         unsigned numPositions,
                                         unsigned maxBytes) {
  std::mt19937 random(seed);
  std::vector<LiveRange> ranges;
  for (unsigned i = 0; i < count; ++i) {
    uint32_t begin = random() % numPositions;
    uint32_t life = 1 + random() % 6;
    ranges.push_back({1 + int64_t(random() % maxBytes), begin,
                      std::min(begin + life, numPositions) - 1});
  }
  return ranges;
}

/// The smallest arena, by trying all orders in which the ranges are put at the
/// lowest address that is free: one of them is optimal.
static int64_t findSmallest(const std::vector<LiveRange> &ranges) {
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t smallest = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(ranges.size(), -1);
    int64_t total = 0;
    for (size_t index : order) {
      const LiveRange &range = ranges[index];
      int64_t offset = range.fixedOffset;
      for (int64_t at = 0; offset < 0; at += range.alignment) {
        bool isFree = true;
        for (size_t other = 0; other < ranges.size(); ++other) {
          const LiveRange &b = ranges[other];
          int64_t low = b.fixedOffset >= 0 ? b.fixedOffset : offsets[other];
          isFree &= low < 0 || other == index || b.begin > range.end ||
                    b.end < range.begin || low >= at + range.bytes ||
                    low + b.bytes <= at;
        }
        if (isFree)
          offset = at;
      }
      offsets[index] = offset;
      total = std::max(total, offset + range.bytes);
    }
    smallest = std::min(smallest, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return smallest;
}

TEST(PackingTest, Degenerate) {
  EXPECT_EQ(packLiveRanges({}).totalBytes, 0);
  std::vector<LiveRange> ranges = {{0, 3, 7}, {64, 5, 5}, {0, 5, 5}};
  Packing packing = pack(ranges);
  EXPECT_EQ(packing.totalBytes, 64);
  EXPECT_EQ(packing.peakBytes, 64);
}

// E6: no more than the live peak, where the orders alone leave gaps.
TEST(PackingTest, FillsTheArenaWithoutGaps) {
  unsigned unsolvedByOrders = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<LiveRange> ranges = Partition(seed, 6).ranges;
    Packing packing = pack(ranges);
    EXPECT_EQ(packing.peakBytes, 10'000);
    EXPECT_TRUE(packing.optimal())
        << "seed " << seed << ": " << packing.totalBytes;
    unsolvedByOrders += !pack(ranges, withWork(0)).optimal();
  }
  EXPECT_GT(unsolvedByOrders, 10u);
}

// What is too much for an exhaustive search is packed by a squeaky wheel: more
// tightly than by any of the orders that it starts from.
TEST(PackingTest, ManyRangesAreMovedForward) {
  std::vector<LiveRange> ranges = makeRandom(7, 6000, 1200, 1000);
  ranges[5].fixedOffset = 3000;
  for (size_t i = 0; i < ranges.size(); i += 7)
    ranges[i].alignment = 64;
  Packing first = pack(ranges, withWork(0));
  Packing last = first;
  for (int64_t work : {20'000'000, 60'000'000, 300'000'000}) {
    Packing next = pack(ranges, withWork(work));
    EXPECT_LE(next.totalBytes, last.totalBytes) << work;
    EXPECT_EQ(next.offsets, pack(ranges, withWork(work)).offsets) << work;
    last = next;
  }
  EXPECT_LT(last.totalBytes, first.totalBytes);
}

// Many short searches with orders that are drawn find what long ones do not
// find so soon.
TEST(PackingTest, DeadlineEndsOrders) {
  // What a chain keeps for its backward phase, gradients that stay until the
  // end, and what lives between two steps. In the order of their areas, each
  // range has thousands of gaps to look at.
  std::vector<LiveRange> ranges;
  const uint32_t length = 33'000;
  for (uint32_t i = 0; i < length; ++i) {
    ranges.push_back({4096, i, 2 * length - i});
    ranges.push_back({1024, 2 * length - i - 1, 3 * length});
    ranges.push_back({4096, 2 * length - i - 1, 2 * length - i + 1});
  }
  auto begin = std::chrono::steady_clock::now();
  PackingOptions options;
  options.deadline = begin + std::chrono::seconds(1);
  Packing packing = packLiveRanges(ranges, options);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(findPackingFault(ranges, packing), std::nullopt);
  EXPECT_LT(seconds.count(), 30);
}

TEST(PackingTest, DrawnOrdersPackTightlySoon) {
  double sum = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<LiveRange> ranges;
    for (uint32_t begin = 0; begin < 120; ++begin) {
      uint32_t life = 1 + random() % 20;
      int64_t bytes = 1 + random() % 1000;
      ranges.push_back({bytes, begin, std::min(119u, begin + life)});
    }
    Packing packing = pack(ranges, withWork(4'000'000));
    EXPECT_EQ(packing.offsets, pack(ranges, withWork(4'000'000)).offsets);
    sum += double(packing.totalBytes) / double(packing.peakBytes);
  }
  EXPECT_LT(sum / 10, 1.005);
}

// A search that cannot place all ranges some times is not begun.
TEST(PackingTest, WorkIsBounded) {
  std::vector<LiveRange> ranges = Partition(1, 9).ranges;
  Packing packing = pack(ranges, withWork(100'000));
  EXPECT_EQ(packing.offsets, pack(ranges, withWork(0)).offsets);
  EXPECT_LT(pack(ranges, withWork(100'000'000)).totalBytes, packing.totalBytes);
}

// D11: more work never leads to a larger arena, nor to a smaller bound.
TEST(PackingTest, MoreWorkIsNeverWorse) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::vector<LiveRange> ranges = Partition(seed, 8).ranges;
    Packing last = pack(ranges, withWork(0));
    for (int64_t work = 1'000'000; work <= 64'000'000; work *= 2) {
      Packing next = pack(ranges, withWork(work));
      EXPECT_LE(next.totalBytes, last.totalBytes) << seed << ' ' << work;
      EXPECT_GE(next.lowerBytes, last.lowerBytes) << seed << ' ' << work;
      last = next;
    }
  }
}

// The search is exact: a proof that the peak cannot be reached is right, with
// alignments and fixed offsets, too.
TEST(PackingTest, ProvesTheSmallestArena) {
  unsigned abovePeak = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::vector<LiveRange> ranges = makeRandom(seed, 6, 6, 9);
    std::mt19937 random(seed);
    if (seed % 3 == 1)
      for (LiveRange &range : ranges)
        range.alignment = 1 << random() % 3;
    if (seed % 3 == 2)
      ranges[0].fixedOffset = random() % 12;
    Packing packing = pack(ranges);
    EXPECT_EQ(packing.totalBytes, findSmallest(ranges)) << "seed " << seed;
    EXPECT_TRUE(packing.optimal()) << "seed " << seed;
    abovePeak += packing.totalBytes > packing.peakBytes;
  }
  EXPECT_GT(abovePeak, 30u);
}

TEST(PackingTest, EnoughIsEnough) {
  std::vector<LiveRange> ranges = Partition(2, 6).ranges;
  Packing greedy = pack(ranges, withWork(0));
  ASSERT_GT(greedy.totalBytes, 10'000);
  PackingOptions options;
  options.enoughBytes = greedy.totalBytes;
  EXPECT_EQ(pack(ranges, options).offsets, greedy.offsets);
  options.enoughBytes = greedy.totalBytes - 1;
  Packing smaller = pack(ranges, options);
  EXPECT_LE(smaller.totalBytes, options.enoughBytes);
}

// What is proven not to fit is not searched any further.
TEST(PackingTest, StopsWhereNothingIsSmallEnough) {
  std::vector<LiveRange> ranges = Partition(2, 6).ranges;
  Packing greedy = pack(ranges, withWork(0));
  ASSERT_GT(greedy.totalBytes, 10'000);
  PackingOptions options;
  options.enoughBytes = 9'999;
  EXPECT_EQ(pack(ranges, options).offsets, greedy.offsets);
}

TEST(PackingTest, SaysWhatItHasFound) {
  unsigned said = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<LiveRange> ranges = Partition(seed, 6).ranges;
    Packing last = pack(ranges, withWork(0));
    PackingOptions options;
    options.onProgress = [&](const Packing &best) {
      ++said;
      EXPECT_LE(best.totalBytes, last.totalBytes);
      EXPECT_GE(best.lowerBytes, last.lowerBytes);
      last = best;
    };
    EXPECT_EQ(pack(ranges, options).offsets, last.offsets);
  }
  EXPECT_GT(said, 0u);
}

// The caller wants no more while the search is in the middle of a round.
TEST(PackingTest, InterruptEndsTheSearch) {
  std::vector<LiveRange> ranges = Partition(2, 9).ranges;
  std::atomic<bool> interrupt = false;
  PackingOptions options = withWork(std::numeric_limits<int64_t>::max());
  options.enoughBytes = 10'000;
  options.interrupt = &interrupt;
  std::thread caller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupt = true;
  });
  Packing packing = pack(ranges, options);
  caller.join();
  EXPECT_LE(packing.totalBytes, pack(ranges, withWork(0)).totalBytes);

  // At once.
  EXPECT_EQ(pack(ranges, options).offsets, pack(ranges, withWork(0)).offsets);
}

/// The ranges with sizes times `factor`.
static std::vector<LiveRange> scale(std::vector<LiveRange> ranges,
                                    int64_t factor) {
  for (LiveRange &range : ranges)
    range.bytes *= factor;
  return ranges;
}

// Areas are larger than 2^63 here.
TEST(PackingTest, LargeSizesHaveTheSameOffsets) {
  constexpr int64_t factor = int64_t(1) << 48;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<LiveRange> ranges = Partition(seed, 6).ranges;
    PackingOptions options = withWork(10'000'000);
    Packing small = pack(ranges, options);
    Packing large = pack(scale(ranges, factor), options);
    for (int64_t &offset : small.offsets)
      offset *= factor;
    EXPECT_EQ(large.offsets, small.offsets) << "seed " << seed;
  }
}

// Beside so large ranges, the search would not see a byte: it proves nothing.
// The squeaky wheel counts in integers, and is there.
TEST(PackingTest, NoSearchThatCannotCount) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<LiveRange> ranges =
        scale(Partition(seed, 6).ranges, int64_t(1) << 41);
    ranges.push_back({1, 0, 99});
    Packing packing = pack(ranges, withWork(20'000'000));
    EXPECT_LE(packing.totalBytes, pack(ranges, withWork(0)).totalBytes);
    EXPECT_EQ(packing.lowerBytes, packing.peakBytes);
  }
}

/// Where `placed` leaves the lowest room for a range, by trying all addresses.
static int64_t findLowest(const std::vector<LiveRange> &ranges,
                          const std::vector<int64_t> &offsets,
                          const std::vector<size_t> &placed, size_t index) {
  const LiveRange &range = ranges[index];
  for (int64_t at = 0;; at += range.alignment)
    if (std::none_of(placed.begin(), placed.end(), [&](size_t other) {
          const LiveRange &b = ranges[other];
          return b.begin <= range.end && range.begin <= b.end &&
                 offsets[other] < at + range.bytes &&
                 at < offsets[other] + b.bytes;
        }))
      return at;
}

// Longest life first, as if every address were tried.
TEST(PackingTest, PlacesAtTheLowestAddress) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<LiveRange> ranges;
    for (unsigned i = 0; i < 30; ++i) {
      uint32_t begin = random() % 23, end = begin + random() % (23 - begin);
      ranges.push_back(
          {1 + int64_t(random() % 9), begin, end, int64_t(1) << random() % 3});
    }
    // Of several orders, the first that is not worse than others is taken; with
    // so much that is enough, the first one.
    PackingOptions options = withWork(0);
    options.enoughBytes = 1000;
    Packing packing = pack(ranges, options);
    std::vector<size_t> order(ranges.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(ranges[a].end - ranges[a].begin, ranges[a].bytes) >
             std::pair(ranges[b].end - ranges[b].begin, ranges[b].bytes);
    });
    std::vector<size_t> placed;
    for (size_t index : order) {
      int64_t expected = findLowest(ranges, packing.offsets, placed, index);
      ASSERT_EQ(packing.offsets[index], expected) << seed;
      placed.push_back(index);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 200u * 30u);
}

TEST(PackingTest, FaultsAreFound) {
  std::vector<LiveRange> ranges = {{4, 0, 1}, {4, 1, 2}, {4, 2, 3, 8}};
  Packing packing = pack(ranges);
  auto fault = [&](std::vector<int64_t> offsets, int64_t total) {
    packing.offsets = std::move(offsets);
    packing.totalBytes = total;
    return findPackingFault(ranges, packing).value_or("none");
  };
  EXPECT_EQ(fault({0, 4, 8}, 12), "none");
  EXPECT_EQ(fault({0, 3, 8}, 12), "range 1 overlaps range 0");
  EXPECT_EQ(fault({4, 1, 8}, 12), "range 1 overlaps range 0");
  EXPECT_EQ(fault({0, 4, 4}, 8), "range 2 is at 4, expected a multiple of 8");
  EXPECT_EQ(fault({0, 4, 8}, 11),
            "the arena ends at 12, expected 11, at least 8");
  EXPECT_EQ(fault({0, 4}, 8), "expected 3 offsets, actual 2");
  ranges[0].fixedOffset = 4;
  EXPECT_EQ(fault({0, 4, 8}, 12), "range 0 is at 0, expected 4");
}

// Ranges without an offset are left out, and lives may be anywhere.
TEST(PackingTest, OverlapsAreFound) {
  std::vector<LiveRange> ranges = {{8, 5, 6}, {8, 0, 4}, {8, 0, 9}, {0, 0, 9}};
  using Pair = std::pair<size_t, size_t>;
  EXPECT_EQ(findOverlap(ranges, {0, 0, -1, 0}), std::nullopt);
  EXPECT_EQ(findOverlap(ranges, {0, 0, 8, 0}), std::nullopt);
  EXPECT_EQ(findOverlap(ranges, {4, 0, 8, 0}), Pair(0, 2));
  EXPECT_EQ(findOverlap(ranges, {0, 4, 8, 0}), Pair(2, 1));
}

// The same packings, whatever was asked for before; what is not remembered
// included.
TEST(PackingTest, CachedPackingsAreThoseOfASearch) {
  PackingCache cache;
  std::vector<std::vector<LiveRange>> all;
  for (unsigned seed : {1, 2, 3})
    all.push_back(makeRandom(seed, 60, 30, 50));
  all.push_back(all.front());
  all.back().back().bytes += 1;
  all.push_back(makeRandom(4, 5000, 3000, 50));
  all.push_back({});
  for (unsigned round : {0, 1})
    for (const std::vector<LiveRange> &ranges : all)
      for (int64_t work : {1'000, 2'000'000}) {
        Packing direct = packLiveRanges(ranges, withWork(work));
        std::shared_ptr<const Packing> cached = cache.pack(ranges, work);
        EXPECT_EQ(cached->offsets, direct.offsets) << round;
        EXPECT_EQ(cached->totalBytes, direct.totalBytes) << round;
        EXPECT_EQ(cached->lowerBytes, direct.lowerBytes) << round;
      }
  // Once is enough.
  std::shared_ptr<const Packing> first = cache.pack(all.front(), 1'000);
  EXPECT_EQ(cache.pack(all.front(), 1'000), first);
}

// What a plan packs is what its simulation counts, with workspaces, and copies
// of what runs again.
TEST(PackingTest, LiveRangesOfAPlanHaveItsPeak) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId a = problem.addResult(problem.addOp("a", 1, x), "a", 100);
  OpId op = problem.addOp("b", 2, a);
  problem.ops[op].workspace = 50;
  ValueId b = problem.addResult(op, "b", 10);
  problem.values[problem.addResult(problem.addOp("c", 4, {a, b}), "c", 7)]
      .isOutput = true;
  Plan plan;
  for (OpId run : {0, 1, 0, 2})
    plan.run(run);
  std::vector<LiveRange> ranges = llvm::cantFail(findLiveRanges(problem, plan));
  Simulation simulation = llvm::cantFail(simulate(problem, plan));
  EXPECT_EQ(pack(ranges).peakBytes, simulation.peakBytes);
  EXPECT_EQ(simulation.peakBytes, 160);
}
