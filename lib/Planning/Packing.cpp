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
/// What decides a packing: the ranges in the order in which they are placed,
/// and for each range whether it goes up, as far as the peak allows.
struct Arrangement {
  std::vector<uint32_t> order;
  std::vector<bool> up;
};

/// Places ranges one by one, at the lowest free address or at the highest free
/// one below the peak. What lives long is at the bottom and what comes and goes
/// at the top, so that neither leaves gaps in the other.
class Placer {
public:
  Placer(ArrayRef<LiveRange> ranges, int64_t peak)
      : ranges(ranges), peak(peak) {}

  Packing place(const Arrangement &arrangement) {
    Packing packing;
    packing.offsets.assign(ranges.size(), 0);
    placed.clear();
    for (uint32_t index : arrangement.order) {
      if (ranges[index].bytes == 0)
        continue;
      int64_t offset = arrangement.up[index] ? findHighest(ranges[index]) : -1;
      if (offset < 0)
        offset = findLowest(ranges[index]);
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

  /// The highest place below the peak, or -1.
  int64_t findHighest(const LiveRange &range) const {
    int64_t offset = 0, found = -1;
    for (const Rectangle &other : placed) {
      if (other.end < range.begin || other.begin > range.end)
        continue;
      if (offset + range.bytes <= other.low)
        found = other.low - range.bytes;
      offset = std::max(offset, other.high);
    }
    return offset + range.bytes <= peak ? peak - range.bytes : found;
  }

  void insert(const Rectangle &rectangle) {
    auto position = llvm::upper_bound(
        placed, rectangle,
        [](const Rectangle &a, const Rectangle &b) { return a.low < b.low; });
    placed.insert(position, rectangle);
  }

  ArrayRef<LiveRange> ranges;
  int64_t peak;
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
/// Improves an arrangement by bringing ranges that stick out above the peak
/// forward, keeping what is not worse.
class OrderSearch {
public:
  OrderSearch(ArrayRef<LiveRange> ranges, int64_t peak, Arrangement start)
      : ranges(ranges), peak(peak), placer(ranges, peak),
        best(std::move(start)), packing(placer.place(best)), smallest(packing),
        excess(getExcess(packing)) {}

  /// Brings everything that sticks out to the front, again and again.
  void advanceProtruding(unsigned rounds) {
    Arrangement current = best;
    Packing placed = packing;
    for (unsigned round = 0; round < rounds && smallest.totalBytes > peak;
         ++round) {
      auto sticksOut = [&](uint32_t index) {
        return placed.offsets[index] + ranges[index].bytes > peak;
      };
      std::vector<uint32_t> next;
      llvm::copy_if(current.order, std::back_inserter(next), sticksOut);
      llvm::copy_if(current.order, std::back_inserter(next),
                    [&](uint32_t index) { return !sticksOut(index); });
      current.order = std::move(next);
      placed = placer.place(current);
      accept(current, placed);
    }
  }

  /// Moves single ranges, at random.
  void moveProtruding(unsigned rounds) {
    for (unsigned round = 0; round < rounds && smallest.totalBytes > peak;
         ++round) {
      Arrangement candidate = move();
      accept(candidate, placer.place(candidate));
    }
  }

  const Packing &getPacking() const { return smallest; }

private:
  /// What sticks out, in all: unlike the arena's size, it tells two packings
  /// apart that both have something at the very top.
  int64_t getExcess(const Packing &placed) const {
    int64_t excess = 0;
    for (auto [offset, range] : llvm::zip(placed.offsets, ranges))
      if (range.bytes != 0)
        excess += std::max<int64_t>(offset + range.bytes - peak, 0);
    return excess;
  }

  void accept(const Arrangement &candidate, const Packing &placed) {
    if (placed.totalBytes < smallest.totalBytes)
      smallest = placed;
    int64_t candidateExcess = getExcess(placed);
    if (candidateExcess > excess)
      return;
    best = candidate;
    packing = placed;
    excess = candidateExcess;
  }

  /// A range that sticks out above the peak goes to an earlier place, or one
  /// that is in its way goes behind it.
  /// Or it goes to the other side.
  Arrangement move() {
    SmallVector<uint32_t> protruding;
    for (auto [place, index] : llvm::enumerate(best.order))
      if (packing.offsets[index] + ranges[index].bytes > peak)
        protruding.push_back(place);
    uint32_t place = protruding[random(protruding.size())];
    const LiveRange &range = ranges[best.order[place]];
    SmallVector<uint32_t> inTheWay;
    for (uint32_t other = 0; other < place; ++other)
      if (ranges[best.order[other]].end >= range.begin &&
          ranges[best.order[other]].begin <= range.end)
        inTheWay.push_back(other);

    Arrangement moved = best;
    uint32_t kind = random(6);
    if (!inTheWay.empty() && kind < 2) {
      auto from = moved.order.begin() + inTheWay[random(inTheWay.size())];
      std::rotate(from, from + 1, moved.order.begin() + place + 1);
    } else if (kind == 2) {
      uint32_t index = inTheWay.empty() || random(2) == 0
                           ? best.order[place]
                           : best.order[inTheWay[random(inTheWay.size())]];
      moved.up[index] = !moved.up[index];
    } else {
      auto to = moved.order.begin() + (random(3) == 0 ? 0 : random(place + 1));
      auto from = moved.order.begin() + place;
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
  Placer placer;
  Arrangement best;
  Packing packing;
  /// The smallest arena seen.
  Packing smallest;
  int64_t excess;
  uint64_t state = 0x9e3779b97f4a7c15;
};
} // namespace

Packing remat::planning::packLiveRanges(ArrayRef<LiveRange> ranges,
                                        unsigned maxRounds) {
  std::vector<int64_t> load = computeLoad(ranges);
  int64_t peak = *llvm::max_element(load);
  std::vector<OrderSearch> searches;
  SmallVector<std::vector<uint32_t>> orders = makeOrders(ranges, load);
  auto bytes = [](const OrderSearch &search) {
    return search.getPacking().totalBytes;
  };
  // All at the bottom, or what lives for at most so many positions at the top.
  for (uint32_t longest : {0, 2, 8, 32})
    for (const std::vector<uint32_t> &order : orders) {
      if (!searches.empty() && bytes(searches.back()) == peak)
        break;
      Arrangement arrangement{order, std::vector<bool>(ranges.size())};
      for (auto [index, range] : llvm::enumerate(ranges))
        arrangement.up[index] = range.end - range.begin < longest;
      searches.emplace_back(ranges, peak, std::move(arrangement));
    }
  std::stable_sort(searches.begin(), searches.end(),
                   [&](const OrderSearch &a, const OrderSearch &b) {
                     return bytes(a) < bytes(b);
                   });
  if (searches.size() > orders.size())
    searches.erase(searches.begin() + orders.size(), searches.end());
  if (bytes(searches.front()) != peak)
    for (OrderSearch &search : searches)
      search.advanceProtruding(maxRounds / 20);
  OrderSearch &search = *llvm::min_element(
      searches, [&](const OrderSearch &a, const OrderSearch &b) {
        return bytes(a) < bytes(b);
      });
  search.moveProtruding(maxRounds);
  Packing best = search.getPacking();
  best.peakBytes = peak;
  return best;
}
