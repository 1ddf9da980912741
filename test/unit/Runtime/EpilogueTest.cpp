//===- EpilogueTest.cpp - matmuls with biases and activations -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a simulated GPU does where a library for it has epilogues.
//
//===----------------------------------------------------------------------===//

#include "LibraryTest.h"

using namespace remat;

namespace {

constexpr int32_t bias = REMAT_EPILOGUE_BIAS, relu = REMAT_EPILOGUE_RELU,
                  gelu = REMAT_EPILOGUE_GELU,
                  geluAndInput = gelu | REMAT_EPILOGUE_INPUT,
                  gradient = REMAT_EPILOGUE_GELU_GRADIENT,
                  columnSums = REMAT_EPILOGUE_COLUMN_SUMS,
                  aSums = REMAT_EPILOGUE_A_SUMS, bSums = REMAT_EPILOGUE_B_SUMS,
                  reluAndMask = relu | REMAT_EPILOGUE_MASK,
                  maskGradient = REMAT_EPILOGUE_RELU_GRADIENT;

double computeTanh(double x) {
  return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

double differentiateGelu(double x) {
  double tanh = computeTanh(x);
  return (1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * std::sqrt(2 / M_PI) *
                              (1 + 3 * 0.044715 * x * x);
}

/// A product of [m, k] and [k, n], with all operands and results of its
/// epilogue.
struct Product {
  Product(int64_t m, int64_t n, int64_t k, int32_t factors, int32_t results,
          int32_t epilogue, bool accumulates = false)
      : a(factors, m * k), b(factors, k * n), before(results, m * n),
        operand(results, epilogue & gradient ? m * n : n), c(results, m * n),
        second(results, epilogue & REMAT_EPILOGUE_INPUT ? m * n
                        : epilogue & aSums              ? m
                                                        : n),
        mask(REMAT_I8, m * n / 8) {
    d.a_dtype = d.b_dtype = factors;
    d.c_dtype = results;
    d.epilogue = epilogue;
    d.accumulate = accumulates;
    d.batch[0] = d.batch[1] = d.batch[2] = 1;
    d.m = m, d.n = n, d.k = k;
    d.a_m_stride = k, d.a_k_stride = 1;
    d.b_k_stride = n, d.b_n_stride = 1;
    d.c_m_stride = n, d.c_n_stride = 1;
  }

  bool readsOperand() const { return d.epilogue & (bias | gradient); }
  bool readsMask() const { return d.epilogue & maskGradient; }
  bool writesMask() const { return d.epilogue & REMAT_EPILOGUE_MASK; }
  bool hasBit(int64_t i) const {
    return static_cast<int>(mask.get(i / 8)) >> i % 8 & 1;
  }
  bool writesSecond() const {
    return d.epilogue & (REMAT_EPILOGUE_INPUT | columnSums | aSums | bSums);
  }

  void run() {
    StepTableBuilder builder;
    std::vector<remat_tensor> arguments, results;
    std::vector<uint32_t> operands, places;
    for (Elements *one : {&a, &b, &before, &operand, &mask}) {
      if ((one == &before && !d.accumulate) ||
          (one == &operand && !readsOperand()) ||
          (one == &mask && !readsMask()))
        continue;
      operands.push_back(builder.addArgumentBuffer(builder.addArgument(
          "x", static_cast<remat_dtype>(one->dtype), {one->count})));
      arguments.push_back(one->tensor());
    }
    for (Elements *one : {&c, &second, &mask}) {
      if ((one == &second && !writesSecond()) ||
          (one == &mask && !writesMask()))
        continue;
      places.push_back(builder.addResultBuffer(builder.addResult(
          "y", static_cast<remat_dtype>(one->dtype), {one->count})));
      results.push_back(one->tensor());
    }
    StepEntry entry = makeEntry(builder.addMatmul(d), operands, places);
    entry.kind = REMAT_ENTRY_MATMUL;
    builder.addEntry(entry);
    Step step(builder, {}, {2, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    ASSERT_EQ(step.run(arguments, results), REMAT_OK) << step.message;
  }

  /// The element of the product, with what it is added to.
  double multiply(int64_t row, int64_t column) const {
    double sum = d.accumulate ? before.get(row * d.n + column) : 0;
    for (int64_t j = 0; j < d.k; ++j)
      sum += a.get(row * d.k + j) * b.get(j * d.n + column);
    return sum;
  }

  remat_matmul d = {};
  Elements a, b, before, operand, c, second, mask;
};

constexpr int32_t types[][2] = {{REMAT_F32, REMAT_F32},
                                {REMAT_F64, REMAT_F64},
                                {REMAT_BF16, REMAT_F32},
                                {REMAT_BF16, REMAT_BF16},
                                {REMAT_F16, REMAT_F16}};

// More than one block of columns, and a rest.
constexpr int64_t m = 7, n = 136, k = 9;

TEST(Epilogue, Forward) {
  std::mt19937 random(1);
  for (auto [factors, results] : types)
    for (int32_t epilogue : {bias, bias | relu, bias | gelu,
                             bias | geluAndInput, relu, gelu, geluAndInput})
      for (bool accumulates : {false, true}) {
        Product product(m, n, k, factors, results, epilogue, accumulates);
        for (Elements *one :
             {&product.a, &product.b, &product.before, &product.operand})
          one->fill(random);
        product.run();
        for (int64_t i = 0; i < m * n; ++i) {
          double sum = product.multiply(i / n, i % n);
          if (epilogue & bias)
            sum += product.operand.get(i % n);
          double made = sum;
          if (epilogue & relu)
            made = std::max(sum, 0.0);
          if (epilogue & gelu)
            made = sum / 2 * (1 + computeTanh(sum));
          ASSERT_NEAR(product.c.get(i), made, product.c.tolerance(made));
          if (epilogue & REMAT_EPILOGUE_INPUT) {
            ASSERT_NEAR(product.second.get(i), sum,
                        product.second.tolerance(sum));
          }
        }
      }
}

// The CPU's library adds a bias as fast as it multiplies.
TEST(Epilogue, BiasByTheLibrary) {
  for (auto [factors, results] : types) {
    Product with(64, 96, 128, factors, results, bias);
    Product without(64, 96, 128, factors, results, 0);
    std::string found = remat_matmul_implementation(&with.d, 2);
    EXPECT_EQ(found, remat_matmul_implementation(&without.d, 2));
  }
}

// The derivative of a GELU, and the sums of what the call makes.
TEST(Epilogue, GeluGradient) {
  std::mt19937 random(2);
  for (auto [factors, results] : types)
    for (int32_t epilogue : {gradient, gradient | columnSums}) {
      Product product(m, n, k, factors, results, epilogue);
      for (Elements *one : {&product.a, &product.b, &product.operand})
        one->fill(random);
      product.run();
      std::vector<double> sums(n);
      for (int64_t i = 0; i < m * n; ++i) {
        double made = product.multiply(i / n, i % n) *
                      differentiateGelu(product.operand.get(i));
        ASSERT_NEAR(product.c.get(i), made, product.c.tolerance(made));
        sums[static_cast<size_t>(i % n)] += product.c.get(i);
      }
      for (int64_t i = 0; i < n && epilogue != gradient; ++i) {
        double sum = sums[static_cast<size_t>(i)];
        ASSERT_NEAR(product.second.get(i), sum, product.second.tolerance(sum));
      }
    }
}

// The mask of a ReLU, in more than one block of rows and columns, and the
// gradient that reads it.
TEST(Epilogue, ReluMask) {
  std::mt19937 random(4);
  constexpr int64_t rows = 150, columns = 640;
  for (auto [factors, results] : types)
    for (int32_t epilogue : {reluAndMask, bias | reluAndMask, maskGradient,
                             maskGradient | columnSums}) {
      Product product(rows, columns, k, factors, results, epilogue);
      for (Elements *one : {&product.a, &product.b, &product.operand})
        one->fill(random);
      for (int64_t i = 0; i < product.mask.count; ++i)
        product.mask.set(i, static_cast<double>(random() % 256) - 128);
      product.run();
      std::vector<double> sums(columns);
      for (int64_t i = 0; i < rows * columns; ++i) {
        double sum = product.multiply(i / columns, i % columns);
        if (epilogue & bias)
          sum += product.operand.get(i % columns);
        double made = product.hasBit(i) ? sum : 0;
        ASSERT_NEAR(product.c.get(i), made, product.c.tolerance(made));
        sums[static_cast<size_t>(i % columns)] += product.c.get(i);
        if (product.writesMask())
          ASSERT_EQ(product.hasBit(i), product.c.get(i) > 0) << i;
      }
      for (int64_t i = 0; i < columns && product.writesSecond(); ++i) {
        double sum = sums[static_cast<size_t>(i)];
        ASSERT_NEAR(product.second.get(i), sum, product.second.tolerance(sum));
      }
    }
}

// The sums of either factor along k, which are exact here.
TEST(Epilogue, SumsOfFactors) {
  std::mt19937 random(3);
  for (auto [factors, results] : types)
    for (int32_t epilogue : {aSums, bSums}) {
      Product product(m, n, k, factors, results, epilogue);
      product.a.fill(random);
      product.b.fill(random);
      product.run();
      for (int64_t i = 0; i < m * n; ++i) {
        double made = product.multiply(i / n, i % n);
        ASSERT_NEAR(product.c.get(i), made, product.c.tolerance(made));
      }
      for (int64_t i = 0; i < product.second.count; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < k; ++j)
          sum += epilogue == aSums ? product.a.get(i * k + j)
                                   : product.b.get(j * n + i);
        ASSERT_EQ(product.second.get(i), sum);
      }
    }
}

// 1 + 2^-8 is between two numbers of bf16 and would be rounded to 1, and with
// another 2^-8 to 1 again.
TEST(Epilogue, OnlyTheResultIsRounded) {
  Product product(1, 1, 2, REMAT_BF16, REMAT_BF16, bias);
  for (Elements *one : {&product.a, &product.b}) {
    one->set(0, 1);
    one->set(1, 0.0625);
  }
  product.operand.set(0, 0x1p-8);
  product.run();
  EXPECT_EQ(product.c.get(0), 1 + 0x1p-7);
}

TEST(Epilogue, ReluKeepsNan) {
  Product product(1, 2, 1, REMAT_F32, REMAT_F32, bias | relu);
  product.a.set(0, 1);
  product.b.set(0, NAN);
  product.b.set(1, -1);
  product.operand.set(0, 0);
  product.operand.set(1, 0);
  product.run();
  EXPECT_TRUE(std::isnan(product.c.get(0)));
  EXPECT_EQ(product.c.get(1), 0);
}

} // namespace
