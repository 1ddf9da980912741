//===- LoopKernelsTest.cpp - elementwise kernels and reductions -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace remat::test;

/// Timings, for people: REMAT_TEST_TIMES=1.
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

/// A module with one linalg.generic over f32 tensors.
static std::string elementwise(const std::string &type,
                               const std::string &body) {
  return "func.func @k(%x: " + type + ") -> " + type +
         " {\n"
         "%e = tensor.empty() : " +
         type +
         "\n"
         "%r = linalg.generic {indexing_maps = [#m, #m], iterator_types = "
         "[\"parallel\"]} ins(%x : " +
         type + ") outs(%e : " + type +
         ") {\n"
         "^bb0(%a: f32, %o: f32):\n" +
         body + "\n} -> " + type +
         "\n"
         "return %r : " +
         type + "\n}\n";
}

static const char identity[] = "#m = affine_map<(d0) -> (d0)>\n";

TEST(LoopKernels, Gelu) {
  std::string text = identity + elementwise("tensor<1048576xf32>", R"(
    %c = arith.constant 0.044715 : f32
    %s = arith.constant 0.797884583 : f32
    %h = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %a2 = arith.mulf %a, %a : f32
    %a3 = arith.mulf %a2, %a : f32
    %t = arith.mulf %a3, %c : f32
    %u = arith.addf %a, %t : f32
    %v = arith.mulf %u, %s : f32
    %w = math.tanh %v : f32
    %y = arith.addf %w, %one : f32
    %z = arith.mulf %a, %y : f32
    %q = arith.mulf %z, %h : f32
    linalg.yield %q : f32)");
  std::vector<float> x = makeValues(1 << 20);
  for (float &value : x)
    value *= 4;
  RunResult run = runTimed("gelu 2^20", text, {toBytes(x)}, 8 << 20);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    double a = x[i];
    double expected =
        0.5 * a * (1 + std::tanh(0.797884583 * (a + 0.044715 * a * a * a)));
    ASSERT_NEAR(y[i], expected, 2e-6) << i;
  }
}

/// Functions that become polynomials, against the C library in double.
TEST(LoopKernels, MathAccuracy) {
  struct Case {
    const char *op;
    double (*reference)(double);
    float lo, hi;
  };
  const Case cases[] = {
      {"exp", std::exp, -20, 20},      {"log", std::log, 1e-6f, 50},
      {"tanh", std::tanh, -9, 9},      {"erf", std::erf, -5, 5},
      {"log1p", std::log1p, -0.9f, 9}, {"expm1", std::expm1, -10, 10},
      {"sin", std::sin, -10, 10},      {"cos", std::cos, -10, 10},
      {"sqrt", std::sqrt, 0, 100},     {"atan", std::atan, -9, 9},
      {"cbrt", std::cbrt, -9, 9},
  };
  for (const Case &test : cases) {
    std::string text =
        identity + elementwise("tensor<10000xf32>",
                               "%y = math." + std::string(test.op) +
                                   " %a : f32\nlinalg.yield %y : f32");
    std::vector<float> x = makeValues(10000);
    for (float &value : x)
      value = test.lo + (value + 1) / 2 * (test.hi - test.lo);
    RunResult run = runKernel(text, {toBytes(x)});
    ASSERT_EQ(run.error, "") << test.op;
    std::vector<float> y = fromBytes<float>(run.results[0]);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = test.reference(x[i]);
      worst = std::max(worst, std::abs(y[i] - expected) /
                                  std::max(1.0, std::abs(expected)));
    }
    EXPECT_LT(worst, 1e-6) << test.op;
  }
}

