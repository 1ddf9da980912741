//===- Packing.cpp - addresses for live ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Packing.h"

#include "AddressSearch.h"
#include "SearchTuning.h"
#include "SqueakyWheel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

using namespace llvm;
using namespace remat::planning;

/// The total of what the live ranges at each position weigh.
static std::vector<int64_t>
computeLoad(ArrayRef<LiveRange> ranges,
            function_ref<int64_t(const LiveRange &)> weigh) {
  uint32_t last = 0;
  for (const LiveRange &range : ranges)
    last = std::max(last, range.end);
  std::vector<int64_t> load(static_cast<size_t>(last) + 2, 0);
  for (const LiveRange &range : ranges) {
    load[range.begin] += weigh(range);
    load[range.end + 1] -= weigh(range);
  }
  for (size_t i = 1; i < load.size(); ++i)
    load[i] += load[i - 1];
  return load;
}

namespace {
/// A set of addresses.
class Addresses {
public:
  void add(int64_t low, int64_t high) {
    auto first = findBehind(low);
    auto last = first;
    for (; last != spans.end() && last->first <= high; ++last) {
      low = std::min(low, last->first);
      high = std::max(high, last->second);
    }
    if (first == last) {
      spans.insert(first, {low, high});
      return;
    }
    *first = {low, high};
    spans.erase(first + 1, last);
  }

  /// Where the first span ends that has addresses from `low` to before `high`;
  /// `low` if there is none.
  int64_t findEnd(int64_t low, int64_t high) const {
    // One that ends at `low` is not in the way.
    const auto *span = findBehind(low + 1);
    return span != spans.end() && span->first < high ? span->second : low;
  }

  bool isEmpty() const { return spans.empty(); }

private:
  using Spans = SmallVector<std::pair<int64_t, int64_t>, 1>;

  static bool endsBefore(const std::pair<int64_t, int64_t> &span, int64_t at) {
    return span.second < at;
  }
  /// The first span that ends at `at` or behind.
  Spans::iterator findBehind(int64_t at) {
    return std::lower_bound(spans.begin(), spans.end(), at, endsBefore);
  }
  Spans::const_iterator findBehind(int64_t at) const {
    return std::lower_bound(spans.begin(), spans.end(), at, endsBefore);
  }

  /// In order; none touches another. Memory that is well used has few gaps, and
  /// so few spans, whatever number of buffers there is.
  Spans spans;
};

/// What is placed, by when it lives: a tree of spans of positions, without
/// pointers.
class PlacedAddresses {
public:
  explicit PlacedAddresses(uint32_t numPositions)
      : numLeaves(llvm::PowerOf2Ceil(numPositions)), throughout(2 * numLeaves),
        somewhere(2 * numLeaves) {}

  void insert(uint32_t begin, uint32_t end, int64_t low, int64_t high) {
    forEachPart(begin, end, [&](size_t node) {
      throughout[node].add(low, high);
      somewhere[node].add(low, high);
    });
    forEachNodeAbove(begin, end,
                     [&](size_t node) { somewhere[node].add(low, high); });
  }

  /// The lowest address of `bytes` that are free from `begin` to `end`.
  int64_t findLowest(uint32_t begin, uint32_t end, int64_t bytes,
                     int64_t alignment) {
    inTheWay.clear();
    auto collect = [&](const Addresses &addresses) {
      if (!addresses.isEmpty())
        inTheWay.push_back(&addresses);
    };
    forEachPart(begin, end, [&](size_t node) { collect(somewhere[node]); });
    forEachNodeAbove(begin, end,
                     [&](size_t node) { collect(throughout[node]); });
    // What is in the way of an address is in the way of all up to its end. The
    // address is free when all have been asked since it was last raised.
    int64_t offset = 0;
    for (size_t i = 0, passed = 0; passed < inTheWay.size();) {
      ++numQuestions;
      int64_t next = inTheWay[i]->findEnd(offset, offset + bytes);
      if (next != offset) {
        offset = alignTo(next, alignment);
        passed = 0;
      } else {
        ++passed;
        i = i + 1 == inTheWay.size() ? 0 : i + 1;
      }
    }
    return offset;
  }

