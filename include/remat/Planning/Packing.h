//===- Packing.h - addresses for live ranges --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic storage allocation with known lifetimes: gives buffers addresses in
// one arena so that buffers that are live at the same time do not overlap.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_PACKING_H
#define REMAT_PLANNING_PACKING_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace remat::planning {

/// A buffer of `bytes` that is live at the positions `begin` to `end`, both
/// included.
struct LiveRange {
  int64_t bytes = 0;
  uint32_t begin = 0, end = 0;
};

struct Packing {
  /// One for each range, in bytes.
  std::vector<int64_t> offsets;
  /// The size of the arena.
  int64_t totalBytes = 0;
  /// The largest total of bytes live at one position: no arena is smaller.
  int64_t peakBytes = 0;

  bool optimal() const { return totalBytes == peakBytes; }
};

/// Packs the ranges into a small arena. Places them one by one at the lowest
/// address that is free during their whole life, in several orders: longest
/// life first, which is optimal for the nested lives of a forward and backward
/// pass; largest area first [Sekiyama et al., Profile-guided memory
/// optimization for deep neural networks, 2018]; and those that live where
/// memory is most crowded. If none is as small as the peak, searches for
/// smaller arenas with backtracking, in the order of addresses [Moffitt,
/// MiniMalloc: a lightweight memory allocator for hardware-accelerated machine
/// learning, 2023], with precedence to what the search failed on before
/// [Boussemart et al., Boosting systematic search by weighting constraints,
/// 2004]. `maxWork` bounds the search, in visits of a range or position.
/// Heuristic: never fails, deterministic, and stops as soon as the arena is as
/// small as the peak. Offsets are sums of sizes.
Packing packLiveRanges(llvm::ArrayRef<LiveRange> ranges,
                       int64_t maxWork = 1'000'000'000);

} // namespace remat::planning

#endif // REMAT_PLANNING_PACKING_H
