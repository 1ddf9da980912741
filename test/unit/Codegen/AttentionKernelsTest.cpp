//===- AttentionKernelsTest.cpp - attention in blocks of rows -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that attention becomes, as task formation marks it: scores, mask,
// softmax and the contraction with the values, for blocks of 8 rows.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace remat::test;

namespace {

constexpr int heads = 3, rows = 37, columns = 45, width = 16;

/// Attention where column j is seen from row i if `predicate` holds of j - i
/// and `shift`.
std::string makeKernel(const std::string &predicate, int shift) {
  std::string text = R"(
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @k(%q: tensor<HxRxDxf32>, %k: tensor<HxCxDxf32>,
             %v: tensor<HxCxDxf32>) -> tensor<HxRxDxf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %shift = arith.constant SHIFT : i64
  %es = tensor.empty() : tensor<HxRxCxf32>
  %er = tensor.empty() : tensor<HxRxf32>
  %eo = tensor.empty() : tensor<HxRxDxf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<HxRxCxf32>)
      -> tensor<HxRxCxf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<HxRxf32>)
      -> tensor<HxRxf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<HxRxf32>)
      -> tensor<HxRxf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<HxRxDxf32>)
      -> tensor<HxRxDxf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>}
      ins(%q, %k : tensor<HxRxDxf32>, tensor<HxCxDxf32>)
      outs(%fs : tensor<HxRxCxf32>) -> tensor<HxRxCxf32>
  %a = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<HxRxCxf32>) outs(%es : tensor<HxRxCxf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %ii = arith.index_cast %i : index to i64
    %jj = arith.index_cast %j : index to i64
    %d = arith.subi %jj, %ii : i64
    %c = arith.cmpi PREDICATE, %d, %shift : i64
    %m = arith.select %c, %zero, %low : f32
    %r = arith.addf %x, %m : f32
    linalg.yield %r : f32
  } -> tensor<HxRxCxf32>
  %max = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : tensor<HxRxCxf32>) outs(%fm : tensor<HxRxf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%x: f32, %o: f32):
    %r = arith.maximumf %x, %o : f32
    linalg.yield %r : f32
  } -> tensor<HxRxf32>
  %e = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %max : tensor<HxRxCxf32>, tensor<HxRxf32>)
      outs(%es : tensor<HxRxCxf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.subf %x, %y : f32
    %r = math.exp %t : f32
    linalg.yield %r : f32
  } -> tensor<HxRxCxf32>
  %sum = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<HxRxCxf32>) outs(%fr : tensor<HxRxf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%x: f32, %o: f32):
    %r = arith.addf %x, %o : f32
    linalg.yield %r : f32
  } -> tensor<HxRxf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<HxRxCxf32>, tensor<HxRxf32>)
      outs(%es : tensor<HxRxCxf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.divf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<HxRxCxf32>
  %r = linalg.contract indexing_maps = [#s, #k, #q]
      {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>}
      ins(%p, %v : tensor<HxRxCxf32>, tensor<HxCxDxf32>)
      outs(%fo : tensor<HxRxDxf32>) -> tensor<HxRxDxf32>
  return %r : tensor<HxRxDxf32>
})";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("<HxRx",
          "<" + std::to_string(heads) + "x" + std::to_string(rows) + "x");
  replace("<HxCx",
          "<" + std::to_string(heads) + "x" + std::to_string(columns) + "x");
  replace("xCxf32>", "x" + std::to_string(columns) + "xf32>");
  replace("xDxf32>", "x" + std::to_string(width) + "xf32>");
  replace("Cxf32>", std::to_string(columns) + "xf32>");
  replace("Dxf32>", std::to_string(width) + "xf32>");
  replace("PREDICATE", predicate);
  replace("SHIFT", std::to_string(shift));
  return text;
}

struct Data {
  std::vector<float> q = makeValues(heads * rows * width, 1);
  std::vector<float> k = makeValues(heads * columns * width, 2);
  std::vector<float> v = makeValues(heads * columns * width, 3);
};

std::vector<float> attend(const Data &data,
                          const std::function<bool(int, int)> &isSeen) {
  std::vector<float> result;
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < rows; ++i) {
      std::vector<double> sums(width, 0);
      double total = 0;
      for (int j = 0; j < columns; ++j) {
        if (!isSeen(i, j))
          continue;
        double score = 0;
        for (int d = 0; d < width; ++d)
          score += double(data.q[(h * rows + i) * width + d]) *
                   data.k[(h * columns + j) * width + d];
        double weight = std::exp(score);
        total += weight;
        for (int d = 0; d < width; ++d)
          sums[d] += weight * data.v[(h * columns + j) * width + d];
      }
      for (double sum : sums)
        result.push_back(static_cast<float>(sum / total));
    }
  return result;
}

std::vector<float> run(const std::string &text, const Data &data) {
  RunOptions options;
  options.threads = 2;
  RunResult result = runKernel(
      text, {toBytes(data.q), toBytes(data.k), toBytes(data.v)}, options);
  EXPECT_EQ(result.error, "");
  return result.results.empty() ? std::vector<float>(heads * rows * width)
                                : fromBytes<float>(result.results[0]);
}

} // namespace

/// Masks that hide columns on the right, on the left, and few of them.
TEST(AttentionKernels, Masks) {
  struct Mask {
    const char *predicate;
    int shift;
    bool (*isSeen)(int difference, int shift);
  };
  const Mask masks[] = {
      {"sle", 0, [](int d, int shift) { return d <= shift; }},
      {"slt", 1, [](int d, int shift) { return d < shift; }},
      {"sle", 11, [](int d, int shift) { return d <= shift; }},
      {"sge", 0, [](int d, int shift) { return d >= shift; }},
      {"sge", -3, [](int d, int shift) { return d >= shift; }},
      {"ne", 5, [](int d, int shift) { return d != shift; }},
  };
  Data data;
  for (const Mask &mask : masks) {
    SCOPED_TRACE(mask.predicate + std::string(" ") +
                 std::to_string(mask.shift));
    std::vector<float> found =
        run(makeKernel(mask.predicate, mask.shift), data);
    std::vector<float> expected = attend(
        data, [&](int i, int j) { return mask.isSeen(j - i, mask.shift); });
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 2e-5) << "element " << i;
  }
}

/// Keys that no row of a block sees are not even read for it: a nan among them
/// is in no result.
TEST(AttentionKernels, HiddenScoresAreNotComputed) {
  Data data;
  std::vector<float> expected = run(makeKernel("sle", 0), data);
  // The rows of the first two blocks see columns 0 to 15.
  for (int h = 0; h < heads; ++h)
    for (int d = 0; d < width; ++d)
      data.k[(h * columns + 40) * width + d] =
          std::numeric_limits<float>::quiet_NaN();
  std::vector<float> found = run(makeKernel("sle", 0), data);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < 16; ++i)
      for (int d = 0; d < width; ++d) {
        size_t at = static_cast<size_t>((h * rows + i) * width + d);
        ASSERT_EQ(found[at], expected[at]) << "row " << i;
      }
}
