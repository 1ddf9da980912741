//===- MatrixUnit.cpp - products of f32 on a matrix unit ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each piece of the terms, the columns of the block are split and lie in
// the second cache; then rows are, a few at a time, and stay in the first one:
//
//   for each piece of 128 terms
//     split that piece of B
//     for each 32 rows
//       split that piece of A
//       for each 32 columns
//         for each 32 terms, for each of six pairs of parts
//           add four products of tiles
//
// Parts below the smallest normal number would be taken for zero. So each row
// of a piece of A, and each column of one of B, is scaled by a power of two, so
// that its largest element is in [1, 2), and its sums are scaled back.
//
// What a tile has added up is scaled, and added to the sums, while the next one
// is added up: the matrix unit and the vector units work side by side.
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "Tuning.h"
#include "UnitTiles.h"

#ifdef __x86_64__

#include <dnnl.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace remat;

#define REMAT_AMX                                                              \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-bf16")]]

namespace {

/// Terms of a piece; rows, and columns, of four tiles; and terms of a tile.
constexpr int64_t depth = 128, width = 32;
constexpr int64_t steps = depth / tileTerms;
/// Rows of a tile, of `tileTerms` elements of bf16 or `lanes` of f32.
constexpr int64_t tileRows = side, lanes = 16;
/// A panel has what `width` rows or columns are in a piece: for each 32 terms,
/// for each of three parts, two tiles.
constexpr int64_t partElements = 2 * tileElements;
constexpr int64_t stepElements = 3 * partElements;
constexpr int64_t panelElements = steps * stepElements;
constexpr int64_t tileBytes = 64; // of a row
constexpr int64_t mostPanels = MatrixBlock::mostColumns / width;

/// Three numbers of bf16, in the upper halves of 32 bits. Their sum is x: each
/// has eight of its 24 digits.
struct Parts {
  __m512i part[3];
};

REMAT_AMX [[gnu::always_inline]] inline Parts split(__m512 x) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  __m512i first = _mm512_and_si512(_mm512_castps_si512(x), upper);
  __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
  __m512i second = _mm512_and_si512(_mm512_castps_si512(rest), upper);
  __m512 last = _mm512_sub_ps(rest, _mm512_castsi512_ps(second));
  return {{first, second, _mm512_castps_si512(last)}};
}

/// Splits the terms `a` of 16 rows or columns, or 16 terms of one, and those
/// that are 16 terms behind: the pairs that a tile adds up at a time.
REMAT_AMX [[gnu::always_inline]] inline void splitPair(__m512 a, __m512 b,
                                                       uint16_t *to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  Parts low = split(a), high = split(b);
  for (int i = 0; i < 3; ++i)
    _mm512_store_si512(to + i * partElements,
                       _mm512_or_si512(_mm512_srli_epi32(low.part[i], 16),
                                       _mm512_and_si512(high.part[i], upper)));
}

constexpr int infinity = 0xff; // as an exponent
constexpr int bias = 127;

/// The biased exponents of the largest elements, whose bits these are.
REMAT_AMX [[gnu::always_inline]] inline __m512i findExponents(__m512i bits) {
  return _mm512_max_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(1));
}

/// No larger than those whose scale is a normal number.
REMAT_AMX [[gnu::always_inline]] inline __m512i limit(__m512i exponents) {
  return _mm512_min_epi32(exponents, _mm512_set1_epi32(2 * bias - 1));
}

/// The power of two that brings numbers of such an exponent to [1, 2), or to
/// [2, 4) where the exponent was limited; and the one that brings them back.
REMAT_AMX [[gnu::always_inline]] inline __m512 getScale(__m512i limited) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(
      _mm512_sub_epi32(_mm512_set1_epi32(2 * bias), limited), 23));
}
REMAT_AMX [[gnu::always_inline]] inline __m512 getPowers(__m512i limited) {
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(limited, _mm512_set1_epi32(bias)));
}

REMAT_AMX [[gnu::always_inline]] inline __m512i getMagnitudes(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x),
                          _mm512_set1_epi32(0x7fffffff));
}

