//===- CudaMatmulTest.cpp - products on a stand-in for a GPU --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptions of matmuls become calls of cuBLASLt that compute the same. The
// numbers are small integers, so that every order of the sums gives the same.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include "remat/Runtime/LibraryCalls.h"

using namespace remat;

namespace {

struct Strides {
  int64_t batch[3], row, column;
};

/// Dense strides of [batch0, batch1, batch2, rows, columns], with rows and
/// columns, or the last batch and the rows, exchanged in memory.
Strides makeStrides(const int64_t *batch, int64_t rows, int64_t columns,
                    bool isTransposed, bool isInterleaved) {
  Strides s;
  int64_t inner = rows * columns;
  s.row = isTransposed ? 1 : columns;
  s.column = isTransposed ? rows : 1;
  s.batch[2] = inner;
  if (isInterleaved) {
    // [rows, batch2, columns], or its transpose.
    s.batch[2] = isTransposed ? rows : columns;
    (isTransposed ? s.column : s.row) *= batch[2];
  }
  s.batch[1] = inner * batch[2];
  s.batch[0] = s.batch[1] * batch[1];
  return s;
}

void set(const Strides &s, int64_t *batch, int64_t &row, int64_t &column) {
  std::copy(s.batch, s.batch + 3, batch);
  row = s.row;
  column = s.column;
}

void checkMatmul(const remat_matmul &m) {
  int64_t batches = m.batch[0] * m.batch[1] * m.batch[2];
  StepTableBuilder builder;
  uint32_t a = builder.addArgumentBuffer(
      builder.addArgument("a", REMAT_F32, {batches * m.m * m.k}));
  uint32_t b = builder.addArgumentBuffer(
      builder.addArgument("b", REMAT_F32, {batches * m.k * m.n}));
  uint32_t held = builder.addArgumentBuffer(
      builder.addArgument("held", REMAT_F32, {batches * m.m * m.n}));
  uint32_t c = builder.addResultBuffer(
      builder.addResult("c", REMAT_F32, {batches * m.m * m.n}));
  StepEntry entry = makeEntry(builder.addMatmul(m), {a, b}, {c});
  if (m.accumulate)
    entry.operands.push_back(held);
  entry.kind = REMAT_ENTRY_MATMUL;
  builder.addEntry(entry);
  CudaStep step(builder);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({batches * m.m * m.k}), y({batches * m.k * m.n});
  Tensor before({batches * m.m * m.n}), z({batches * m.m * m.n});
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = static_cast<float>(i % 5) - 2;
  for (size_t i = 0; i < before.values.size(); ++i)
    before.values[i] = static_cast<float>(i % 3);
  ASSERT_EQ(step.run({x, y, before}, {z}), REMAT_OK) << step.message;
  for (int64_t i = 0; i < m.batch[0]; ++i)
    for (int64_t j = 0; j < m.batch[1]; ++j)
      for (int64_t l = 0; l < m.batch[2]; ++l)
        for (int64_t row = 0; row < m.m; ++row)
          for (int64_t column = 0; column < m.n; ++column) {
            auto at = [&](const int64_t *batch, int64_t offset) {
              return static_cast<size_t>(i * batch[0] + j * batch[1] +
                                         l * batch[2] + offset);
            };
            size_t place = at(m.c_batch_stride,
                              row * m.c_m_stride + column * m.c_n_stride);
            float sum = m.accumulate ? before.values[place] : 0;
            for (int64_t k = 0; k < m.k; ++k)
              sum += x.values[at(m.a_batch_stride,
                                 row * m.a_m_stride + k * m.a_k_stride)] *
                     y.values[at(m.b_batch_stride,
                                 k * m.b_k_stride + column * m.b_n_stride)];
            ASSERT_EQ(z.values[place], sum)
                << i << " " << j << " " << l << " " << row << " " << column;
          }
}

remat_matmul makeMatmul(const int64_t (&batch)[3], int64_t rows,
                        int64_t columns, int64_t sums, unsigned transposed,
                        unsigned interleaved) {
  remat_matmul m = {};
  m.m = rows;
  m.n = columns;
  m.k = sums;
  std::copy(batch, batch + 3, m.batch);
  auto strides = [&](int64_t r, int64_t c, unsigned bit) {
    return makeStrides(batch, r, c, (transposed & bit) != 0,
                       (interleaved & bit) != 0);
  };
  set(strides(rows, sums, 1), m.a_batch_stride, m.a_m_stride, m.a_k_stride);
  set(strides(sums, columns, 2), m.b_batch_stride, m.b_k_stride, m.b_n_stride);
  set(strides(rows, columns, 4), m.c_batch_stride, m.c_m_stride, m.c_n_stride);
  return m;
}

class CudaMatmulTest : public CudaTest {};

TEST_F(CudaMatmulTest, AllOrders) {
  const int64_t sizes[][3] = {{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {3, 4, 1}};
  const int64_t batches[][3] = {{1, 1, 1}, {1, 2, 3}, {3, 2, 2}};
  for (auto &size : sizes)
    for (auto &batch : batches)
      for (unsigned transposed = 0; transposed < 8; ++transposed)
        for (unsigned interleaved = 0; interleaved < 8; ++interleaved) {
          remat_matmul m = makeMatmul(batch, size[0], size[1], size[2],
                                      transposed, interleaved);
          ASSERT_TRUE(remat_matmul_suits_cuda(&m));
          checkMatmul(m);
          if (HasFatalFailure())
            FAIL() << "transposed " << transposed << " interleaved "
                   << interleaved;
          m.accumulate = 1;
          checkMatmul(m);
          if (HasFatalFailure())
            FAIL() << "added";
        }
}

// Only where the step allows it, and only for f32.
TEST_F(CudaMatmulTest, Precision) {
  constexpr int computeF32 = 68, computeTf32 = 77, computeF64 = 70;
  struct {
    remat_dtype dtype;
    uint64_t flags;
    int compute;
  } cases[] = {{REMAT_F32, 0, computeF32},
               {REMAT_F32, REMAT_TABLE_TF32, computeTf32},
               {REMAT_F64, REMAT_TABLE_TF32, computeF64}};
  for (auto [dtype, flags, compute] : cases) {
    remat_matmul m = makeMatmul({1, 1, 1}, 3, 4, 5, 0, 0);
    m.a_dtype = m.b_dtype = m.c_dtype = dtype;
    StepTableBuilder builder;
    uint32_t a =
        builder.addArgumentBuffer(builder.addArgument("a", dtype, {m.m * m.k}));
    uint32_t b =
        builder.addArgumentBuffer(builder.addArgument("b", dtype, {m.k * m.n}));
    uint32_t c =
        builder.addResultBuffer(builder.addResult("c", dtype, {m.m * m.n}));
    StepEntry entry = makeEntry(builder.addMatmul(m), {a, b}, {c});
    entry.kind = REMAT_ENTRY_MATMUL;
    builder.addEntry(entry);
    builder.setFlags(flags);
    CudaStep step(builder);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(fakecuda::getComputeType(), compute);
  }
}

// Factors whose lines have any length, but begin at multiples of 16 bytes, get
// an algorithm for longer lines, if the library takes it for them.
TEST_F(CudaMatmulTest, LinesOfAnyLength) {
  using Extents = std::array<uint64_t, 3>;
  auto ask = [](const remat_matmul &m, uint64_t flags = REMAT_TABLE_TF32) {
    StepTableBuilder builder;
    auto addMatrix = [&](const char *name) {
      return builder.addArgumentBuffer(
          builder.addArgument(name, REMAT_F32, {256}));
    };
    uint32_t a = addMatrix("a"), b = addMatrix("b");
    uint32_t c =
        builder.addResultBuffer(builder.addResult("c", REMAT_F32, {256}));
    StepEntry entry = makeEntry(builder.addMatmul(m), {a, b}, {c});
    entry.kind = REMAT_ENTRY_MATMUL;
    builder.addEntry(entry);
    builder.setFlags(flags);
    fakecuda::getLibrary().asked.clear();
    CudaStep step(builder);
    EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
    return fakecuda::getLibrary().asked;
  };
  // Rows of 9 terms, 12 apart. The library sees the transposed product.
  remat_matmul m = makeMatmul({1, 1, 1}, 5, 8, 9, 0, 0);
  m.a_m_stride = 12;
  EXPECT_EQ(ask(m), std::vector<Extents>({{8, 5, 12}}));
  EXPECT_EQ(ask(m, 0), std::vector<Extents>({{8, 5, 9}}));
  // An algorithm that it does not take.
  fakecuda::getLibrary().algorithm = 5;
  fakecuda::getLibrary().most = 4;
  EXPECT_EQ(ask(m), std::vector<Extents>({{8, 5, 12}, {8, 5, 9}}));
  // One that needs a workspace that there is not, but for the one that is lent.
  fakecuda::getLibrary() = {};
  fakecuda::getLibrary().workspaceBytes = 1024;
  EXPECT_EQ(ask(m), std::vector<Extents>({{8, 5, 12}, {8, 5, 9}, {8, 5, 12}}));
  fakecuda::getLibrary() = {};
  // Columns of 5 elements of the first factor.
  m = makeMatmul({1, 1, 1}, 5, 8, 9, 1, 0);
  m.a_k_stride = 8;
  EXPECT_EQ(ask(m), std::vector<Extents>({{8, 8, 9}}));
  // Rows of the result are 9 elements, or one of the matrices has no gaps.
  m = makeMatmul({1, 1, 1}, 8, 9, 5, 0, 0);
  m.a_m_stride = 8;
  m.b_k_stride = m.c_m_stride = 12;
  EXPECT_EQ(ask(m), std::vector<Extents>({{9, 8, 5}}));
  m = makeMatmul({1, 1, 1}, 8, 8, 5, 0, 0);
  EXPECT_EQ(ask(m), std::vector<Extents>({{8, 8, 5}}));
}

// What the library does not take is refused before it is asked.
TEST_F(CudaMatmulTest, StridesThatNoLibraryTakes) {
  remat_matmul m = makeMatmul({1, 1, 1}, 3, 4, 5, 0, 0);
  m.a_k_stride = 2;
  m.a_m_stride = 10;
  EXPECT_FALSE(remat_matmul_suits_cuda(&m));
  m = makeMatmul({1, 1, 1}, 3, 4, 5, 0, 0);
  // A row for all rows.
  m.a_m_stride = 0;
  EXPECT_FALSE(remat_matmul_suits_cuda(&m));
  m = makeMatmul({1, 1, 1}, 3, 4, 5, 0, 0);
  m.a_dtype = m.b_dtype = REMAT_BF16;
  EXPECT_TRUE(remat_matmul_suits_cuda(&m));
  m.c_dtype = REMAT_F16;
  EXPECT_FALSE(remat_matmul_suits_cuda(&m));
  m.a_dtype = m.b_dtype = m.c_dtype = REMAT_I32;
  EXPECT_FALSE(remat_matmul_suits_cuda(&m));
}

} // namespace
