//===- Packing.cpp - addresses for live ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <functional>
#include <tuple>

using namespace llvm;
using namespace remat::planning;

static int64_t computePeak(ArrayRef<LiveRange> ranges) {
  uint32_t last = 0;
  for (const LiveRange &range : ranges)
    last = std::max(last, range.end);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const LiveRange &range : ranges) {
    change[range.begin] += range.bytes;
    change[range.end + 1] -= range.bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t delta : change)
    peak = std::max(peak, live += delta);
  return peak;
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

/// The orders to start from, most promising first.
static SmallVector<std::vector<uint32_t>>
makeOrders(ArrayRef<LiveRange> ranges) {
  using Key = std::function<int64_t(const LiveRange &)>;
  auto life = [](const LiveRange &range) {
    return int64_t(range.end) - range.begin + 1;
  };
  const Key keys[] = {
      life,
      [](const LiveRange &range) { return range.bytes; },
      [&](const LiveRange &range) { return range.bytes * life(range); },
      [](const LiveRange &range) { return -int64_t(range.begin); },
  };
  SmallVector<std::vector<uint32_t>> orders;
  for (const Key &key : keys) {
    std::vector<uint32_t> order(ranges.size());
    for (auto [index, element] : llvm::enumerate(order))
      element = index;
    llvm::sort(order, [&](uint32_t a, uint32_t b) {
      return std::tuple(-key(ranges[a]), -ranges[a].bytes, a) <
             std::tuple(-key(ranges[b]), -ranges[b].bytes, b);
    });
    orders.push_back(std::move(order));
  }
  return orders;
}

/// Stable.
static void moveToFront(std::vector<uint32_t> &order,
                        function_ref<bool(uint32_t)> isChosen) {
  std::vector<uint32_t> chosen, rest;
  for (uint32_t index : order)
    (isChosen(index) ? chosen : rest).push_back(index);
  llvm::append_range(chosen, rest);
  order = std::move(chosen);
}

Packing remat::planning::packLiveRanges(ArrayRef<LiveRange> ranges,
                                        unsigned maxRounds) {
  LowestFit fit(ranges);
  int64_t peak = computePeak(ranges);
  Packing best;
  auto improve = [&](Packing packing) {
    if (best.offsets.empty() || packing.totalBytes < best.totalBytes)
      best = std::move(packing);
    return best.totalBytes == peak;
  };
  SmallVector<std::vector<uint32_t>> orders = makeOrders(ranges);
  bool done = false;
  for (const std::vector<uint32_t> &order : orders)
    if ((done = improve(fit.place(order))))
      break;
  for (std::vector<uint32_t> &order : orders) {
    for (unsigned round = 0; !done && round < maxRounds / orders.size();
         ++round) {
      Packing packing = fit.place(order);
      moveToFront(order, [&](uint32_t index) {
        return packing.offsets[index] + ranges[index].bytes > peak;
      });
      done = improve(std::move(packing));
    }
  }
  best.peakBytes = peak;
  return best;
}
