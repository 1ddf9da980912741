//===- TiledMatmul.cpp - matmuls by our own loops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls of all types, for what oneDNN does not have or cannot do without
// memory of its own: its matmuls for CPUs without AVX-512 allocate while they
// run. These need no workspace. A block of the result is summed up where it is,
// or on the thread's stack if sums and results are not the same:
//
//   for each piece of k
//     copy that piece of B, so that a vector of columns is in one place
//     for each part of the rows of A, copied where its terms lie apart
//       for each vector of columns, which stays in the first cache
//         for each few rows
//           add the terms, with the sums in registers
//
// An element is the sum of its terms in their order, whatever the blocks and
// the threads are. Sums of f32 are made by a matrix unit where there is one.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "LibraryCall.h"
#include "MatrixUnit.h"
#include "RegisterTile.h"
#include "Threads.h"
#include "VectorIsa.h"

#include <algorithm>
#include <cmath>

using namespace remat;

namespace {

/// Rows whose sums are on the stack, bytes of a row of them, terms that are
/// added at a time, and bytes of a copied part of A. What lies on the stack is
/// 832 KiB, and 1.2 MiB for a matrix unit.
constexpr int64_t blockRows = 384, rowBytes = 1024, depth = 256;
constexpr int64_t partBytes = 192 << 10;

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

/// How a matmul is cut into blocks. Where there are too few for the threads,
/// blocks become smaller, but not less than the least rows and columns.
struct Blocking {
  void (*compute)(const Block &);
  int64_t rows, columns;
  /// Of a block whose sums are in the result.
  int64_t tallRows;
  int64_t leastRows, leastColumns;
  /// Blocks that each thread should have.
  int64_t wanted;
};

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

template <typename T, int64_t sumsRow>
void storeSums(const Block &block, T *sums) {
  static_assert(sumsRow % 8 == 0); // of a mask
  const remat_matmul &d = block.d;
  T before[sumsRow];
  for (int64_t row = 0; row < block.rows; ++row, sums += sumsRow) {
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

/// Whether sums may be where the result is: they are the result then.
template <typename T>
bool hasSumsInResult(const remat_matmul &d) {
  return holds<T>(d.c_dtype) && d.c_n_stride == 1 && !d.accumulate &&
         d.epilogue == 0;
}

/// Makes the sums of a block from all terms. Their rows are `sumsRow` apart,
/// with vectors of `bytes` bytes and the sums of `tileRows` rows in registers.
template <typename T, int bytes, int tileRows>
[[gnu::always_inline]] inline void sumBlock(const Block &block, T *sums,
                                            int64_t sumsRow) {
  constexpr int64_t lanes = bytes / size<T>;
  const remat_matmul &d = block.d;
  static_assert(partRows<T> % tileRows == 0);
  alignas(64) T packed[depth * blockColumns<T>], part[partRows<T> * depth];
  if (d.k == 0)
    for (int64_t row = 0; row < block.rows; ++row)
      std::fill_n(sums + row * sumsRow, block.columns, T());
  bool isPacked = !holds<T>(d.a_dtype) || d.a_k_stride != 1;
  for (int64_t k = 0; k < d.k; k += depth) {
    int64_t count = std::min(depth, d.k - k);
    pack<T, lanes>({block.b, d.b_dtype, block.bAt + k * d.b_k_stride,
                    d.b_n_stride, d.b_k_stride},
                   block.columns, count, packed, depth * lanes);
    for (int64_t begin = 0; begin < block.rows; begin += partRows<T>) {
      int64_t end = std::min(begin + partRows<T>, block.rows);
      Terms a{block.a, d.a_dtype,
              block.aAt + begin * d.a_m_stride + k * d.a_k_stride, d.a_m_stride,
              d.a_k_stride};
      if (isPacked)
        pack<T, tileRows>(a, end - begin, count, part, depth * tileRows);
      auto getRows = [&](int64_t row) {
        if (isPacked)
          return reinterpret_cast<const char *>(part + (row - begin) * depth);
        return static_cast<const char *>(a.data) +
               (a.at + (row - begin) * a.stride) * size<T>;
      };
      for (int64_t column = 0; column < block.columns; column += lanes)
        for (int64_t row = begin; row < end; row += tileRows) {
          TileTerms<T> terms;
          terms.a = getRows(row);
          terms.aRow = isPacked ? 1 : d.a_m_stride;
          terms.aTerm = isPacked ? tileRows : 1;
          terms.b = packed + column * depth;
          terms.count = count;
          terms.areFirst = k == 0;
          // Other tiles have been summed up since those of the next rows.
          for (int64_t next = row + tileRows;
               next < std::min(row + 2 * tileRows, end); ++next)
            __builtin_prefetch(sums + next * sumsRow + column, /*rw=*/1);
          addAnyTerms<T, bytes, tileRows>(
              std::min<int64_t>(tileRows, end - row), terms,
              sums + row * sumsRow + column, sumsRow);
        }
    }
  }
}

template <typename T, int bytes, int tileRows>
[[gnu::always_inline]] inline void computeBlock(const Block &block) {
  const remat_matmul &d = block.d;
  char *result = static_cast<char *>(block.c) + block.cAt * size<T>;
  if (hasSumsInResult<T>(d) && block.columns % (bytes / size<T>) == 0 &&
      reinterpret_cast<uintptr_t>(result) % sizeof(T) == 0) {
    sumBlock<T, bytes, tileRows>(block, reinterpret_cast<T *>(result),
                                 d.c_m_stride);
    return;
  }
  alignas(64) T sums[blockRows * blockColumns<T>];
  for (int64_t first = 0; first < block.rows; first += blockRows) {
    Block part = block;
    part.rows = std::min(blockRows, block.rows - first);
    part.aAt += first * d.a_m_stride;
    part.cAt += first * d.c_m_stride;
    part.firstRow += first;
    sumBlock<T, bytes, tileRows>(part, sums, blockColumns<T>);
    storeSums<T, blockColumns<T>>(part, sums);
  }
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

void computeOnMatrixUnit(const Block &block) {
  const remat_matmul &d = block.d;
  constexpr int64_t columns = MatrixBlock::mostColumns;
  alignas(64) float sums[blockRows * columns];
  bool isPlain = hasSumsInResult<float>(d);
  char *result = static_cast<char *>(block.c) + block.cAt * size<float>;
  sumOnMatrixUnit({{block.a, d.a_dtype, block.aAt, d.a_m_stride, d.a_k_stride},
                   {block.b, d.b_dtype, block.bAt, d.b_n_stride, d.b_k_stride},
                   block.rows,
                   block.columns,
                   d.k,
                   sums,
                   columns,
                   isPlain ? result : nullptr,
                   d.c_m_stride});
  if (!isPlain)
    storeSums<float, columns>(block, sums);
}

template <typename T>
Blocking pickBlocking(const remat_matmul &d) {
  if (usesMatrixUnit(d))
    return {computeOnMatrixUnit,
            blockRows,
            MatrixBlock::mostColumns,
            /*tallRows=*/blockRows,
            /*leastRows=*/96,
            /*leastColumns=*/128,
            /*wanted=*/2};
  auto cut = [](void (*compute)(const Block &)) -> Blocking {
    return {compute,
            blockRows,
            blockColumns<T>,
            /*tallRows=*/4 * blockRows,
            /*leastRows=*/24,
            /*leastColumns=*/blockColumns<T> / 4,
            /*wanted=*/4};
  };
#ifdef __x86_64__
  switch (getVectorIsa()) {
  case VectorIsa::Avx512:
    return cut(computeAvx512<T>);
  case VectorIsa::Avx2:
    return cut(computeAvx2<T>);
  case VectorIsa::Portable:
    break;
  }
#endif
  return cut(computePortable<T>);
}

/// The columns of a matrix: how many, and how long they are.
struct Columns {
  const void *data;
  int32_t dtype;
  int64_t count, stride;
  int64_t length, termStride;
};

/// C^T = B^T A^T.
remat_matmul transpose(const remat_matmul &d) {
  remat_matmul result = d;
  std::swap(result.a_dtype, result.b_dtype);
  std::swap(result.m, result.n);
  std::swap(result.a_batch_stride, result.b_batch_stride);
  std::swap(result.c_m_stride, result.c_n_stride);
  result.a_m_stride = d.b_n_stride;
  result.a_k_stride = d.b_k_stride;
  result.b_k_stride = d.a_k_stride;
  result.b_n_stride = d.a_m_stride;
  return result;
}

/// Whether the rows of the result are next to each other, and not the columns.
/// What an epilogue adds is described for the matmul as it is.
bool isColumnMajor(const remat_matmul &d) {
  return d.c_n_stride != 1 && d.n != 1 && (d.c_m_stride == 1 || d.m == 1) &&
         d.epilogue == 0;
}

class TiledMatmul : public LibraryCall {
public:
  explicit TiledMatmul(const remat_matmul &matmul)
      : isSwapped(isColumnMajor(matmul)),
        d(isSwapped ? transpose(matmul) : matmul) {}

  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  template <typename T>
  void runBlocks(const void *const *operands, void *result) const;
  template <typename T>
  void addColumns(const Columns &columns, void *sums) const;
  template <typename T>
  void runSums(const void *const *operands, void *result) const;

  /// Whether A is the call's operand 1, B its operand 0.
  bool isSwapped;
  remat_matmul d;
};

} // namespace

template <typename T>
void TiledMatmul::runBlocks(const void *const *operands, void *result) const {
  Blocking blocking = pickBlocking<T>(d);
  int64_t batches = d.batch[0] * d.batch[1] * d.batch[2];
  int64_t rows = hasSumsInResult<T>(d) ? blocking.tallRows : blocking.rows;
  int64_t columns = blocking.columns;
  auto across = [&] { return (d.n + columns - 1) / columns; };
  auto down = [&] { return (d.m + rows - 1) / rows; };
  // Enough for all threads, as far as factors need not be copied too often.
  auto areFew = [&] {
    return threads > 1 &&
           batches * across() * down() < blocking.wanted * threads;
  };
  while (rows > blocking.rows && areFew())
    rows /= 2;
  while (columns > blocking.leastColumns && areFew())
    columns /= 2;
  while (rows > blocking.leastRows && areFew())
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
                              operands[isSwapped ? 1 : 0],
                              operands[isSwapped ? 0 : 1],
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
                  blocking.compute(block);
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
  call->implementation = descriptor.k == 0            ? "fill"
                         : usesMatrixUnit(descriptor) ? "amx tiles"
                                                      : "tiles";
  return call;
}