  /// How often a node was asked what is in the way, which is what takes time.
  int64_t countQuestions() const { return numQuestions; }

private:
  /// The few nodes whose spans are together the positions from `begin` to
  /// `end`.
  template <typename Function>
  void forEachPart(uint32_t begin, uint32_t end, Function function) const {
    size_t left = begin + numLeaves, right = end + numLeaves + 1;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2)
        function(left++);
      if (right % 2)
        function(--right);
    }
  }
  /// The nodes above `begin` and above `end`, which are all that are above a
  /// part.
  template <typename Function>
  void forEachNodeAbove(uint32_t begin, uint32_t end, Function function) const {
    size_t left = (begin + numLeaves) / 2, right = (end + numLeaves) / 2;
    for (; left > 0; left /= 2, right /= 2) {
      function(left);
      if (right != left)
        function(right);
    }
  }

  size_t numLeaves;
  /// Of each node, what is placed there during all of its positions, and during
  /// any of them. Each range is in the nodes that its life is made of, so that
  /// the nodes above a position hold what lives there, too.
  std::vector<Addresses> throughout, somewhere;
  std::vector<const Addresses *> inTheWay;
  int64_t numQuestions = 0;
};
} // namespace

/// Places the ranges one by one in this order, each at the lowest address that
/// is free during its whole life. Nothing if that takes more questions.
static std::optional<Packing> placeLowest(ArrayRef<LiveRange> ranges,
                                          ArrayRef<uint32_t> order,
                                          int64_t mostQuestions) {
  uint32_t last = 0;
  for (const LiveRange &range : ranges)
    last = std::max(last, range.end);
  PlacedAddresses placed(last + 1);
  Packing packing;
  packing.offsets.assign(ranges.size(), 0);
  auto place = [&](uint32_t index) {
    const LiveRange &range = ranges[index];
    if (range.bytes == 0)
      return;
    int64_t offset = range.fixedOffset;
    if (offset < 0)
      offset = placed.findLowest(range.begin, range.end, range.bytes,
                                 range.alignment);
    packing.offsets[index] = offset;
    packing.totalBytes = std::max(packing.totalBytes, offset + range.bytes);
    placed.insert(range.begin, range.end, offset, offset + range.bytes);
  };
  for (bool isFixed : {true, false})
    for (uint32_t index : order) {
      if ((ranges[index].fixedOffset >= 0) == isFixed)
        place(index);
      if (placed.countQuestions() > mostQuestions)
        return std::nullopt;
    }
  return packing;
}

namespace {
/// The largest of the values at any span of positions: of each position, that
/// of the 1, 2, 4 ... from it on.
class SpanMaxima {
public:
  explicit SpanMaxima(ArrayRef<int64_t> values) : levels{values.vec()} {
    for (size_t half = 1; 2 * half <= values.size(); half *= 2) {
      const std::vector<int64_t> &halves = levels.back();
      std::vector<int64_t> level;
      for (size_t at = 0; at + 2 * half <= values.size(); ++at)
        level.push_back(std::max(halves[at], halves[at + half]));
      levels.push_back(std::move(level));
    }
  }

  int64_t find(uint32_t begin, uint32_t end) const {
    unsigned level = Log2_32(end - begin + 1);
    return std::max(levels[level][begin],
                    levels[level][end + 1 - (size_t(1) << level)]);
  }

private:
  std::vector<std::vector<int64_t>> levels;
};
} // namespace

/// The orders to place ranges in. What lives long or where memory is crowded
/// comes first, or what is large.
static SmallVector<std::vector<uint32_t>> makeOrders(ArrayRef<LiveRange> ranges,
                                                     ArrayRef<int64_t> lives,
                                                     ArrayRef<int64_t> load) {
  std::vector<int64_t> crowd, life(lives);
  // May be more than 2^63.
  std::vector<double> area;
  SpanMaxima maxima(load);
  for (auto [index, range] : enumerate(ranges)) {
    crowd.push_back(maxima.find(range.begin, range.end));
    area.push_back(double(life[index]) * double(range.bytes));
  }
  using Key = std::function<std::pair<double, double>(uint32_t)>;
  const Key keys[] = {
      [&](uint32_t i) {
        return std::pair<double, double>(life[i], ranges[i].bytes);
      },
      [&](uint32_t i) { return std::pair<double, double>(area[i], life[i]); },
      [&](uint32_t i) { return std::pair<double, double>(crowd[i], life[i]); },
      [&](uint32_t i) { return std::pair<double, double>(crowd[i], area[i]); },
      [&](uint32_t i) {
        return std::pair<double, double>(crowd[i], ranges[i].bytes);
      },
      [&](uint32_t i) {
        return std::pair<double, double>(ranges[i].bytes, life[i]);
      },
  };
  SmallVector<std::vector<uint32_t>> orders;
  for (const Key &key : keys) {
    std::vector<uint32_t> order(ranges.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](uint32_t a, uint32_t b) {
      return std::pair(key(b), a) < std::pair(key(a), b);
    });
    orders.push_back(std::move(order));
  }
  return orders;
}