/// Lines of elements one after the other: rows with their terms, or terms with
/// their columns.
struct Lines {
  const char *data;
  int64_t bytes; // to the next line

  const char *get(int64_t line) const { return data + line * bytes; }
};

/// The lines as they are, or a copy of them, if elements lie apart. Those of a
/// line are `stride` elements apart, lines are `lineStride`.
Lines getLines(const Terms &from, int64_t lineStride, int64_t stride,
               int64_t lines, int64_t length, float *copy, int64_t copyRow) {
  if (stride == 1 || length == 1)
    return {static_cast<const char *>(from.data) + from.at * size<float>,
            lineStride * size<float>};
  if (lineStride == 1)
    transposeTerms<float>({from.data, from.dtype, from.at, stride, 1}, length,
                          lines, copy, copyRow);
  else
    for (int64_t line = 0; line < lines; ++line)
      loadRow(copy + line * copyRow, from.data, from.dtype,
              from.at + line * lineStride, stride, length);
  return {reinterpret_cast<const char *>(copy), copyRow * size<float>};
}

/// Splits up to 32 rows of up to 128 terms. Returns which of them have an
/// infinity or a NaN: all of their parts are 0.
REMAT_AMX uint32_t splitRows(const Lines &from, int64_t rows, int64_t count,
                             uint16_t *to, float *powers) {
  uint32_t notFinite = 0;
  for (int64_t row = 0; row < width; ++row) {
    __m512 terms[2 * steps];
    __m512i largest = _mm512_setzero_si512();
    for (int64_t i = 0; i < 2 * steps; ++i) {
      __mmask16 mask = getMask<__mmask16>(row < rows ? count - i * lanes : 0);
      terms[i] = _mm512_setzero_ps();
      if (mask)
        terms[i] = _mm512_maskz_loadu_ps(mask, from.get(row) + i * tileBytes);
      largest = _mm512_max_epu32(largest, getMagnitudes(terms[i]));
    }
    largest =
        _mm512_set1_epi32(static_cast<int>(_mm512_reduce_max_epu32(largest)));
    __m512i exponents = findExponents(largest);
    __mmask16 finite =
        _mm512_cmplt_epi32_mask(exponents, _mm512_set1_epi32(infinity));
    notFinite |= finite ? 0 : 1u << row;
    exponents = limit(exponents);
    __m512 scale = getScale(exponents);
    powers[row] = _mm512_cvtss_f32(getPowers(exponents));
    uint16_t *at =
        to + row / tileRows * tileElements + row % tileRows * tileTerms;
    for (int64_t step = 0; step < steps; ++step)
      splitPair(_mm512_maskz_mul_ps(finite, terms[2 * step], scale),
                _mm512_maskz_mul_ps(finite, terms[2 * step + 1], scale),
                at + step * stepElements);
  }
  return notFinite;
}

/// Splits up to 128 terms of the columns, to a panel for each 32 of them. Sets
/// which columns of a panel have an infinity or a NaN: all of their parts are
/// 0.
REMAT_AMX void splitColumns(const Lines &from, int64_t columns, int64_t count,
                            uint16_t *to, float *powers, uint32_t *notFinite) {
  // Whole lines first, since their distance may be large.
  alignas(64) uint32_t largest[MatrixBlock::mostColumns] = {};
  for (int64_t term = 0; term < count; ++term)
    for (int64_t column = 0; column < columns; column += lanes) {
      __m512 x = _mm512_maskz_loadu_ps(getMask<__mmask16>(columns - column),
                                       from.get(term) + column * size<float>);
      _mm512_store_si512(largest + column,
                         _mm512_max_epu32(_mm512_load_si512(largest + column),
                                          getMagnitudes(x)));
    }
  int64_t whole = (count + tileTerms - 1) / tileTerms;
  for (int64_t column = 0; column < columns; column += lanes) {
    __m512i exponents = findExponents(_mm512_load_si512(largest + column));
    __mmask16 finite =
        _mm512_cmplt_epi32_mask(exponents, _mm512_set1_epi32(infinity));
    if (column % width == 0)
      notFinite[column / width] = 0;
    notFinite[column / width] |=
        static_cast<uint32_t>(static_cast<uint16_t>(~finite)) << column % width;
    exponents = limit(exponents);
    __m512 scale = getScale(exponents);
    _mm512_storeu_ps(powers + column, getPowers(exponents));
    __mmask16 mask = getMask<__mmask16>(columns - column);
    uint16_t *at = to + column / width * panelElements +
                   column % width / tileRows * tileElements;
    for (int64_t step = 0; step < whole; ++step)
      for (int64_t i = 0; i < lanes; ++i) {
        __m512 terms[2];
        for (int64_t half = 0; half < 2; ++half) {
          int64_t term = step * tileTerms + half * lanes + i;
          terms[half] = _mm512_setzero_ps();
          if (term < count)
            terms[half] = _mm512_maskz_loadu_ps(mask, from.get(term) +
                                                          column * size<float>);
          terms[half] = _mm512_maskz_mul_ps(finite, terms[half], scale);
        }
        splitPair(terms[0], terms[1], at + step * stepElements + i * tileTerms);
      }
  }
}

