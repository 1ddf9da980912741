//===- Packing.cpp - addresses for live ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Packing.h"

#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
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
struct Rectangle {
  int64_t low, high;
  uint32_t begin, end;
};

/// What is placed, by when it lives: of many ranges, few live at the time of a
/// short one.
class PlacedRectangles {
public:
  explicit PlacedRectangles(uint32_t numPositions)
      : numPositions(numPositions), covering(2 * size_t(numPositions)),
        beginning(numPositions) {}

  void insert(const Rectangle &rectangle) {
    beginning[rectangle.begin].push_back(rectangle);
    size_t left = rectangle.begin + size_t(numPositions);
    size_t right = rectangle.end + size_t(numPositions) + 1;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2)
        covering[left++].push_back(rectangle);
      if (right % 2)
        covering[--right].push_back(rectangle);
    }
  }

  /// Those that live at any of the positions, by their low address.
  void find(uint32_t begin, uint32_t end, std::vector<Rectangle> &found) const {
    found.clear();
    for (size_t node = begin + size_t(numPositions); node > 0; node /= 2)
      llvm::append_range(found, covering[node]);
    for (uint32_t position = begin + 1; position <= end; ++position)
      llvm::append_range(found, beginning[position]);
    llvm::sort(found, [](const Rectangle &a, const Rectangle &b) {
      return a.low < b.low;
    });
  }

private:
  uint32_t numPositions;
  /// A tree of spans of positions, without pointers: each rectangle is in the
  /// few nodes that its life is made of, so that the nodes above a position
  /// hold what lives there.
  std::vector<std::vector<Rectangle>> covering;
  /// By the first position.
  std::vector<std::vector<Rectangle>> beginning;
};
} // namespace

/// Places the ranges one by one in this order, each at the lowest address that
/// is free during its whole life.
static Packing placeLowest(ArrayRef<LiveRange> ranges,
                           ArrayRef<uint32_t> order) {
  uint32_t last = 0;
  for (const LiveRange &range : ranges)
    last = std::max(last, range.end);
  PlacedRectangles byTime(last + 1);
  std::vector<Rectangle> found;
  /// By their low address.
  std::vector<Rectangle> placed;
  Packing packing;
  packing.offsets.assign(ranges.size(), 0);
  for (uint32_t index : order) {
    const LiveRange &range = ranges[index];
    if (range.bytes == 0)
      continue;
    int64_t offset = 0;
    bool isShort = range.end - range.begin <= PackingTuning::maxShortLife;
    if (isShort)
      byTime.find(range.begin, range.end, found);
    for (const Rectangle &other : isShort ? found : placed) {
      if (other.end < range.begin || other.begin > range.end)
        continue;
      if (offset + range.bytes <= other.low)
        break;
      offset = std::max(offset, other.high);
    }
    Rectangle rectangle{offset, offset + range.bytes, range.begin, range.end};
    packing.offsets[index] = offset;
    packing.totalBytes = std::max(packing.totalBytes, rectangle.high);
    byTime.insert(rectangle);
    placed.insert(llvm::upper_bound(placed, rectangle,
                                    [](const Rectangle &a, const Rectangle &b) {
                                      return a.low < b.low;
                                    }),
                  rectangle);
  }
  return packing;
}

/// The orders to place ranges in. What lives long or where memory is crowded
/// comes first, or what is large.
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
      [&](uint32_t i) { return std::tuple(area[i], life[i]); },
      [&](uint32_t i) { return std::tuple(crowd[i], life[i]); },
      [&](uint32_t i) { return std::tuple(crowd[i], area[i]); },
      [&](uint32_t i) { return std::tuple(crowd[i], ranges[i].bytes); },
      [&](uint32_t i) { return std::tuple(ranges[i].bytes, life[i]); },
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
/// Fills an arena of a given size from the bottom up: ranges are placed in the
/// order of their addresses, each on top of what lies highest in its life. So
/// what is still to place must fit above the skyline at every position, and
/// above the last address; where it does not, the search takes back. What was
/// left over at such positions has precedence from then on, and after some
/// steps the search begins again.
class SkylineSearch {
public:
  SkylineSearch(ArrayRef<LiveRange> given, ArrayRef<int64_t> givenLoad);

