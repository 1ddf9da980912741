//===- Descriptors.h - checks of library call descriptors -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a remat_matmul or remat_convolution is sound, and which bytes of its
// operands it touches. Everything that executes a call relies on these checks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_DESCRIPTORS_H
#define REMAT_LIB_RUNTIME_DESCRIPTORS_H

#include "remat/Runtime/StepTable.h"

#include <string>

namespace remat {

/// Bytes that a call may touch from the start of each operand and its result.
struct Footprint {
  uint64_t operands[2];
  uint64_t result;
  /// Of the bias of an epilogue.
  uint64_t bias = 0;
};

/// True when the description is sound; otherwise `error` says what is wrong.
bool checkMatmul(const remat_matmul &matmul, Footprint &footprint,
                 std::string &error);
bool checkConvolution(const remat_convolution &convolution,
                      Footprint &footprint, std::string &error);

bool isFloat(int32_t dtype);

/// bytes rounded up to the alignment; false when that overflows.
bool alignBytes(uint64_t bytes, uint64_t &aligned);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_DESCRIPTORS_H
