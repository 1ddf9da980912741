//===- SqueakyWheel.cpp - orders that make packings smaller ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far a range moves is drawn, and so is how far up a range has to reach to
// move at all: otherwise rounds soon repeat. When they have found nothing
// smaller for long, another order is started from, with another step.
//
//===----------------------------------------------------------------------===//

#include "SqueakyWheel.h"

#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;
using namespace remat::planning;

SqueakyWheel::SqueakyWheel(ArrayRef<LiveRange> ranges,
                           SmallVector<std::vector<uint32_t>> givenStarts,
                           std::function<bool()> isOver)
    : ranges(ranges), isOver(std::move(isOver)), offsets(ranges.size(), 0),
      isPlaced(ranges.size(), false) {
  // By the position where they begin, what begins during the life of a range
  // follows it.
  std::vector<uint32_t> byBegin;
  for (uint32_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].bytes != 0)
      byBegin.push_back(i);
  stable_sort(byBegin, [&](uint32_t a, uint32_t b) {
    return ranges[a].begin < ranges[b].begin;
  });
  std::vector<size_t> numNeighbours(ranges.size() + 1, 0);
  size_t numPairs = 0;
  auto forEachPair = [&](auto function) {
    for (size_t i = 0; i < byBegin.size(); ++i)
      for (size_t j = i + 1; j < byBegin.size() &&
                             ranges[byBegin[j]].begin <= ranges[byBegin[i]].end;
           ++j)
        if (!function(byBegin[i], byBegin[j]))
          return;
  };
  forEachPair([&](uint32_t a, uint32_t b) {
    ++numNeighbours[a];
    ++numNeighbours[b];
    return ++numPairs <= PackingTuning::mostWheelPairs;
  });
  // Without starts, it is never run.
  if (numPairs > PackingTuning::mostWheelPairs)
    return;
  starts = std::move(givenStarts);
  for (std::vector<uint32_t> &start : starts)
    llvm::erase_if(start, [&](uint32_t range) {
      return ranges[range].bytes == 0 || ranges[range].fixedOffset >= 0;
    });
  firstNeighbours.assign(ranges.size() + 1, 0);
  for (size_t i = 0; i < ranges.size(); ++i)
    firstNeighbours[i + 1] = firstNeighbours[i] + numNeighbours[i];
  neighbours.resize(2 * numPairs);
  std::vector<size_t> next(firstNeighbours);
  forEachPair([&](uint32_t a, uint32_t b) {
    neighbours[next[a]++] = b;
    neighbours[next[b]++] = a;
    return true;
  });
  perRound = PackingTuning::workPerPair * int64_t(neighbours.size()) +
             PackingTuning::workPerPlaced * int64_t(ranges.size());
  priorities.assign(ranges.size(), 0);
  for (auto [offset, range] : llvm::zip(offsets, ranges))
    if (range.bytes != 0 && range.fixedOffset >= 0)
      offset = range.fixedOffset;
}

/// Starts from the next order.
void SqueakyWheel::begin() {
  order = starts[begun++ % starts.size()];
  for (auto [place, range] : enumerate(order))
    priorities[range] = int64_t(order.size() - place) * 64;
  fruitless = 0;
  smallest = std::numeric_limits<int64_t>::max();
}

/// Puts each range at its lowest free address. The size of the arena.
int64_t SqueakyWheel::placeAll() {
  int64_t total = 0;
  for (auto [index, range] : enumerate(ranges)) {
    isPlaced[index] = range.bytes != 0 && range.fixedOffset >= 0;
    if (isPlaced[index])
      total = std::max(total, range.fixedOffset + range.bytes);
  }
  for (uint32_t index : order) {
    const LiveRange &range = ranges[index];
    inTheWay.clear();
    for (size_t i = firstNeighbours[index]; i < firstNeighbours[index + 1]; ++i)
      if (uint32_t other = neighbours[i]; isPlaced[other])
        inTheWay.emplace_back(offsets[other],
                              offsets[other] + ranges[other].bytes);
    llvm::sort(inTheWay);
    int64_t offset = 0;
    for (auto [low, high] : inTheWay) {
      if (low - offset >= range.bytes)
        break;
      if (high > offset)
        offset = alignTo(high, range.alignment);
    }
    offsets[index] = offset;
    isPlaced[index] = true;
    total = std::max(total, offset + range.bytes);
  }
  return total;
}

/// Makes an order in which what sticks out comes earlier.
void SqueakyWheel::moveForward(int64_t wanted) {
  // Of 2^10 parts.
  auto draw = [&] { return int64_t(generator() >> 54); };
  int64_t tolerated =
      wanted + int64_t(0.8 * double(smallest - wanted) * double(draw()) / 1024);
  int64_t step = steps[(begun - 1) % std::size(steps)];
  for (uint32_t range : order)
    if (offsets[range] + ranges[range].bytes > tolerated)
      priorities[range] += int64_t(order.size()) * step * draw() / 1024;
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return priorities[a] != priorities[b] ? priorities[a] > priorities[b]
                                          : a < b;
  });
  for (auto [place, range] : enumerate(order))
    priorities[range] = int64_t(order.size() - place) * 64;
}

bool SqueakyWheel::run(int64_t wanted, int64_t knownBytes, int64_t work) {
  if (!canRun(work))
    return bestBytes < knownBytes;
  int64_t asked = 0;
  for (; perRound <= work && bestBytes > wanted; work -= perRound) {
    asked += perRound;
    if (asked >= PackingTuning::workBetweenQuestions) {
      asked = 0;
      if (isOver())
        break;
    }
    if (begun == 0 || fruitless > PackingTuning::wheelPatience)
      begin();
    int64_t total = placeAll();
    if (total < bestBytes) {
      bestBytes = total;
      bestOffsets = offsets;
    }
    ++fruitless;
    if (total < smallest) {
      smallest = total;
      fruitless = 0;
    }
    moveForward(wanted);
  }
  return bestBytes < knownBytes;
}
