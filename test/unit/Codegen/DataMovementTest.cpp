//===- DataMovementTest.cpp - gathers, scatters, slices, transposes -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace remat::test;

static RunResult runTimed(const char *what, const std::string &kernel,
                          const std::vector<Bytes> &arguments, double bytes) {
  RunOptions options;
  if (std::getenv("REMAT_TEST_TIMES"))
    options.repetitions = 20;
  RunResult result = runKernel(kernel, arguments, options);
  if (options.repetitions > 1)
    std::printf("%s: %.3f ms, %.1f GB/s\n", what, result.seconds * 1e3,
                bytes / result.seconds * 1e-9);
  return result;
}

TEST(DataMovement, Transpose) {
  std::string text = R"(
func.func @k(%x: tensor<1024x2048xf32>) -> tensor<2048x1024xf32> {
  %e = tensor.empty() : tensor<2048x1024xf32>
  %r = linalg.transpose ins(%x : tensor<1024x2048xf32>)
      outs(%e : tensor<2048x1024xf32>) permutation = [1, 0]
  return %r : tensor<2048x1024xf32>
})";
  std::vector<float> x = makeValues(1024 * 2048);
  RunResult run = runTimed("transpose 1024x2048", text, {toBytes(x)}, 16 << 20);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < 2048; ++j)
      ASSERT_EQ(y[j * 1024 + i], x[i * 2048 + j]);
}

TEST(DataMovement, HeadTranspose) {
  std::string text = R"(
func.func @k(%x: tensor<8x128x12x64xf32>) -> tensor<8x12x128x64xf32> {
  %e = tensor.empty() : tensor<8x12x128x64xf32>
  %r = linalg.transpose ins(%x : tensor<8x128x12x64xf32>)
      outs(%e : tensor<8x12x128x64xf32>) permutation = [0, 2, 1, 3]
  return %r : tensor<8x12x128x64xf32>
})";
  std::vector<float> x = makeValues(8 * 128 * 12 * 64);
  RunResult run =
      runTimed("transpose of heads", text, {toBytes(x)}, 8.0 * x.size());
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int n = 0; n < 8; ++n)
    for (int s = 0; s < 128; ++s)
      for (int h = 0; h < 12; ++h)
        for (int d = 0; d < 64; ++d)
          ASSERT_EQ(y[((n * 12 + h) * 128 + s) * 64 + d],
                    x[((n * 128 + s) * 12 + h) * 64 + d]);
}

static const char gather[] = R"(
func.func @k(%t: tensor<50x70xf32>, %ids: tensor<9xi64>) -> tensor<9x70xf32> {
  %c50 = arith.constant 50 : index
  %e = tensor.empty() : tensor<9x70xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<9xi64>) outs(%e : tensor<9x70xf32>) {
  ^bb0(%id: i64, %o: f32):
    %row = arith.index_cast %id : i64 to index
    %in = remat.check_index %row, %c50 : index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%in, %j] : tensor<50x70xf32>
    linalg.yield %v : f32
  } -> tensor<9x70xf32>
  return %r : tensor<9x70xf32>
})";

TEST(DataMovement, Gather) {
  std::vector<float> t = makeValues(50 * 70);
  std::vector<int64_t> ids = {3, 49, 0, 7, 7, 12, 30, 1, 2};
  RunResult run = runKernel(gather, {toBytes(t), toBytes(ids)});
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 70; ++j)
      ASSERT_EQ(y[i * 70 + j], t[ids[i] * 70 + j]);
}

TEST(DataMovement, GatherOutOfBounds) {
  std::vector<float> t = makeValues(50 * 70);
  for (int64_t bad : {int64_t(50), int64_t(-1)}) {
    std::vector<int64_t> ids = {3, 49, 0, 7, bad, 12, 30, 1, 2};
    RunResult run = runKernel(gather, {toBytes(t), toBytes(ids)});
    EXPECT_NE(run.error.find(std::to_string(bad)), std::string::npos)
        << run.error;
    EXPECT_NE(run.error.find("expected 0 to 49"), std::string::npos)
        << run.error;
  }
}

