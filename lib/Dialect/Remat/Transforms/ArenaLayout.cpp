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
// behind the state, in memory that only lasts for the call.
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

ArenaLayout::ArenaLayout(const GraphLiveness &liveness,
                         planning::PackingCache &cache, int64_t maxWork) {
  auto pack = [&](ArrayRef<const LiveBuffer *> group) {
    std::vector<planning::LiveRange> ranges;
    for (const LiveBuffer *buffer : group)
      ranges.push_back({buffer->bytes, buffer->begin, buffer->end});
    std::shared_ptr<const planning::Packing> packing =
        cache.pack(ranges, maxWork);
    buffers.append(group.begin(), group.end());
    for (int64_t offset : packing->offsets)
      offsets.push_back(arenaBytes + offset);
    arenaBytes += packing->totalBytes;
  };
  SmallVector<const LiveBuffer *> state, scratch, behind;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Arena)
      (liveness.isState(buffer) ? state : scratch).push_back(&buffer);
  if (state.empty()) {
    pack(scratch);
    return;
  }

  pack(state);
  stateBytes = arenaBytes;
  Shelf shelf(stateBytes);
  for (auto [buffer, offset] : llvm::zip(buffers, offsets))
    if (buffer->bytes != 0)
      shelf.insert(offset, *buffer);
  sortByArea(scratch);
  for (const LiveBuffer *buffer : scratch) {
    int64_t offset = shelf.find(*buffer);
    if (offset < 0) {
      behind.push_back(buffer);
      continue;
    }
    shelf.insert(offset, *buffer);
    buffers.push_back(buffer);
    offsets.push_back(offset);
  }
  pack(behind);
}
