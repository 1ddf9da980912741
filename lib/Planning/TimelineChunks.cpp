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
/// Between the labels of neighbouring chunks after a renumbering.
static constexpr uint64_t labelSpacing = uint64_t(1) << 36;

static int64_t maxOf(const int64_t *begin, const int64_t *end) {
  int64_t most = nothing;
  for (const int64_t *it = begin; it < end; ++it)
    most = std::max(most, *it);
  return most;
}

int64_t Timeline::peak() const {
  int64_t peak = 0;
  for (uint32_t index : order)
    peak = std::max(peak, chunks[index].maxBytes + chunks[index].offset);
  return peak;
}

StepId Timeline::peakStep() const {
  int64_t most = peak();
  for (uint32_t index : order) {
    const Chunk &chunk = chunks[index];
    if (chunk.maxBytes + chunk.offset != most)
      continue;
    auto it = std::find(chunk.bytes.begin(), chunk.bytes.end(), chunk.maxBytes);
    return chunk.steps[it - chunk.bytes.begin()];
  }
  return firstStep;
}

int64_t Timeline::maxBetween(StepId after, StepId before) const {
  const Chunk &first = chunks[steps[after].chunk];
  const Chunk &last = chunks[steps[before].chunk];
  const int64_t *firstBytes = first.bytes.data() + steps[after].slot + 1;
  const int64_t *lastBytes = last.bytes.data() + steps[before].slot;
  if (&first == &last)
    return maxOf(firstBytes, lastBytes) + first.offset;
  int64_t most = std::max(
      maxOf(firstBytes, first.bytes.data() + first.bytes.size()) + first.offset,
      maxOf(last.bytes.data(), lastBytes) + last.offset);
  for (uint32_t i = first.index + 1; i < last.index; ++i)
    most = std::max(most, chunks[order[i]].maxBytes + chunks[order[i]].offset);
  return most;
}

void Timeline::renumberChunks() {
  for (auto [i, index] : enumerate(order)) {
    chunks[index].label = i * labelSpacing;
    chunks[index].index = i;
  }
}

void Timeline::updateMax(Chunk &chunk) {
  chunk.maxBytes =
      maxOf(chunk.bytes.data(), chunk.bytes.data() + chunk.bytes.size());
}

void Timeline::splitChunk(uint32_t index) {
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
  updateMax(chunk);
  updateMax(half);
  for (auto [slot, step] : enumerate(half.steps)) {
    steps[step].chunk = fresh;
    steps[step].slot = slot;
  }
  order.insert(order.begin() + chunk.index + 1, fresh);
  for (size_t i = chunk.index + 1; i < order.size(); ++i)
    chunks[order[i]].index = i;
  uint64_t follower = half.index + 1 < order.size()
                          ? chunks[order[half.index + 1]].label
                          : chunk.label + labelSpacing;
  half.label = chunk.label + (follower - chunk.label) / 2;
  if (follower - chunk.label < 8 * chunkCapacity)
    renumberChunks();
}

void Timeline::place(StepId step, StepId before) {
  int64_t across = bytesAcross(before);
  uint32_t index = steps[before].chunk, slot = steps[before].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.insert(chunk.steps.begin() + slot, step);
  chunk.bytes.insert(chunk.bytes.begin() + slot, across - chunk.offset);
  steps[step].chunk = index;
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    steps[chunk.steps[i]].slot = i;
  chunk.maxBytes = std::max(chunk.maxBytes, across - chunk.offset);
  if (chunk.steps.size() > 2 * chunkCapacity)
    splitChunk(index);
}

void Timeline::unplace(StepId step) {
  uint32_t index = steps[step].chunk, slot = steps[step].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.erase(chunk.steps.begin() + slot);
  chunk.bytes.erase(chunk.bytes.begin() + slot);
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    steps[chunk.steps[i]].slot = i;
  if (!chunk.steps.empty())
    return updateMax(chunk);
  order.erase(order.begin() + chunk.index);
  for (size_t i = chunk.index; i < order.size(); ++i)
    chunks[order[i]].index = i;
  freeChunks.push_back(index);
}

void Timeline::addBytes(StepId after, StepId upTo, int64_t bytes) {
  if (bytes == 0)
    return;
  Chunk &first = chunks[steps[after].chunk];
  Chunk &last = chunks[steps[upTo].chunk];
  size_t from = steps[after].slot + 1, to = steps[upTo].slot + 1;
  if (&first == &last) {
    if (from >= to)
      return;
    for (size_t i = from; i < to; ++i)
      first.bytes[i] += bytes;
    return updateMax(first);
  }
  if (from < first.bytes.size()) {
    for (size_t i = from; i < first.bytes.size(); ++i)
      first.bytes[i] += bytes;
    updateMax(first);
  }
  for (uint32_t i = first.index + 1; i < last.index; ++i)
    chunks[order[i]].offset += bytes;
  for (size_t i = 0; i < to; ++i)
    last.bytes[i] += bytes;
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