/// exp and erf at both ends of their ranges, and where nothing is to compute.
TEST(LoopKernels, Exponentials) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    const char *op;
    double (*reference)(double);
    float lo, hi;
    double error; // Relative.
    std::vector<std::pair<float, float>> exact;
  };
  const Case cases[] = {
      {"exp",
       std::exp,
       -87.3f,
       88.722f,
       1.2e-7,
       {{0.0f, 1.0f},
        {-0.0f, 1.0f},
        {-1000.0f, 0.0f},
        {-infinity, 0.0f},
        {89.0f, infinity},
        {1000.0f, infinity},
        {infinity, infinity}}},
      {"erf",
       std::erf,
       -5.0f,
       5.0f,
       3.3e-7,
       {{0.0f, 0.0f},
        {-0.0f, -0.0f},
        {4.0f, 1.0f},
        {-4.0f, -1.0f},
        {1000.0f, 1.0f},
        {-1000.0f, -1.0f},
        {infinity, 1.0f},
        {-infinity, -1.0f}}},
  };
  constexpr size_t count = 1000000;
  for (const Case &test : cases) {
    std::string text =
        identity + elementwise("tensor<" + std::to_string(count) + "xf32>",
                               "%y = math." + std::string(test.op) +
                                   " %a : f32\nlinalg.yield %y : f32");
    std::vector<float> x(count);
    for (size_t i = 0; i < count; ++i)
      x[i] = test.lo + (test.hi - test.lo) * (double(i) / (count - 1));
    for (size_t i = 0; i < test.exact.size(); ++i)
      x[i] = test.exact[i].first;
    x[test.exact.size()] = std::nanf("");
    RunResult run = runKernel(text, {toBytes(x)});
    ASSERT_EQ(run.error, "") << test.op;
    std::vector<float> y = fromBytes<float>(run.results[0]);
    for (size_t i = 0; i < test.exact.size(); ++i) {
      EXPECT_EQ(y[i], test.exact[i].second) << test.op << " " << x[i];
      EXPECT_EQ(std::signbit(y[i]), std::signbit(test.exact[i].second))
          << test.op << " " << x[i];
    }
    EXPECT_TRUE(std::isnan(y[test.exact.size()])) << test.op;
    double worst = 0;
    for (size_t i = test.exact.size() + 1; i < count; ++i) {
      double expected = test.reference(x[i]);
      if (expected != 0)
        worst = std::max(worst, std::abs(y[i] / expected - 1));
    }
    EXPECT_LT(worst, test.error) << test.op;
  }
}

// An exponent that is no constant needs more than multiplications.
TEST(LoopKernels, ComputedExponents) {
  std::string text = R"(
#m = affine_map<(i) -> (i)>
func.func @k(%x: tensor<100xf32>, %n: tensor<100xi32>) -> tensor<100xf32> {
  %e = tensor.empty() : tensor<100xf32>
  %r = linalg.generic {indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel"]}
      ins(%x, %n : tensor<100xf32>, tensor<100xi32>)
      outs(%e : tensor<100xf32>) {
  ^bb0(%a: f32, %i: i32, %o: f32):
    %p = math.fpowi %a, %i : f32, i32
    linalg.yield %p : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
})";
  std::vector<float> x = makeValues(100);
  std::vector<int32_t> n(100);
  for (int i = 0; i < 100; ++i)
    n[i] = i % 21 - 10;
  // An odd exponent that f32 has no room for.
  x[7] = -1, n[7] = (1 << 24) + 1;
  RunResult run = runKernel(text, {toBytes(x), toBytes(n)});
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 100; ++i)
    EXPECT_FLOAT_EQ(y[i], static_cast<float>(std::pow(double(x[i]), n[i])));
}

