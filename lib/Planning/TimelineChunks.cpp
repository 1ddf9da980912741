//===- TimelineChunks.cpp - the bytes along a timeline --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where steps stand, and how many bytes are live there: a square root
// decomposition. Nothing here knows what steps do.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace remat::planning {

/// Less than the bytes at any step: the maximum of nothing.
static constexpr int64_t nothing = std::numeric_limits<int64_t>::min() / 4;
/// Between the keys of neighbouring steps after a renumbering.
static constexpr uint64_t keySpacing = uint64_t(1) << 32;

// The inner loops of the search: for the vectors that the machine has.
#if defined(__x86_64__) && defined(__ELF__)
#define REMAT_FOR_ANY_VECTORS                                                  \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REMAT_FOR_ANY_VECTORS
#endif

REMAT_FOR_ANY_VECTORS
static int64_t maxOf(const int64_t *begin, const int64_t *end) {
  int64_t most = nothing;
  for (const int64_t *it = begin; it < end; ++it)
    most = std::max(most, *it);
  return most;
}

REMAT_FOR_ANY_VECTORS
static void addTo(int64_t *begin, int64_t *end, int64_t amount) {
  for (int64_t *it = begin; it < end; ++it)
    *it += amount;
}

/// The first of some numbers that is above `limit`; `end` if none is.
static const int64_t *findAbove(const int64_t *begin, const int64_t *end,
                                int64_t limit) {
  constexpr ptrdiff_t block = 32;
  while (end - begin > block && maxOf(begin, begin + block) <= limit)
    begin += block;
  return std::find_if(begin, end, [&](int64_t it) { return it > limit; });
}

int64_t Timeline::peak() const {
  return std::max<int64_t>(
      0, maxOf(mostBytes.data(), mostBytes.data() + mostBytes.size()));
}

StepId Timeline::peakStep() const {
  auto most = llvm::find(mostBytes, peak());
  if (most == mostBytes.end())
    return firstStep;
  const Chunk &chunk = chunks[order[most - mostBytes.begin()]];
  auto it = llvm::find(chunk.bytes, *most - chunk.offset);
  return chunk.steps[it - chunk.bytes.begin()];
}

int64_t Timeline::maxBetween(StepId after, StepId before) const {
  const Chunk &first = chunks[places[after].chunk];
  const Chunk &last = chunks[places[before].chunk];
  const int64_t *firstBytes = first.bytes.data() + places[after].slot + 1;
  const int64_t *lastBytes = last.bytes.data() + places[before].slot;
  if (&first == &last)
    return maxOf(firstBytes, lastBytes) + first.offset;
  const int64_t *most = mostBytes.data();
  return std::max({maxOf(firstBytes, first.bytes.data() + first.bytes.size()) +
                       first.offset,
                   maxOf(most + first.index + 1, most + last.index),
                   maxOf(last.bytes.data(), lastBytes) + last.offset});
}

StepId Timeline::firstAbove(StepId after, StepId before, int64_t limit) const {
  auto findIn = [&](const Chunk &chunk, size_t from, size_t to) {
    const int64_t *bytes = chunk.bytes.data();
    const int64_t *found =
        findAbove(bytes + from, bytes + to, limit - chunk.offset);
    return found == bytes + to ? noStep : chunk.steps[found - bytes];
  };
  const Chunk &first = chunks[places[after].chunk];
  const Chunk &last = chunks[places[before].chunk];
  size_t from = places[after].slot + 1, to = places[before].slot;
  if (&first == &last)
    return from < to ? findIn(first, from, to) : noStep;
  if (last.index < first.index)
    return noStep;
  const int64_t *most = mostBytes.data();
  if (most[first.index] > limit)
    if (StepId step = findIn(first, from, first.bytes.size()); step != noStep)
      return step;
  const int64_t *end = most + last.index;
  const int64_t *found = findAbove(most + first.index + 1, end, limit);
  if (found != end) {
    const Chunk &chunk = chunks[order[found - most]];
    return findIn(chunk, 0, chunk.bytes.size());
  }
  return *end > limit ? findIn(last, 0, to) : noStep;
}

void Timeline::renumber() {
  uint64_t key = 0;
  for (auto [i, index] : enumerate(order)) {
    chunks[index].index = i;
    for (StepId step : chunks[index].steps)
      places[step].key = key += keySpacing;
  }
}

