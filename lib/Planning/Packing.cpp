//===- Packing.cpp - addresses for live ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

using namespace llvm;
using namespace remat::planning;

/// The total of bytes live at each position.
static std::vector<int64_t> computeLoad(ArrayRef<LiveRange> ranges) {
  uint32_t last = 0;
  for (const LiveRange &range : ranges)
    last = std::max(last, range.end);
  std::vector<int64_t> load(static_cast<size_t>(last) + 2, 0);
  for (const LiveRange &range : ranges) {
    load[range.begin] += range.bytes;
    load[range.end + 1] -= range.bytes;
  }
  for (size_t i = 1; i < load.size(); ++i)
    load[i] += load[i - 1];
  return load;
}

namespace {
/// Places ranges one by one at the lowest free address.
class LowestFit {
public:
  explicit LowestFit(ArrayRef<LiveRange> ranges) : ranges(ranges) {}

  Packing place(ArrayRef<uint32_t> order) {
    Packing packing;
    packing.offsets.assign(ranges.size(), 0);
    placed.clear();
    for (uint32_t index : order) {
      if (ranges[index].bytes == 0)
        continue;
      int64_t offset = findLowest(ranges[index]);
      packing.offsets[index] = offset;
      packing.totalBytes =
          std::max(packing.totalBytes, offset + ranges[index].bytes);
      insert({offset, offset + ranges[index].bytes, ranges[index].begin,
              ranges[index].end});
    }
    return packing;
  }

private:
  struct Rectangle {
    int64_t low, high;
    uint32_t begin, end;
  };

  /// Walks up over the rectangles, which are ordered by their low address,
  /// past those that are live at the same time and in the way.
  int64_t findLowest(const LiveRange &range) const {
    int64_t offset = 0;
    for (const Rectangle &other : placed) {
      if (other.end < range.begin || other.begin > range.end)
        continue;
      if (offset + range.bytes <= other.low)
        break;
      offset = std::max(offset, other.high);
    }
    return offset;
  }

  void insert(const Rectangle &rectangle) {
    auto position = llvm::upper_bound(
        placed, rectangle,
        [](const Rectangle &a, const Rectangle &b) { return a.low < b.low; });
    placed.insert(position, rectangle);
  }

  ArrayRef<LiveRange> ranges;
  std::vector<Rectangle> placed;
};
} // namespace

/// The orders to start from. All prefer ranges that live through crowded
/// positions, or none do: where memory is short, no gap can be afforded.
static SmallVector<std::vector<uint32_t>> makeOrders(ArrayRef<LiveRange> ranges,
                                                     ArrayRef<int64_t> load) {
  std::vector<int64_t> crowd, life, area;
  for (const LiveRange &range : ranges) {
    crowd.push_back(*std::max_element(load.begin() + range.begin,
                                      load.begin() + range.end + 1));
    life.push_back(int64_t(range.end) - range.begin + 1);
    area.push_back(life.back() * range.bytes);
  }
  using Key = std::function<std::tuple<int64_t, int64_t>(uint32_t)>;
  const Key keys[] = {
      [&](uint32_t i) { return std::tuple(life[i], ranges[i].bytes); },
      [&](uint32_t i) { return std::tuple(crowd[i], life[i]); },
      [&](uint32_t i) { return std::tuple(area[i], ranges[i].bytes); },
      [&](uint32_t i) {
        return std::tuple(-int64_t(ranges[i].begin), ranges[i].bytes);
      },
      [&](uint32_t i) { return std::tuple(crowd[i], ranges[i].bytes); },
  };
  SmallVector<std::vector<uint32_t>> orders;
  for (const Key &key : keys) {
    std::vector<uint32_t> order(ranges.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](uint32_t a, uint32_t b) {
      return std::tuple_cat(key(b), std::tuple(a)) <
             std::tuple_cat(key(a), std::tuple(b));
    });
    orders.push_back(std::move(order));
  }
  return orders;
}