TEST(LoopKernels, BroadcastBias) {
  std::string text = R"(
func.func @k(%x: tensor<33x70xf32>, %b: tensor<70xf32>, %c: tensor<33x1xf32>)
    -> (tensor<33x70xf32>, tensor<33x70xi1>) {
  %e = tensor.empty() : tensor<33x70xf32>
  %f = tensor.empty() : tensor<33x70xi1>
  %r:2 = linalg.generic {indexing_maps = [
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b, %c : tensor<33x70xf32>, tensor<70xf32>, tensor<33x1xf32>)
      outs(%e, %f : tensor<33x70xf32>, tensor<33x70xi1>) {
  ^bb0(%a: f32, %s: f32, %t: f32, %o: f32, %p: i1):
    %u = arith.addf %a, %s : f32
    %v = arith.mulf %u, %t : f32
    %g = arith.cmpf ogt, %v, %a : f32
    linalg.yield %v, %g : f32, i1
  } -> (tensor<33x70xf32>, tensor<33x70xi1>)
  return %r#0, %r#1 : tensor<33x70xf32>, tensor<33x70xi1>
})";
  std::vector<float> x = makeValues(33 * 70), b = makeValues(70, 2),
                     c = makeValues(33, 3);
  for (int threads : {1, 2}) {
    RunOptions options;
    options.threads = threads;
    RunResult run =
        runKernel(text, {toBytes(x), toBytes(b), toBytes(c)}, options);
    ASSERT_EQ(run.error, "");
    std::vector<float> y = fromBytes<float>(run.results[0]);
    for (int i = 0; i < 33; ++i)
      for (int j = 0; j < 70; ++j) {
        float v = (x[i * 70 + j] + b[j]) * c[i];
        ASSERT_EQ(y[i * 70 + j], v);
        ASSERT_EQ(run.results[1][i * 70 + j], v > x[i * 70 + j]);
      }
  }
}

/// A sum over some of the dimensions of `type`.
static std::string reduction(const std::string &in, const std::string &out,
                             const std::string &inMap,
                             const std::string &outMap,
                             const std::string &iterators,
                             const std::string &op, const std::string &init) {
  return "func.func @k(%x: " + in + ") -> " + out +
         " {\n"
         "%e = tensor.empty() : " +
         out + "\n%z = arith.constant " + init +
         " : f32\n%f = linalg.fill ins(%z : f32) outs(%e : " + out + ") -> " +
         out + "\n%r = linalg.generic {indexing_maps = [" + map(inMap) + ", " +
         map(outMap) + "], iterator_types = [" + iterators +
         "]} ins(%x : " + in + ") outs(%f : " + out +
         ") {\n^bb0(%a: f32, %o: f32):\n%s = " + op +
         " %o, %a : f32\nlinalg.yield %s : f32\n} -> " + out +
         "\nreturn %r : " + out + "\n}\n";
}

TEST(LoopKernels, FullSum) {
  std::string text = reduction(
      "tensor<1024x1024xf32>", "tensor<f32>", "(i, j) -> (i, j)",
      "(i, j) -> ()", "\"reduction\", \"reduction\"", "arith.addf", "0.0");
  std::vector<float> x = makeValues(1 << 20);
  for (float &value : x)
    value += 3;
  RunResult run = runTimed("full sum 2^20", text, {toBytes(x)}, 4 << 20);
  ASSERT_EQ(run.error, "");
  double expected = 0;
  for (float value : x)
    expected += value;
  EXPECT_NEAR(fromBytes<float>(run.results[0])[0] / expected, 1, 1e-7);
}

TEST(LoopKernels, RowSum) {
  std::string text = reduction(
      "tensor<1024x1024xf32>", "tensor<1024xf32>", "(i, j) -> (i, j)",
      "(i, j) -> (i)", "\"parallel\", \"reduction\"", "arith.addf", "0.0");
  std::vector<float> x = makeValues(1 << 20);
  RunResult run = runTimed("row sum 1024x1024", text, {toBytes(x)}, 4 << 20);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 1024; ++i) {
    double expected = 0;
    for (int j = 0; j < 1024; ++j)
      expected += x[i * 1024 + j];
    ASSERT_NEAR(y[i], expected, 1e-5);
  }
}

TEST(LoopKernels, ColumnSumDoesNotDependOnThreads) {
  std::string text = reduction(
      "tensor<1024x1024xf32>", "tensor<1024xf32>", "(i, j) -> (i, j)",
      "(i, j) -> (j)", "\"reduction\", \"parallel\"", "arith.addf", "0.0");
  std::vector<float> x = makeValues(1 << 20);
  RunResult run = runTimed("column sum 1024x1024", text, {toBytes(x)}, 4 << 20);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int j = 0; j < 1024; ++j) {
    double expected = 0;
    for (int i = 0; i < 1024; ++i)
      expected += x[i * 1024 + j];
    ASSERT_NEAR(y[j], expected, 1e-5);
  }
  RunOptions options;
  options.threads = 2;
  RunResult again = runKernel(text, {toBytes(x)}, options);
  EXPECT_EQ(again.results, run.results);
}

