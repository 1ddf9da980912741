//===- NarrowQuotients.h - quotients rounded to 16 bits ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_NARROWQUOTIENTS_H
#define REMAT_LIB_TARGET_CUDA_NARROWQUOTIENTS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace remat::cuda {

/// Makes products of vectors of quotients of f32 with one divisor that are
/// rounded to bf16 or f16, where that gives the same bits, which is nearly
/// everywhere; elsewhere they are divided.
void multiplyNarrowQuotients(mlir::gpu::GPUFuncOp function);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_NARROWQUOTIENTS_H