/// What four tiles have added up, on its way to where it is wanted.
struct Pending {
  /// Rows of tiles, of 16 sums each: of the left ones, then of the right ones.
  alignas(64) float tiles[2][width * lanes];
  const float *rowPowers, *columnPowers;
  /// What it is added to, or null, and where it goes.
  const float *before;
  size_t beforeRow; // elements
  char *after;
  size_t afterRow; // bytes
  size_t row = 0, rows = 0;
  __mmask16 masks[2]; // of columns
};

/// Brings some rows there.
REMAT_AMX [[gnu::always_inline]] inline void addRows(Pending &pending,
                                                     size_t count) {
  size_t row = pending.row, end = std::min(row + count, pending.rows);
  for (; row < end; ++row) {
    __m512 power = _mm512_set1_ps(pending.rowPowers[row]);
    for (size_t half = 0; half < 2; ++half) {
      __mmask16 mask = pending.masks[half];
      __m512 sums = _mm512_scalef_ps(
          _mm512_load_ps(pending.tiles[half] + row * lanes),
          _mm512_add_ps(power,
                        _mm512_loadu_ps(pending.columnPowers + half * lanes)));
      if (pending.before)
        sums = _mm512_add_ps(
            _mm512_maskz_loadu_ps(
                mask, pending.before + row * pending.beforeRow + half * lanes),
            sums);
      _mm512_mask_storeu_ps(pending.after + row * pending.afterRow +
                                half * tileBytes,
                            mask, sums);
    }
  }
  pending.row = row;
}

/// Brings elements that are wanted soon to the second cache: of each of some
/// lines, so many bytes.
class Ahead {
public:
  Ahead() = default;
  /// Of so many rows or columns, if neighbours in memory are.
  Ahead(const Terms &from, int64_t width, int64_t count) {
    bool areTerms = from.stride == 1;
    if (width <= 0 || count <= 0 || (!areTerms && from.termStride != 1))
      return;
    data = static_cast<const char *>(from.data) + from.at * size<float>;
    bytes = (areTerms ? from.termStride : from.stride) * size<float>;
    length = (areTerms ? width : count) * size<float>;
    lines = areTerms ? count : width;
  }

  void fetch() {
    if (lines == 0)
      return;
    __builtin_prefetch(data + at, /*rw=*/0, /*locality=*/2);
    at += lineBytes;
    if (at < length)
      return;
    at = 0;
    data += bytes;
    --lines;
  }

private:
  static constexpr int64_t lineBytes = 64;
  const char *data = nullptr;
  int64_t bytes = 0, length = 0, lines = 0;
  int64_t at = 0;
};

/// What comes next of both factors.
struct Next {
  Ahead rows, columns;
};

/// Loads what a part of A, or of B, has in one or two tiles.
template <bool two>
REMAT_AMX [[gnu::always_inline]] inline void loadRows(const uint16_t *part) {
  _tile_loadd(4, part, tileBytes);
  if constexpr (two)
    _tile_loadd(5, part + tileElements, tileBytes);
}
template <bool two>
REMAT_AMX [[gnu::always_inline]] inline void loadColumns(const uint16_t *part) {
  _tile_loadd(6, part, tileBytes);
  if constexpr (two)
    _tile_loadd(7, part + tileElements, tileBytes);
}

