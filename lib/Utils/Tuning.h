//===- Tuning.h - numbers of heuristics -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_UTILS_TUNING_H
#define REMAT_LIB_UTILS_TUNING_H

#include <cstdint>

namespace remat {

/// What is made again instead of being kept.
struct RecomputeTuning {
  /// Values smaller than this are kept: they cost less than a task.
  static constexpr int64_t minBytes = 4096;
  /// A value of an eighth of the bytes of another is small beside it.
  static constexpr int64_t smallShare = 8;
  /// How many times longer chains of scores may be than others: the time to
  /// find what one reads doubles with each step.
  static constexpr unsigned scoreChains = 2;
  /// Sums of contractions that are short enough to be made again, as those of
  /// attention's scores: with what reads them they are one kernel and never in
  /// memory.
  static constexpr int64_t maxShortSum = 256;
};

/// Scatters whose sums are wider than their result.
struct ScatterRowsTuning {
  /// The most bytes of a block's sums, which may be on the stack.
  static constexpr int64_t maxBytes = 128 << 10;
  /// Operations by which a block looks at a point.
  static constexpr int64_t pointOps = 10;
  /// The most columns of a block.
  static constexpr int64_t maxColumns = 1024;
};

/// Scatters whose windows are looked for.
struct ScatterWindowsTuning {
  /// The most points that can reach an element.
  static constexpr int64_t maxPoints = 1024;
};

} // namespace remat

#endif // REMAT_LIB_UTILS_TUNING_H
