//===- CudaEpilogueTest.cpp - epilogues on a stand-in for a GPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cuBLASLt is told of a bias, an activation, and a sum that is kept.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include "remat/Runtime/LibraryCalls.h"

#include <array>
#include <cmath>

using namespace remat;

namespace {

constexpr int32_t bias = REMAT_EPILOGUE_BIAS, relu = bias | REMAT_EPILOGUE_RELU,
                  gelu = bias | REMAT_EPILOGUE_GELU,
                  geluAndSum = gelu | REMAT_EPILOGUE_INPUT,
                  gradient = REMAT_EPILOGUE_GELU_GRADIENT,
                  gradientAndSums = gradient | REMAT_EPILOGUE_COLUMN_SUMS,
                  aSums = REMAT_EPILOGUE_A_SUMS, bSums = REMAT_EPILOGUE_B_SUMS,
                  reluAndMask = relu | REMAT_EPILOGUE_MASK,
                  maskGradient = REMAT_EPILOGUE_RELU_GRADIENT,
                  maskGradientAndSums =
                      maskGradient | REMAT_EPILOGUE_COLUMN_SUMS;

/// A product of [m, k] and [k, n], or of transposed factors.
remat_matmul makeMatmul(int64_t m, int64_t n, int64_t k, int32_t epilogue,
                        unsigned transposed = 0) {
  remat_matmul d = {};
  d.epilogue = epilogue;
  d.batch[0] = d.batch[1] = d.batch[2] = 1;
  d.m = m, d.n = n, d.k = k;
  d.a_m_stride = transposed & 1 ? 1 : k, d.a_k_stride = transposed & 1 ? m : 1;
  d.b_k_stride = transposed & 2 ? 1 : n, d.b_n_stride = transposed & 2 ? k : 1;
  d.c_m_stride = n, d.c_n_stride = 1;
  return d;
}

class CudaEpilogueTest : public CudaTest {};

// Two entries share a description, and have a bias each: in the arena behind
// one of 64 bytes, and an argument.
TEST_F(CudaEpilogueTest, AllKinds) {
  constexpr int64_t m = 3, n = 16, k = 5;
  const struct {
    int32_t epilogue;
    uint32_t kind;
  } cases[] = {{bias, 4}, {relu, 6}, {gelu, 36}, {geluAndSum, 164}};
  for (auto [epilogue, kind] : cases)
    for (unsigned transposed = 0; transposed < 4; ++transposed) {
      SCOPED_TRACE(std::to_string(kind) + " " + std::to_string(transposed));
      remat_matmul d = makeMatmul(m, n, k, epilogue, transposed);
      ASSERT_TRUE(remat_matmul_suits_cuda(&d));
      StepTableBuilder builder;
      auto argument = [&](int64_t count) {
        return builder.addArgumentBuffer(
            builder.addArgument("x", REMAT_F32, {count}));
      };
      uint32_t a = argument(m * k), b = argument(k * n);
      uint32_t biases[] = {argument(n), argument(n)};
      uint32_t moved = builder.addArenaBuffer(64, n * sizeof(float));
      StepEntry copy = makeCopy(biases[1], moved);
      builder.addEntry(copy);
      biases[1] = moved;
      uint32_t number = builder.addMatmul(d);
      size_t results = epilogue == geluAndSum ? 2 : 1;
      for (uint32_t added : biases) {
        std::vector<uint32_t> places;
        for (size_t i = 0; i < results; ++i)
          places.push_back(builder.addResultBuffer(
              builder.addResult("y", REMAT_F32, {m * n})));
        StepEntry entry = makeEntry(number, {a, b, added}, places);
        entry.kind = REMAT_ENTRY_MATMUL;
        builder.addEntry(entry);
      }
      CudaStep step(builder);
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      fakecuda::Epilogue prepared = fakecuda::getPreparedEpilogue();
      EXPECT_EQ(prepared.kind, kind);
      // The worst alignment of both.
      EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared.bias), 64u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared.aux),
                results == 2 ? 256u : 0u);
      EXPECT_EQ(prepared.auxLeading, results == 2 ? n : 0);

      Tensor x({m * k}), y({k * n}), first({n}), second({n});
      std::vector<Tensor> made(2 * results, Tensor({m * n}));
      for (Tensor *one : {&x, &y, &first, &second})
        for (size_t i = 0; i < one->values.size(); ++i)
          one->values[i] =
              static_cast<float>(i * 7 % 5) / 4 - (one == &second ? 1 : 0.5f);
      std::vector<remat_tensor> tensors;
      for (Tensor &one : made)
        tensors.push_back(one);
      ASSERT_EQ(step.run({x, y, first, second}, tensors), REMAT_OK)
          << step.message;
      for (size_t call = 0; call < 2; ++call)
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < n; ++column) {
            const Tensor &added = call == 0 ? first : second;
            double sum = added.values[static_cast<size_t>(column)];
            for (int64_t j = 0; j < k; ++j)
              sum += double(x.values[static_cast<size_t>(row * d.a_m_stride +
                                                         j * d.a_k_stride)]) *
                     y.values[static_cast<size_t>(j * d.b_k_stride +
                                                  column * d.b_n_stride)];
            auto at = static_cast<size_t>(row * n + column);
            double wanted = sum;
            if (epilogue == relu)
              wanted = std::max(sum, 0.0);
            if (epilogue & REMAT_EPILOGUE_GELU)
              wanted = sum / 2 *
                       (1 + std::tanh(std::sqrt(2 / M_PI) *
                                      (sum + 0.044715 * sum * sum * sum)));
            ASSERT_NEAR(made[call * results].values[at], wanted, 1e-5);
            if (results == 2) {
              ASSERT_NEAR(made[call * results + 1].values[at], sum, 1e-5);
            }
          }
    }
}

