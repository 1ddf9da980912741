//===- PackingCache.cpp - packings that were made before ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/PackingCache.h"

#include "SearchTuning.h"

#include <algorithm>
#include <tuple>

using namespace llvm;
using namespace remat::planning;

static auto asTuple(const LiveRange &range) {
  return std::tie(range.bytes, range.begin, range.end, range.alignment,
                  range.fixedOffset);
}

bool PackingCache::Less::operator()(const LiveRange &a,
                                    const LiveRange &b) const {
  return asTuple(a) < asTuple(b);
}

bool PackingCache::Less::operator()(const std::vector<LiveRange> &a,
                                    const std::vector<LiveRange> &b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      Less());
}

std::shared_ptr<const Packing> PackingCache::pack(ArrayRef<LiveRange> ranges,
                                                  int64_t maxWork) {
  PackingOptions options;
  options.maxWork = maxWork;
  auto search = [&] {
    return std::make_shared<const Packing>(packLiveRanges(ranges, options));
  };
  // Many ranges are never searched for, and take memory.
  if (ranges.size() > PackingTuning::mostCached)
    return search();
  std::vector<LiveRange> key = ranges.vec();
  {
    std::lock_guard<std::mutex> lock(mutex);
    const Packings &packings = known[maxWork];
    if (auto entry = packings.find(key); entry != packings.end())
      return entry->second;
  }
  std::shared_ptr<const Packing> packing = search();
  // Another thread may have come to the same one meanwhile.
  std::lock_guard<std::mutex> lock(mutex);
  return known[maxWork].try_emplace(std::move(key), packing).first->second;
}
