//===- CudaMatmulPartsTest.cpp - matmuls in parts -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What parts make is what the whole makes. The numbers are small integers, so
// that every order of the sums gives the same.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include "CUDA/MatmulParts.h"

using namespace remat;
using namespace remat::cuda;

namespace {

/// C and the sums beside it, by loops, in f32.
class LoopMatmul : public PreparedMatmul {
public:
  explicit LoopMatmul(const remat_matmul &matmul) : d(matmul) {}
  MatmulAlgorithm getAlgorithm() const override { return {}; }
  bool run(const MatmulBuffers &buffers, Stream, std::string &) const override {
    auto *a = static_cast<const float *>(buffers.a);
    auto *b = static_cast<const float *>(buffers.b);
    auto *before = static_cast<const float *>(buffers.before);
    auto *bias = static_cast<const float *>(buffers.bias);
    auto *c = static_cast<float *>(buffers.c);
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        int64_t place = i * d.c_m_stride + j * d.c_n_stride;
        float sum = d.accumulate ? before[place] : 0;
        for (int64_t l = 0; l < d.k; ++l)
          sum += a[i * d.a_m_stride + l * d.a_k_stride] *
                 b[l * d.b_k_stride + j * d.b_n_stride];
        c[place] = d.epilogue & REMAT_EPILOGUE_BIAS ? sum + bias[j] : sum;
      }
    auto *sums = static_cast<float *>(const_cast<void *>(buffers.bias));
    for (int64_t i = 0; i < d.m && (d.epilogue & REMAT_EPILOGUE_A_SUMS); ++i) {
      sums[i] = 0;
      for (int64_t l = 0; l < d.k; ++l)
        sums[i] += a[i * d.a_m_stride + l * d.a_k_stride];
    }
    for (int64_t j = 0; j < d.n && (d.epilogue & REMAT_EPILOGUE_B_SUMS); ++j) {
      sums[j] = 0;
      for (int64_t l = 0; l < d.k; ++l)
        sums[j] += b[l * d.b_k_stride + j * d.b_n_stride];
    }
    return true;
  }

private:
  remat_matmul d;
};

/// Strides of a matrix whose lines begin every so many elements. They are along
/// the columns or, if it is transposed, along the rows.
void layOut(bool isTransposed, int64_t line, int64_t &row, int64_t &column) {
  row = isTransposed ? 1 : line;
  column = isTransposed ? line : 1;
}

std::vector<float> makeNumbers(int modulus) {
  std::vector<float> numbers(80 * 80);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i % modulus) - 2;
  return numbers;
}

/// Runs a matmul as a whole and in parts, how many of them are returned.
size_t checkParts(const remat_matmul &matmul) {
  std::vector<float> a = makeNumbers(7), b = makeNumbers(5);
  std::vector<float> before = makeNumbers(3);
  std::vector<float> c[2] = {before, before}, vector[2];
  std::vector<MatmulPart> parts =
      splitMatmul(matmul, /*allowsTf32=*/true, /*minFlops=*/0);
  for (int isWhole : {0, 1}) {
    vector[isWhole] = makeNumbers(4);
    MatmulBuffers buffers = {a.data(), b.data(), c[isWhole].data()};
    buffers.before = before.data();
    buffers.bias = vector[isWhole].data();
    DividedMatmul divided;
    if (isWhole)
      divided.add({matmul}, std::make_unique<LoopMatmul>(matmul));
    else
      for (const MatmulPart &part : parts)
        divided.add(part, std::make_unique<LoopMatmul>(part.matmul));
    std::string error;
    EXPECT_TRUE(divided.run(buffers, nullptr, error));
  }
  EXPECT_EQ(c[0], c[1]);
  EXPECT_EQ(vector[0], vector[1]);
  return parts.size();
}

remat_matmul makeMatmul(int64_t m, int64_t n, int64_t k, unsigned transposed) {
  remat_matmul d = {};
  d.m = m, d.n = n, d.k = k;
  std::fill(d.batch, d.batch + 3, 1);
  layOut(transposed & 1, 72, d.a_m_stride, d.a_k_stride);
  layOut(transposed & 2, 76, d.b_k_stride, d.b_n_stride);
  layOut(transposed & 4, 80, d.c_m_stride, d.c_n_stride);
  return d;
}

// Lines of the result are cut, and nothing else.
TEST(CudaMatmulParts, AllOrders) {
  for (unsigned transposed = 0; transposed < 8; ++transposed)
    for (unsigned odd = 0; odd < 8; ++odd) {
      remat_matmul d = makeMatmul(odd & 1 ? 67 : 68, odd & 2 ? 65 : 64,
                                  odd & 4 ? 70 : 72, transposed);
      size_t expected = odd & (transposed & 4 ? 1 : 2) ? 2 : 1;
      EXPECT_EQ(checkParts(d), expected) << transposed << " " << odd;
      d.accumulate = 1;
      EXPECT_EQ(checkParts(d), expected) << transposed << " " << odd;
    }
}

TEST(CudaMatmulParts, Epilogues) {
  // A bias is along n, sums of a factor are along rows or columns.
  for (unsigned transposed : {1u, 5u})
    for (int32_t epilogue :
         {REMAT_EPILOGUE_BIAS, REMAT_EPILOGUE_A_SUMS, REMAT_EPILOGUE_B_SUMS}) {
      remat_matmul d = makeMatmul(67, 65, 72, transposed);
      d.epilogue = epilogue;
      EXPECT_EQ(checkParts(d), 2u) << transposed << " " << epilogue;
    }
  // The input of an activation lies as C does, and is not moved.
  remat_matmul d = makeMatmul(64, 65, 72, 0);
  d.epilogue = REMAT_EPILOGUE_GELU | REMAT_EPILOGUE_INPUT;
  EXPECT_EQ(splitMatmul(d, true, 0).size(), 1u);
}

// Nothing is gained where lines begin anywhere, where the matmul is small, or
// without tensor cores.
TEST(CudaMatmulParts, Whole) {
  remat_matmul d = makeMatmul(68, 65, 72, 0);
  EXPECT_EQ(checkParts(d), 2u);
  EXPECT_EQ(splitMatmul(d, false, 0).size(), 1u);
  EXPECT_EQ(splitMatmul(d, true).size(), 1u);
  d.a_dtype = d.b_dtype = d.c_dtype = REMAT_BF16;
  EXPECT_EQ(splitMatmul(d, false, 0).size(), 1u);
  d.b_k_stride = 80;
  std::vector<MatmulPart> parts = splitMatmul(d, false, 0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].matmul.n, 64);
  EXPECT_EQ(parts[1].matmul.n, 1);
  EXPECT_EQ(parts[1].c, 128u);
  d = makeMatmul(68, 65, 72, 0);
  d.c_m_stride = 65;
  EXPECT_EQ(checkParts(d), 1u);
  d = makeMatmul(68, 63, 72, 0);
  EXPECT_EQ(checkParts(d), 1u);
}

} // namespace
