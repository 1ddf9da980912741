//===- TileProductsTest.cpp - products of tiles against naive loops -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where there is no matrix unit, these test what stands in for it.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "remat/Runtime/KernelCalls.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <vector>

using namespace remat;

namespace {

enum class Layout { Rows, Columns, Apart };
constexpr Layout layouts[] = {Layout::Rows, Layout::Columns, Layout::Apart};

/// A factor with its elements as they are in memory and as double.
struct Matrix {
  int64_t rows, columns, row, column;
  int32_t dtype;
  std::vector<float> wide;
  std::vector<uint16_t> narrow;
  std::vector<double> values;

  Matrix(int64_t rows, int64_t columns, Layout layout, int32_t dtype)
      : rows(rows), columns(columns), row(columns + 3), column(1), dtype(dtype),
        values(rows * columns) {
    if (layout == Layout::Columns) {
      row = 1;
      column = rows + 5;
    } else if (layout == Layout::Apart) {
      row = 2 * columns + 1;
      column = 2;
    }
    size_t size = rows * row + columns * column;
    wide.resize(size);
    narrow.resize(size);
  }

  void set(int64_t i, int64_t j, float value) {
    if (dtype == REMAT_BF16)
      value = bf16ToFloat(narrow[i * row + j * column] = floatToBf16(value));
    wide[i * row + j * column] = value;
    values[i * columns + j] = value;
  }
  void fill(std::mt19937 &random) {
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        set(i, j, normal(random));
  }
  int64_t address() const {
    return dtype == REMAT_BF16 ? reinterpret_cast<int64_t>(narrow.data())
                               : reinterpret_cast<int64_t>(wide.data());
  }
};

struct Product {
  Matrix a, b;
  int64_t n, cRow;
  std::vector<float> c;

  Product(int64_t m, int64_t n, int64_t k, Layout aLayout, Layout bLayout,
          int32_t aDtype, int32_t bDtype)
      : a(m, k, aLayout, aDtype), b(k, n, bLayout, bDtype), n(n), cRow(n + 2),
        c(m * cRow, 0.5f) {}

  void multiply(bool accumulate, bool isPacked) {
    std::vector<char> packed(
        isPacked ? remat_tile_packed_bytes(b.rows, b.columns, b.dtype) + 64
                 : 0);
    void *at = packed.data();
    size_t space = packed.size();
    int64_t place = 0;
    if (isPacked) {
      place = reinterpret_cast<int64_t>(std::align(64, space - 64, at, space));
      remat_calls_of_kernels.pack(b.address(), b.row, b.column, b.dtype, b.rows,
                                  b.columns, place);
    }
    remat_calls_of_kernels.matmul(a.address(), a.row, a.column, a.dtype,
                                  b.address(), b.row, b.column, b.dtype, place,
                                  b.rows, reinterpret_cast<int64_t>(c.data()),
                                  cRow, a.rows, n, a.columns, accumulate);
  }

  /// Compares with sums in double, and what lies between rows with before.
  void check(bool accumulate) {
    bool isSplit = a.dtype != b.dtype;
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = accumulate ? 0.5 : 0, size = 1;
        for (int64_t l = 0; l < a.columns; ++l) {
          double term =
              a.values[i * a.columns + l] * b.values[l * b.columns + j];
          sum += term;
          size += std::abs(term);
        }
        double found = c[i * cRow + j];
        if (std::isnan(sum))
          EXPECT_TRUE(std::isnan(found)) << i << ", " << j;
        else if (std::isinf(sum))
          EXPECT_EQ(found, sum) << i << ", " << j;
        else
          EXPECT_NEAR(found, sum, size * (isSplit ? 0x1p-17 : 0x1p-20))
              << i << ", " << j;
      }
      for (int64_t j = n; j < cRow; ++j)
        EXPECT_EQ(c[i * cRow + j], 0.5f);
    }
  }
};

constexpr int32_t dtypes[][2] = {
    {REMAT_BF16, REMAT_BF16}, {REMAT_F32, REMAT_BF16}, {REMAT_BF16, REMAT_F32}};