/// One entry on arguments of so many elements, with results of so many, and a
/// workspace.
struct OneMatmul {
  OneMatmul(const remat_matmul &d, std::vector<int64_t> operands,
            std::vector<int64_t> results, uint64_t workspaceBytes = 0) {
    std::vector<uint32_t> read, written;
    for (int64_t count : operands)
      read.push_back(builder.addArgumentBuffer(
          builder.addArgument("x", REMAT_F32, {count})));
    for (int64_t count : results)
      written.push_back(
          builder.addResultBuffer(builder.addResult("y", REMAT_F32, {count})));
    StepEntry entry = makeEntry(builder.addMatmul(d), read, written);
    entry.kind = REMAT_ENTRY_MATMUL;
    if (workspaceBytes != 0)
      entry.workspace = builder.addArenaBuffer(0, workspaceBytes);
    builder.addEntry(entry);
    for (int64_t count : operands) {
      arguments.emplace_back(std::vector<int64_t>{count});
      for (size_t i = 0; i < arguments.back().values.size(); ++i)
        arguments.back().values[i] =
            static_cast<float>((i + arguments.size()) * 7 % 5) / 4 - 0.5f;
    }
    for (int64_t count : results)
      made.emplace_back(std::vector<int64_t>{count});
  }

  void run() {
    CudaStep step(builder);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    prepared = fakecuda::getPreparedEpilogue();
    std::vector<remat_tensor> given, tensors;
    for (Tensor &one : arguments)
      given.push_back(one);
    for (Tensor &one : made)
      tensors.push_back(one);
    ASSERT_EQ(step.run(given, tensors), REMAT_OK) << step.message;
    degradedCalls = step.stats().degraded_calls;
  }

  StepTableBuilder builder;
  std::vector<Tensor> arguments, made;
  uint64_t degradedCalls = 0;
  fakecuda::Epilogue prepared;
};

/// The product of the first two arguments.
double multiply(const remat_matmul &d, const std::vector<Tensor> &arguments,
                int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t j = 0; j < d.k; ++j)
    sum += double(arguments[0].values[static_cast<size_t>(row * d.a_m_stride +
                                                          j * d.a_k_stride)]) *
           arguments[1].values[static_cast<size_t>(j * d.b_k_stride +
                                                   column * d.b_n_stride)];
  return sum;
}