TEST(DataMovement, ScatterRows) {
  std::string text = R"(
func.func @k(%ids: tensor<40xi64>, %g: tensor<40x70xf32>) -> tensor<16x70xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x70xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x70xf32>) -> tensor<16x70xf32>
  %r = remat.scatter {indexing_maps = [affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], sizes = array<i64: 40, 70>}
      ins(%ids, %g : tensor<40xi64>, tensor<40x70xf32>)
      outs(%f : tensor<16x70xf32>) {
  ^bb0(%p0: index, %p1: index, %id: i64, %v: f32):
    %c16 = arith.constant 16 : index
    %row = arith.index_cast %id : i64 to index
    %in = remat.check_index %row, %c16 : index
    remat.yield %in, %p1, %v : index, index, f32
  } -> tensor<16x70xf32>
  return %r : tensor<16x70xf32>
})";
  std::vector<float> g = makeValues(40 * 70);
  std::vector<int64_t> ids(40);
  for (int i = 0; i < 40; ++i)
    ids[i] = i * 7 % 13;
  std::vector<float> expected(16 * 70, 0.0f);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 70; ++j)
      expected[ids[i] * 70 + j] += g[i * 70 + j];
  for (int threads : {1, 2}) {
    RunOptions options;
    options.threads = threads;
    RunResult run = runKernel(text, {toBytes(ids), toBytes(g)}, options);
    ASSERT_EQ(run.error, "");
    EXPECT_EQ(fromBytes<float>(run.results[0]), expected);
  }
}

/// The gradient of a strided window: no dimension is a point's own.
TEST(DataMovement, ScatterWindowIntoOperand) {
  std::string text = R"(
func.func @k(%g: tensor<5x3xf32>, %init: tensor<11xf32>) -> tensor<11xf32> {
  %r = remat.scatter {indexing_maps = [affine_map<(i, j) -> (i, j)>],
      sizes = array<i64: 5, 3>}
      ins(%g : tensor<5x3xf32>) outs(%init : tensor<11xf32>) {
  ^bb0(%p0: index, %p1: index, %v: f32):
    %c2 = arith.constant 2 : index
    %a = arith.muli %p0, %c2 : index
    %b = arith.addi %a, %p1 : index
    remat.yield %b, %v : index, f32
  } -> tensor<11xf32>
  return %r : tensor<11xf32>
})";
  std::vector<float> g = makeValues(15), expected = makeValues(11, 2);
  RunResult run = runKernel(text, {toBytes(g), toBytes(expected)});
  ASSERT_EQ(run.error, "");
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j)
      expected[2 * i + j] += g[i * 3 + j];
  EXPECT_EQ(fromBytes<float>(run.results[0]), expected);
}

TEST(DataMovement, PadOnTwoThreads) {
  std::string text = R"(
func.func @k(%x: tensor<6x5xf32>) -> tensor<9x12xf32> {
  %z = arith.constant 2.5 : f32
  %r = tensor.pad %x low[1, 3] high[2, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<6x5xf32> to tensor<9x12xf32>
  return %r : tensor<9x12xf32>
})";
  std::vector<float> x = makeValues(30);
  RunOptions options;
  options.threads = 2;
  RunResult run = runKernel(text, {toBytes(x)}, options);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 12; ++j) {
      bool inside = i >= 1 && i < 7 && j >= 3 && j < 8;
      ASSERT_EQ(y[i * 12 + j], inside ? x[(i - 1) * 5 + j - 3] : 2.5f);
    }
}

TEST(DataMovement, SliceAndConcat) {
  std::string text = R"(
func.func @k(%x: tensor<6x8xf32>, %y: tensor<6x5xf32>) -> tensor<3x9xf32> {
  %a = tensor.extract_slice %x[0, 1] [3, 4] [2, 1] : tensor<6x8xf32> to tensor<3x4xf32>
  %b = tensor.extract_slice %y[2, 0] [3, 5] [1, 1] : tensor<6x5xf32> to tensor<3x5xf32>
  %r = tensor.concat dim(1) %a, %b : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x9xf32>
  return %r : tensor<3x9xf32>
})";
  std::vector<float> x = makeValues(48), y = makeValues(30, 2);
  RunResult run = runKernel(text, {toBytes(x), toBytes(y)});
  ASSERT_EQ(run.error, "");
  std::vector<float> r = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 9; ++j)
      ASSERT_EQ(r[i * 9 + j],
                j < 4 ? x[2 * i * 8 + 1 + j] : y[(i + 2) * 5 + j - 4]);
}

