//===- EpilogueTest.cpp - matmuls with a bias and an activation -----------===//
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

constexpr int32_t bias = REMAT_EPILOGUE_BIAS, relu = bias | REMAT_EPILOGUE_RELU,
                  gelu = bias | REMAT_EPILOGUE_GELU,
                  geluAndSum = gelu | REMAT_EPILOGUE_INPUT;

/// A product of [m, k] and [k, n], with both results of its epilogue.
struct Product {
  Product(int64_t m, int64_t n, int64_t k, int32_t factors, int32_t results,
          int32_t epilogue)
      : a(factors, m * k), b(factors, k * n), added(results, n),
        c(results, m * n), sum(results, m * n) {
    d.a_dtype = d.b_dtype = factors;
    d.c_dtype = results;
    d.epilogue = epilogue;
    d.batch[0] = d.batch[1] = d.batch[2] = 1;
    d.m = m, d.n = n, d.k = k;
    d.a_m_stride = k, d.a_k_stride = 1;
    d.b_k_stride = n, d.b_n_stride = 1;
    d.c_m_stride = n, d.c_n_stride = 1;
  }

  void run() {
    StepTableBuilder builder;
    std::vector<remat_tensor> arguments, results;
    std::vector<uint32_t> operands, places;
    for (Elements *one : {&a, &b, &added}) {
      operands.push_back(builder.addArgumentBuffer(builder.addArgument(
          "x", static_cast<remat_dtype>(one->dtype), {one->count})));
      arguments.push_back(one->tensor());
    }
    bool keepsSum = (d.epilogue & REMAT_EPILOGUE_INPUT) != 0;
    for (Elements *one : {&c, &sum}) {
      if (one == &sum && !keepsSum)
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

  remat_matmul d = {};
  Elements a, b, added, c, sum;
};

// More than one block of columns, and a rest.
TEST(Epilogue, AllKinds) {
  constexpr int64_t m = 7, n = 136, k = 9;
  std::mt19937 random(1);
  const int32_t types[][2] = {{REMAT_F32, REMAT_F32},
                              {REMAT_F64, REMAT_F64},
                              {REMAT_BF16, REMAT_F32},
                              {REMAT_BF16, REMAT_BF16},
                              {REMAT_F16, REMAT_F16}};
  for (auto [factors, results] : types)
    for (int32_t epilogue : {bias, relu, gelu, geluAndSum}) {
      Product product(m, n, k, factors, results, epilogue);
      for (Elements *one : {&product.a, &product.b, &product.added})
        one->fill(random);
      product.run();
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = product.added.get(i % n);
        for (int64_t j = 0; j < k; ++j)
          sum += product.a.get(i / n * k + j) * product.b.get(j * n + i % n);
        double made = sum;
        if (epilogue == relu)
          made = std::max(sum, 0.0);
        if (epilogue & REMAT_EPILOGUE_GELU)
          made = sum / 2 *
                 (1 + std::tanh(std::sqrt(2 / M_PI) *
                                (sum + 0.044715 * sum * sum * sum)));
        ASSERT_NEAR(product.c.get(i), made, product.c.tolerance(made));
        if (epilogue == geluAndSum) {
          ASSERT_NEAR(product.sum.get(i), sum, product.sum.tolerance(sum));
        }
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
  product.added.set(0, 0x1p-8);
  product.run();
  EXPECT_EQ(product.c.get(0), 1 + 0x1p-7);
}

TEST(Epilogue, ReluKeepsNan) {
  Product product(1, 2, 1, REMAT_F32, REMAT_F32, relu);
  product.a.set(0, 1);
  product.b.set(0, NAN);
  product.b.set(1, -1);
  product.added.set(0, 0);
  product.added.set(1, 0);
  product.run();
  EXPECT_TRUE(std::isnan(product.c.get(0)));
  EXPECT_EQ(product.c.get(1), 0);
}

} // namespace
