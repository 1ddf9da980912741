//===- TiledMatmul.cpp - matmuls by our own loops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls of all types, for what oneDNN does not have or cannot do without
// memory of its own: its matmuls for CPUs without AVX-512 allocate while they
// run. These need no workspace. A block of the result is summed up on the
// thread's stack:
//
//   for each piece of k
//     copy that piece of B, so that a vector of columns is in one place
//     for each part of the rows of A, copied where its terms lie apart
//       for each vector of columns, which stays in the first cache
//         for each few rows
//           add the terms, with the sums in registers
//
// An element is the sum of its terms in their order, whatever the blocks and
// the threads are.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Elements.h"
#include "LibraryCall.h"
#include "Threads.h"
#include "VectorIsa.h"

#include <algorithm>
#include <cmath>

using namespace remat;

namespace {

/// Rows of a block, bytes of a row of it, terms that are added at a time, and
/// bytes of a copied part of A. What lies on the stack is 832 KiB.
constexpr int64_t blockRows = 384, rowBytes = 1024, depth = 256;
constexpr int64_t partBytes = 192 << 10;
/// What a block has at least where more of them are cut for threads.
constexpr int64_t leastRows = 24, leastRowBytes = 256;

template <typename T>
constexpr auto size = static_cast<int64_t>(sizeof(T));
template <typename T>
constexpr int64_t blockColumns = rowBytes / size<T>;
/// Rows of A that are copied at a time.
template <typename T>
constexpr int64_t partRows = partBytes / (depth * size<T>);

/// A block of C, as offsets of its first element, and of the row of A and the
/// column of B that it starts with.
struct Block {
  const remat_matmul &d;
  const void *a, *b;
  void *c;
  int64_t aAt, bAt, cAt, rows, columns;
  /// Of an epilogue, with the column and the row that the block starts with: a
  /// bias, and the input of a GELU or the mask of a ReLU, which is written or,
  /// for the gradient, read.
  const void *bias;
  void *input;
  int64_t firstColumn, firstRow;
};

using ComputeBlock = void (*)(const Block &);

/// sums[row][column] += a[row][k] * b[k][column], for one vector of columns. A
/// is the caller's and may have any alignment.
template <typename T, int bytes, int rows>
[[gnu::always_inline]] inline void addTerms(const char *a, int64_t aRow,
                                            int64_t aColumn, const T *b,
                                            int64_t count, T *sums) {
  typedef T Vector __attribute__((vector_size(bytes)));
  Vector sum[rows];
  for (int row = 0; row < rows; ++row)
    std::memcpy(&sum[row], sums + row * blockColumns<T>, bytes);
  for (int64_t k = 0; k < count; ++k) {
    Vector columns;
    std::memcpy(&columns, reinterpret_cast<const char *>(b) + k * bytes, bytes);
    for (int row = 0; row < rows; ++row) {
      T factor;
      std::memcpy(&factor, a + (row * aRow + k * aColumn) * size<T>, sizeof(T));
      sum[row] += factor * columns;
    }
  }
  for (int row = 0; row < rows; ++row)
    std::memcpy(sums + row * blockColumns<T>, &sum[row], bytes);
}

/// The same for at most `most` rows.
template <typename T, int bytes, int most>
[[gnu::always_inline]] inline void
addAnyTerms(int64_t rows, const char *a, int64_t aRow, int64_t aColumn,
            const T *b, int64_t count, T *sums) {
  if constexpr (most > 1)
    if (rows < most)
      return addAnyTerms<T, bytes, most - 1>(rows, a, aRow, aColumn, b, count,
                                             sums);
  addTerms<T, bytes, most>(a, aRow, aColumn, b, count, sums);
}

/// to[j][i] = from[i][j] for 4 x 4 elements, in rows of the strides.
template <typename T>
[[gnu::always_inline]] inline void
transposeFour(const char *from, int64_t fromStride, T *to, int64_t toStride) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four rows[4], pairs[4];
  for (int i = 0; i < 4; ++i)
    std::memcpy(&rows[i], from + i * fromStride * size<T>, sizeof(Four));
  pairs[0] = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  pairs[1] = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  pairs[2] = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  pairs[3] = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  for (int half = 0; half < 2; ++half) {
    Four low = pairs[2 * half], high = pairs[2 * half + 1];
    rows[2 * half] = __builtin_shufflevector(low, high, 0, 1, 4, 5);
    rows[2 * half + 1] = __builtin_shufflevector(low, high, 2, 3, 6, 7);
  }
  for (int i = 0; i < 4; ++i)
    std::memcpy(to + i * toStride, &rows[i], sizeof(Four));
}

