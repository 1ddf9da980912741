//===- MatrixUnit.h - products of f32 on a matrix unit ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intel's AMX multiplies tiles of bf16 and adds them up in f32, at sixteen
// times the rate of f32 in vectors. A number of f32 is the sum of three of
// bf16, exactly, so that a product of f32 is the sum of nine products of theirs
// (Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence
// Datatype For Higher-Precision Computations", 2019). The six largest are added
// up here. The three others are together less than 2^-20 of it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_MATRIXUNIT_H
#define REMAT_LIB_RUNTIME_CPU_MATRIXUNIT_H

#include "RegisterTile.h"

namespace remat {

/// Whether this machine has a matrix unit that the process and oneDNN may use.
bool hasMatrixUnit();

/// Whether a matmul is one of f32 that takes less time on a matrix unit, and
/// this machine has one that the process and oneDNN may use.
bool usesMatrixUnit(const remat_matmul &matmul);

/// A block of a product of f32, and where its sums go.
struct MatrixBlock {
  /// At most so many columns.
  static constexpr int64_t mostColumns = 512;

  Terms a, b;
  int64_t rows, columns, count;
  /// Rows of sums are `sumsRow` elements apart, 16 or more for each 16 columns.
  float *sums;
  int64_t sumsRow;
  /// Where the sums of all terms go in place of that, if it is not null, of any
  /// alignment.
  char *result;
  int64_t resultRow;
};

/// Makes the sums of a block. An element is the sum of what pieces of 128 terms
/// give, in their order, whatever the block is. A row or a column of a piece
/// with an infinity or a NaN is added up in f32 as other machines do it, since
/// the parts of an infinity have no sum.
void sumOnMatrixUnit(const MatrixBlock &block);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPU_MATRIXUNIT_H