// The derivative of a GELU, and the gradient of a bias beside it.
TEST_F(CudaEpilogueTest, GeluGradient) {
  constexpr int64_t m = 3, n = 16, k = 5;
  for (int32_t epilogue : {gradient, gradientAndSums})
    for (unsigned transposed = 0; transposed < 4; ++transposed) {
      remat_matmul d = makeMatmul(m, n, k, epilogue, transposed);
      ASSERT_TRUE(remat_matmul_suits_cuda(&d));
      std::vector<int64_t> results = {m * n};
      if (epilogue == gradientAndSums)
        results.push_back(n);
      OneMatmul call(d, {m * k, k * n, m * n}, results);
      call.run();
      EXPECT_EQ(call.prepared.kind, epilogue == gradient ? 192u : 208u);
      EXPECT_EQ(call.prepared.auxLeading, n);
      std::vector<double> sums(n);
      for (int64_t i = 0; i < m * n; ++i) {
        auto at = static_cast<size_t>(i);
        double x = call.arguments[2].values[at], scale = std::sqrt(2 / M_PI);
        double tanh = std::tanh(scale * (x + 0.044715 * x * x * x));
        double slope = scale * (1 + 3 * 0.044715 * x * x);
        double wanted = multiply(d, call.arguments, i / n, i % n) *
                        ((1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * slope);
        ASSERT_NEAR(call.made[0].values[at], wanted, 1e-5);
        sums[at % n] += wanted;
      }
      for (size_t i = 0; i < n && results.size() == 2; ++i)
        ASSERT_NEAR(call.made[1].values[i], sums[i], 1e-5);
    }
}

// Sums of columns need a workspace. Where none was planned, because another
// version of the library needs none, the step has one beside the arena.
TEST_F(CudaEpilogueTest, WorkspaceOfColumnSums) {
  constexpr int64_t m = 70, n = 136, k = 5;
  // Three tiles of 32 rows, five of 32 columns.
  constexpr uint64_t needed = 4 * n * 3 + 16 * 5 + 15;
  remat_matmul d = makeMatmul(m, n, k, gradientAndSums);
  std::vector<std::vector<float>> sums;
  for (uint64_t bytes : {needed, uint64_t(1024), uint64_t(0)}) {
    OneMatmul call(d, {m * k, k * n, m * n}, {m * n, n}, bytes);
    call.run();
    EXPECT_EQ(call.degradedCalls, bytes < needed ? 1u : 0u);
    sums.push_back(call.made[1].values);
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

// The mask that a ReLU leaves is what its gradient reads. The library counts
// the bits of its columns.
TEST_F(CudaEpilogueTest, ReluMask) {
  constexpr int64_t m = 3, n = 256, k = 5, maskCount = m * n / 32;
  for (unsigned transposed = 0; transposed < 4; ++transposed) {
    remat_matmul d = makeMatmul(m, n, k, reluAndMask, transposed);
    ASSERT_TRUE(remat_matmul_suits_cuda(&d));
    OneMatmul forward(d, {m * k, k * n, n}, {m * n, maskCount});
    forward.run();
    EXPECT_EQ(forward.prepared.kind, 134u);
    EXPECT_EQ(forward.prepared.auxLeading, n);
    for (int32_t epilogue : {maskGradient, maskGradientAndSums}) {
      d.epilogue = epilogue;
      ASSERT_TRUE(remat_matmul_suits_cuda(&d));
      std::vector<int64_t> results = {m * n};
      if (epilogue == maskGradientAndSums)
        results.push_back(n);
      OneMatmul call(d, {m * k, k * n, maskCount}, results);
      call.arguments[2] = forward.made[1];
      call.run();
      EXPECT_EQ(call.prepared.kind, epilogue == maskGradient ? 136u : 152u);
      EXPECT_EQ(call.prepared.auxLeading, n);
      std::vector<double> sums(n);
      size_t kept = 0;
      for (int64_t i = 0; i < m * n; ++i) {
        auto at = static_cast<size_t>(i);
        bool isKept = forward.made[0].values[at] > 0;
        double wanted = isKept ? multiply(d, call.arguments, i / n, i % n) : 0;
        ASSERT_NEAR(call.made[0].values[at], wanted, 1e-5);
        sums[at % n] += wanted;
        kept += isKept;
      }
      EXPECT_TRUE(kept > 0 && kept < m * n);
      for (size_t i = 0; i < n && results.size() == 2; ++i)
        ASSERT_NEAR(call.made[1].values[i], sums[i], 1e-5);
    }
  }
}

// The gradient of a bias beside that of a weight, which the library sees
// transposed.
TEST_F(CudaEpilogueTest, SumsOfFactors) {
  constexpr int64_t m = 8, n = 16, k = 5;
  for (int32_t epilogue : {aSums, bSums}) {
    remat_matmul d = makeMatmul(m, n, k, epilogue, /*transposed=*/1);
    ASSERT_TRUE(remat_matmul_suits_cuda(&d));
    OneMatmul call(d, {m * k, k * n}, {m * n, epilogue == aSums ? m : n});
    call.run();
    EXPECT_EQ(call.prepared.kind, epilogue == aSums ? 512u : 256u);
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_NEAR(call.made[0].values[static_cast<size_t>(i)],
                  multiply(d, call.arguments, i / n, i % n), 1e-5);
    const Tensor &summed = call.arguments[epilogue == aSums ? 0 : 1];
    size_t count = call.made[1].values.size();
    for (size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (size_t j = 0; j < k; ++j)
        sum += summed.values[j * count + i];
      ASSERT_NEAR(call.made[1].values[i], sum, 1e-5);
    }
  }
}

// What a product is added to stays where it is, and the result is elsewhere.
TEST_F(CudaEpilogueTest, AddedToAnotherTensor) {
  constexpr int64_t m = 3, n = 16, k = 5;
  for (int32_t epilogue : {0, bias}) {
    remat_matmul d = makeMatmul(m, n, k, epilogue);
    d.accumulate = 1;
    std::vector<int64_t> operands = {m * k, k * n, m * n};
    if (epilogue == bias)
      operands.push_back(n);
    OneMatmul call(d, operands, {m * n});
    std::vector<float> before = call.arguments[2].values;
    call.run();
    EXPECT_EQ(call.arguments[2].values, before);
    for (int64_t i = 0; i < m * n; ++i) {
      auto at = static_cast<size_t>(i);
      double wanted = before[at] + multiply(d, call.arguments, i / n, i % n);
      if (epilogue == bias)
        wanted += call.arguments[3].values[at % n];
      ASSERT_NEAR(call.made[0].values[at], wanted, 1e-5);
    }
  }
}

// What the library does not take is refused before it is asked.
TEST_F(CudaEpilogueTest, WhatTheLibraryDoesNotTake) {
  auto suits = [](const remat_matmul &d) {
    return remat_matmul_suits_cuda(&d) != 0;
  };
  remat_matmul d = makeMatmul(3, 12, 5, gelu);
  EXPECT_TRUE(suits(d));
  d.epilogue = geluAndSum; // Rows of 12 elements.
  EXPECT_FALSE(suits(d));
  d.epilogue = gradient;
  EXPECT_FALSE(suits(d));
  d.epilogue = reluAndMask; // Rows of 12 bits.
  EXPECT_FALSE(suits(d));
  d = makeMatmul(8, 16, 5, aSums); // Along memory.
  EXPECT_FALSE(suits(d));
  d = makeMatmul(8, 16, 5, aSums, /*transposed=*/1);
  EXPECT_TRUE(suits(d));
  // One row, column or term.
  EXPECT_FALSE(suits(makeMatmul(1, 16, 5, aSums, /*transposed=*/1)));
  EXPECT_FALSE(suits(makeMatmul(8, 1, 5, aSums, /*transposed=*/1)));
  EXPECT_FALSE(suits(makeMatmul(8, 16, 1, aSums, /*transposed=*/1)));
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 16, 5}, {8, 1, 5}, {8, 16, 1}})
    EXPECT_TRUE(suits(makeMatmul(m, n, k, bSums)));
  d = makeMatmul(8, 16, 5, bSums, /*transposed=*/3);
  EXPECT_FALSE(suits(d));
  d = makeMatmul(3, 16, 5, bias);
  d.c_m_stride = 1, d.c_n_stride = 3; // A bias across memory.
  EXPECT_FALSE(suits(d));
  d.epilogue = 0;
  EXPECT_TRUE(suits(d));
  d = makeMatmul(3, 16, 5, bias);
  d.batch[1] = 2, d.c_batch_stride[1] = 48;
  EXPECT_FALSE(suits(d));
  d = makeMatmul(3, 16, 5, bias);
  d.a_dtype = d.b_dtype = d.c_dtype = REMAT_F64;
  EXPECT_FALSE(suits(d));
  d.a_dtype = d.b_dtype = REMAT_BF16, d.c_dtype = REMAT_F32;
  EXPECT_TRUE(suits(d));
  d.c_dtype = REMAT_BF16;
  EXPECT_TRUE(suits(d));
}

// A bias that begins where the library does not take it.
TEST_F(CudaEpilogueTest, NoAlgorithm) {
  remat_matmul d = makeMatmul(3, 16, 5, geluAndSum);
  StepTableBuilder builder;
  auto argument = [&](int64_t count) {
    return builder.addArgumentBuffer(
        builder.addArgument("x", REMAT_F32, {count}));
  };
  uint32_t a = argument(15), b = argument(80), added = argument(17);
  uint32_t part = builder.addView(added, 4, 64);
  uint32_t c = builder.addResultBuffer(builder.addResult("y", REMAT_F32, {48}));
  uint32_t s = builder.addResultBuffer(builder.addResult("z", REMAT_F32, {48}));
  StepEntry entry = makeEntry(builder.addMatmul(d), {a, b, part}, {c, s});
  entry.kind = REMAT_ENTRY_MATMUL;
  builder.addEntry(entry);
  CudaStep step(builder);
  EXPECT_EQ(step.loaded, REMAT_LIBRARY_ERROR);
  EXPECT_NE(step.message.find("cuBLASLt has no algorithm for a matmul with a "
                              "bias and a GELU whose input is kept of 3 x 5"),
            std::string::npos)
      << step.message;
}

} // namespace
