//===- MatmulForm.h - matmuls as cuBLASLt takes them ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_MATMULFORM_H
#define REMAT_LIB_RUNTIME_CUDA_MATMULFORM_H

#include "remat/Runtime/StepTable.h"

namespace remat::cuda {

/// The library's matrices have columns of neighbouring elements. A result whose
/// rows are such is computed transposed, from transposed factors in the
/// opposite order.
struct MatmulForm {
  struct Matrix {
    /// Whether the columns in memory are the factor's rows.
    bool isTransposed = false;
    /// Elements from one column in memory to the next.
    int64_t leading = 1;
  };
  bool isSwapped = false;
  /// Extents of the result.
  int64_t rows = 0, columns = 0;
  Matrix lhs, rhs, result;
  /// The dim of the batch that one call takes; calls are made for the others.
  int batchDim = 0;
};

/// The form of a sound description; false if it has strides, types or an
/// epilogue that the library does not take.
bool findMatmulForm(const remat_matmul &matmul, MatmulForm &form);

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_MATMULFORM_H