/// Makes room between the keys of a chunk's steps.
void Timeline::spreadKeys(const Chunk &chunk) {
  uint64_t key = 0;
  if (chunk.index > 0)
    key = places[chunks[order[chunk.index - 1]].steps.back()].key;
  uint64_t end = key + keySpacing * (chunk.steps.size() + 1);
  if (chunk.index + 1 < order.size())
    end = places[chunks[order[chunk.index + 1]].steps.front()].key;
  uint64_t spacing = (end - key) / (chunk.steps.size() + 1);
  if (spacing < 1024)
    return renumber();
  for (StepId step : chunk.steps)
    places[step].key = key += spacing;
}

void Timeline::updateMax(Chunk &chunk) {
  mostBytes[chunk.index] =
      maxOf(chunk.bytes.data(), chunk.bytes.data() + chunk.bytes.size()) +
      chunk.offset;
}

void Timeline::splitChunk(uint32_t index) {
  // A timeline that has grown to many times its length gets longer chunks.
  if (order.size() > 4 * chunkCapacity)
    chunkCapacity *= 2;
  uint32_t fresh = chunks.size();
  if (freeChunks.empty()) {
    chunks.emplace_back();
  } else {
    fresh = freeChunks.back();
    freeChunks.pop_back();
  }
  Chunk &chunk = chunks[index], &half = chunks[fresh];
  size_t middle = chunk.steps.size() / 2;
  half.steps.assign(chunk.steps.begin() + middle, chunk.steps.end());
  half.bytes.assign(chunk.bytes.begin() + middle, chunk.bytes.end());
  half.offset = chunk.offset;
  chunk.steps.resize(middle);
  chunk.bytes.resize(middle);
  for (auto [slot, step] : enumerate(half.steps)) {
    places[step].chunk = fresh;
    places[step].slot = slot;
  }
  order.insert(order.begin() + chunk.index + 1, fresh);
  mostBytes.insert(mostBytes.begin() + chunk.index + 1, nothing);
  for (size_t i = chunk.index + 1; i < order.size(); ++i)
    chunks[order[i]].index = i;
  updateMax(chunk);
  updateMax(half);
}

void Timeline::place(StepId step, StepId before) {
  int64_t across = bytesAcross(before);
  uint32_t index = places[before].chunk, slot = places[before].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.insert(chunk.steps.begin() + slot, step);
  chunk.bytes.insert(chunk.bytes.begin() + slot, across - chunk.offset);
  places[step].chunk = index;
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    places[chunk.steps[i]].slot = i;
  // Nothing stands before the first step, so `step` has a predecessor.
  uint64_t low = places[previous(step)].key, high = places[before].key;
  places[step].key = low + (high - low) / 2;
  if (high - low < 2)
    spreadKeys(chunk);
  mostBytes[chunk.index] = std::max(mostBytes[chunk.index], across);
  if (chunk.steps.size() > 2 * chunkCapacity)
    splitChunk(index);
}

void Timeline::unplace(StepId step) {
  uint32_t index = places[step].chunk, slot = places[step].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.erase(chunk.steps.begin() + slot);
  chunk.bytes.erase(chunk.bytes.begin() + slot);
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    places[chunk.steps[i]].slot = i;
  if (!chunk.steps.empty())
    return updateMax(chunk);
  order.erase(order.begin() + chunk.index);
  mostBytes.erase(mostBytes.begin() + chunk.index);
  for (size_t i = chunk.index; i < order.size(); ++i)
    chunks[order[i]].index = i;
  freeChunks.push_back(index);
}

void Timeline::addBytes(StepId after, StepId upTo, int64_t bytes) {
  if (bytes == 0)
    return;
  Chunk &first = chunks[places[after].chunk];
  Chunk &last = chunks[places[upTo].chunk];
  size_t from = places[after].slot + 1, to = places[upTo].slot + 1;
  if (&first == &last) {
    if (from >= to)
      return;
    addTo(first.bytes.data() + from, first.bytes.data() + to, bytes);
    return updateMax(first);
  }
  if (from < first.bytes.size()) {
    addTo(first.bytes.data() + from, first.bytes.data() + first.bytes.size(),
          bytes);
    updateMax(first);
  }
  for (uint32_t i = first.index + 1; i < last.index; ++i)
    chunks[order[i]].offset += bytes;
  addTo(mostBytes.data() + first.index + 1, mostBytes.data() + last.index,
        bytes);
  addTo(last.bytes.data(), last.bytes.data() + to, bytes);
  updateMax(last);
}

int64_t Timeline::ownBytes(StepId step) const {
  const Step &s = steps[step];
  int64_t bytes = s.op == noOp ? 0 : problem.ops[s.op].workspace;
  for (uint32_t copy : s.copies)
    bytes += formBytes[pool[copy].value];
  return bytes;
}

int64_t Timeline::bytesAcross(StepId step) const {
  return bytesAt(step) - ownBytes(step);
}

} // namespace remat::planning