TEST(DataMovement, InsertSliceIntoArgumentAndZeros) {
  std::string text = R"(
func.func @k(%x: tensor<2x3xf32>, %y: tensor<4x6xf32>)
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %z = arith.constant dense<0.0> : tensor<4x6xf32>
  %a = tensor.insert_slice %x into %y[1, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  %b = tensor.insert_slice %x into %z[0, 3] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  %c = tensor.insert_slice %x into %z[0, 0] [2, 3] [2, 2] : tensor<2x3xf32> into tensor<4x6xf32>
  return %a, %b, %c : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
})";
  std::vector<float> x = makeValues(6), y = makeValues(24, 2);
  RunResult run = runKernel(text, {toBytes(x), toBytes(y)});
  ASSERT_EQ(run.error, "");
  std::vector<float> a = y, b(24, 0.0f), c(24, 0.0f);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      a[(i + 1) * 6 + j + 2] = x[i * 3 + j];
      b[i * 6 + j + 3] = x[i * 3 + j];
      c[2 * i * 6 + 2 * j] = x[i * 3 + j];
    }
  EXPECT_EQ(fromBytes<float>(run.results[0]), a);
  EXPECT_EQ(fromBytes<float>(run.results[1]), b);
  EXPECT_EQ(fromBytes<float>(run.results[2]), c);
}

TEST(DataMovement, Constants) {
  std::string text = R"(
func.func @k() -> (tensor<2x2xf32>, tensor<3xi1>, tensor<4xf16>) {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %c = arith.constant dense<1.5> : tensor<4xf16>
  return %a, %b, %c : tensor<2x2xf32>, tensor<3xi1>, tensor<4xf16>
})";
  RunResult run = runKernel(text, {});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(fromBytes<float>(run.results[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(run.results[1], (Bytes{1, 0, 1}));
  EXPECT_EQ(fromBytes<uint16_t>(run.results[2]),
            std::vector<uint16_t>(4, 0x3e00));
}

TEST(DataMovement, ScalarsAndReshapes) {
  std::string text = R"(
func.func @k(%x: tensor<6xf32>) -> (tensor<2xf32>, tensor<f32>, tensor<3x2xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = tensor.extract %x[%c1] : tensor<6xf32>
  %b = tensor.extract %x[%c4] : tensor<6xf32>
  %s = arith.addf %a, %b : f32
  %r = tensor.from_elements %s, %b : tensor<2xf32>
  %t = tensor.from_elements %a : tensor<f32>
  %u = tensor.expand_shape %x [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  return %r, %t, %u : tensor<2xf32>, tensor<f32>, tensor<3x2xf32>
})";
  std::vector<float> x = makeValues(6);
  RunResult run = runKernel(text, {toBytes(x)});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(fromBytes<float>(run.results[0]),
            (std::vector<float>{x[1] + x[4], x[4]}));
  EXPECT_EQ(fromBytes<float>(run.results[1]), std::vector<float>{x[1]});
  EXPECT_EQ(fromBytes<float>(run.results[2]), x);
}

TEST(DataMovement, Bfloat16) {
  std::string text = R"(
#m = affine_map<(i) -> (i)>
func.func @k(%x: tensor<100xbf16>) -> (tensor<100xbf16>, tensor<100xf32>) {
  %e = tensor.empty() : tensor<100xbf16>
  %f = tensor.empty() : tensor<100xf32>
  %r:2 = linalg.generic {indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel"]} ins(%x : tensor<100xbf16>)
      outs(%e, %f : tensor<100xbf16>, tensor<100xf32>) {
  ^bb0(%a: bf16, %o: bf16, %p: f32):
    %b = math.exp %a : bf16
    %c = arith.addf %b, %a : bf16
    %d = arith.extf %c : bf16 to f32
    linalg.yield %c, %d : bf16, f32
  } -> (tensor<100xbf16>, tensor<100xf32>)
  return %r#0, %r#1 : tensor<100xbf16>, tensor<100xf32>
})";
  std::vector<float> values = makeValues(100);
  std::vector<uint16_t> x(100);
  for (int i = 0; i < 100; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &values[i], 4);
    x[i] = bits >> 16;
    bits &= 0xffff0000;
    std::memcpy(&values[i], &bits, 4);
  }
  RunResult run = runKernel(text, {toBytes(x)});
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[1]);
  for (int i = 0; i < 100; ++i)
    ASSERT_NEAR(y[i], std::exp(values[i]) + values[i], 0.03);
}
