//===- LibraryKernelsTest.cpp - contractions and convolutions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <functional>

using namespace remat::test;

/// A contraction of f32 tensors into zeros, in an implementation.
static std::string contraction(const std::string &a, const std::string &b,
                               const std::string &c, const std::string &maps,
                               const std::string &implementation = "library") {
  return "func.func @k(%a: " + a + ", %b: " + b + ") -> " + c +
         " attributes {remat.kernel, remat.implementation = "
         "#remat.implementation<" +
         implementation +
         ">} {\n"
         "%e = tensor.empty() : " +
         c +
         "\n"
         "%z = arith.constant 0.0 : f32\n"
         "%f = linalg.fill ins(%z : f32) outs(%e : " +
         c + ") -> " + c +
         "\n"
         "%r = linalg.contract indexing_maps = [" +
         maps + "] ins(%a, %b : " + a + ", " + b + ") outs(%f : " + c +
         ") -> " + c +
         "\n"
         "return %r : " +
         c + "\n}\n";
}

/// Whether each element of `c` is the sum over `length` of `term(m, n, k)`.
static void expectSums(const std::vector<float> &c, int rows, int columns,
                       int length,
                       const std::function<double(int, int, int)> &term) {
  for (int m = 0; m < rows; ++m)
    for (int n = 0; n < columns; ++n) {
      double sum = 0;
      for (int k = 0; k < length; ++k)
        sum += term(m, n, k);
      ASSERT_NEAR(c[m * columns + n], sum, 1e-5);
    }
}

TEST(LibraryKernels, TransposedContraction) {
  for (const char *form : {"library", "generated"}) {
    std::string text = contraction(
        "tensor<30x20xf32>", "tensor<40x30xf32>", "tensor<20x40xf32>",
        map("(m, n, k) -> (k, m)") + ", " + map("(m, n, k) -> (n, k)") + ", " +
            map("(m, n, k) -> (m, n)"),
        form);
    std::vector<float> a = makeValues(600), b = makeValues(1200, 2);
    RunResult run = runKernel(text, {toBytes(a), toBytes(b)});
    ASSERT_EQ(run.error, "") << form;
    std::vector<float> c = fromBytes<float>(run.results[0]);
    expectSums(c, 20, 40, 30, [&](int m, int n, int k) {
      return a[k * 20 + m] * b[n * 30 + k];
    });
  }
}

/// A contraction that is added to an argument is a library call, too.
TEST(LibraryKernels, AddedContraction) {
  RunResult run =
      runKernel(R"(
func.func @k(%c: tensor<5x7xf32>, %a: tensor<5x6xf32>,
             %b: tensor<6x7xf32>) -> tensor<5x7xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<5x6xf32>, tensor<6x7xf32>)
      outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
})",
                {toBytes(makeValues(35, 3)), toBytes(makeValues(30)),
                 toBytes(makeValues(42, 2))});
  ASSERT_EQ(run.error, "");
  std::vector<float> a = makeValues(30), b = makeValues(42, 2);
  std::vector<float> c = makeValues(35, 3),
                     r = fromBytes<float>(run.results[0]);
  for (auto [sum, start] : llvm::zip(r, c))
    sum -= start;
  expectSums(r, 5, 7, 6,
             [&](int m, int n, int k) { return a[m * 6 + k] * b[k * 7 + n]; });
}

/// Attention scores from heads that are still in the middle.
TEST(LibraryKernels, BatchesWithStrides) {
  for (const char *form : {"library", "generated"}) {
    std::string text = contraction(
        "tensor<2x7x3x5xf32>", "tensor<2x6x3x5xf32>", "tensor<2x3x7x6xf32>",
        map("(b, h, m, n, k) -> (b, m, h, k)") + ", " +
            map("(b, h, m, n, k) -> (b, n, h, k)") + ", " +
            map("(b, h, m, n, k) -> (b, h, m, n)"),
        form);
    std::vector<float> a = makeValues(210), b = makeValues(180, 2);
    RunResult run = runKernel(text, {toBytes(a), toBytes(b)});
    ASSERT_EQ(run.error, "") << form;
    std::vector<float> c = fromBytes<float>(run.results[0]);
    for (int i = 0; i < 2; ++i)
      for (int h = 0; h < 3; ++h)
        for (int m = 0; m < 7; ++m)
          for (int n = 0; n < 6; ++n) {
            double sum = 0;
            for (int k = 0; k < 5; ++k)
              sum += a[((i * 7 + m) * 3 + h) * 5 + k] *
                     b[((i * 6 + n) * 3 + h) * 5 + k];
            ASSERT_NEAR(c[((i * 3 + h) * 7 + m) * 6 + n], sum, 1e-5);
          }
  }
}

/// Two sums that are no single dimension of both operands: our own loops.
TEST(LibraryKernels, ContractionWithoutLibrary) {
  std::string text =
      contraction("tensor<4x3x5xf32>", "tensor<5x3x6xf32>", "tensor<4x6xf32>",
                  map("(m, n, k, l) -> (m, k, l)") + ", " +
                      map("(m, n, k, l) -> (l, k, n)") + ", " +
                      map("(m, n, k, l) -> (m, n)"));
  std::vector<float> a = makeValues(60), b = makeValues(90, 2);
  RunResult run = runKernel(text, {toBytes(a), toBytes(b)});
  ASSERT_EQ(run.error, "");
  std::vector<float> c = fromBytes<float>(run.results[0]);
  expectSums(c, 4, 6, 15, [&](int m, int n, int kl) {
    int k = kl / 5, l = kl % 5;
    return a[(m * 3 + k) * 5 + l] * b[(l * 3 + k) * 6 + n];
  });
}

