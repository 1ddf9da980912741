//===- WideMatmulTest.cpp - matmuls of f32 for a matrix unit --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a machine multiplies tiles of bf16, factors of f32 are split in three.
// The results are as exact as those of vectors of f32, of whatever size and
// kind the numbers are. These tests hold for every machine.
//
//===----------------------------------------------------------------------===//

#include "LibraryTest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace remat;

namespace {

struct Product {
  Product(int64_t m, int64_t n, int64_t k, int layout = 0)
      : a(REMAT_F32, m * k), b(REMAT_F32, k * n), c(REMAT_F32, m * n) {
    d.batch[0] = d.batch[1] = d.batch[2] = 1;
    d.a_dtype = d.b_dtype = d.c_dtype = REMAT_F32;
    d.m = m, d.n = n, d.k = k;
    bool isTransposed = layout & 1;
    d.a_m_stride = isTransposed ? 1 : k, d.a_k_stride = isTransposed ? m : 1;
    isTransposed = layout & 2;
    d.b_k_stride = isTransposed ? 1 : n, d.b_n_stride = isTransposed ? k : 1;
    d.c_m_stride = n, d.c_n_stride = 1;
  }

  double getA(int64_t i, int64_t j) const {
    return a.get(i * d.a_m_stride + j * d.a_k_stride);
  }
  double getB(int64_t j, int64_t l) const {
    return b.get(j * d.b_k_stride + l * d.b_n_stride);
  }
  void setA(int64_t i, int64_t j, double value) {
    a.set(i * d.a_m_stride + j * d.a_k_stride, value);
  }
  void setB(int64_t j, int64_t l, double value) {
    b.set(j * d.b_k_stride + l * d.b_n_stride, value);
  }
  void run(int threads) {
    Elements initial(REMAT_F32, c.count);
    Step step(makeCall(REMAT_ENTRY_MATMUL, a, b, c, &d, nullptr, threads), {},
              {threads, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    ASSERT_EQ(
        step.run({a.tensor(), b.tensor(), initial.tensor()}, {c.tensor()}),
        REMAT_OK)
        << step.message;
  }

  remat_matmul d = {};
  Elements a, b, c;
};

/// Between -2 and 2, of which many are numbers of bf16, too.
double pick(std::mt19937 &random) {
  double value = static_cast<double>(random()) / 0x1p30 - 2;
  return random() % 2 ? value : std::round(value);
}

void fill(Product &product, std::mt19937 &random) {
  for (Elements *elements : {&product.a, &product.b})
    for (int64_t i = 0; i < elements->count; ++i)
      elements->set(i, pick(random));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A product with an infinity is one, or NaN where the other factor is 0, and
/// all other elements of the result are as they would be without it.
TEST(WideMatmul, InfinitiesAndNan) {
  std::mt19937 random(1);
  for (int layout = 0; layout < 4; ++layout) {
    Product product(135, 150, 300, layout);
    fill(product, random);
    product.setA(3, 10, infinity);
    product.setA(100, 290, -infinity);
    product.setA(100, 291, infinity);
    product.setA(134, 0, std::nan(""));
    product.setB(20, 7, std::nan(""));
    product.setB(299, 149, -infinity);
    product.setB(140, 33, infinity);
    product.run(1 + layout % 2);
    const remat_matmul &d = product.d;
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t l = 0; l < d.n; ++l) {
        double sum = 0;
        for (int64_t j = 0; j < d.k; ++j)
          sum += product.getA(i, j) * product.getB(j, l);
        double found = product.c.get(i * d.n + l);
        if (std::isfinite(sum))
          ASSERT_NEAR(found, sum, 1e-4) << i << ", " << l;
        else if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(found)) << i << ", " << l << ": " << found;
        else
          ASSERT_EQ(found, sum) << i << ", " << l;
      }
  }
}

/// Rows and columns of all magnitudes, subnormal numbers among them, in one
/// product; also some of a row that are 2^105 times larger than others.
TEST(WideMatmul, AllMagnitudes) {
  std::mt19937 random(2);
  for (int layout = 0; layout < 4; ++layout) {
    Product product(140, 140, 130, layout);
    fill(product, random);
    const remat_matmul &d = product.d;
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.k; ++j) {
        auto power = std::min(static_cast<int>(2 * i) - 142, 124);
        product.setA(i, j, std::ldexp(product.getA(i, j), power));
        product.setB(j, i, std::ldexp(product.getB(j, i), power / 2));
      }
    for (int64_t j = 0; j < d.k; j += 7)
      product.setA(60, j, std::ldexp(pick(random), -120));
    product.setA(60, 5, 0x1p-15);
    product.run(2);
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t l = 0; l < d.n; ++l) {
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < d.k; ++j) {
          double term = product.getA(i, j) * product.getB(j, l);
          sum += term;
          magnitude += std::fabs(term);
        }
        if (magnitude > 0x1p127)
          continue;
        ASSERT_NEAR(product.c.get(i * d.n + l), sum,
                    magnitude * 0x1p-19 + 0x1p-142)
            << i << ", " << l;
      }
  }
}

/// No farther from the exact sums than a sum of rounded terms.
TEST(WideMatmul, AsExactAsF32) {
  std::mt19937 random(3);
  Product product(128, 160, 1000);
  for (Elements *elements : {&product.a, &product.b})
    for (int64_t i = 0; i < elements->count; ++i)
      elements->set(i, static_cast<double>(random()) / 0x1p31 - 1);
  product.run(1);
  const remat_matmul &d = product.d;
  double squares = 0, squaresOfF32 = 0;
  for (int64_t i = 0; i < d.m; ++i)
    for (int64_t l = 0; l < d.n; ++l) {
      double sum = 0;
      float rounded = 0;
      for (int64_t j = 0; j < d.k; ++j) {
        sum += product.getA(i, j) * product.getB(j, l);
        rounded += static_cast<float>(product.getA(i, j)) *
                   static_cast<float>(product.getB(j, l));
      }
      squares += std::pow(product.c.get(i * d.n + l) - sum, 2);
      squaresOfF32 += std::pow(rounded - sum, 2);
    }
  EXPECT_LE(squares, squaresOfF32);
  std::printf("errors relative to those of f32: %.2f\n",
              std::sqrt(squares / squaresOfF32));
}

/// How it is cut into blocks changes no bit: rows that are multiplied alone
/// have those of the whole.
TEST(WideMatmul, PartsHaveTheSameBits) {
  std::mt19937 random(4);
  Product whole(500, 700, 200);
  fill(whole, random);
  whole.setA(450, 3, infinity);
  whole.run(2);
  constexpr int64_t first = 317;
  Product part(whole.d.m - first, whole.d.n, whole.d.k);
  for (int64_t i = 0; i < part.a.count; ++i)
    part.a.set(i, whole.a.get(first * whole.d.k + i));
  for (int64_t i = 0; i < part.b.count; ++i)
    part.b.set(i, whole.b.get(i));
  part.run(1);
  EXPECT_EQ(std::memcmp(part.c.data(), whole.c.data() + first * whole.d.n * 4,
                        static_cast<size_t>(part.c.count) * 4),
            0);
}

} // namespace
