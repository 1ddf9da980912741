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

/// Waits for all threads of the warp: what they have written before it, all of
/// them read behind it.
void emitWarpBarrier(mlir::OpBuilder &builder, mlir::Location loc);

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

/// The exponential of an f32 by the power of two that a device has as an
/// instruction (ex2.approx), where results below 2^-126 are zero. Its relative
/// error is 2^-21, or with `isRough` 2^-22 + 2^-24 |value|: the error of a
/// value that was rounded once more. Of a difference, it is both of its
/// operands that are so: the first on its own, and the second alike for all
/// values that it is subtracted from.
mlir::Value emitExp(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, bool isRough);

/// The exponential of before - now, two f32, with which rough exponentials of
/// differences to `before` become those of differences to `now`.
mlir::Value emitGrowth(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value before, mlir::Value now);

/// The intrinsic of LLVM that `emitExp` calls.
constexpr llvm::StringLiteral powerOfTwoName = "llvm.nvvm.ex2.approx.ftz.f32";

/// Where element `place`, an index, of a one-dimensional buffer in shared
/// memory is, as a pointer.
mlir::Value emitSharedPointer(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value buffer, mlir::Value place);

/// The pointer that is `bytes` behind `pointer`.
mlir::Value emitPointerBehind(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value pointer, int64_t bytes);

/// Loads four matrices of 8 x 8 elements of 16 bits from shared memory: those
/// of matrix i are 16 bytes from each of the pointers of threads 8 i to 8 i + 7
/// of the warp on, at multiples of 16 bytes. Returns four words: in matrix i, a
/// thread has elements (g, 2t) and (g, 2t + 1) as in `emitTensorCore`, or
/// (2t, g) and (2t + 1, g) with `transposes`.
llvm::SmallVector<mlir::Value> emitMatrixLoad(mlir::OpBuilder &builder,
                                              mlir::Location loc,
                                              mlir::Value pointer,
                                              bool transposes);

/// Begins to copy 16 bytes from element `place` of `source`, in memory of the
/// device, to the pointer `target` into shared memory, both at multiples of 16
/// bytes. With `bytes`, an i32 up to 16, only so many of them are read, and the
/// others are zero.
void emitAsyncCopy(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value target, mlir::Value source, mlir::Value place,
                   mlir::Value bytes);
/// Makes a group of the copies that the thread has begun since the last one.
void emitCopyGroup(mlir::OpBuilder &builder, mlir::Location loc);
/// Waits for all groups of the thread but the last `pending`.
void emitCopyWait(mlir::OpBuilder &builder, mlir::Location loc,
                  int64_t pending);

/// Loads the NVVM dialect, for what is above.
void loadWarpDialects(mlir::MLIRContext *context);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_WARPOPS_H
