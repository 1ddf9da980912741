//===- MatmulParts.cpp - matmuls that are cut for the library -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulParts.h"

#include "remat/Runtime/LibraryCalls.h"

#include <type_traits>

using namespace remat::cuda;

/// A rest is a small part of its matmul.
static constexpr int64_t minSplitExtent = 64;

int64_t remat::cuda::getMatmulGranule(const remat_matmul &m, bool allowsTf32) {
  if (m.a_dtype == REMAT_F16 || m.a_dtype == REMAT_BF16)
    return 8;
  return m.a_dtype == REMAT_F32 && allowsTf32 ? 4 : 0;
}

namespace {

/// Epilogues that are the same for each element, and sums that belong to rows
/// or columns of the result.
constexpr int32_t divisible = REMAT_EPILOGUE_BIAS | REMAT_EPILOGUE_RELU |
                              REMAT_EPILOGUE_GELU | REMAT_EPILOGUE_A_SUMS |
                              REMAT_EPILOGUE_B_SUMS;

/// Whether a matrix has lines along its second dimension, or, if it
/// `isTransposed`, along its first, and all begin at multiples of `granule`.
bool hasLines(int64_t first, int64_t second, bool isTransposed,
              const int64_t *batch, const int64_t *strides, int64_t granule) {
  int64_t along = isTransposed ? first : second;
  int64_t across = isTransposed ? second : first;
  bool isAligned = along == 1 && across % granule == 0;
  for (int i = 0; i < 3; ++i)
    isAligned &= batch[i] <= 1 || strides[i] % granule == 0;
  return isAligned;
}

bool hasLines(const remat_matmul &m, bool isTransposed, int64_t granule) {
  auto hasAny = [&](int64_t first, int64_t second, const int64_t *strides) {
    return hasLines(first, second, false, m.batch, strides, granule) ||
           hasLines(first, second, true, m.batch, strides, granule);
  };
  return hasAny(m.a_m_stride, m.a_k_stride, m.a_batch_stride) &&
         hasAny(m.b_k_stride, m.b_n_stride, m.b_batch_stride) &&
         hasLines(m.c_m_stride, m.c_n_stride, isTransposed, m.batch,
                  m.c_batch_stride, granule);
}

uint64_t bytesOf(int64_t elements, int32_t dtype) {
  return static_cast<uint64_t>(elements) * remat_dtype_bytes(dtype);
}

/// What is behind the first `rows` of the result.
MatmulPart dropRows(const remat_matmul &matmul, int64_t rows) {
  MatmulPart rest = {matmul};
  rest.matmul.m -= rows;
  rest.a = bytesOf(rows * matmul.a_m_stride, matmul.a_dtype);
  rest.c = bytesOf(rows * matmul.c_m_stride, matmul.c_dtype);
  if (matmul.epilogue & REMAT_EPILOGUE_A_SUMS)
    rest.vector = bytesOf(rows, matmul.c_dtype);
  // The other part has written them.
  rest.matmul.epilogue &= ~REMAT_EPILOGUE_B_SUMS;
  return rest;
}

/// What is behind the first `columns` of the result.
MatmulPart dropColumns(const remat_matmul &matmul, int64_t columns) {
  MatmulPart rest = {matmul};
  rest.matmul.n -= columns;
  rest.b = bytesOf(columns * matmul.b_n_stride, matmul.b_dtype);
  rest.c = bytesOf(columns * matmul.c_n_stride, matmul.c_dtype);
  if (matmul.epilogue & (REMAT_EPILOGUE_BIAS | REMAT_EPILOGUE_B_SUMS))
    rest.vector = bytesOf(columns, matmul.c_dtype);
  rest.matmul.epilogue &= ~REMAT_EPILOGUE_A_SUMS;
  return rest;
}

} // namespace

std::vector<MatmulPart> remat::cuda::splitMatmul(const remat_matmul &matmul,
                                                 bool allowsTf32,
                                                 double minFlops) {
  int64_t granule = getMatmulGranule(matmul, allowsTf32);
  double flops = 2;
  for (int64_t extent : {matmul.m, matmul.n, matmul.k, matmul.batch[0],
                         matmul.batch[1], matmul.batch[2]})
    flops *= static_cast<double>(extent);
  bool isTransposed = matmul.c_n_stride != 1;
  int64_t length = isTransposed ? matmul.m : matmul.n;
  if (granule == 0 || flops < minFlops || length < minSplitExtent ||
      length % granule == 0 || (matmul.epilogue & ~divisible) != 0 ||
      !hasLines(matmul, isTransposed, granule))
    return {{matmul}};
  int64_t whole = length / granule * granule;
  MatmulPart longer = {matmul};
  (isTransposed ? longer.matmul.m : longer.matmul.n) = whole;
  return {longer,
          isTransposed ? dropRows(matmul, whole) : dropColumns(matmul, whole)};
}

bool DividedMatmul::run(const MatmulBuffers &buffers, Stream stream,
                        std::string &error) const {
  auto move = [](auto *buffer, uint64_t bytes) {
    using Bytes = std::conditional_t<std::is_same_v<decltype(buffer), void *>,
                                     char *, const char *>;
    return buffer ? static_cast<Bytes>(buffer) + bytes : nullptr;
  };
  for (const auto &[part, prepared] : parts) {
    MatmulBuffers mine = buffers;
    mine.a = move(buffers.a, part.a);
    mine.b = move(buffers.b, part.b);
    mine.c = move(buffers.c, part.c);
    mine.before = move(buffers.before, part.c);
    mine.bias = move(buffers.bias, part.vector);
    if (!prepared->run(mine, stream, error))
      return false;
  }
  return true;
}
