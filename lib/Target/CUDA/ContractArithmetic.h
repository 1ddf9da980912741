//===- ContractArithmetic.h - products and sums at once ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_CONTRACTARITHMETIC_H
#define REMAT_LIB_TARGET_CUDA_CONTRACTARITHMETIC_H

#include "mlir/IR/Block.h"

namespace remat::cuda {

/// Makes a product of f32 in a block and the sum or difference that it is a
/// part of one operation, which rounds once, and of constants that such a
/// product has one after the other one factor. What is selected by a constant
/// is taken, and a zero that is added to a part of another sum is left out.
void contractArithmetic(mlir::Block &block);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_CONTRACTARITHMETIC_H