TEST(LoopKernels, BatchStatistics) {
  std::string text =
      reduction("tensor<32x64x16x16xf32>", "tensor<64xf32>",
                "(n, c, h, w) -> (n, c, h, w)", "(n, c, h, w) -> (c)",
                "\"reduction\", \"parallel\", \"reduction\", \"reduction\"",
                "arith.addf", "0.0");
  std::vector<float> x = makeValues(32 * 64 * 256);
  RunResult run =
      runTimed("batch statistics", text, {toBytes(x)}, 4.0 * 32 * 64 * 256);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int c = 0; c < 64; ++c) {
    double expected = 0;
    for (int n = 0; n < 32; ++n)
      for (int p = 0; p < 256; ++p)
        expected += x[(n * 64 + c) * 256 + p];
    ASSERT_NEAR(y[c], expected, 1e-5);
  }
}

/// Sums over all but dimension `kept`, which is that of the results.
static void checkSums(const std::vector<int> &shape, int kept) {
  const char *names[] = {"a", "b", "c", "d"};
  std::string dims, type, loops;
  int points = 1, stride = 1;
  for (int i = 0; i < 4; ++i) {
    dims += std::string(i ? ", " : "") + names[i];
    type += std::to_string(shape[i]) + "x";
    loops += i ? ", " : "";
    loops += i == kept ? "\"parallel\"" : "\"reduction\"";
    points *= shape[i];
    if (i > kept)
      stride *= shape[i];
  }
  int size = shape[kept];
  std::string text = reduction(
      "tensor<" + type + "f32>", "tensor<" + std::to_string(size) + "xf32>",
      "(" + dims + ") -> (" + dims + ")",
      "(" + dims + ") -> (" + names[kept] + ")", loops, "arith.addf", "2.0");
  std::vector<float> x = makeValues(points);
  std::vector<double> expected(size, 2.0);
  for (int i = 0; i < points; ++i)
    expected[i / stride % size] += x[i];
  RunOptions options;
  RunResult run = runKernel(text, {toBytes(x)}, options);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < size; ++i)
    ASSERT_NEAR(y[i], expected[i], 1e-5) << type << " at " << i;
  options.threads = 2;
  EXPECT_EQ(runKernel(text, {toBytes(x)}, options).results, run.results);
}

// Channels last, and channels whose planes are short: rows that are no multiple
// of those that are added at a time, few or one of them, and one channel.
TEST(LoopKernels, SumsOfChannels) {
  for (const std::vector<int> &shape :
       {std::vector<int>{3, 5, 7, 33}, {1, 1, 3, 70}, {2, 3, 1, 1}})
    checkSums(shape, 3);
  for (const std::vector<int> &shape : {std::vector<int>{9, 37, 2, 2},
                                        {3, 5, 7, 7},
                                        {2, 1, 11, 11},
                                        {5, 3, 16, 17}})
    checkSums(shape, 1);
}

TEST(LoopKernels, RowMaximumKeepsNaN) {
  std::string text =
      reduction("tensor<64x1000xf32>", "tensor<64xf32>", "(i, j) -> (i, j)",
                "(i, j) -> (i)", "\"parallel\", \"reduction\"",
                "arith.maximumf", "0xFF800000");
  std::vector<float> x = makeValues(64 * 1000);
  x[5 * 1000 + 77] = std::numeric_limits<float>::quiet_NaN();
  RunResult run = runTimed("row maximum", text, {toBytes(x)}, 4.0 * 64000);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 64; ++i) {
    float expected = -INFINITY;
    for (int j = 0; j < 1000; ++j)
      expected = std::max(expected, x[i * 1000 + j]);
    if (i == 5)
      EXPECT_TRUE(std::isnan(y[i]));
    else
      EXPECT_EQ(y[i], expected);
  }
}

