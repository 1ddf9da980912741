//===- PackingCache.h - packings that were made before ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_PACKINGCACHE_H
#define REMAT_PLANNING_PACKINGCACHE_H

#include "remat/Planning/Packing.h"

#include <map>
#include <memory>
#include <mutex>

namespace remat::planning {

/// Packs live ranges, and remembers what was searched for: planners with
/// different freedoms, and one planner for different requests, come to the same
/// plans again and again. What it returns is what `packLiveRanges` returns.
/// Several threads may use it.
class PackingCache {
public:
  /// The packing of `ranges` with at most `maxWork` visits of a range or
  /// position.
  std::shared_ptr<const Packing> pack(llvm::ArrayRef<LiveRange> ranges,
                                      int64_t maxWork);

private:
  struct Less {
    bool operator()(const LiveRange &a, const LiveRange &b) const;
    bool operator()(const std::vector<LiveRange> &a,
                    const std::vector<LiveRange> &b) const;
  };

  using Packings =
      std::map<std::vector<LiveRange>, std::shared_ptr<const Packing>, Less>;

  std::mutex mutex;
  /// By the work: packings by what they are of.
  std::map<int64_t, Packings> known;
};

} // namespace remat::planning

#endif // REMAT_PLANNING_PACKINGCACHE_H