/// The largest number that divides all arenas: offsets are sums of these.
static int64_t computeGranule(ArrayRef<LiveRange> ranges) {
  int64_t granule = 0;
  for (const LiveRange &range : ranges) {
    granule = std::gcd(granule, range.bytes);
    if (range.alignment > 1)
      granule = std::gcd(granule, range.alignment);
    if (range.fixedOffset > 0)
      granule = std::gcd(granule, range.fixedOffset);
  }
  return std::max<int64_t>(granule, 1);
}

namespace {
/// Searches for arenas that are smaller than the best one known: in rounds,
/// each with twice the work of the one before. What a round does depends on
/// those before it alone, so that more work never leads to a larger arena.
class ArenaSearch {
public:
  ArenaSearch(ArrayRef<LiveRange> ranges,
              SmallVector<std::vector<uint32_t>> orders, bool isExhaustive,
              const PackingOptions &options, Packing &best)
      : ranges(ranges), options(options), best(best),
        wheel(ranges, std::move(orders), [this] { return isCutShort(); }),
        granule(computeGranule(ranges)), work(options.maxWork),
        searchedBytes(best.totalBytes) {
    if (isExhaustive)
      search.emplace(ranges, [this] { return isCutShort(); });
  }

  void run();

private:
  AddressSearch::Outcome tryArena(int64_t bytes, int64_t share);
  int64_t keep(ArrayRef<int64_t> offsets);
  void turnWheel(int64_t wanted, int64_t share);
  void drawOrders(int64_t wanted, int64_t share);
  bool isCutShort() const {
    return (options.interrupt && *options.interrupt) ||
           (options.deadline &&
            std::chrono::steady_clock::now() >= *options.deadline);
  }
  bool isOver() const { return work <= 0 || isCutShort(); }

  ArrayRef<LiveRange> ranges;
  const PackingOptions &options;
  Packing &best;
  /// Not for what it cannot count exactly, or cannot place often enough.
  std::optional<AddressSearch> search;
  SqueakyWheel wheel;
  int64_t granule, work;
  /// Of the arenas that drawn orders are tried for.
  std::mt19937_64 generator{1};
  /// The smallest arena without those of the wheel: what is searched for next
  /// does not depend on these, so that they never make a packing worse.
  int64_t searchedBytes;
};
} // namespace

/// Keeps a packing if it is smaller. The size of its arena.
int64_t ArenaSearch::keep(ArrayRef<int64_t> offsets) {
  int64_t totalBytes = 0;
  for (auto [offset, range] : llvm::zip(offsets, ranges))
    if (range.bytes != 0)
      totalBytes = std::max(totalBytes, offset + range.bytes);
  if (totalBytes < best.totalBytes) {
    best.offsets = offsets.vec();
    best.totalBytes = totalBytes;
  }
  return totalBytes;
}

/// Its work is beside that of the exhaustive search, of which it takes nothing.
void ArenaSearch::turnWheel(int64_t wanted, int64_t share) {
  if (!wheel.run(wanted, best.totalBytes, share))
    return;
  keep(wheel.getOffsets());
  if (options.onProgress)
    options.onProgress(best);
}

/// Short searches with orders that are drawn, each for an arena between the one
/// that is wanted and the best one. Whether a search finds something soon is a
/// matter of luck, so that many of them find more than a long one.
void ArenaSearch::drawOrders(int64_t wanted, int64_t share) {
  share = std::min(share, work);
  work -= share;
  while (share > 0 && best.totalBytes > wanted && !isCutShort()) {
    int64_t bytes = wanted;
    if (options.enoughBytes == 0) {
      // Mostly close to the best one, which a short search more often reaches.
      double part = uniform(generator) * uniform(generator);
      bytes = best.totalBytes - 1 -
              int64_t(double(best.totalBytes - 1 - wanted) * part);
      bytes -= bytes % granule;
    }
    int64_t part = std::min(share, search->getWorkPerDraw());
    share -= part;
    AddressSearch::Outcome outcome =
        search->run(bytes, AddressSearch::Order::Drawn, part);
    share += std::max<int64_t>(part, 0);
    if (outcome == AddressSearch::Outcome::DoesNotFit) {
      best.lowerBytes = std::max(best.lowerBytes, bytes + granule);
      wanted = std::max(wanted, best.lowerBytes);
      if (options.enoughBytes > 0)
        break;
    }
    if (outcome == AddressSearch::Outcome::Fits)
      keep(search->getOffsets());
    if (outcome != AddressSearch::Outcome::Stopped && options.onProgress)
      options.onProgress(best);
  }
  work += std::max<int64_t>(share, 0);
}