TEST(LibraryKernels, SquareOfOneOperand) {
  RunResult run = runKernel(R"(
func.func @k(%x: tensor<4x6xf32>) -> tensor<4x4xf32>
    attributes {remat.kernel, remat.implementation = #remat.implementation<library>} {
  %e = tensor.empty() : tensor<4x4xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
})",
                            {toBytes(makeValues(24))});
  ASSERT_EQ(run.error, "");
  std::vector<float> x = makeValues(24), y = fromBytes<float>(run.results[0]);
  expectSums(y, 4, 4, 6,
             [&](int m, int n, int k) { return x[m * 6 + k] * x[n * 6 + k]; });
}

/// A sum of products whose factor is negated first is no contraction of its
/// operands.
TEST(LibraryKernels, NegatedFactor) {
  RunResult run =
      runKernel(R"(
#a = affine_map<(k, n) -> (k, n)>
#c = affine_map<(k, n) -> (n)>
func.func @k(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %r = linalg.generic {indexing_maps = [#a, #a, #c],
      iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.negf %a : f32
    %p = arith.mulf %m, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
})",
                {toBytes(makeValues(24)), toBytes(makeValues(24, 2))});
  ASSERT_EQ(run.error, "");
  std::vector<float> x = makeValues(24), y = makeValues(24, 2);
  std::vector<float> r = fromBytes<float>(run.results[0]);
  for (int n = 0; n < 6; ++n) {
    double sum = 0;
    for (int k = 0; k < 4; ++k)
      sum -= x[k * 6 + n] * y[k * 6 + n];
    ASSERT_NEAR(r[n], sum, 1e-5);
  }
}

namespace {
/// NCHW, 3 x 3, stride 2, padding 1, two groups.
struct Convolution {
  static constexpr int batch = 2, channels = 4, height = 7, width = 8,
                       filters = 6, outHeight = 4, outWidth = 4;
  /// Calls `visit(x, w, y)` with the offsets of all terms.
  template <typename Fn>
  static void forEach(Fn visit) {
    for (int n = 0; n < batch; ++n)
      for (int f = 0; f < filters; ++f)
        for (int oh = 0; oh < outHeight; ++oh)
          for (int ow = 0; ow < outWidth; ++ow)
            for (int i = 0; i < channels / 2; ++i)
              for (int k = 0; k < 9; ++k) {
                int h = 2 * oh + k / 3 - 1, w = 2 * ow + k % 3 - 1;
                int c = f / (filters / 2) * (channels / 2) + i;
                if (h >= 0 && h < height && w >= 0 && w < width)
                  visit(((n * channels + c) * height + h) * width + w,
                        (f * channels / 2 + i) * 9 + k,
                        ((n * filters + f) * outHeight + oh) * outWidth + ow);
              }
  }
};
} // namespace

static std::string convolution(const std::string &kind, const std::string &a,
                               const std::string &b, const std::string &c) {
  return "func.func @k(%a: " + a + ", %b: " + b + ") -> " + c +
         " {\n"
         "%r = remat.conv " +
         kind +
         "(%a, %b) {strides = array<i64: 2, 2>, "
         "dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, "
         "groups = 2 : i64, input_layout = array<i64: 0, 1, 2, 3>, "
         "filter_layout = array<i64: 0, 1, 2, 3>, "
         "output_layout = array<i64: 0, 1, 2, 3>} : (" +
         a + ", " + b + ") -> " + c + "\nreturn %r : " + c + "\n}\n";
}

TEST(LibraryKernels, ConvolutionAndGradients) {
  const std::string x = "tensor<2x4x7x8xf32>", w = "tensor<6x2x3x3xf32>",
                    y = "tensor<2x6x4x4xf32>";
  std::vector<float> xs = makeValues(2 * 4 * 7 * 8), ws = makeValues(108, 2),
                     ys = makeValues(2 * 6 * 16, 3);
  struct Case {
    const char *kind;
    std::string a, b, c;
    const std::vector<float> *lhs, *rhs;
    size_t size;
    int result;
  };
  const Case cases[] = {{"forward", x, w, y, &xs, &ws, ys.size(), 2},
                        {"input_grad", y, w, x, &ys, &ws, xs.size(), 0},
                        {"filter_grad", x, y, w, &xs, &ys, ws.size(), 1}};
  for (const Case &test : cases) {
    RunResult run = runKernel(convolution(test.kind, test.a, test.b, test.c),
                              {toBytes(*test.lhs), toBytes(*test.rhs)});
    ASSERT_EQ(run.error, "") << test.kind;
    std::vector<double> expected(test.size, 0.0);
    Convolution::forEach([&](int i, int j, int k) {
      double factors[] = {xs[i], ws[j], ys[k]};
      factors[test.result] = 1;
      int places[] = {i, j, k};
      expected[places[test.result]] += factors[0] * factors[1] * factors[2];
    });
    std::vector<float> result = fromBytes<float>(run.results[0]);
    for (size_t i = 0; i < test.size; ++i)
      ASSERT_NEAR(result[i], expected[i], 1e-4) << test.kind << " " << i;
  }
}
