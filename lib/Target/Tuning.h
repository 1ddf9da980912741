//===- Tuning.h - the numbers of heuristics of all targets ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_TUNING_H
#define REMAT_LIB_TARGET_TUNING_H

#include <cstdint>

namespace remat {

/// `remat-pad-rows`.
struct PaddingTuning {
  /// Rows are at least so many times as long as what they begin at multiples
  /// of: no tensor grows by more than a thirty-second.
  static constexpr int64_t leastMultiples = 32;
  /// Tensors are at least so large: kernels on smaller ones take as long as
  /// their launches.
  static constexpr int64_t leastBytes = 64 << 10;
};

} // namespace remat

#endif // REMAT_LIB_TARGET_TUNING_H
