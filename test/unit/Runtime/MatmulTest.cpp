//===- MatmulTest.cpp - matmuls against naive loops -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many random descriptions: batches, transposes, gaps, broadcasts, all types.
//
//===----------------------------------------------------------------------===//

#include "LibraryTest.h"

#include "remat/Runtime/KernelCalls.h"

#include <algorithm>

using namespace remat;

namespace {

/// Sets the strides of an operand whose dims are visited in `order`, innermost
/// first; its number of elements.
int64_t layOut(const std::vector<std::pair<int64_t, int64_t *>> &dims,
               const std::vector<int> &order, int64_t gap) {
  int64_t size = 1;
  for (int dim : order) {
    *dims[dim].second = size;
    size *= dims[dim].first > 0 ? dims[dim].first : 1;
    size += size > 1 ? gap : 0;
  }
  return size;
}

struct Case {
  remat_matmul d = {};
  int64_t sizes[3];
};

/// A random order that often leaves one of the last two dims innermost.
std::vector<int> pickOrder(std::mt19937 &random) {
  std::vector<int> order = {4, 3, 2, 1, 0};
  switch (random() % 4) {
  case 0:
    break;
  case 1:
    std::swap(order[0], order[1]);
    break;
  case 2: // [b, t, h, d]
    order = {4, 2, 3, 1, 0};
    break;
  default:
    std::shuffle(order.begin(), order.end(), random);
  }
  return order;
}

Case pickCase(std::mt19937 &random, int32_t a, int32_t b, int32_t c) {
  Case result;
  remat_matmul &d = result.d;
  auto extent = [&](int most) {
    return static_cast<int64_t>(random() % 8 == 0 ? random() % 2
                                                  : 1 + random() % most);
  };
  d.a_dtype = a, d.b_dtype = b, d.c_dtype = c;
  d.accumulate = random() % 2;
  for (int64_t &batch : d.batch)
    batch = random() % 2 ? 1 : extent(4);
  d.m = extent(40), d.n = extent(40), d.k = extent(70);
  int64_t gap = random() % 3 == 0 ? 3 : 0;
  result.sizes[0] = layOut({{d.batch[0], &d.a_batch_stride[0]},
                            {d.batch[1], &d.a_batch_stride[1]},
                            {d.batch[2], &d.a_batch_stride[2]},
                            {d.m, &d.a_m_stride},
                            {d.k, &d.a_k_stride}},
                           pickOrder(random), gap);
  result.sizes[1] = layOut({{d.batch[0], &d.b_batch_stride[0]},
                            {d.batch[1], &d.b_batch_stride[1]},
                            {d.batch[2], &d.b_batch_stride[2]},
                            {d.k, &d.b_k_stride},
                            {d.n, &d.b_n_stride}},
                           pickOrder(random), gap);
  result.sizes[2] = layOut({{d.batch[0], &d.c_batch_stride[0]},
                            {d.batch[1], &d.c_batch_stride[1]},
                            {d.batch[2], &d.c_batch_stride[2]},
                            {d.m, &d.c_m_stride},
                            {d.n, &d.c_n_stride}},
                           pickOrder(random), gap);
  for (int i = 0; i < 3; ++i) {
    if (random() % 4 == 0)
      d.a_batch_stride[i] = 0;
    else if (random() % 4 == 0)
      d.b_batch_stride[i] = 0;
  }
  if (random() % 16 == 0)
    d.b_n_stride = 0;
  return result;
}

/// Compares `c` with naive sums; elements that C does not hold must keep what
/// `initial` has.
void compare(const remat_matmul &d, const Elements &a, const Elements &b,
             const Elements &initial, const Elements &c) {
  std::vector<bool> written(static_cast<size_t>(c.count), false);
  for (int64_t i = 0; i < d.batch[0]; ++i)
    for (int64_t j = 0; j < d.batch[1]; ++j)
      for (int64_t l = 0; l < d.batch[2]; ++l)
        for (int64_t m = 0; m < d.m; ++m)
          for (int64_t n = 0; n < d.n; ++n) {
            auto at = [&](const int64_t (&strides)[3]) {
              return i * strides[0] + j * strides[1] + l * strides[2];
            };
            int64_t to =
                at(d.c_batch_stride) + m * d.c_m_stride + n * d.c_n_stride;
            double sum = d.accumulate ? initial.get(to) : 0;
            for (int64_t k = 0; k < d.k; ++k)
              sum += a.get(at(d.a_batch_stride) + m * d.a_m_stride +
                           k * d.a_k_stride) *
                     b.get(at(d.b_batch_stride) + k * d.b_k_stride +
                           n * d.b_n_stride);
            if (c.dtype == REMAT_I8) // wraps
              sum = static_cast<int8_t>(static_cast<int64_t>(sum));
            ASSERT_NEAR(c.get(to), sum, c.tolerance(sum));
            written[static_cast<size_t>(to)] = true;
          }
  for (int64_t i = 0; i < c.count; ++i)
    if (!written[static_cast<size_t>(i)]) {
      ASSERT_EQ(c.get(i), initial.get(i)) << "wrote outside of the result";
    }
}

void runCase(const Case &test, std::mt19937 &random, int threads) {
  const remat_matmul &d = test.d;
  Elements a(d.a_dtype, test.sizes[0]), b(d.b_dtype, test.sizes[1]);
  Elements initial(d.c_dtype, test.sizes[2]);
  a.fill(random), b.fill(random), initial.fill(random);
  Elements c(d.c_dtype, test.sizes[2]);
  bool apart = d.accumulate && random() % 2;
  Step step(makeCall(REMAT_ENTRY_MATMUL, a, b, c, &d, nullptr, threads, apart),
            {}, {threads, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({a.tensor(), b.tensor(), initial.tensor()}, {c.tensor()}),
            REMAT_OK)
      << step.message;
  EXPECT_EQ(step.stats().degraded_calls, 0u);
  compare(d, a, b, initial, c);
}

TEST(Matmul, RandomDescriptions) {
  const int32_t types[][3] = {
      {REMAT_F32, REMAT_F32, REMAT_F32},    {REMAT_F32, REMAT_F32, REMAT_F32},
      {REMAT_F32, REMAT_F32, REMAT_F32},    {REMAT_BF16, REMAT_BF16, REMAT_F32},
      {REMAT_BF16, REMAT_BF16, REMAT_BF16}, {REMAT_F64, REMAT_F64, REMAT_F64},
      {REMAT_F16, REMAT_F16, REMAT_F16},    {REMAT_F16, REMAT_F32, REMAT_F64},
      {REMAT_I32, REMAT_I32, REMAT_I32},    {REMAT_I8, REMAT_I8, REMAT_I8},
      {REMAT_I16, REMAT_I64, REMAT_I64}};
  std::mt19937 random(2);
  for (int i = 0; i < 1100; ++i) {
    const int32_t *t = types[i % 11];
    Case test = pickCase(random, t[0], t[1], t[2]);
    SCOPED_TRACE("case " + std::to_string(i) + ", " +
                 remat_matmul_implementation(&test.d, 2));
    runCase(test, random, 1 + i % 3);
    if (HasFatalFailure())
      return;
  }
}

/// A row-major matmul.
Case plain(int64_t batch, int64_t m, int64_t n, int64_t k) {
  Case result;
  remat_matmul &d = result.d;
  d.batch[0] = batch, d.batch[1] = d.batch[2] = 1;
  d.m = m, d.n = n, d.k = k;
  d.a_batch_stride[0] = m * k, d.a_m_stride = k, d.a_k_stride = 1;
  d.b_batch_stride[0] = k * n, d.b_k_stride = n, d.b_n_stride = 1;
  d.c_batch_stride[0] = m * n, d.c_m_stride = n, d.c_n_stride = 1;
  result.sizes[0] = batch * m * k;
  result.sizes[1] = batch * k * n;
  result.sizes[2] = batch * m * n;
  return result;
}

/// Narrow types are for storage: a sum of ones in bf16 would end at 256, in f16
/// at 2048.
TEST(Matmul, NarrowTypesAddUpInF32) {
  constexpr int64_t m = 24, n = 40, k = 4096;
  for (int32_t type : {REMAT_BF16, REMAT_F16})
    for (int32_t result : {type, int32_t(REMAT_F32)}) {
      Case test = plain(1, m, n, k);
      test.d.a_dtype = test.d.b_dtype = type;
      test.d.c_dtype = result;
      Elements a(type, m * k), b(type, k * n), c(result, m * n);
      for (Elements *ones : {&a, &b})
        for (int64_t i = 0; i < ones->count; ++i)
          ones->set(i, 1);
      Elements initial(result, m * n);
      SCOPED_TRACE(remat_matmul_implementation(&test.d, 2));
      Step step(makeCall(REMAT_ENTRY_MATMUL, a, b, c, &test.d, nullptr, 2), {},
                {2, REMAT_STEP_POISON, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      ASSERT_EQ(
          step.run({a.tensor(), b.tensor(), initial.tensor()}, {c.tensor()}),
          REMAT_OK)
          << step.message;
      for (int64_t i = 0; i < c.count; ++i)
        ASSERT_EQ(c.get(i), k);
    }
}

/// More than one block of rows, of columns and of terms, and a rest of each.
TEST(Matmul, Blocks) {
  const int32_t types[][3] = {{REMAT_F32, REMAT_F32, REMAT_F32},
                              {REMAT_F64, REMAT_F64, REMAT_F64},
                              {REMAT_F16, REMAT_F16, REMAT_F16},
                              {REMAT_BF16, REMAT_F32, REMAT_BF16},
                              {REMAT_I64, REMAT_I32, REMAT_I64}};
  std::mt19937 random(9);
  for (auto &type : types)
    for (int layout = 0; layout < 4; ++layout) {
      Case test = plain(1, 205, 275, 263);
      remat_matmul &d = test.d;
      d.a_dtype = type[0], d.b_dtype = type[1], d.c_dtype = type[2];
      d.accumulate = layout % 2;
      if (layout & 1)
        d.a_m_stride = 1, d.a_k_stride = d.m;
      if (layout & 2)
        d.b_k_stride = 1, d.b_n_stride = d.k;
      if (layout == 3)
        d.c_m_stride = 1, d.c_n_stride = d.m;
      SCOPED_TRACE(remat_matmul_implementation(&d, 2));
      runCase(test, random, 1 + layout % 3);
      if (HasFatalFailure())
        return;
    }
}

/// How many blocks there are depends on the threads, but no sum does.
TEST(Matmul, BlocksDoNotDependOnThreads) {
  std::mt19937 random(10);
  for (int32_t type : {REMAT_F32, REMAT_F64, REMAT_F16}) {
    Case test = plain(1, 150, 300, 300);
    test.d.a_dtype = test.d.b_dtype = test.d.c_dtype = type;
    Elements a(type, test.sizes[0]), b(type, test.sizes[1]);
    for (Elements *e : {&a, &b})
      for (int64_t i = 0; i < e->count; ++i)
        e->set(i, static_cast<double>(random()) / 4e9 - 0.5);
    Elements initial(type, test.sizes[2]), first(type, test.sizes[2]);
    for (int threads : {1, 2, 3, 8}) {
      Elements c(type, test.sizes[2]);
      Step step(
          makeCall(REMAT_ENTRY_MATMUL, a, b, c, &test.d, nullptr, threads), {},
          {threads, 0, nullptr, 0});
      ASSERT_EQ(step.run({a.tensor(), b.tensor(), initial.tensor()},
                         {threads == 1 ? first.tensor() : c.tensor()}),
                REMAT_OK);
      if (threads > 1) {
        EXPECT_TRUE(c.sameBits(first)) << threads << " threads";
      }
    }
  }
}

/// Long sums of bf16 are made in pieces where there is a matrix unit, with the
/// same bits for any number of threads.
TEST(Matmul, LongSums) {
  std::mt19937 random(20);
  Case test = plain(1, 520, 270, 2090);
  remat_matmul &d = test.d;
  d.a_dtype = d.b_dtype = d.c_dtype = REMAT_BF16;
  auto hasPieces = [&](int threads) {
    return remat_matmul_implementation(&d, threads) ==
           std::string("amx pieces");
  };
  bool hasUnit = remat_has_matrix_unit();
  EXPECT_EQ(hasPieces(1), hasUnit);
  EXPECT_EQ(hasPieces(2), hasUnit);
  d.k = 2040;
  EXPECT_FALSE(hasPieces(1));
  d.k = 2090;
  runCase(test, random, 2);
  std::swap(d.b_k_stride, d.b_n_stride);
  d.b_n_stride = d.k;
  EXPECT_EQ(hasPieces(1), hasUnit);
  runCase(test, random, 1);
  Elements a(REMAT_BF16, test.sizes[0]), b(REMAT_BF16, test.sizes[1]);
  a.fill(random), b.fill(random);
  Elements initial(REMAT_BF16, test.sizes[2]);
  Elements first(REMAT_BF16, test.sizes[2]), c(REMAT_BF16, test.sizes[2]);
  for (int threads : {1, 2}) {
    Step step(makeCall(REMAT_ENTRY_MATMUL, a, b, c, &d, nullptr, threads), {},
              {threads, 0, nullptr, 0});
    ASSERT_EQ(step.run({a.tensor(), b.tensor(), initial.tensor()},
                       {threads == 1 ? first.tensor() : c.tensor()}),
              REMAT_OK);
  }
  if (hasUnit)
    EXPECT_TRUE(c.sameBits(first));
}

TEST(Matmul, LibraryTakesWhatMatters) {
  auto usesLibrary = [](const remat_matmul &d) {
    std::string name = remat_matmul_implementation(&d, 2);
    return name != "reference" && name != "fill" && name != "invalid";
  };
  Case test = plain(1, 128, 96, 64);
  EXPECT_TRUE(usesLibrary(test.d));
  std::swap(test.d.a_m_stride, test.d.a_k_stride); // A transposed
  test.d.a_k_stride = 128;
  EXPECT_TRUE(usesLibrary(test.d));
  test.d.c_m_stride = 1, test.d.c_n_stride = 128; // C transposed
  EXPECT_TRUE(usesLibrary(test.d));
  test.d.accumulate = 1;
  EXPECT_TRUE(usesLibrary(test.d));
  for (int64_t one : {0, 1, 2}) { // matrix times vector and the like
    Case thin =
        plain(1, one == 0 ? 1 : 50, one == 1 ? 1 : 50, one == 2 ? 1 : 50);
    EXPECT_TRUE(usesLibrary(thin.d)) << one;
  }
  // [b, t, h, d] heads, and a batch that only A has.
  Case heads = plain(4, 64, 64, 32);
  heads.d.batch[1] = 8;
  heads.d.a_batch_stride[0] = 64 * 8 * 32, heads.d.a_batch_stride[1] = 32;
  heads.d.a_m_stride = 8 * 32;
  heads.d.b_batch_stride[0] = 64 * 8 * 32, heads.d.b_batch_stride[1] = 32;
  heads.d.b_k_stride = 1, heads.d.b_n_stride = 8 * 32;
  heads.d.c_batch_stride[0] = 8 * 64 * 64, heads.d.c_batch_stride[1] = 64 * 64;
  EXPECT_TRUE(usesLibrary(heads.d));
  heads.d.b_batch_stride[0] = 0;
  EXPECT_TRUE(usesLibrary(heads.d));
}

/// Rows of B that push each other out of the first cache are copied.
TEST(Matmul, CollidingRows) {
  auto isTiled = [](int64_t columns) {
    Case test = plain(1, 32, columns, 32);
    return remat_matmul_implementation(&test.d, 2) == std::string("tiles");
  };
  if (isTiled(3088))
    GTEST_SKIP() << "no matmuls of oneDNN on this CPU";
  EXPECT_TRUE(isTiled(3072));
  EXPECT_TRUE(isTiled(3584));
  EXPECT_FALSE(isTiled(4096)); // oneDNN copies it
  Case transposed = plain(1, 64, 96, 3072);
  std::swap(transposed.d.b_k_stride, transposed.d.b_n_stride);
  transposed.d.b_n_stride = 3072;
  EXPECT_NE(remat_matmul_implementation(&transposed.d, 2),
            std::string("tiles"));
}

/// oneDNN divided by zero where a size modulo 2^32 is 0, and counts strides in
/// an int. Nothing runs here, so that no memory is needed.
TEST(Matmul, SizesThatDoNotFitAnInt) {
  for (int64_t large : {int64_t(INT32_MAX) + 1, int64_t(1) << 32,
                        (int64_t(1) << 33) + 16, int64_t(1) << 40})
    for (int32_t type : {REMAT_F32, REMAT_BF16}) {
      Case cases[] = {plain(1, large, 16, 16), plain(1, 16, large, 16),
                      plain(1, 16, 16, large), plain(large, 16, 16, 16),
                      plain(1, large, 1, 1),   plain(large, 1, 1, 1)};
      for (Case &test : cases) {
        remat_matmul &d = test.d;
        d.a_dtype = d.b_dtype = d.c_dtype = type;
        EXPECT_STREQ(remat_matmul_implementation(&d, 2), "tiles")
            << d.batch[0] << " x " << d.m << " x " << d.n << " x " << d.k;
        d.b_batch_stride[0] = 0; // Batches become rows.
        EXPECT_STREQ(remat_matmul_implementation(&d, 2), "tiles");
      }
      Case apart = plain(1, 16, 16, 16);
      apart.d.a_dtype = apart.d.b_dtype = apart.d.c_dtype = type;
      apart.d.a_m_stride = large;
      EXPECT_STREQ(remat_matmul_implementation(&apart.d, 2), "tiles");
    }
}

TEST(Matmul, EmptySumsAndResults) {
  std::mt19937 random(3);
  for (int accumulate : {0, 1})
    for (Case test : {plain(2, 3, 4, 0), plain(0, 3, 4, 5), plain(2, 0, 4, 5),
                      plain(2, 3, 0, 5)}) {
      test.d.accumulate = accumulate;
      runCase(test, random, 2);
    }
}

/// Infinities, NaN, rounding and subnormal numbers of f16 and bf16.
TEST(Matmul, NarrowFloats) {
  auto product = [](int32_t type, uint16_t a, float b) {
    Case test = plain(1, 1, 1, 1);
    test.d.a_dtype = type, test.d.b_dtype = REMAT_F32, test.d.c_dtype = type;
    Elements x(type, 1), y(REMAT_F32, 1), z(type, 1);
    std::memcpy(x.data(), &a, 2);
    std::memcpy(y.data(), &b, 4);
    Step step(makeCall(REMAT_ENTRY_MATMUL, x, y, z, &test.d, nullptr, 1), {});
    EXPECT_EQ(step.run({x.tensor(), y.tensor(), z.tensor()}, {z.tensor()}),
              REMAT_INVALID_ARGUMENT); // overlap
    Elements initial(type, 1);
    EXPECT_EQ(
        step.run({x.tensor(), y.tensor(), initial.tensor()}, {z.tensor()}),
        REMAT_OK);
    uint16_t bits;
    std::memcpy(&bits, z.data(), 2);
    return bits;
  };
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 1.0f), 0x3c00);
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 65504.0f), 0x7bff);
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 65519.0f), 0x7bff);
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 65520.0f), 0x7c00);
  EXPECT_EQ(product(REMAT_F16, 0xbc00, 1e30f), 0xfc00);
  EXPECT_EQ(product(REMAT_F16, 0x0001, 1.0f), 0x0001);
  EXPECT_EQ(product(REMAT_F16, 0x0001, 0.5f), 0x0000); // tie to even
  EXPECT_EQ(product(REMAT_F16, 0x0003, 0.5f), 0x0002);
  EXPECT_EQ(product(REMAT_F16, 0x0400, 0.5f), 0x0200);
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(product(REMAT_F16, 0x3c00, 1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(product(REMAT_F16, 0x7c00, 0.0f) & 0x7e00, 0x7e00);
  EXPECT_EQ(product(REMAT_BF16, 0x3f80, 1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(product(REMAT_BF16, 0x3f80, 1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(product(REMAT_BF16, 0x7f80, 0.0f) & 0x7fc0, 0x7fc0);
}

/// A sum in f64 is rounded to f16 or bf16 once: first to f32, it would be a
/// tie.
TEST(Matmul, NarrowResultsOfF64RoundOnce) {
  auto round = [](int32_t type, double value) {
    Case test = plain(1, 1, 1, 1);
    test.d.a_dtype = test.d.b_dtype = REMAT_F64, test.d.c_dtype = type;
    Elements x(REMAT_F64, 1), one(REMAT_F64, 1), z(type, 1), initial(type, 1);
    x.set(0, value), one.set(0, 1);
    Step step(makeCall(REMAT_ENTRY_MATMUL, x, one, z, &test.d, nullptr, 1), {});
    EXPECT_EQ(
        step.run({x.tensor(), one.tensor(), initial.tensor()}, {z.tensor()}),
        REMAT_OK);
    uint16_t bits;
    std::memcpy(&bits, z.data(), 2);
    return bits;
  };
  EXPECT_EQ(round(REMAT_F16, 1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(round(REMAT_F16, 1.0 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(round(REMAT_F16, 65520.0 - 0x1p-20), 0x7bff);
  EXPECT_EQ(round(REMAT_F16, 1e300), 0x7c00);
  EXPECT_EQ(round(REMAT_F16, 0x1p-25 + 0x1p-60), 0x0001);
  EXPECT_EQ(round(REMAT_BF16, -1.0 - 0x1p-8 - 0x1p-40), 0xbf81);
  EXPECT_EQ(round(REMAT_BF16, -1.0 - 3 * 0x1p-8 + 0x1p-40), 0xbf81);
  EXPECT_EQ(round(REMAT_BF16, 0x1p-134 + 0x1p-170), 0x0001);
  EXPECT_EQ(round(REMAT_BF16, 0x1p-200), 0x0000);
}

TEST(Matmul, SameBitsEveryTime) {
  std::mt19937 random(4);
  std::vector<Case> cases = {plain(1, 130, 70, 300), plain(6, 64, 64, 48),
                             plain(1, 7, 513, 100)};
  cases.push_back(plain(1, 100, 90, 1000)); // A transposed
  cases.back().d.a_m_stride = 1, cases.back().d.a_k_stride = 100;
  for (int32_t type : {REMAT_F32, REMAT_F64, REMAT_BF16})
    for (Case test : cases) {
      remat_matmul &d = test.d;
      d.a_dtype = d.b_dtype = d.c_dtype = type;
      Elements a(type, test.sizes[0]), b(type, test.sizes[1]);
      Elements initial(type, test.sizes[2]), first(type, test.sizes[2]);
      // Values whose sums are rounded.
      for (Elements *e : {&a, &b})
        for (int64_t i = 0; i < e->count; ++i)
          e->set(i, static_cast<double>(random()) / 4e9 - 0.5);
      StepTableBuilder builder =
          makeCall(REMAT_ENTRY_MATMUL, a, b, first, &d, nullptr, 2);
      for (int repeat = 0; repeat < 8; ++repeat) {
        // Another step, other addresses, another history of the workspace.
        Step step(
            builder, {},
            {2, repeat % 2 ? unsigned(REMAT_STEP_POISON) : 0u, nullptr, 0});
        Elements otherA(type, a.count, repeat * 3);
        Elements otherB(type, b.count, repeat * 5);
        Elements c(type, first.count, repeat);
        std::memcpy(otherA.data(), a.data(),
                    static_cast<size_t>(a.count) * remat_dtype_bytes(type));
        std::memcpy(otherB.data(), b.data(),
                    static_cast<size_t>(b.count) * remat_dtype_bytes(type));
        ASSERT_EQ(step.run({otherA.tensor(), otherB.tensor(), initial.tensor()},
                           {repeat == 0 ? first.tensor() : c.tensor()}),
                  REMAT_OK);
        if (repeat > 0) {
          EXPECT_TRUE(c.sameBits(first));
        }
      }
    }
}

TEST(Matmul, TooSmallAWorkspace) {
  // A module that was planned for another machine still runs, and says so.
  Case test = plain(1, 256, 64, 512);
  test.d.a_m_stride = 1, test.d.a_k_stride = 256;
  if (remat_matmul_workspace_bytes(&test.d, 2) == 0)
    GTEST_SKIP() << "the library needs no workspace here";
  std::mt19937 random(5);
  Elements a(REMAT_F32, test.sizes[0]), b(REMAT_F32, test.sizes[1]);
  Elements initial(REMAT_F32, test.sizes[2]), c(REMAT_F32, test.sizes[2]);
  a.fill(random), b.fill(random);
  StepTableBuilder builder;
  builder.addArgument("a", REMAT_F32, {a.count});
  builder.addArgument("b", REMAT_F32, {b.count});
  builder.addResult("c", REMAT_F32, {c.count});
  StepEntry entry =
      makeEntry(builder.addMatmul(test.d),
                {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1)},
                {builder.addResultBuffer(0)});
  entry.kind = REMAT_ENTRY_MATMUL;
  builder.addEntry(entry);
  Step step(builder, {}, {2, 0, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({a.tensor(), b.tensor()}, {c.tensor()}), REMAT_OK);
  EXPECT_EQ(step.stats().degraded_calls, 1u);
  compare(test.d, a, b, initial, c);
}

} // namespace
