//===- Tuning.h - the numbers of heuristics of costs ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_COST_TUNING_H
#define REMAT_LIB_COST_TUNING_H

#include <cstdint>

namespace remat {

/// `remat-choose-implementations`.
struct ImplementationTuning {
  /// Kernels of more operations than this are not generated to be measured: the
  /// library is faster, and a step could take minutes.
  static constexpr int64_t maxComparedFlops = 100'000'000;
};

/// Matmuls of libraries.
struct MatmulTuning {
  /// What a matmul takes on tensor cores whose rows do not begin at multiples
  /// of 16 bytes, of the time of one whose rows do: such elements are loaded
  /// one by one. An H200 was measured to take 3.7 to 5.8 times as long.
  static constexpr double misalignedTime = 4;
};

/// Execution plans of libraries.
struct PlanTuning {
  /// What a plan takes that was chosen for its workspace, of the time of the
  /// one that the library thinks the fastest. The library only says in which
  /// order they are. A guess, so that a step has the first ones unless the
  /// others save as much time elsewhere.
  static constexpr double secondPlanTime = 1.25;
};

} // namespace remat

#endif // REMAT_LIB_COST_TUNING_H