template <typename Function>
void forAllForms(const Function &function) {
  for (auto [aDtype, bDtype] : dtypes)
    for (Layout aLayout : layouts)
      for (Layout bLayout : layouts)
        for (bool isPacked : {false, true})
          function(aLayout, bLayout, aDtype, bDtype, isPacked);
}

} // namespace

TEST(TileProducts, Random) {
  std::mt19937 random(1);
  constexpr int64_t sizes[][3] = {{1, 1, 1},    {32, 32, 32},  {16, 48, 33},
                                  {33, 31, 17}, {56, 197, 64}, {7, 64, 1100},
                                  {70, 40, 520}};
  for (auto [m, n, k] : sizes)
    forAllForms([&, m = m, n = n, k = k](Layout aLayout, Layout bLayout,
                                         int32_t aDtype, int32_t bDtype,
                                         bool isPacked) {
      Product product(m, n, k, aLayout, bLayout, aDtype, bDtype);
      product.a.fill(random);
      product.b.fill(random);
      bool accumulate = random() % 2;
      product.multiply(accumulate, isPacked);
      product.check(accumulate);
    });
}

// A packed factor with more rows than are multiplied.
TEST(TileProducts, FewerTerms) {
  std::mt19937 random(5);
  for (auto [aDtype, bDtype] : dtypes)
    for (Layout layout : layouts) {
      Product product(33, 70, 600, Layout::Rows, layout, aDtype, bDtype);
      product.a.fill(random);
      product.b.fill(random);
      Product part(33, 70, 530, Layout::Rows, layout, aDtype, bDtype);
      part.a.fill(random);
      part.b = product.b;
      part.multiply(/*accumulate=*/false, /*isPacked=*/true);
      part.check(/*accumulate=*/false);
    }
}

// Many columns, not packed: several blocks of them.
TEST(TileProducts, ManyColumns) {
  std::mt19937 random(2);
  for (auto [aDtype, bDtype] : dtypes) {
    Product product(20, 1500, 200, Layout::Rows, Layout::Rows, aDtype, bDtype);
    product.a.fill(random);
    product.b.fill(random);
    product.multiply(/*accumulate=*/false, /*isPacked=*/false);
    product.check(/*accumulate=*/false);
  }
}

TEST(TileProducts, InfinitiesAndNans) {
  std::mt19937 random(3);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  forAllForms([&](Layout aLayout, Layout bLayout, int32_t aDtype,
                  int32_t bDtype, bool isPacked) {
    Product product(40, 70, 50, aLayout, bLayout, aDtype, bDtype);
    product.a.fill(random);
    product.b.fill(random);
    product.a.set(3, 7, infinity);
    product.a.set(20, 7, -infinity);
    product.a.set(38, 49, nan);
    product.b.set(20, 65, infinity);
    product.b.set(49, 1, nan);
    // Powers of two have no rest.
    product.a.set(12, 20, 0.5f);
    product.a.set(13, 20, 0.0f);
    product.multiply(/*accumulate=*/true, isPacked);
    product.check(/*accumulate=*/true);
  });
}

// An element has the same bits whatever rows and columns are beside it.
TEST(TileProducts, SameBitsInParts) {
  std::mt19937 random(4);
  forAllForms([&](Layout aLayout, Layout bLayout, int32_t aDtype,
                  int32_t bDtype, bool isPacked) {
    constexpr int64_t m = 50, n = 96, k = 77, rows = 9, columns = 64;
    Product whole(m, n, k, aLayout, bLayout, aDtype, bDtype);
    whole.a.fill(random);
    whole.b.fill(random);
    Product part = whole;
    part.a.rows = rows;
    part.n = columns;
    whole.multiply(/*accumulate=*/false, isPacked);
    part.multiply(/*accumulate=*/false, isPacked);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        EXPECT_EQ(bitsOfFloat(part.c[i * part.cRow + j]),
                  bitsOfFloat(whole.c[i * whole.cRow + j]));
  });
}
