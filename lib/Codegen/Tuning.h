//===- Tuning.h - the numbers of heuristics of all targets ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which kernels are weighed whatever the machine is. Sizes and
// speeds of a machine are `#remat.target`; a target's own numbers are in its
// folder.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_TUNING_H
#define REMAT_LIB_CODEGEN_TUNING_H

#include <chrono>
#include <cstdint>

namespace remat::codegen {

/// Which contractions are library calls.
struct LibraryTuning {
  /// Contractions of at most so many operations are over before a library call
  /// has begun: 16 x 16 x 16.
  static constexpr int64_t maxTinyFlops = 2 * 16 * 16 * 16;
  /// Of batches of products, those with at most so many rows, columns and
  /// terms are no library calls, nor those of such a row, a vector of f32, and
  /// no more rows and terms.
  static constexpr int64_t tinyProduct = 5, tinyRow = 8;
};

/// What scalar operations cost, in additions.
struct ScalarTuning {
  /// Divisions and square roots: some cycles for a vector of them.
  static constexpr int64_t divisionCost = 6;
  /// Functions that are made of a polynomial and what surrounds it.
  static constexpr int64_t functionCost = 20;
  /// Functions of the C library, one call for each element: 5 to 20 ns.
  static constexpr int64_t calledFunctionCost = 200;
};

/// What is kept of the cache of compiled kernels.
struct CacheTuning {
  /// What nobody has read for so long is deleted.
  static constexpr std::chrono::hours maxAge{7 * 24};
  /// The cache may take three quarters of the room that it could have on its
  /// disk.
  static constexpr uint64_t keptQuarters = 3;
};

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_TUNING_H