/// Copies `width` x `count` elements, whose index of terms is the inner one in
/// memory, so that it is the outer one: terms are `toStride` apart.
template <typename T>
void transposeTerms(const void *from, int32_t dtype, int64_t at, int64_t stride,
                    int64_t width, int64_t count, T *to, int64_t toStride) {
  int64_t done = 0, whole = holds<T>(dtype) ? count / 4 * 4 : 0;
  const char *base = static_cast<const char *>(from) + at * size<T>;
  for (; done + 4 <= width && whole > 0; done += 4)
    for (int64_t term = 0; term < whole; term += 4)
      transposeFour(base + (done * stride + term) * size<T>, stride,
                    to + term * toStride + done, toStride);
  T line[depth];
  for (int64_t i = 0; i < width; ++i) {
    int64_t first = i < done ? whole : 0;
    loadRow(line, from, dtype, at + i * stride + first, 1, count - first);
    for (int64_t term = first; term < count; ++term)
      to[term * toStride + i] = line[term - first];
  }
}

/// The terms [k, k + count) of some rows of A or columns of B.
struct Operand {
  const void *data;
  int32_t dtype;
  int64_t at, stride, termStride;
};

/// Copies `count` terms of `width` rows or columns: `group` of them after
/// `group` of them, and all of a term one after the other. Zeros fill the last
/// group.
template <typename T, int group>
void pack(const Operand &from, int64_t width, int64_t count, T *packed) {
  int64_t whole = width / group * group;
  if (from.termStride == 1 && from.stride != 1) {
    if (whole < width)
      std::fill_n(packed + whole * depth, count * group, T());
    for (int64_t first = 0; first < width; first += group)
      transposeTerms(from.data, from.dtype, from.at + first * from.stride,
                     from.stride, std::min<int64_t>(group, width - first),
                     count, packed + first * depth, group);
    return;
  }
  if (!holds<T>(from.dtype) || from.stride != 1)
    whole = 0;
  // Few terms at a time, so that a group of them is whole lines of the cache.
  constexpr int64_t terms = 8;
  for (int64_t begin = 0; begin < count && whole > 0; begin += terms) {
    int64_t end = std::min(begin + terms, count);
    for (int64_t first = 0; first < whole; first += group)
      for (int64_t term = begin; term < end; ++term)
        std::memcpy(packed + first * depth + term * group,
                    static_cast<const char *>(from.data) +
                        (from.at + term * from.termStride + first) * size<T>,
                    sizeof(T[group]));
  }
  if (whole == width)
    return;
  T line[std::max(blockColumns<T>, partRows<T>) + group] = {};
  for (int64_t term = 0; term < count; ++term) {
    loadRow(line, from.data, from.dtype,
            from.at + term * from.termStride + whole * from.stride, from.stride,
            width - whole);
    for (int64_t first = whole; first < width; first += group)
      std::copy_n(line + first - whole, group,
                  packed + first * depth + term * group);
  }
}

template <typename T>
constexpr auto geluScale = static_cast<T>(0.7978845608028654); // sqrt(2 / pi)
template <typename T>
constexpr auto cubic = static_cast<T>(0.044715);

/// What an epilogue makes of a sum with its bias.
template <typename T>
T activate(int32_t epilogue, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (epilogue & REMAT_EPILOGUE_RELU)
      return x <= 0 ? T(0) : x; // nan stays nan
    if (epilogue & REMAT_EPILOGUE_GELU)
      return x / 2 * (1 + std::tanh(geluScale<T> * (x + cubic<T> * x * x * x)));
  }
  return x;
}

/// The derivative of the GELU at x.
template <typename T>
T differentiateGelu(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    T tanh = std::tanh(geluScale<T> * (x + cubic<T> * x * x * x));
    T slope = geluScale<T> * (1 + 3 * cubic<T> * x * x);
    return (1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * slope;
  }
  return x;
}

/// The byte of a ReLU's mask that has the bits of a row of the block from its
/// first column on. Blocks begin at multiples of 8 columns.
unsigned char *getMask(const Block &block, int64_t row) {
  return static_cast<unsigned char *>(block.input) +
         (block.firstRow + row) * (block.d.n / 8) + block.firstColumn / 8;
}

template <typename T>
void storeMask(const Block &block, int64_t row, const T *sums) {
  static_assert(blockColumns<T> % 8 == 0);
  unsigned char *mask = getMask(block, row);
  std::fill_n(mask, block.columns / 8, 0);
  for (int64_t column = 0; column < block.columns; ++column)
    if (!(sums[column] <= T(0)))
      mask[column / 8] |= 1 << column % 8;
}

template <typename T>
void applyMask(const Block &block, int64_t row, T *sums) {
  const unsigned char *mask = getMask(block, row);
  for (int64_t column = 0; column < block.columns; ++column)
    if (!(mask[column / 8] >> column % 8 & 1))
      sums[column] = T(0);
}

