//===- ElementwiseSums.h - additions of whole tensors -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ELEMENTWISESUMS_H
#define REMAT_LIB_TRANSFORMS_ELEMENTWISESUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// Whether the body of an elementwise sum may contain `op`: additions, and the
/// conversions of narrow numbers whose sums are rounded.
bool isPartOfSum(mlir::Operation &op);

/// Whether `op` is the elementwise sum of its two inputs.
bool isElementwiseSum(mlir::linalg::GenericOp op);

/// Whether a caller adds up gradients in the buffer of `value`: what he gets is
/// what was there plus the gradient, rounded once.
bool isCallersSum(mlir::Value value);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ELEMENTWISESUMS_H
