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

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat::planning {

/// A buffer of `bytes` that is live at the positions `begin` to `end`, both
/// included.
struct LiveRange {
  int64_t bytes = 0;
  uint32_t begin = 0, end = 0;
  /// Its offset is a multiple of this.
  int64_t alignment = 1;
  /// The offset that it must have, or -1. What must overlap cannot be packed:
  /// ranges with fixed offsets are to be checked by the caller (`findOverlap`).
  int64_t fixedOffset = -1;
};

/// Where each range lies, and how good that is known to be.
struct Packing {
  /// One for each range, in bytes.
  std::vector<int64_t> offsets;
  /// The size of the arena.
  int64_t totalBytes = 0;
  /// The largest total of bytes live at one position.
  int64_t peakBytes = 0;
  /// No arena is smaller than this: the peak, or more where the search has
  /// proven that the ranges do not fit into it.
  int64_t lowerBytes = 0;

  bool optimal() const { return totalBytes == lowerBytes; }
};

/// When the search for a small arena ends, and whom it tells.
struct PackingOptions {
  /// About a second, in visits of a range or position.
  static constexpr int64_t usualWork = 1'000'000'000;
  /// The work of a search for one plan among many: about its first round, in
  /// which it mostly finds what it finds at all.
  static constexpr int64_t briefWork = 40'000'000;
  /// Bounds the search, in visits. More work never leads to a larger arena.
  int64_t maxWork = usualWork;
  /// An arena of so many bytes is small enough: no smaller one is looked for,
  /// and if none is so small, this is proven if the work suffices, and no more
  /// is looked for either.
  int64_t enoughBytes = 0;
  /// If set, the search ends soon after this time, whatever work is left.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// When it becomes true, the search ends soon, with the best that it has.
  const std::atomic<bool> *interrupt = nullptr;
  /// Called after every improvement of the arena or of its lower bound, from
  /// the thread that called for the packing.
  std::function<void(const Packing &)> onProgress;
};

/// Packs the ranges into a small arena. Places them one by one at the lowest
/// address that is free during their whole life, in several orders: longest
/// life first, which is optimal for the nested lives of a forward and backward
/// pass; largest area first [Sekiyama et al., Profile-guided memory
/// optimization for deep neural networks, 2018]; and those that live where
/// memory is most crowded. If none is as small as the peak, looks for smaller
/// arenas by branch and bound, in the order of addresses [Moffitt, MiniMalloc:
/// a lightweight memory allocator for hardware-accelerated machine learning,
/// 2023], first in many short searches whose orders of precedence are drawn,
/// then in longer ones; and beside it by squeaky wheel optimization of the
/// order in which ranges are placed [Joslin and Clements, 1999]. Never fails,
/// deterministic, and stops as soon as the arena is known to be the smallest.
Packing packLiveRanges(llvm::ArrayRef<LiveRange> ranges,
                       const PackingOptions &options = {});

/// The numbers of two ranges that live together and overlap at these offsets;
/// none if all are apart. A range of no bytes, or whose offset is below 0, is
/// nowhere.
std::optional<std::pair<size_t, size_t>>
findOverlap(llvm::ArrayRef<LiveRange> ranges, llvm::ArrayRef<int64_t> offsets);

/// What is wrong with a packing: ranges that live together and overlap, an
/// offset that is not aligned or not the fixed one, an arena of another size,
/// or one below the lower bound. None if nothing is.
std::optional<std::string> findPackingFault(llvm::ArrayRef<LiveRange> ranges,
                                            const Packing &packing);

} // namespace remat::planning

#endif // REMAT_PLANNING_PACKING_H
