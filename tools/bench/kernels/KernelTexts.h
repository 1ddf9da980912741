//===- KernelTexts.h - functions that are benchmarked -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_BENCH_KERNELS_KERNELTEXTS_H
#define REMAT_TOOLS_BENCH_KERNELS_KERNELTEXTS_H

#include <cstdint>
#include <string>

namespace remat::bench {

/// Each gives a module with a function @main on f32 tensors, as an exporter
/// would write it.

/// [m, k] times [k, n].
std::string makeMatmul(int64_t m, int64_t n, int64_t k);
/// NCHW, a square filter of odd size, padding that keeps the image's size.
std::string makeConvolution(int64_t batch, int64_t channels, int64_t image,
                            int64_t features, int64_t filter);
/// Of each row.
std::string makeSoftmax(int64_t rows, int64_t columns);
/// Of each row, with a scale and a shift for each column.
std::string makeLayerNorm(int64_t rows, int64_t columns);
/// With a causal mask, for `heads` heads of `length` tokens.
std::string makeAttention(int64_t heads, int64_t length, int64_t width);
/// The mean over the rows, of logits and labels.
std::string makeCrossEntropy(int64_t rows, int64_t classes);

} // namespace remat::bench

#endif // REMAT_TOOLS_BENCH_KERNELS_KERNELTEXTS_H