/// Adds the products of what was loaded, and does a little else meanwhile.
template <bool twoRows, bool twoColumns>
REMAT_AMX [[gnu::always_inline]] inline void multiply(Pending &pending,
                                                      Next &next) {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (twoColumns)
    _tile_dpbf16ps(1, 4, 7);
  if constexpr (twoRows)
    _tile_dpbf16ps(2, 5, 6);
  if constexpr (twoRows && twoColumns)
    _tile_dpbf16ps(3, 5, 7);
  addRows(pending, 2);
  next.rows.fetch();
  next.columns.fetch();
}

/// Adds up the products of a panel of rows and one of columns, 16 or 32 of
/// each.
template <bool twoRows, bool twoColumns>
REMAT_AMX void addTiles(const uint16_t *a, const uint16_t *b, int64_t count,
                        Pending &pending, Next &next) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  // First with third part, first with second, and so on; the largest last.
  for (int64_t done = 0; done < count;
       done += tileTerms, a += stepElements, b += stepElements) {
    loadRows<twoRows>(a);
    loadColumns<twoColumns>(b + 2 * partElements);
    multiply<twoRows, twoColumns>(pending, next);
    loadColumns<twoColumns>(b + partElements);
    multiply<twoRows, twoColumns>(pending, next);
    loadRows<twoRows>(a + partElements);
    multiply<twoRows, twoColumns>(pending, next);
    loadColumns<twoColumns>(b);
    multiply<twoRows, twoColumns>(pending, next);
    loadRows<twoRows>(a + 2 * partElements);
    multiply<twoRows, twoColumns>(pending, next);
    loadRows<twoRows>(a);
    multiply<twoRows, twoColumns>(pending, next);
  }
  addRows(pending, width);
  _tile_stored(0, pending.tiles[0], tileBytes);
  if constexpr (twoColumns)
    _tile_stored(1, pending.tiles[1], tileBytes);
  if constexpr (twoRows)
    _tile_stored(2, pending.tiles[0] + tileRows * lanes, tileBytes);
  if constexpr (twoRows && twoColumns)
    _tile_stored(3, pending.tiles[1] + tileRows * lanes, tileBytes);
}

/// Adds those sums to `pending`'s place that the tiles leave out, since a row
/// or a column is not finite.
REMAT_AMX void addOthers(const Terms &a, int64_t numRows, uint32_t rowsLeft,
                         const Terms &b, int64_t numColumns,
                         uint32_t columnsLeft, int64_t count,
                         const Pending &pending) {
  static_assert(depth <= mostTerms && width == group);
  alignas(64) float sums[width * width];
  sumSquare(a, numRows, b, numColumns, count, sums);
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t column = 0; column < numColumns; ++column) {
      if (!(rowsLeft >> row & 1) && !(columnsLeft >> column & 1))
        continue;
      char *to = pending.after + row * static_cast<int64_t>(pending.afterRow) +
                 column * size<float>;
      float sum;
      std::memcpy(&sum, to, sizeof(sum));
      sum += sums[row * width + column];
      std::memcpy(to, &sum, sizeof(sum));
    }
}

using AddTiles = void (*)(const uint16_t *, const uint16_t *, int64_t,
                          Pending &, Next &);

