//===- ResultPlaces.cpp - results in the place of dead state --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a forward call leaves dies while the backward calls make their results,
// so that many results find room where it was. They are there until the caller
// takes them: the bytes of a result must be used by nothing else from the entry
// on that first uses it. So each byte of the state is known by the last entry
// that uses it, and results share none.
//
// To give a place to as many bytes as possible is a knapsack problem. Two
// orders of the results are tried, and the better one is taken:
//
//  * The first ones first, each in the bytes that die first. Where the state
//    dies from one end to the other, they follow each other without gaps.
//  * The largest ones first, each in the bytes that die last.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>
#include <numeric>

using namespace remat;

namespace {

/// Bytes of the state, and the last entry that uses any of them. REMAT_NONE is
/// one that never ends.
struct Part {
  uint64_t begin, end;
  uint32_t last;
};

struct Item {
  uint32_t result;
  uint64_t bytes;
  uint32_t first;
};

/// Cuts the state into parts, each as long as it can be.
std::vector<Part> makeParts(std::vector<Part> uses, uint64_t stateBytes) {
  std::vector<uint64_t> borders = {0, stateBytes};
  for (const Part &use : uses) {
    borders.push_back(use.begin);
    borders.push_back(use.end);
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  // The latest ones take their bytes first; next[i] leads to the first part
  // from i on that none has taken.
  std::sort(uses.begin(), uses.end(),
            [](const Part &a, const Part &b) { return a.last > b.last; });
  std::vector<size_t> next(borders.size());
  std::iota(next.begin(), next.end(), size_t(0));
  auto find = [&](size_t i) {
    while (next[i] != i)
      i = next[i] = next[next[i]];
    return i;
  };
  auto indexOf = [&](uint64_t border) {
    return static_cast<size_t>(
        std::lower_bound(borders.begin(), borders.end(), border) -
        borders.begin());
  };
  // What no entry uses is free from the beginning.
  std::vector<uint32_t> last(borders.size(), 0);
  for (const Part &use : uses)
    for (size_t i = find(indexOf(use.begin)); borders[i] < use.end;
         i = find(i)) {
      last[i] = use.last;
      next[i] = i + 1;
    }
  std::vector<Part> parts;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    if (parts.empty() || parts.back().last != last[i])
      parts.push_back({borders[i], borders[i + 1], last[i]});
    else
      parts.back().end = borders[i + 1];
  }
  return parts;
}

/// Gives results their places, one after the other.
class Placer {
public:
  Placer(std::vector<Part> parts, uint64_t alignment)
      : parts(std::move(parts)), alignment(alignment) {}

  /// Takes the bytes that die last where several will do, or first. False if
  /// there is no room.
  bool place(const Item &item, bool takesLast, uint64_t &offset) {
    bool isFound = false;
    uint32_t best = 0;
    auto consider = [&](uint64_t begin) {
      uint32_t earliest = earliestIn(begin, begin + item.bytes);
      if (isFound && (takesLast ? earliest <= best : earliest >= best))
        return;
      isFound = true;
      best = earliest;
      offset = begin;
    };
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].last >= item.first)
        continue;
      size_t first = i;
      while (i + 1 < parts.size() && parts[i + 1].last < item.first)
        ++i;
      uint64_t end = parts[i].end;
      uint64_t low =
          (parts[first].begin + alignment - 1) / alignment * alignment;
      if (low > end || end - low < item.bytes)
        continue;
      consider(low);
      consider((end - item.bytes) / alignment * alignment);
    }
    if (isFound)
      take(offset, offset + item.bytes);
    return isFound;
  }

private:
  size_t partOf(uint64_t at) const {
    auto isBehind = [](uint64_t value, const Part &part) {
      return value < part.end;
    };
    return static_cast<size_t>(
        std::upper_bound(parts.begin(), parts.end(), at, isBehind) -
        parts.begin());
  }

  uint32_t earliestIn(uint64_t begin, uint64_t end) const {
    uint32_t earliest = REMAT_NONE;
    for (size_t i = partOf(begin); i < parts.size() && parts[i].begin < end;
         ++i)
      earliest = std::min(earliest, parts[i].last);
    return earliest;
  }

  /// Nothing else has these bytes from now on.
  void take(uint64_t begin, uint64_t end) {
    size_t first = partOf(begin), behind = partOf(end - 1) + 1;
    std::vector<Part> pieces;
    if (parts[first].begin < begin)
      pieces.push_back({parts[first].begin, begin, parts[first].last});
    pieces.push_back({begin, end, REMAT_NONE});
    if (end < parts[behind - 1].end)
      pieces.push_back({end, parts[behind - 1].end, parts[behind - 1].last});
    auto at = [&](size_t i) {
      return parts.begin() + static_cast<ptrdiff_t>(i);
    };
    parts.insert(parts.erase(at(first), at(behind)), pieces.begin(),
                 pieces.end());
  }

  std::vector<Part> parts;
  uint64_t alignment;
};

} // namespace