/// Rows with a NaN of either sign, zeros of both signs, infinities, and nothing
/// but the init, with and without elements behind the last whole vector.
TEST(LoopKernels, RowExtremaOfSpecialNumbers) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (int columns : {16, 32, 49, 77, 200})
    for (bool isMaximum : {true, false}) {
      float sign = isMaximum ? 1 : -1;
      std::string type = "tensor<7x" + std::to_string(columns) + "xf32>";
      std::string text =
          reduction(type, "tensor<7xf32>", "(i, j) -> (i, j)", "(i, j) -> (i)",
                    "\"parallel\", \"reduction\"",
                    isMaximum ? "arith.maximumf" : "arith.minimumf",
                    isMaximum ? "0xFF800000" : "0x7F800000");
      std::vector<float> x = makeValues(7 * columns);
      auto row = [&](int i) { return &x[i * columns]; };
      auto fill = [&](int i, float value) {
        std::fill(row(i), row(i) + columns, value);
      };
      row(0)[columns / 2] = nan;
      row(1)[columns - 1] = std::copysign(nan, -1.0f);
      fill(2, -0.0f * sign);
      fill(3, -0.0f * sign);
      row(3)[columns - 2] = 0.0f * sign;
      fill(4, -INFINITY * sign);
      row(5)[3] = INFINITY * sign;
      RunResult run = runKernel(text, {toBytes(x)});
      ASSERT_EQ(run.error, "");
      std::vector<float> y = fromBytes<float>(run.results[0]);
      EXPECT_TRUE(std::isnan(y[0])) << columns;
      EXPECT_TRUE(std::isnan(y[1])) << columns;
      EXPECT_EQ(y[2], 0);
      EXPECT_EQ(std::signbit(y[2]), isMaximum) << columns;
      EXPECT_EQ(y[3], 0);
      EXPECT_EQ(std::signbit(y[3]), !isMaximum) << columns;
      EXPECT_EQ(y[4], -INFINITY * sign);
      EXPECT_EQ(y[5], INFINITY * sign);
      float expected = isMaximum ? *std::max_element(row(6), row(6) + columns)
                                 : *std::min_element(row(6), row(6) + columns);
      EXPECT_EQ(y[6], expected) << columns;
    }
}

/// A row on the stack whose last vector overlaps the one before, but where what
/// is there is read and written over.
TEST(LoopKernels, RowsOnTheStack) {
  for (int columns : {24, 31, 49, 77}) {
    std::string type = "tensor<12x" + std::to_string(columns) + "xf32>";
    std::string text = R"(
#i = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @k(%x: TYPE) -> TYPE {
  %e = tensor.empty() : tensor<12xf32>
  %t = tensor.empty() : TYPE
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<12xf32>) -> tensor<12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : TYPE) outs(%t : TYPE) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%a: f32, %o: f32):
    %q = math.exp %a : f32
    linalg.yield %q : f32
  } -> TYPE
  %d = linalg.generic {indexing_maps = [#i],
      iterator_types = ["parallel", "parallel"]}
      outs(%p : TYPE) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%o: f32):
    %q = arith.addf %o, %o : f32
    linalg.yield %q : f32
  } -> TYPE
  %s = linalg.generic {indexing_maps = [#i, #r],
      iterator_types = ["parallel", "reduction"]}
      ins(%d : TYPE) outs(%f : tensor<12xf32>)
      attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<12xf32>
  %r = linalg.generic {indexing_maps = [#i, #r, #i],
      iterator_types = ["parallel", "parallel"]}
      ins(%d, %s : TYPE, tensor<12xf32>) outs(%t : TYPE)
      attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> TYPE
  return %r : TYPE
})";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
      text.replace(at, 4, type);
    std::vector<float> x = makeValues(12 * columns);
    RunResult run = runKernel(text, {toBytes(x)});
    ASSERT_EQ(run.error, "");
    std::vector<float> y = fromBytes<float>(run.results[0]);
    for (int i = 0; i < 12; ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j)
        sum += std::exp(double(x[i * columns + j]));
      for (int j = 0; j < columns; ++j)
        ASSERT_NEAR(y[i * columns + j],
                    std::exp(double(x[i * columns + j])) / sum, 1e-7)
            << columns;
    }
  }
}