  /// Whether all ranges are seen to fit into `arena` bytes. Among ranges at one
  /// address, the first in `order` is tried first. Takes its work off `work`.
  bool fit(int64_t arena, ArrayRef<uint32_t> order, int64_t &work);

  ArrayRef<int64_t> getOffsets() const { return offsets; }

private:
  /// An address and a precedence: the order in which candidates are tried.
  using Key = std::pair<int64_t, uint32_t>;
  enum class Outcome { Fits, Fails, Stopped };

  void restart(ArrayRef<uint32_t> order);
  Outcome search(int64_t maxSteps);
  std::optional<uint32_t> findNext(int64_t lowest, Key after) const;
  void place(uint32_t index);
  void takeBack();
  bool leavesRoom(int64_t lowest);

  /// With positions renumbered: only those where a range begins count.
  std::vector<LiveRange> ranges;
  std::vector<int64_t> load;
  int64_t arena = 0, steps = 0;
  /// How high each position is filled, and what is still to place there.
  std::vector<int64_t> skyline, rest;
  /// The address of each range if it were next; none once it is placed.
  std::vector<int64_t> floors;
  std::vector<int64_t> offsets;
  std::vector<uint32_t> precedence;
  /// Ranges with bytes.
  size_t numToPlace = 0;
  /// What placing overwrote, to be restored.
  std::vector<std::pair<int64_t *, int64_t>> trail;
  /// How often each range was left over where the search failed, of late.
  std::vector<double> blamed;
};
} // namespace

static constexpr int64_t isPlaced = std::numeric_limits<int64_t>::max();

SkylineSearch::SkylineSearch(ArrayRef<LiveRange> given,
                             ArrayRef<int64_t> givenLoad)
    : ranges(given), blamed(given.size()) {
  std::vector<uint32_t> starts;
  for (const LiveRange &range : given)
    if (range.bytes != 0) {
      starts.push_back(range.begin);
      ++numToPlace;
    }
  llvm::sort(starts);
  starts.erase(llvm::unique(starts), starts.end());
  for (LiveRange &range : ranges) {
    range.begin = llvm::lower_bound(starts, range.begin) - starts.begin();
    range.end = llvm::upper_bound(starts, range.end) - starts.begin() - 1;
  }
  for (uint32_t start : starts)
    load.push_back(givenLoad[start]);
}

bool SkylineSearch::fit(int64_t bytes, ArrayRef<uint32_t> order,
                        int64_t &work) {
  const auto leastSteps = static_cast<int64_t>(numToPlace);
  const auto workPerStep = static_cast<int64_t>(ranges.size() + load.size());
  arena = bytes;
  Outcome outcome = Outcome::Stopped;
  while (outcome == Outcome::Stopped && work >= leastSteps * workPerStep) {
    restart(order);
    outcome = search(std::min(leastSteps + PackingTuning::stepsBetweenRestarts,
                              work / workPerStep));
    work -= steps * workPerStep;
  }
  return outcome == Outcome::Fits;
}

void SkylineSearch::restart(ArrayRef<uint32_t> order) {
  steps = 0;
  skyline.assign(load.size(), 0);
  rest = load;
  floors.assign(ranges.size(), 0);
  offsets.assign(ranges.size(), 0);
  trail.clear();
  for (auto [floor, range] : llvm::zip(floors, ranges))
    if (range.bytes == 0)
      floor = isPlaced;

  std::vector<uint32_t> sorted(order);
  llvm::stable_sort(
      sorted, [&](uint32_t a, uint32_t b) { return blamed[a] > blamed[b]; });
  precedence.resize(ranges.size());
  for (auto [place, index] : llvm::enumerate(sorted))
    precedence[index] = place + 1;
  for (double &count : blamed)
    count *= 0.8;
}

SkylineSearch::Outcome SkylineSearch::search(int64_t maxSteps) {
  SmallVector<uint32_t> placed;
  int64_t lowest = 0;
  Key after(0, 0);
  while (placed.size() < numToPlace) {
    if (++steps > maxSteps)
      return Outcome::Stopped;
    // What does not fit above the next address does not fit above later ones.
    std::optional<uint32_t> next = findNext(lowest, after);
    if (next && leavesRoom(floors[*next])) {
      after = {floors[*next], precedence[*next]};
      place(*next);
      if (leavesRoom(offsets[*next])) {
        placed.push_back(*next);
        lowest = offsets[*next];
        after = {lowest, 0};
      } else {
        takeBack();
      }
      continue;
    }
    if (placed.empty())
      return Outcome::Fails;
    uint32_t last = placed.pop_back_val();
    after = {offsets[last], precedence[last]};
    takeBack();
    lowest = placed.empty() ? 0 : offsets[placed.back()];
  }
  return Outcome::Fits;
}