/// The last entry of the computation that begins while `index`, which may be
/// beside it, has not ended.
uint32_t remat_step::lastEntryBeside(uint32_t index,
                                     const StreamClocks &clocks) {
  if (table.entries[index].stream == REMAT_STREAM_COMPUTE)
    return index;
  for (uint32_t i = index + 1; i < table.entries.size(); ++i)
    if (table.entries[i].stream == REMAT_STREAM_COMPUTE &&
        clocks.isBefore(index, i))
      return i - 1;
  return REMAT_NONE;
}

/// Finds where results of backward calls may be in the state.
void remat_step::findResultPlaces() {
  resultPlaces.assign(table.results.size(), REMAT_NO_PLACE);
  uint64_t stateBytes = table.header.state_bytes;
  if (callCount() < 2 || stateBytes == 0)
    return;
  StreamClocks clocks = clocksOf(table);
  std::vector<uint32_t> last(table.buffers.size(), 0);
  std::vector<bool> isUsed(table.buffers.size());
  // A result that a copy beside the computation uses may be written early.
  std::vector<bool> isBeside(table.results.size());
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    const remat_entry &entry = table.entries[i];
    auto use = [&](const remat_buffer &buffer) {
      if (buffer.space == REMAT_SPACE_RESULT)
        isBeside[buffer.index] =
            isBeside[buffer.index] || entry.stream != REMAT_STREAM_COMPUTE;
      if (buffer.space != REMAT_SPACE_ARENA ||
          table.buffers[buffer.root].offset >= stateBytes)
        return;
      isUsed[buffer.root] = true;
      last[buffer.root] =
          std::max(last[buffer.root], lastEntryBeside(i, clocks));
    };
    for (uint32_t k = 0; k < entry.operand_count + entry.result_count; ++k)
      use(table.operand(entry, k));
    if (entry.workspace != REMAT_NONE)
      use(table.buffers[entry.workspace]);
  }
  std::vector<Part> uses;
  for (uint32_t i = 0; i < table.buffers.size(); ++i)
    if (const remat_buffer &buffer = table.buffers[i];
        isUsed[i] && buffer.bytes > 0)
      uses.push_back({buffer.offset,
                      std::min(buffer.offset + buffer.bytes, stateBytes),
                      last[i]});

  std::vector<Item> items;
  std::vector<bool> isSeen(table.results.size());
  for (const TensorEvent &begin : resultBegins) {
    const remat_signature &signature = table.results[begin.tensor];
    uint64_t bytes = table.bytesOf(signature);
    bool isFirst = !isSeen[begin.tensor];
    isSeen[begin.tensor] = true;
    if (isFirst && begin.entry >= table.callBegins[1] && bytes > 0 &&
        signature.donation == REMAT_NONE && !isBeside[begin.tensor] &&
        !(signature.flags & REMAT_TENSOR_HOST))
      items.push_back({begin.tensor, bytes, begin.entry});
  }
  std::vector<Part> parts = makeParts(std::move(uses), stateBytes);
  uint64_t most = 0;
  for (bool isLargestFirst : {false, true}) {
    if (isLargestFirst)
      std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
        return std::tie(b.bytes, a.first, a.result) <
               std::tie(a.bytes, b.first, b.result);
      });
    Placer placer(parts, device ? REMAT_DEVICE_ALIGNMENT : REMAT_ALIGNMENT);
    std::vector<uint64_t> places(table.results.size(), REMAT_NO_PLACE);
    uint64_t placed = 0;
    for (const Item &item : items)
      if (placer.place(item, /*takesLast=*/isLargestFirst, places[item.result]))
        placed += item.bytes;
    if (placed > most) {
      most = placed;
      resultPlaces = std::move(places);
    }
  }
}