TEST(LoopKernels, EmptyReductionIsTheInit) {
  std::string text = reduction(
      "tensor<3x0xf32>", "tensor<3xf32>", "(i, j) -> (i, j)", "(i, j) -> (i)",
      "\"parallel\", \"reduction\"", "arith.addf", "7.0");
  RunResult run = runKernel(text, {Bytes()});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(fromBytes<float>(run.results[0]), std::vector<float>(3, 7.0f));
}

/// exp(x - m) and its row sum from one op with a kept and a reduced result.
TEST(LoopKernels, SoftmaxPieces) {
  std::string text = R"(
func.func @k(%x: tensor<512x1024xf32>, %m: tensor<512xf32>)
    -> (tensor<512x1024xf32>, tensor<512xf32>) {
  %e = tensor.empty() : tensor<512x1024xf32>
  %f = tensor.empty() : tensor<512xf32>
  %z = arith.constant 0.0 : f32
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<512xf32>) -> tensor<512xf32>
  %r:2 = linalg.generic {indexing_maps = [
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<512x1024xf32>, tensor<512xf32>)
      outs(%e, %g : tensor<512x1024xf32>, tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %p: f32):
    %u = arith.subf %a, %b : f32
    %v = math.exp %u : f32
    %s = arith.addf %p, %v : f32
    linalg.yield %v, %s : f32, f32
  } -> (tensor<512x1024xf32>, tensor<512xf32>)
  return %r#0, %r#1 : tensor<512x1024xf32>, tensor<512xf32>
})";
  std::vector<float> x = makeValues(512 * 1024), m = makeValues(512, 2);
  RunResult run = runTimed("softmax exp and sum", text,
                           {toBytes(x), toBytes(m)}, 8.0 * 512 * 1024);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  std::vector<float> s = fromBytes<float>(run.results[1]);
  for (int i = 0; i < 512; ++i) {
    double sum = 0;
    for (int j = 0; j < 1024; ++j) {
      double expected = std::exp(double(x[i * 1024 + j]) - m[i]);
      sum += expected;
      ASSERT_NEAR(y[i * 1024 + j], expected, 2e-6 * expected);
    }
    ASSERT_NEAR(s[i] / sum, 1, 1e-6);
  }
}

TEST(LoopKernels, MaxPool) {
  std::string text = R"(
func.func @k(%x: tensor<2x3x8x10xf32>) -> tensor<2x3x4x5xf32> {
  %e = tensor.empty() : tensor<2x3x4x5xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %z = arith.constant 0xFF800000 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %r = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>,
      strides = dense<2> : vector<2xi64>}
      ins(%x, %w : tensor<2x3x8x10xf32>, tensor<2x2xf32>)
      outs(%f : tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %r : tensor<2x3x4x5xf32>
})";
  std::vector<float> x = makeValues(2 * 3 * 8 * 10);
  RunResult run = runKernel(text, {toBytes(x)});
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int c = 0; c < 6; ++c)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j) {
        float expected = -INFINITY;
        for (int k = 0; k < 4; ++k)
          expected = std::max(expected,
                              x[c * 80 + (2 * i + k / 2) * 10 + 2 * j + k % 2]);
        ASSERT_EQ(y[(c * 4 + i) * 5 + j], expected);
      }
}

/// Two structured ops: what lies between them needs workspace.
TEST(LoopKernels, IntermediateInWorkspace) {
  std::string text = R"(
#i = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @k(%x: tensor<16x40xf32>) -> tensor<16x40xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#i, #r],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x40xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<16xf32>
  %g = tensor.empty() : tensor<16x40xf32>
  %r = linalg.generic {indexing_maps = [#i, #r, #i],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<16x40xf32>, tensor<16xf32>)
      outs(%g : tensor<16x40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.subf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<16x40xf32>
  return %r : tensor<16x40xf32>
})";
  std::vector<float> x = makeValues(640);
  RunOptions options;
  options.threads = 2;
  RunResult run = runKernel(text, {toBytes(x)}, options);
  ASSERT_EQ(run.error, "");
  std::vector<float> y = fromBytes<float>(run.results[0]);
  for (int i = 0; i < 16; ++i) {
    double sum = 0;
    for (int j = 0; j < 40; ++j)
      sum += x[i * 40 + j];
    for (int j = 0; j < 40; ++j)
      ASSERT_NEAR(y[i * 40 + j], x[i * 40 + j] - sum, 1e-5);
  }
}

TEST(LoopKernels, UnsupportedOpIsADiagnostic) {
  RunResult run = runKernel(R"(
func.func @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> tensor<4xf32> {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %u = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %r : tensor<4xf32>
})",
                            {toBytes(makeValues(4))});
  EXPECT_NE(run.error.find("'scf.for' op is not supported"), std::string::npos)
      << run.error;
}

