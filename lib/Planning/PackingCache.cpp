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

const Packing &PackingCache::pack(ArrayRef<LiveRange> ranges, int64_t maxWork) {
  PackingOptions options;
  options.maxWork = maxWork;
  // Many ranges are never searched for, and take memory.
  if (ranges.size() > PackingTuning::mostCached)
    return last = packLiveRanges(ranges, options);
  auto [entry, isNew] = known[maxWork].try_emplace(ranges.vec());
  if (isNew)
    entry->second = packLiveRanges(ranges, options);
  return entry->second;
}
