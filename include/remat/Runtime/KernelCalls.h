//===- KernelCalls.h - what generated code for a CPU calls --------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of tiles on a matrix unit (Intel's AMX), for kernels that were
// compiled for a CPU that has one. Addresses and numbers are integers, as
// generated code has them. Nothing is allocated: what is copied lies on the
// stack, less than 256 KiB of it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_KERNELCALLS_H
#define REMAT_RUNTIME_KERNELCALLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What kernels call, by way of their status, so that an object file of a step
/// needs no symbol of the runtime.
typedef struct remat_kernel_calls {
  /// Copies a factor B of k x n elements to `packed`, aligned to 64 bytes. An
  /// element of row i and column j is at `b`, an address, plus
  /// i * row + j * column elements.
  void (*pack)(int64_t b, int64_t row, int64_t column, int64_t dtype, int64_t k,
               int64_t n, int64_t packed);

  /// C = A B, or C += A B if `accumulate` is not 0, for m x k and k x n
  /// elements. Factors are bf16 (REMAT_BF16) or f32 (REMAT_F32), one of them at
  /// least is bf16. C is f32, with its columns next to each other. `packed` is
  /// what `pack` has made of `packedRows` rows of B, the first k of them these,
  /// and of n columns or more, or 0; B is where it is in either case.
  ///
  /// A factor of f32 is multiplied as the sum of two numbers of bf16: 16 of its
  /// 24 binary digits count, and numbers below 2^-118 lose more of them. An
  /// element does not depend on m and n. Sums with an infinity or a NaN are
  /// made in f32, and so are all where the process may not use the unit.
  void (*matmul)(int64_t a, int64_t aRow, int64_t aColumn, int64_t aDtype,
                 int64_t b, int64_t bRow, int64_t bColumn, int64_t bDtype,
                 int64_t packed, int64_t packedRows, int64_t c, int64_t cRow,
                 int64_t m, int64_t n, int64_t k, int64_t accumulate);
} remat_kernel_calls;

/// The only one there is.
extern const remat_kernel_calls remat_calls_of_kernels;

/// Whether this machine has such a unit that the process and oneDNN may use.
int remat_has_matrix_unit(void);

/// Bytes of such a factor as it is packed.
int64_t remat_tile_packed_bytes(int64_t k, int64_t n, int32_t dtype);

#ifdef __cplusplus
}
#endif

#endif // REMAT_RUNTIME_KERNELCALLS_H