/// Keeps what is found and proven.
AddressSearch::Outcome ArenaSearch::tryArena(int64_t bytes, int64_t share) {
  using Order = AddressSearch::Order;
  for (Order order : AddressSearch::exhaustiveOrders) {
    if (isOver())
      break;
    bool isSide = order == Order::LifeAreaCrowd;
    int64_t part =
        std::min(isSide ? share / PackingTuning::sideOrders : share, work);
    work -= part;
    AddressSearch::Outcome outcome = search->run(bytes, order, part);
    work += std::max<int64_t>(part, 0);
    if (outcome == AddressSearch::Outcome::DoesNotFit)
      best.lowerBytes = std::max(best.lowerBytes, bytes + granule);
    if (outcome == AddressSearch::Outcome::Fits)
      searchedBytes = keep(search->getOffsets());
    if (outcome != AddressSearch::Outcome::Stopped) {
      if (options.onProgress)
        options.onProgress(best);
      return outcome;
    }
  }
  return AddressSearch::Outcome::Stopped;
}

void ArenaSearch::run() {
  for (int64_t share = PackingTuning::firstShare; !isOver(); share *= 2) {
    // No arena is small enough: that is all that was to be found out.
    if (options.enoughBytes > 0 && best.lowerBytes > options.enoughBytes)
      return;
    int64_t below = std::max(best.lowerBytes, options.enoughBytes);
    below -= below % granule;
    if (best.totalBytes <= below)
      return;
    turnWheel(below, search ? share / PackingTuning::wheelParts : share);
    if (best.totalBytes <= below)
      return;
    if (!search) {
      work -= share;
      continue;
    }
    drawOrders(below, options.enoughBytes > 0
                          ? share / PackingTuning::drawnParts
                          : share * PackingTuning::drawnShares);
    // Either this one is small enough, or none is.
    if (best.totalBytes <= below || best.lowerBytes > below)
      continue;
    AddressSearch::Outcome outcome = tryArena(below, share);
    if (outcome != AddressSearch::Outcome::Stopped || options.enoughBytes > 0)
      continue;
    for (unsigned step = 0; step < PackingTuning::bisections; ++step) {
      int64_t middle = below + (searchedBytes - below) / 2;
      middle -= middle % granule;
      if (middle <= below)
        break;
      if (tryArena(middle, share / PackingTuning::bisections) !=
          AddressSearch::Outcome::Fits)
        below = middle;
    }
  }
}

/// Whether the search counts exactly in doubles: it has no number above twice
/// the arena, and all are multiples of a power of two.
static bool isExact(ArrayRef<LiveRange> ranges, int64_t arenaBytes) {
  int64_t granule = computeGranule(ranges);
  int64_t power = granule & -granule;
  return arenaBytes / power <= int64_t(1) << 52;
}

/// Whether a compilation's search is able to place all ranges several times.
/// What is searched for at all does not depend on the work that is given.
static bool isSmallEnough(ArrayRef<LiveRange> ranges) {
  std::vector<int64_t> numLive =
      computeLoad(ranges, [](const LiveRange &) { return 1; });
  // Each range lives together with those that live where it begins.
  int64_t visits = int64_t(ranges.size()) * int64_t(ranges.size());
  for (const LiveRange &range : ranges)
    visits += numLive[range.begin];
  return visits <= PackingOptions::usualWork / PackingTuning::leastPlacements;
}

/// The same ranges, with positions renumbered: only those where one begins
/// count.
static std::vector<LiveRange> renumber(ArrayRef<LiveRange> given) {
  std::vector<uint32_t> begins;
  for (const LiveRange &range : given)
    begins.push_back(range.begin);
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  std::vector<LiveRange> ranges(given);
  for (LiveRange &range : ranges) {
    range.begin = lower_bound(begins, range.begin) - begins.begin();
    range.end = upper_bound(begins, range.end) - begins.begin() - 1;
  }
  return ranges;
}

