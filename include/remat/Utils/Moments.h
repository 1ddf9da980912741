//===- Moments.h - sums of squares about a mean -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The statistics of a normalization are a sum, the mean that is made of it, and
// the sum of the squares of the differences to that mean. A target that adds up
// both sums at once reads memory once. Task formation, which makes one kernel
// of the three, and code generation, which adds them up, ask here what is of
// this kind.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_MOMENTS_H
#define REMAT_UTILS_MOMENTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// Whether `squares` adds up the squares of the differences between the terms
/// of `sum` and their mean, which `mean` makes of the sum: the second central
/// moment, times the number of terms. All are on tensors, or all on buffers;
/// then nothing but these may write to the buffers that they pass on. Both sums
/// are of f32 or f64, start from zero and are the only result of their op.
bool isCentralMoment(mlir::linalg::GenericOp sum, mlir::linalg::GenericOp mean,
                     mlir::linalg::GenericOp squares);

} // namespace remat

#endif // REMAT_UTILS_MOMENTS_H
