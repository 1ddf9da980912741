//===- LibraryCalls.h - matmuls and convolutions ------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions about the calls described by remat_matmul and remat_convolution
// (StepTable.h), for the compiler: whether a description is sound, and how many
// bytes of workspace the call needs. Whatever a call needs beside its operands
// lies in that workspace; a running step allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LIBRARYCALLS_H
#define REMAT_RUNTIME_LIBRARYCALLS_H

#include "remat/Runtime/StepTable.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of workspace of the call on `threads` threads (0: all cores), a
/// multiple of REMAT_ALIGNMENT; 0 when it needs none, -1 for an invalid
/// description (remat_last_error() says why).
int64_t remat_matmul_workspace_bytes(const remat_matmul *matmul, int threads);
int64_t remat_convolution_workspace_bytes(const remat_convolution *convolution,
                                          int threads);

/// Bytes of a convolution's input and output that are in a layout that its
/// kernel does not take, so that the call copies them; -1 as above.
int64_t remat_convolution_copied_bytes(const remat_convolution *convolution,
                                       int threads);

/// How the call is carried out, for reports: the library's name of the
/// implementation, "tiles" or "reference" for our own loops, or "fill" when
/// there is nothing to multiply. Behind "windows, " it is a matmul that carries
/// out a convolution, and behind "in f32, " a convolution of copies in f32. The
/// string lives until the thread's next call.
const char *remat_matmul_implementation(const remat_matmul *matmul,
                                        int threads);
const char *
remat_convolution_implementation(const remat_convolution *convolution,
                                 int threads);

/// Whether the library for CUDA devices takes a sound matmul: its strides,
/// types and epilogue.
int remat_matmul_suits_cuda(const remat_matmul *matmul);

/// Bytes of an element; 0 for a number that is no dtype.
uint64_t remat_dtype_bytes(int32_t dtype);

/// The dtype's name as in MLIR ("f32", "i1", ...); "unknown" for others.
const char *remat_dtype_name(int32_t dtype);

#ifdef __cplusplus
}
#endif

#endif // REMAT_RUNTIME_LIBRARYCALLS_H