Packing remat::planning::packLiveRanges(ArrayRef<LiveRange> given,
                                        const PackingOptions &options) {
  std::vector<LiveRange> ranges = renumber(given);
  std::vector<int64_t> lives;
  for (const LiveRange &range : given)
    lives.push_back(int64_t(range.end) - range.begin + 1);
  std::vector<int64_t> load =
      computeLoad(ranges, [](const LiveRange &range) { return range.bytes; });
  SmallVector<std::vector<uint32_t>> orders = makeOrders(ranges, lives, load);
  const int64_t peak = *llvm::max_element(load);
  int64_t lower = peak;
  for (const LiveRange &range : ranges)
    if (range.fixedOffset >= 0 && range.bytes != 0)
      lower = std::max(lower, range.fixedOffset + range.bytes);
  Packing best;
  auto offer = [&](std::optional<Packing> packing) {
    if (packing &&
        (best.offsets.empty() || packing->totalBytes < best.totalBytes))
      best = std::move(*packing);
    best.peakBytes = peak;
    best.lowerBytes = lower;
  };
  auto isLate = [&] {
    return options.deadline && !best.offsets.empty() &&
           std::chrono::steady_clock::now() >= *options.deadline;
  };
  for (const std::vector<uint32_t> &order : orders) {
    offer(placeLowest(ranges, order, PackingTuning::mostQuestions));
    if (!best.offsets.empty() &&
        best.totalBytes <= std::max(lower, options.enoughBytes))
      return best;
    if (isLate())
      return best;
  }
  // Of many ranges, all orders may have taken too long.
  if (best.offsets.size() != ranges.size())
    offer(placeLowest(ranges, orders.front(),
                      std::numeric_limits<int64_t>::max()));
  if (options.maxWork <= 0)
    return best;
  bool isExhaustive = isExact(ranges, best.totalBytes) && isSmallEnough(ranges);
  ArenaSearch(given, std::move(orders), isExhaustive, options, best).run();
  return best;
}

std::optional<std::pair<size_t, size_t>>
remat::planning::findOverlap(ArrayRef<LiveRange> ranges,
                             ArrayRef<int64_t> offsets) {
  std::vector<size_t> byBegin;
  for (auto [index, range] : enumerate(ranges))
    if (range.bytes != 0 && offsets[index] >= 0)
      byBegin.push_back(index);
  llvm::sort(byBegin, [&](size_t a, size_t b) {
    return std::tie(ranges[a].begin, a) < std::tie(ranges[b].begin, b);
  });
  // What lives at the position where a range begins, by its offset.
  std::map<int64_t, size_t> live;
  std::multimap<uint32_t, int64_t> byEnd;
  for (size_t index : byBegin) {
    const LiveRange &range = ranges[index];
    while (!byEnd.empty() && byEnd.begin()->first < range.begin) {
      live.erase(byEnd.begin()->second);
      byEnd.erase(byEnd.begin());
    }
    int64_t offset = offsets[index];
    auto above = live.lower_bound(offset);
    if (above != live.end() && above->first < offset + range.bytes)
      return std::pair(index, above->second);
    if (above != live.begin()) {
      auto [below, other] = *std::prev(above);
      if (below + ranges[other].bytes > offset)
        return std::pair(index, other);
    }
    live.emplace(offset, index);
    byEnd.emplace(range.end, offset);
  }
  return std::nullopt;
}

std::optional<std::string>
remat::planning::findPackingFault(ArrayRef<LiveRange> ranges,
                                  const Packing &packing) {
  auto name = [](size_t index) { return "range " + std::to_string(index); };
  if (packing.offsets.size() != ranges.size())
    return "expected " + std::to_string(ranges.size()) + " offsets, actual " +
           std::to_string(packing.offsets.size());
  int64_t total = 0;
  for (auto [index, range] : enumerate(ranges)) {
    if (range.bytes == 0)
      continue;
    int64_t offset = packing.offsets[index];
    if (offset < 0 || offset % range.alignment != 0)
      return name(index) + " is at " + std::to_string(offset) +
             ", expected a multiple of " + std::to_string(range.alignment);
    if (range.fixedOffset >= 0 && offset != range.fixedOffset)
      return name(index) + " is at " + std::to_string(offset) + ", expected " +
             std::to_string(range.fixedOffset);
    total = std::max(total, offset + range.bytes);
  }
  if (total != packing.totalBytes || total < packing.lowerBytes)
    return "the arena ends at " + std::to_string(total) + ", expected " +
           std::to_string(packing.totalBytes) + ", at least " +
           std::to_string(packing.lowerBytes);
  if (auto overlap = findOverlap(ranges, packing.offsets))
    return name(overlap->first) + " overlaps " + name(overlap->second);
  return std::nullopt;
}
