//===- LongMatmul.cpp - matmuls of bf16 with long sums --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of 2048 terms or more are what comes behind wide hidden layers, and the
// gradient of what a vocabulary's logits are made of. oneDNN 2.6 is at half of
// its rate in them. Here a thread has some of the columns:
//
//   for each 512 rows
//     for each 512 terms
//       bring that piece of B in the order of the matrix unit
//       add the products to sums of f32 (TileProducts.cpp)
//     round the sums
//
// An element does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "LibraryCall.h"
#include "MatrixUnit.h"
#include "Threads.h"
#include "TileCopies.h"
#include "Tuning.h"

#include "remat/Runtime/KernelCalls.h"

#include <algorithm>

using namespace remat;

namespace {

constexpr int64_t blockRows = 512, blockTerms = 512;

int64_t getAddress(const void *data, int64_t element) {
  return reinterpret_cast<int64_t>(static_cast<const uint16_t *>(data) +
                                   element);
}

class LongMatmul : public LibraryCall {
public:
  LongMatmul(const remat_matmul &matmul, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  void multiply(const void *const *operands, void *result, char *packed,
                float *sums, int64_t begin, int64_t end) const;

  remat_matmul d;
  /// From one row of sums to the next: no power of two.
  int64_t sumsRow;
  /// A thread packs so much for all of its columns, and for each 32 of them.
  int64_t headerBytes, groupBytes;
  int64_t sumsOffset;
};

} // namespace

LongMatmul::LongMatmul(const remat_matmul &matmul, int numThreads)
    : d(matmul), sumsRow(roundUp(d.n, group) + group / 2),
      headerBytes(remat_tile_packed_bytes(0, 0, REMAT_BF16)),
      groupBytes(remat_tile_packed_bytes(blockTerms, group, REMAT_BF16) -
                 headerBytes) {
  threads = numThreads;
  implementation = "amx pieces";
  sumsOffset =
      roundUp(threads * headerBytes + roundUp(d.n, group) / group * groupBytes,
              REMAT_ALIGNMENT);
  workspaceBytes = static_cast<uint64_t>(
      sumsOffset + roundUp(std::min(d.m, blockRows) * sumsRow *
                               static_cast<int64_t>(sizeof(float)),
                           REMAT_ALIGNMENT));
}

/// Makes the columns [begin, end).
void LongMatmul::multiply(const void *const *operands, void *result,
                          char *packed, float *sums, int64_t begin,
                          int64_t end) const {
  auto place = reinterpret_cast<int64_t>(packed);
  int64_t columns = end - begin;
  for (int64_t row = 0; row < d.m; row += blockRows) {
    int64_t rows = std::min(blockRows, d.m - row);
    for (int64_t term = 0; term < d.k; term += blockTerms) {
      int64_t terms = std::min(blockTerms, d.k - term);
      int64_t a =
          getAddress(operands[0], row * d.a_m_stride + term * d.a_k_stride);
      int64_t b =
          getAddress(operands[1], term * d.b_k_stride + begin * d.b_n_stride);
      remat_calls_of_kernels.pack(b, d.b_k_stride, d.b_n_stride, REMAT_BF16,
                                  terms, columns, place);
      remat_calls_of_kernels.matmul(
          a, d.a_m_stride, d.a_k_stride, REMAT_BF16, b, d.b_k_stride,
          d.b_n_stride, REMAT_BF16, place, terms,
          reinterpret_cast<int64_t>(sums + begin), sumsRow, rows, columns,
          terms, /*accumulate=*/term != 0);
    }
    for (int64_t i = 0; i < rows; ++i)
      storeRow(sums + i * sumsRow + begin, result, REMAT_BF16,
               (row + i) * d.c_m_stride + begin * d.c_n_stride, d.c_n_stride,
               columns);
  }
}

bool LongMatmul::run(const void *const *operands, void *result, void *workspace,
                     std::string &) {
  auto *bytes = static_cast<char *>(workspace);
  auto *sums = reinterpret_cast<float *>(bytes + sumsOffset);
  int64_t groups = roundUp(d.n, group) / group;
  parallelFor(threads, groups, 1, [&](int64_t begin, int64_t end, int part) {
    // There may be fewer parts than threads, and more columns in each.
    char *packed = bytes + part * headerBytes + begin * groupBytes;
    multiply(operands, result, packed, sums, begin * group,
             std::min(end * group, d.n));
  });
  return true;
}

std::unique_ptr<LibraryCall> remat::prepareLongMatmul(const remat_matmul &d,
                                                      int threads) {
  for (int32_t dtype : {d.a_dtype, d.b_dtype, d.c_dtype})
    if (dtype != REMAT_BF16)
      return nullptr;
  bool isOne = d.batch[0] == 1 && d.batch[1] == 1 && d.batch[2] == 1;
  bool areRows = d.a_k_stride == 1 &&
                 (d.b_n_stride == 1 || d.b_k_stride == 1) && d.c_n_stride == 1;
  if (!isOne || !areRows || d.accumulate || d.epilogue ||
      d.k < LongMatmulTuning::leastTerms || d.m < LongMatmulTuning::leastRows ||
      d.n < LongMatmulTuning::leastColumns * threads ||
      d.n > LongMatmulTuning::mostColumns || !hasMatrixUnit())
    return nullptr;
  return std::make_unique<LongMatmul>(d, threads);
}
