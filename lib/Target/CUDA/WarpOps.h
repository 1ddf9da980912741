//===- WarpOps.h - what the threads of a warp do together -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_WARPOPS_H
#define REMAT_LIB_TARGET_CUDA_WARPOPS_H

#include "mlir/IR/Builders.h"

namespace remat::cuda {

/// Threads that run together.
constexpr int64_t warpSize = 32;

/// The value, an integer or a float of at most 64 bits, of the thread of the
/// warp whose number differs in the bits of `distance`. All threads of the warp
/// take part.
mlir::Value emitShuffleXor(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, int64_t distance);

/// The same number, an index below 2^32, of which nothing is known: what is
/// computed from it stays where it is. Else the addresses of all steps of a
/// loop would be computed before it, and take more registers than there are.
mlir::Value emitOpaque(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value index);

/// The part that a thread has of a product on tensor cores, C[16 x 8] += A[16 x
/// 16] * B[16 x 8]: four words of A and two of B with two factors of `type`,
/// bf16 or f16, and four floats of C. With g = thread / 4 and t = thread % 4 in
/// the warp, words of A are elements (g, 2t), (g + 8, 2t), (g, 2t + 8) and
/// (g + 8, 2t + 8) with their right neighbours, words of B are (2t, g) and
/// (2t + 8, g) with the elements below, and floats of C are (g, 2t),
/// (g, 2t + 1), (g + 8, 2t) and (g + 8, 2t + 1). Returns the four floats.
llvm::SmallVector<mlir::Value>
emitTensorCore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
               llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b,
               llvm::ArrayRef<mlir::Value> c);
constexpr int64_t coreRows = 16, coreColumns = 8, coreTerms = 16;

/// Loads the NVVM dialect, for `emitTensorCore`.
void loadWarpDialects(mlir::MLIRContext *context);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_WARPOPS_H