namespace {
/// Improves an order by bringing ranges that stick out above the peak forward,
/// keeping what is not worse.
class OrderSearch {
public:
  OrderSearch(ArrayRef<LiveRange> ranges, int64_t peak,
              std::vector<uint32_t> order)
      : ranges(ranges), peak(peak), fit(ranges), order(std::move(order)),
        packing(fit.place(this->order)) {}

  /// Brings everything that sticks out to the front, again and again.
  void advanceProtruding(unsigned rounds) {
    std::vector<uint32_t> current = order;
    Packing placed = packing;
    for (unsigned round = 0; round < rounds && packing.totalBytes > peak;
         ++round) {
      auto sticksOut = [&](uint32_t index) {
        return placed.offsets[index] + ranges[index].bytes > peak;
      };
      std::vector<uint32_t> next;
      llvm::copy_if(current, std::back_inserter(next), sticksOut);
      llvm::copy_if(current, std::back_inserter(next),
                    [&](uint32_t index) { return !sticksOut(index); });
      current = std::move(next);
      placed = fit.place(current);
      accept(current, placed);
    }
  }

  /// Moves single ranges, at random.
  void moveProtruding(unsigned rounds) {
    for (unsigned round = 0; round < rounds && packing.totalBytes > peak;
         ++round) {
      std::vector<uint32_t> candidate = move();
      accept(candidate, fit.place(candidate));
    }
  }

  const Packing &getPacking() const { return packing; }

private:
  void accept(const std::vector<uint32_t> &candidate, const Packing &placed) {
    if (placed.totalBytes > packing.totalBytes)
      return;
    order = candidate;
    packing = placed;
  }

  /// A range that sticks out above the peak goes to an earlier place, or one
  /// that is in its way goes behind it.
  std::vector<uint32_t> move() {
    SmallVector<uint32_t> protruding;
    for (auto [place, index] : llvm::enumerate(order))
      if (packing.offsets[index] + ranges[index].bytes > peak)
        protruding.push_back(place);
    uint32_t place = protruding[random(protruding.size())];
    const LiveRange &range = ranges[order[place]];
    SmallVector<uint32_t> inTheWay;
    for (uint32_t other = 0; other < place; ++other)
      if (ranges[order[other]].end >= range.begin &&
          ranges[order[other]].begin <= range.end)
        inTheWay.push_back(other);

    std::vector<uint32_t> moved = order;
    if (!inTheWay.empty() && random(3) == 0) {
      auto from = moved.begin() + inTheWay[random(inTheWay.size())];
      std::rotate(from, from + 1, moved.begin() + place + 1);
    } else {
      auto to = moved.begin() + (random(3) == 0 ? 0 : random(place + 1));
      auto from = moved.begin() + place;
      std::rotate(to, from, from + 1);
    }
    return moved;
  }

  /// A number below `bound` [Marsaglia, Xorshift RNGs, 2003].
  uint32_t random(uint32_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>((state >> 32) % bound);
  }

  ArrayRef<LiveRange> ranges;
  int64_t peak;
  LowestFit fit;
  std::vector<uint32_t> order;
  Packing packing;
  uint64_t state = 0x9e3779b97f4a7c15;
};
} // namespace

Packing remat::planning::packLiveRanges(ArrayRef<LiveRange> ranges,
                                        unsigned maxRounds) {
  std::vector<int64_t> load = computeLoad(ranges);
  int64_t peak = *llvm::max_element(load);
  SmallVector<OrderSearch> searches;
  for (std::vector<uint32_t> &order : makeOrders(ranges, load))
    searches.emplace_back(ranges, peak, std::move(order));
  auto findBest = [&]() -> OrderSearch & {
    return *llvm::min_element(
        searches, [](const OrderSearch &a, const OrderSearch &b) {
          return a.getPacking().totalBytes < b.getPacking().totalBytes;
        });
  };
  if (findBest().getPacking().totalBytes != peak)
    for (OrderSearch &search : searches)
      search.advanceProtruding(maxRounds / 20);
  findBest().moveProtruding(maxRounds);
  Packing best = findBest().getPacking();
  best.peakBytes = peak;
  return best;
}