REMAT_AMX void sumBlock(const MatrixBlock &block) {
  constexpr AddTiles addTilesOf[2][2] = {
      {addTiles<false, false>, addTiles<false, true>},
      {addTiles<true, false>, addTiles<true, true>}};
  alignas(64) uint16_t columns[mostPanels * panelElements];
  alignas(64) uint16_t rows[panelElements];
  alignas(64) float copy[depth * width];
  float rowPowers[2][width], columnPowers[MatrixBlock::mostColumns];
  uint32_t columnsLeft[mostPanels];
  Pending pending;
  int64_t parity = 0;
  for (int64_t k = 0; k < block.count; k += depth) {
    int64_t count = std::min(depth, block.count - k);
    bool isLast = k + count == block.count;
    Terms a = block.a, b = block.b;
    a.at += k * a.termStride;
    b.at += k * b.termStride;
    addRows(pending, width); // reads powers
    bool isCopied = b.stride != 1 && block.columns != 1;
    int64_t step = isCopied ? width : block.columns;
    for (int64_t first = 0; first < block.columns; first += step) {
      Terms part = b;
      part.at += first * b.stride;
      int64_t number = std::min(step, block.columns - first);
      splitColumns(
          getLines(part, b.termStride, b.stride, count, number, copy, width),
          number, count, columns + first / width * panelElements,
          columnPowers + first, columnsLeft + first / width);
    }
    Next next;
    if (!isLast) {
      Terms behind = b;
      behind.at += depth * b.termStride;
      next.columns = Ahead(behind, block.columns,
                           std::min(depth, block.count - k - depth));
    }
    for (int64_t row = 0; row < block.rows; row += width, parity ^= 1) {
      int64_t number = std::min(width, block.rows - row);
      Terms part = a;
      part.at += row * a.stride;
      // The powers of the rows before are still read.
      uint32_t rowsLeft = splitRows(
          getLines(part, a.stride, a.termStride, number, count, copy, depth),
          number, count, rows, rowPowers[parity]);
      part.at += width * a.stride;
      next.rows = Ahead(part, std::min(width, block.rows - row - width), count);
      for (int64_t column = 0; column < block.columns; column += width) {
        int64_t wide = std::min(width, block.columns - column);
        addTilesOf[number > tileRows][wide > lanes](
            rows, columns + column / width * panelElements, count, pending,
            next);
        float *sums = block.sums + row * block.sumsRow + column;
        pending.rowPowers = rowPowers[parity];
        pending.columnPowers = columnPowers + column;
        pending.before = k == 0 ? nullptr : sums;
        pending.beforeRow = block.sumsRow;
        pending.after = reinterpret_cast<char *>(sums);
        pending.afterRow = block.sumsRow * size<float>;
        if (isLast && block.result) {
          pending.after =
              block.result + (row * block.resultRow + column) * size<float>;
          pending.afterRow = block.resultRow * size<float>;
        }
        pending.row = 0;
        pending.rows = number;
        pending.masks[0] = getMask<__mmask16>(wide);
        pending.masks[1] = getMask<__mmask16>(wide - lanes);
        if (rowsLeft | columnsLeft[column / width]) {
          addRows(pending, width);
          Terms right = b;
          right.at += column * b.stride;
          Terms left = a;
          left.at += row * a.stride;
          addOthers(left, number, rowsLeft, right, wide,
                    columnsLeft[column / width], count, pending);
        }
      }
    }
  }
  addRows(pending, width);
}

} // namespace

/// A process asks the system for the registers, once.
bool remat::hasMatrixUnit() {
  static bool isAllowed = [] {
    constexpr int requestPermission = 0x1023, tileData = 18;
    unsigned needed = dnnl_cpu_isa_avx512_core_amx;
    return (dnnl_get_effective_cpu_isa() & needed) == needed &&
           syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  }();
  return isAllowed;
}

bool remat::usesMatrixUnit(const remat_matmul &matmul) {
  auto m = static_cast<double>(matmul.m), n = static_cast<double>(matmul.n);
  return matmul.a_dtype == REMAT_F32 && matmul.b_dtype == REMAT_F32 &&
         matmul.c_dtype == REMAT_F32 &&
         matmul.k >= MatrixUnitTuning::leastTerms &&
         m * n >= MatrixUnitTuning::leastUses * (m + n) && hasMatrixUnit();
}

REMAT_AMX void remat::sumOnMatrixUnit(const MatrixBlock &block) {
  _tile_loadconfig(&shapes);
  sumBlock(block);
  _tile_release();
}

#else

bool remat::hasMatrixUnit() { return false; }
bool remat::usesMatrixUnit(const remat_matmul &) { return false; }
void remat::sumOnMatrixUnit(const remat::MatrixBlock &) {}

#endif
