//===- Tuning.h - the numbers of heuristics of library calls ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which library calls are cut into parts. They are for cores
// with a cache of half a MiB or more of their own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_TUNING_H
#define REMAT_LIB_RUNTIME_CPU_TUNING_H

#include <cstdint>

namespace remat {

/// Convolutions by oneDNN (Convolution.cpp, OneDnn.cpp), and in f32.
struct ConvolutionTuning {
  /// Bytes of the copies of a part of the batch: they are read again at once,
  /// from the cache.
  static constexpr int64_t maxCopiedBytes = 1 << 20;
  /// Bytes of the f32 copies of a part of the batch (WidenedConvolution.cpp).
  static constexpr int64_t maxWidenedBytes = 1 << 20;
  /// Elements that a thread converts at a time.
  static constexpr int64_t convertedElements = 1 << 13;
  /// Elements that a thread adds to a result at a time.
  static constexpr int64_t addedElements = 1 << 16;
};

/// Matmuls by oneDNN (Matmul.cpp).
struct MatmulTuning {
  /// Elements of rows of f32 that lie half a page apart, or a multiple of that,
  /// and the fewest at which a matmul suffers from it.
  static constexpr int64_t collidingRow = 512, leastCollidingRow = 2560;
};

/// Products of f32 on a matrix unit (MatrixUnit.cpp).
struct MatrixUnitTuning {
  /// A piece of the terms is filled up with zeros.
  static constexpr int64_t leastTerms = 48;
  /// How often an element that is split is used: the mean over both factors,
  /// m n / (m + n). On a Xeon of 2023, splitting takes 0.5 ns for each element,
  /// and a use of it 0.008 ns less than on the vector units.
  static constexpr double leastUses = 60;
};

/// Products of bf16 with long sums on a matrix unit (LongMatmul.cpp).
struct LongMatmulTuning {
  /// From so many terms on, oneDNN 2.6 takes 1.2 to twice as long for a
  /// product.
  static constexpr int64_t leastTerms = 2048;
  /// A piece of B is used so often; and columns of a thread.
  static constexpr int64_t leastRows = 256, leastColumns = 128;
  /// A piece of B is to stay in the second cache.
  static constexpr int64_t mostColumns = 1536;
};

/// Depthwise convolutions (Depthwise.cpp).
struct DepthwiseTuning {
  /// Bytes of the copies of a band of positions, for the same reason.
  static constexpr int64_t maxCopiedBytes = 256 << 10;
  /// Parts that threads can share: few channels are summed in parts of the
  /// batch. Decides the order of sums, so it does not depend on the threads.
  static constexpr int64_t wantedPieces = 16;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPU_TUNING_H
