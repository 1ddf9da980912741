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
  /// Of what an epilogue reads, and of its second result.
  uint64_t epilogueOperand = 0, epilogueResult = 0;
};

/// What a matmul has beside two operands and a result: C as it was before,
/// which is operand 2, an operand of its epilogue, behind that, and result 1.
/// A convolution may have a bias.
struct MatmulExtras {
  explicit MatmulExtras(const remat_matmul &matmul);
  explicit MatmulExtras(const remat_convolution &convolution);

  bool accumulates;
  /// Of the epilogue, at most one of the two operands and of the two results.
  /// The input of an activation may be a mask instead.
  bool readsBias, readsInput;
  bool writesInput, writesSums;
  bool isMask;

  bool hasOperand() const { return readsBias || readsInput; }
  bool hasResult() const { return writesInput || writesSums; }
  uint32_t countOperands() const { return getOperand() + hasOperand(); }
  uint32_t countResults() const { return 1 + hasResult(); }
  /// The number of the epilogue's operand, if it has one.
  uint32_t getOperand() const { return 2 + accumulates; }
  /// That of result 1 among operands and results.
  uint32_t getResult() const { return countOperands() + 1; }
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
