//===- ArenaLayout.cpp - addresses in the arena ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that is one call has its whole arena packed at once. In a step of
// several, what is live from one call to the next is packed first, at the
// bottom. Until such a value is made, and once it is dead, its place is free:
// what lives within one call goes there if it fits, largest first, and else
// behind the state, in memory that only lasts for the call. The fewer ranges
// are free, the more fits: of two orders of the state, the better one is taken.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

using namespace mlir;
using namespace remat;

int64_t Shelf::find(const LiveBuffer &buffer) const {
  int64_t offset = 0;
  for (auto [begin, other] : buffers) {
    if (other->end < buffer.begin || other->begin > buffer.end)
      continue;
    if (offset + buffer.bytes <= begin)
      break;
    offset = std::max(offset, begin + other->bytes);
  }
  return offset + buffer.bytes <= bytes ? offset : -1;
}

void Shelf::insert(int64_t offset, const LiveBuffer &buffer) {
  auto position =
      llvm::upper_bound(buffers, offset, [](int64_t at, const auto &entry) {
        return at < entry.first;
      });
  buffers.insert(position, {offset, &buffer});
}

void remat::sortByArea(SmallVectorImpl<const LiveBuffer *> &buffers) {
  auto area = [](const LiveBuffer *buffer) {
    return double(buffer->bytes) * (buffer->end - buffer->begin + 1);
  };
  llvm::stable_sort(buffers, [&](const LiveBuffer *a, const LiveBuffer *b) {
    return area(a) > area(b);
  });
}

/// One layout needs no packing twice.
ArenaLayout::ArenaLayout(const GraphLiveness &liveness) {
  planning::PackingCache cache;
  *this = ArenaLayout(liveness, cache);
}

/// Places for what later calls need, one upon the other: what dies last lies
/// lowest, so that what is free above, or will be, is one range. None if some
/// of it is not live together, and may share a place.
static std::optional<std::vector<int64_t>>
stackState(ArrayRef<const LiveBuffer *> state) {
  uint32_t begin = 0, end = UINT32_MAX;
  for (const LiveBuffer *buffer : state) {
    begin = std::max(begin, buffer->begin);
    end = std::min(end, buffer->end);
  }
  if (begin > end)
    return std::nullopt;
  SmallVector<size_t> order = llvm::to_vector(llvm::seq(state.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(state[b]->end, state[a]->begin) <
           std::pair(state[a]->end, state[b]->begin);
  });
  std::vector<int64_t> offsets(state.size());
  int64_t offset = 0;
  for (size_t index : order) {
    offsets[index] = offset;
    offset += state[index]->bytes;
  }
  return offsets;
}

ArenaLayout::ArenaLayout(const GraphLiveness &liveness,
                         planning::PackingCache &cache, int64_t maxWork) {
  auto pack = [&](ArrayRef<const LiveBuffer *> group) {
    std::vector<planning::LiveRange> ranges;
    for (const LiveBuffer *buffer : group)
      ranges.push_back({buffer->bytes, buffer->begin, buffer->end});
    return cache.pack(ranges, maxWork);
  };
  SmallVector<const LiveBuffer *> state, scratch;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Arena)
      (liveness.isState(buffer) ? state : scratch).push_back(&buffer);
  if (state.empty()) {
    std::shared_ptr<const planning::Packing> packed = pack(scratch);
    buffers = scratch;
    offsets = packed->offsets;
    arenaBytes = packed->totalBytes;
    return;
  }
  std::shared_ptr<const planning::Packing> packed = pack(state);
  sortByArea(scratch);
  auto build = [&](ArrayRef<int64_t> places) {
    ArenaLayout layout;
    layout.buffers = state;
    layout.offsets = places;
    layout.arenaBytes = layout.stateBytes = packed->totalBytes;
    Shelf shelf(layout.stateBytes);
    for (auto [buffer, offset] : llvm::zip(layout.buffers, layout.offsets))
      if (buffer->bytes != 0)
        shelf.insert(offset, *buffer);
    SmallVector<const LiveBuffer *> behind;
    for (const LiveBuffer *buffer : scratch) {
      int64_t offset = shelf.find(*buffer);
      if (offset < 0) {
        behind.push_back(buffer);
        continue;
      }
      shelf.insert(offset, *buffer);
      layout.buffers.push_back(buffer);
      layout.offsets.push_back(offset);
    }
    std::shared_ptr<const planning::Packing> rest = pack(behind);
    layout.buffers.append(behind);
    for (int64_t offset : rest->offsets)
      layout.offsets.push_back(layout.stateBytes + offset);
    layout.arenaBytes += rest->totalBytes;
    return layout;
  };
  *this = build(packed->offsets);
  if (std::optional<std::vector<int64_t>> places = stackState(state))
    if (ArenaLayout other = build(*places); other.arenaBytes < arenaBytes)
      *this = std::move(other);
}