/// Complex numbers between two ops: made from floats, summed from a complex
/// zero, padded with another constant, taken apart.
TEST(LoopKernels, ComplexNumbers) {
  std::string text = R"(
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (j)>
#o = affine_map<(i) -> (i)>
func.func @k(%x: tensor<5x6xf32>, %y: tensor<5x6xf32>) -> tensor<8xf32> {
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %pad = complex.constant [3.0 : f32, 4.0 : f32] : complex<f32>
  %e = tensor.empty() : tensor<5x6xcomplex<f32>>
  %z = linalg.generic {indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<5x6xf32>, tensor<5x6xf32>)
      outs(%e : tensor<5x6xcomplex<f32>>) {
  ^bb0(%a: f32, %b: f32, %o: complex<f32>):
    %c = complex.create %a, %b : complex<f32>
    %d = complex.mul %c, %c : complex<f32>
    linalg.yield %d : complex<f32>
  } -> tensor<5x6xcomplex<f32>>
  %e6 = tensor.empty() : tensor<6xcomplex<f32>>
  %f = linalg.fill ins(%zero : complex<f32>) outs(%e6 : tensor<6xcomplex<f32>>)
      -> tensor<6xcomplex<f32>>
  %s = linalg.generic {indexing_maps = [#m, #r],
      iterator_types = ["reduction", "parallel"]}
      ins(%z : tensor<5x6xcomplex<f32>>) outs(%f : tensor<6xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %o: complex<f32>):
    %c = complex.add %o, %a : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<6xcomplex<f32>>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %pad : complex<f32>
  } : tensor<6xcomplex<f32>> to tensor<8xcomplex<f32>>
  %e8 = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#o, #o], iterator_types = ["parallel"]}
      ins(%p : tensor<8xcomplex<f32>>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %c = complex.abs %a : complex<f32>
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %n : tensor<8xf32>
})";
  std::vector<float> x = makeValues(30), y = makeValues(30, 2);
  RunResult run = runKernel(text, {toBytes(x), toBytes(y)});
  ASSERT_EQ(run.error, "");
  std::vector<float> r = fromBytes<float>(run.results[0]);
  ASSERT_NEAR(r[0], 5, 1e-5);
  ASSERT_NEAR(r[7], 5, 1e-5);
  for (int j = 0; j < 6; ++j) {
    double re = 0, im = 0;
    for (int i = 0; i < 5; ++i) {
      double a = x[i * 6 + j], b = y[i * 6 + j];
      re += a * a - b * b;
      im += 2 * a * b;
    }
    ASSERT_NEAR(r[j + 1], std::hypot(re, im), 1e-5);
  }
}

/// A failed assertion ends the step and says which it was.
TEST(LoopKernels, Assertion) {
  std::string text = identity + elementwise("tensor<64xf32>", R"(
    %one = arith.constant 1.0 : f32
    %c = arith.cmpf olt, %a, %one : f32
    cf.assert %c, "must be less than one"
    linalg.yield %a : f32)");
  std::vector<float> x = makeValues(64);
  EXPECT_EQ(runKernel(text, {toBytes(x)}).error, "");
  x[17] = 2;
  std::string error = runKernel(text, {toBytes(x)}).error;
  EXPECT_NE(error.find("must be less than one"), std::string::npos) << error;
  EXPECT_EQ(error.find("out of bounds"), std::string::npos) << error;
}