/// The candidate that comes after `after`. A range that does not reach up to
/// the last address cannot be next: it had to be placed before.
std::optional<uint32_t> SkylineSearch::findNext(int64_t lowest,
                                                Key after) const {
  std::optional<uint32_t> found;
  Key best(isPlaced, 0);
  for (size_t i = 0, e = ranges.size(); i != e; ++i) {
    if (floors[i] < lowest || floors[i] > best.first)
      continue;
    Key key(floors[i], precedence[i]);
    if (key > after && key < best) {
      best = key;
      found = i;
    }
  }
  return found;
}

void SkylineSearch::place(uint32_t index) {
  const LiveRange &range = ranges[index];
  int64_t offset = floors[index], top = offset + range.bytes;
  auto set = [&](int64_t &variable, int64_t value) {
    trail.push_back({&variable, variable});
    variable = value;
  };
  trail.push_back({nullptr, 0});
  set(offsets[index], offset);
  set(floors[index], isPlaced);
  for (uint32_t position = range.begin; position <= range.end; ++position) {
    set(skyline[position], top);
    set(rest[position], rest[position] - range.bytes);
  }
  for (size_t other = 0, e = ranges.size(); other != e; ++other)
    if (floors[other] < top && ranges[other].begin <= range.end &&
        ranges[other].end >= range.begin)
      set(floors[other], top);
}

void SkylineSearch::takeBack() {
  for (; trail.back().first; trail.pop_back())
    *trail.back().first = trail.back().second;
  trail.pop_back();
}

/// Whether what is still to place fits above the skyline and above `lowest`.
/// What is left over at a position where it does not, is to blame.
bool SkylineSearch::leavesRoom(int64_t lowest) {
  for (size_t position = 0, e = skyline.size(); position != e; ++position) {
    if (std::max(skyline[position], lowest) + rest[position] <= arena)
      continue;
    for (auto [index, range] : llvm::enumerate(ranges))
      if (floors[index] != isPlaced && range.begin <= position &&
          position <= range.end)
        ++blamed[index];
    return false;
  }
  return true;
}

/// Looks for a packing smaller than `best`: first one as small as the peak,
/// then by bisection.
static void improve(ArrayRef<LiveRange> ranges, ArrayRef<int64_t> load,
                    ArrayRef<std::vector<uint32_t>> orders, int64_t maxWork,
                    Packing &best) {
  SkylineSearch search(ranges, load);
  auto fit = [&](int64_t arena, int64_t work) {
    for (const std::vector<uint32_t> &order : orders) {
      int64_t share = work / static_cast<int64_t>(orders.size());
      if (!search.fit(arena, order, share))
        continue;
      best.offsets = search.getOffsets();
      best.totalBytes = 0;
      for (auto [offset, range] : llvm::zip(best.offsets, ranges))
        best.totalBytes = std::max(best.totalBytes, offset + range.bytes);
      return true;
    }
    return false;
  };
  if (fit(best.peakBytes, maxWork / 2))
    return;
  int64_t below = best.peakBytes;
  for (unsigned round = 0; round < 8; ++round) {
    int64_t middle = below + (best.totalBytes - below) / 2;
    if (middle == below || !fit(middle, maxWork / 16))
      below = middle;
  }
}

Packing remat::planning::packLiveRanges(ArrayRef<LiveRange> ranges,
                                        int64_t maxWork) {
  std::vector<int64_t> load = computeLoad(ranges);
  SmallVector<std::vector<uint32_t>> orders = makeOrders(ranges, load);
  Packing best;
  for (const std::vector<uint32_t> &order : orders) {
    Packing packing = placeLowest(ranges, order);
    packing.peakBytes = *llvm::max_element(load);
    if (best.offsets.empty() || packing.totalBytes < best.totalBytes)
      best = std::move(packing);
    if (best.optimal())
      return best;
  }
  improve(ranges, load, orders, maxWork, best);
  return best;
}