template <typename T>
void storeSums(const Block &block, T *sums) {
  const remat_matmul &d = block.d;
  T before[blockColumns<T>];
  for (int64_t row = 0; row < block.rows; ++row, sums += blockColumns<T>) {
    int64_t at = block.cAt + row * d.c_m_stride;
    if (d.accumulate) {
      loadRow(before, block.c, d.c_dtype, at, d.c_n_stride, block.columns);
      for (int64_t column = 0; column < block.columns; ++column)
        sums[column] = before[column] + sums[column];
    }
    if (d.epilogue & REMAT_EPILOGUE_BIAS) {
      loadRow(before, block.bias, d.c_dtype, block.firstColumn, 1,
              block.columns);
      for (int64_t column = 0; column < block.columns; ++column)
        sums[column] += before[column];
    }
    if (d.epilogue & REMAT_EPILOGUE_INPUT)
      storeRow(sums, block.input, d.c_dtype, at, d.c_n_stride, block.columns);
    if (d.epilogue & REMAT_EPILOGUE_MASK)
      storeMask(block, row, sums);
    if (d.epilogue & REMAT_EPILOGUE_RELU_GRADIENT)
      applyMask(block, row, sums);
    if (d.epilogue & (REMAT_EPILOGUE_RELU | REMAT_EPILOGUE_GELU))
      for (int64_t column = 0; column < block.columns; ++column)
        sums[column] = activate(d.epilogue, sums[column]);
    if (d.epilogue & REMAT_EPILOGUE_GELU_GRADIENT) {
      loadRow(before, block.input, d.c_dtype, at, d.c_n_stride, block.columns);
      for (int64_t column = 0; column < block.columns; ++column)
        sums[column] *= differentiateGelu(before[column]);
    }
    storeRow(sums, block.c, d.c_dtype, at, d.c_n_stride, block.columns);
  }
}

/// With vectors of `bytes` bytes, and the sums of `tileRows` rows in registers.
template <typename T, int bytes, int tileRows>
[[gnu::always_inline]] inline void computeBlock(const Block &block) {
  constexpr int64_t lanes = bytes / size<T>;
  const remat_matmul &d = block.d;
  static_assert(partRows<T> % tileRows == 0);
  alignas(64) T packed[depth * blockColumns<T>], part[partRows<T> * depth];
  alignas(64) T sums[blockRows * blockColumns<T>];
  std::fill_n(sums, block.rows * blockColumns<T>, T());
  bool isPacked = !holds<T>(d.a_dtype) || d.a_k_stride != 1;
  for (int64_t k = 0; k < d.k; k += depth) {
    int64_t count = std::min(depth, d.k - k);
    pack<T, lanes>({block.b, d.b_dtype, block.bAt + k * d.b_k_stride,
                    d.b_n_stride, d.b_k_stride},
                   block.columns, count, packed);
    for (int64_t begin = 0; begin < block.rows; begin += partRows<T>) {
      int64_t end = std::min(begin + partRows<T>, block.rows);
      Operand a{block.a, d.a_dtype,
                block.aAt + begin * d.a_m_stride + k * d.a_k_stride,
                d.a_m_stride, d.a_k_stride};
      if (isPacked)
        pack<T, tileRows>(a, end - begin, count, part);
      auto getRows = [&](int64_t row) {
        if (isPacked)
          return reinterpret_cast<const char *>(part + (row - begin) * depth);
        return static_cast<const char *>(a.data) +
               (a.at + (row - begin) * a.stride) * size<T>;
      };
      for (int64_t column = 0; column < block.columns; column += lanes)
        for (int64_t row = begin; row < end; row += tileRows)
          addAnyTerms<T, bytes, tileRows>(
              std::min<int64_t>(tileRows, end - row), getRows(row),
              isPacked ? 1 : d.a_m_stride, isPacked ? tileRows : 1,
              packed + column * depth, count,
              sums + row * blockColumns<T> + column);
    }
  }
  storeSums(block, sums);
}

template <typename T>
void computePortable(const Block &block) {
  computeBlock<T, 32, 4>(block);
}

#ifdef __x86_64__
template <typename T>
[[gnu::target("avx2,fma")]] void computeAvx2(const Block &block) {
  computeBlock<T, 64, 6>(block);
}

template <typename T>
[[gnu::target("avx512f")]] void computeAvx512(const Block &block) {
  computeBlock<T, 128, 8>(block);
}
#endif

template <typename T>
ComputeBlock pickComputeBlock() {
#ifdef __x86_64__
  switch (getVectorIsa()) {
  case VectorIsa::Avx512:
    return computeAvx512<T>;
  case VectorIsa::Avx2:
    return computeAvx2<T>;
  case VectorIsa::Portable:
    break;
  }
#endif
  return computePortable<T>;
}

/// The columns of a matrix: how many, and how long they are.
struct Columns {
  const void *data;
  int32_t dtype;
  int64_t count, stride;
  int64_t length, termStride;
};

class TiledMatmul : public LibraryCall {
public:
  explicit TiledMatmul(const remat_matmul &matmul) : d(matmul) {}

  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  template <typename T>
  void runBlocks(const void *const *operands, void *result) const;
  template <typename T>
  void addColumns(const Columns &columns, void *sums) const;
  template <typename T>
  void runSums(const void *const *operands, void *result) const;

  remat_matmul d;
};

} // namespace

template <typename T>
void TiledMatmul::runBlocks(const void *const *operands, void *result) const {
  ComputeBlock compute = pickComputeBlock<T>();
  int64_t batches = d.batch[0] * d.batch[1] * d.batch[2];
  int64_t rows = blockRows, columns = blockColumns<T>;
  auto across = [&] { return (d.n + columns - 1) / columns; };
  auto down = [&] { return (d.m + rows - 1) / rows; };
  // Enough for all threads, as far as factors need not be copied too often.
  auto areFew = [&] { return batches * across() * down() < 4 * threads; };
  while (columns * size<T> > leastRowBytes && areFew())
    columns /= 2;
  while (rows > leastRows && areFew())
    rows /= 2;
  MatmulExtras extras(d);
  const void *bias = extras.readsBias ? operands[extras.getOperand()] : nullptr;
  const void *input = extras.readsInput    ? operands[extras.getOperand()]
                      : extras.writesInput ? operands[extras.getResult()]
                                           : nullptr;
  parallelFor(threads, batches * across() * down(), 1,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t number = begin; number < end; ++number) {
                  int64_t row = number % down() * rows;
                  int64_t column = number / down() % across() * columns;
                  Block block{d,
                              operands[0],
                              operands[1],
                              result,
                              row * d.a_m_stride,
                              column * d.b_n_stride,
                              row * d.c_m_stride + column * d.c_n_stride,
                              std::min(rows, d.m - row),
                              std::min(columns, d.n - column),
                              bias,
                              const_cast<void *>(input),
                              column,
                              row};
                  int64_t rest = number / down() / across();
                  for (int i = 2; i >= 0; --i) {
                    int64_t index = rest % d.batch[i];
                    rest /= d.batch[i];
                    block.aAt += index * d.a_batch_stride[i];
                    block.bAt += index * d.b_batch_stride[i];
                    block.cAt += index * d.c_batch_stride[i];
                  }
                  compute(block);
                }
              });
}

/// Adds up each column, term by term in their order.
template <typename T>
void TiledMatmul::addColumns(const Columns &columns, void *sums) const {
  constexpr int64_t width = 64;
  parallelFor(threads, (columns.count + width - 1) / width, 1,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t block = begin; block < end; ++block) {
                  int64_t first = block * width;
                  int64_t count = std::min(width, columns.count - first);
                  T total[width] = {}, row[width];
                  for (int64_t i = 0; i < columns.length; ++i) {
                    loadRow(row, columns.data, columns.dtype,
                            i * columns.termStride + first * columns.stride,
                            columns.stride, count);
                    for (int64_t column = 0; column < count; ++column)
                      total[column] += row[column];
                  }
                  storeRow(total, sums, d.c_dtype, first, 1, count);
                }
              });
}

/// What an epilogue adds up.
template <typename T>
void TiledMatmul::runSums(const void *const *operands, void *result) const {
  MatmulExtras extras(d);
  if (!extras.writesSums)
    return;
  Columns columns = {result, d.c_dtype, d.n, d.c_n_stride, d.m, d.c_m_stride};
  if (d.epilogue & REMAT_EPILOGUE_A_SUMS)
    columns = {operands[0], d.a_dtype, d.m, d.a_m_stride, d.k, d.a_k_stride};
  if (d.epilogue & REMAT_EPILOGUE_B_SUMS)
    columns = {operands[1], d.b_dtype, d.n, d.b_n_stride, d.k, d.b_k_stride};
  addColumns<T>(columns, const_cast<void *>(operands[extras.getResult()]));
}

bool TiledMatmul::run(const void *const *operands, void *result, void *,
                      std::string &) {
  // With an extent of 0, the product of the others may overflow.
  for (int64_t extent : {d.batch[0], d.batch[1], d.batch[2], d.m, d.n})
    if (extent == 0)
      return true;
  dispatch({d.a_dtype, d.b_dtype, d.c_dtype}, [&](auto zero) {
    runBlocks<decltype(zero)>(operands, result);
    runSums<decltype(zero)>(operands, result);
  });
  return true;
}

std::unique_ptr<LibraryCall>
remat::prepareTiledMatmul(const remat_matmul &descriptor, int threads) {
  auto call = std::make_unique<TiledMatmul>(descriptor);
  call->threads = threads;
  call->implementation = descriptor.k == 0 ? "fill" : "tiles";
  return call;
}
