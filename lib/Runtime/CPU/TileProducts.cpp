//===- TileProducts.cpp - products of tiles on a matrix unit --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of rows, such as attention, multiply in their midst:
//
//   for each piece of 512 terms
//     for each block of columns of which a piece stays in the second cache
//       copy that piece of B, unless it was packed before
//       for each 32 rows
//         copy that piece of A
//         for each 32 columns
//           for each 32 terms, for each part of the factor of f32
//             add four products of tiles
//
// A copy has the two terms that the unit adds up at a time next to each other:
// a line of A has 32 terms of a row, a line of B has two terms of 16 columns.
// One form is the transpose of the other, as 16 x 16 numbers of 32 bits.
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "VectorIsa.h"

#include "remat/Runtime/KernelCalls.h"

using namespace remat;

namespace {

/// Rows, or columns, of a tile and of a group; terms of a tile and of a piece.
constexpr int64_t side = 16, group = 32, tileTerms = 32, depth = 512;
/// Elements of bf16 of a tile, and of what a group has of 32 terms in one part.
constexpr int64_t tileElements = side * tileTerms;
constexpr int64_t stepElements = 2 * tileElements;
/// Elements of bf16 of a block of B: 128 KiB.
constexpr int64_t blockElements = 64 << 10;
/// A packed B begins with this: for each of up to so many groups of columns and
/// pieces, whether it has an infinity or a NaN. Groups share an entry where
/// there are more.
constexpr int64_t headerEntries = 64;
/// Rows of sums that are a multiple of this apart share few places of the first
/// cache: they are read and written one after the other, not in tiles.
constexpr int64_t collidingRow = 256;

/// A factor, with its rows or columns as lines.
struct Factor {
  Terms terms;
  int64_t parts;

  /// From a line and a term on.
  Terms from(int64_t line, int64_t term) const {
    Terms result = terms;
    result.at += line * terms.stride + term * terms.termStride;
    return result;
  }
};

Factor makeFactor(int64_t address, int64_t stride, int64_t termStride,
                  int64_t dtype) {
  auto type = static_cast<int32_t>(dtype);
  return {
      {reinterpret_cast<const void *>(address), type, 0, stride, termStride},
      type == REMAT_F32 ? 2 : 1};
}

struct Matmul {
  Factor a, b;
  const uint16_t *packed;
  int64_t packedRows;
  float *c;
  int64_t cRow, m, n, k;
  bool accumulate;
};

/// C (+)= A B for up to 32 rows and columns from there on, in f32.
[[gnu::always_inline]] inline void sumInF32(const Matmul &matmul, int64_t row,
                                            int64_t column, int64_t term,
                                            int64_t count, bool accumulate) {
  constexpr int64_t few = 8, some = 128;
  alignas(64) float columns[some * group], rows[some * few];
  alignas(64) float sums[few * group];
  int64_t numColumns = std::min(group, matmul.n - column);
  int64_t lastRow = std::min(row + group, matmul.m);
  for (int64_t done = 0; done < count; done += some, accumulate = true) {
    int64_t number = std::min(some, count - done);
    pack<float, group>(matmul.b.from(column, term + done), numColumns, number,
                       columns, some * group);
    for (int64_t first = row; first < lastRow; first += few) {
      int64_t numRows = std::min(few, lastRow - first);
      pack<float, few>(matmul.a.from(first, term + done), numRows, number, rows,
                       some * few);
      TileTerms<float> terms;
      terms.a = reinterpret_cast<const char *>(rows);
      terms.aRow = 1;
      terms.aTerm = few;
      terms.b = columns;
      terms.count = number;
      terms.areFirst = true;
      addAnyTerms<float, group * sizeof(float), few>(numRows, terms, sums,
                                                     group);
      for (int64_t i = 0; i < numRows; ++i) {
        float *to = matmul.c + (first + i) * matmul.cRow + column;
        for (int64_t j = 0; j < numColumns; ++j)
          to[j] = (accumulate ? to[j] : 0.0f) + sums[i * group + j];
      }
    }
  }
}

[[gnu::always_inline]] inline void multiplyInF32(const Matmul &matmul) {
  for (int64_t row = 0; row < matmul.m; row += group)
    for (int64_t column = 0; column < matmul.n; column += group)
      sumInF32(matmul, row, column, 0, matmul.k, matmul.accumulate);
}

int64_t countSteps(int64_t terms) {
  return (terms + tileTerms - 1) / tileTerms;
}

int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

} // namespace

int remat_has_matrix_unit(void) { return hasMatrixUnit(); }

int64_t remat_tile_packed_bytes(int64_t k, int64_t n, int32_t dtype) {
  int64_t parts = dtype == REMAT_F32 ? 2 : 1;
  return (headerEntries + roundUp(n, group) * roundUp(k, tileTerms) * parts) *
         size<uint16_t>;
}

#ifdef __x86_64__

#include <immintrin.h>

#define REMAT_AMX                                                              \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,"      \
                "amx-bf16")]]
#define REMAT_INLINE REMAT_AMX [[gnu::always_inline]] inline

namespace {

/// 32 numbers of bf16, and 32 others that are added to them.
struct Parts {
  __m512i high, low;
};

/// Widens the numbers in even or odd places.
REMAT_INLINE __m512 widenEven(__m512i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
REMAT_INLINE __m512 widenOdd(__m512i x) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
}

/// What is left of x; nothing of infinity and NaN.
REMAT_INLINE __m512 getRest(__m512 x, __m512 rounded) {
  constexpr int notFinite = 0x99;
  __mmask16 left = _knot_mask16(_mm512_fpclass_ps_mask(rounded, notFinite));
  return _mm512_maskz_sub_ps(left, x, rounded);
}

/// Rounds two vectors to one, with their elements by turns.
REMAT_INLINE __m512i roundPairs(__m512 even, __m512 odd) {
  alignas(64) static constexpr uint16_t order[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(
      _mm512_load_si512(order),
      reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
}

REMAT_INLINE Parts splitPairs(__m512 even, __m512 odd) {
  Parts parts;
  parts.high = roundPairs(even, odd);
  parts.low = roundPairs(getRest(even, widenEven(parts.high)),
                         getRest(odd, widenOdd(parts.high)));
  return parts;
}

REMAT_INLINE __m512 widen(__m256i x) {
  return widenEven(_mm512_cvtepu16_epi32(x));
}

/// The same for vectors that lie one after the other.
REMAT_INLINE Parts splitRow(__m512 first, __m512 second) {
  Parts parts;
  parts.high = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  __m512 restOfFirst =
      getRest(first, widen(_mm512_castsi512_si256(parts.high)));
  __m512 restOfSecond =
      getRest(second, widen(_mm512_extracti64x4_epi64(parts.high, 1)));
  parts.low =
      reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(restOfSecond, restOfFirst));
  return parts;
}

/// The first `count` of so many, of any number.
template <typename Mask>
Mask getMask(int64_t count) {
  constexpr int64_t bits = 8 * size<Mask>;
  return count >= bits ? static_cast<Mask>(-1)
         : count > 0   ? static_cast<Mask>((Mask(1) << count) - 1)
                       : Mask(0);
}

/// How a factor lies: terms of a line next to each other, or lines.
enum class Layout { Terms, Lines };

/// 32 terms of a line.
template <bool isWide>
REMAT_INLINE Parts loadTerms(const void *data, int64_t at, __mmask32 mask) {
  if constexpr (!isWide) {
    const uint16_t *from = static_cast<const uint16_t *>(data) + at;
    return {_mm512_maskz_loadu_epi16(mask, from), _mm512_setzero_si512()};
  }
  const float *from = static_cast<const float *>(data) + at;
  return splitRow(
      _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
      _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> side), from + side));
}

/// Two terms of 16 lines, `distance` apart.
template <bool isWide>
REMAT_INLINE Parts loadPair(const void *data, int64_t at, int64_t distance,
                            __mmask16 first, __mmask16 second) {
  if constexpr (isWide) {
    const float *from = static_cast<const float *>(data) + at;
    return splitPairs(_mm512_maskz_loadu_ps(first, from),
                      _mm512_maskz_loadu_ps(second, from + distance));
  }
  const uint16_t *from = static_cast<const uint16_t *>(data) + at;
  __m512i even = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first, from));
  __m512i odd =
      _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(second, from + distance));
  return {_mm512_or_si512(even, _mm512_slli_epi32(odd, 16)),
          _mm512_setzero_si512()};
}

/// Transposes 16 x 16 numbers of 32 bits.
REMAT_INLINE void transpose(__m512i *rows) {
  __m512i other[side];
  for (int i = 0; i < side; i += 2) {
    other[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < side; i += 4)
    for (int j = 0; j < 2; ++j) {
      rows[i + 2 * j] = _mm512_unpacklo_epi64(other[i + j], other[i + j + 2]);
      rows[i + 2 * j + 1] =
          _mm512_unpackhi_epi64(other[i + j], other[i + j + 2]);
    }
  // Rows are columns of blocks of 4 x 4 now: i + 4 j has those of column i.
  for (int i = 0; i < 4; ++i) {
    __m512i low = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    __m512i high = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    __m512i lowBehind = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    __m512i highBehind = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
    other[i] = _mm512_shuffle_i32x4(low, lowBehind, 0x88);
    other[i + 8] = _mm512_shuffle_i32x4(low, lowBehind, 0xdd);
    other[i + 4] = _mm512_shuffle_i32x4(high, highBehind, 0x88);
    other[i + 12] = _mm512_shuffle_i32x4(high, highBehind, 0xdd);
  }
  for (int i = 0; i < side; ++i)
    rows[i] = other[i];
}

/// Which form a copy has: a line of it is a line of the factor, or a pair of
/// terms.
enum class Form { Lines, Pairs };

/// Copies up to 16 lines of up to 32 terms, zeros behind them: one tile for
/// each part, which are `stepElements` apart. Returns whether one that is not
/// split has an infinity or a NaN.
template <Form form, bool isWide, Layout layout>
REMAT_AMX bool copyTile(const Terms &from, int64_t lines, int64_t count,
                        uint16_t *to) {
  constexpr bool isTransposed =
      (layout == Layout::Terms) != (form == Form::Lines);
  const __m512i infinity = _mm512_set1_epi16(0x7f80);
  const __mmask32 terms = getMask<__mmask32>(count);
  const __mmask16 all = getMask<__mmask16>(lines);
  __mmask32 notFinite = 0;
  __m512i rows[2][side];
  for (int64_t i = 0; i < side; ++i) {
    Parts parts;
    if constexpr (layout == Layout::Terms)
      parts = loadTerms<isWide>(from.data, from.at + i * from.stride,
                                i < lines ? terms : 0);
    else
      parts = loadPair<isWide>(from.data, from.at + 2 * i * from.termStride,
                               from.termStride, terms >> (2 * i) & 1 ? all : 0,
                               terms >> (2 * i) & 2 ? all : 0);
    if constexpr (!isWide)
      notFinite |= _mm512_cmpeq_epi16_mask(
          _mm512_and_si512(parts.high, infinity), infinity);
    if constexpr (isTransposed) {
      rows[0][i] = parts.high;
      rows[1][i] = parts.low;
    } else {
      _mm512_store_si512(to + i * tileTerms, parts.high);
      if constexpr (isWide)
        _mm512_store_si512(to + stepElements + i * tileTerms, parts.low);
    }
  }
  if constexpr (isTransposed)
    for (int64_t part = 0; part < (isWide ? 2 : 1); ++part) {
      transpose(rows[part]);
      for (int64_t i = 0; i < side; ++i)
        _mm512_store_si512(to + part * stepElements + i * tileTerms,
                           rows[part][i]);
    }
  return notFinite != 0;
}

/// Elements that lie apart in both directions are brought together first.
template <Form form, bool isWide>
REMAT_AMX bool copyScattered(const Terms &from, int64_t lines, int64_t count,
                             uint16_t *to) {
  using Element = std::conditional_t<isWide, float, uint16_t>;
  Element copy[side * tileTerms];
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t term = 0; term < count; ++term)
      copy[line * tileTerms + term] = static_cast<const Element *>(
          from.data)[from.at + line * from.stride + term * from.termStride];
  return copyTile<form, isWide, Layout::Terms>(
      {copy, from.dtype, 0, tileTerms, 1}, lines, count, to);
}

using CopyTile = bool (*)(const Terms &, int64_t, int64_t, uint16_t *);

template <Form form, bool isWide>
CopyTile selectCopy(const Terms &from) {
  return from.termStride == 1 ? copyTile<form, isWide, Layout::Terms>
         : from.stride == 1   ? copyTile<form, isWide, Layout::Lines>
                              : copyScattered<form, isWide>;
}

/// Copies up to 32 lines of some terms: for each 32 terms, for each part, two
/// tiles.
template <Form form>
REMAT_AMX bool copyGroup(const Factor &factor, int64_t line, int64_t lines,
                         int64_t term, int64_t count, uint16_t *to) {
  CopyTile copy = factor.parts == 2 ? selectCopy<form, true>(factor.terms)
                                    : selectCopy<form, false>(factor.terms);
  bool notFinite = false;
  for (int64_t done = 0; done < count; done += tileTerms) {
    for (int64_t half = 0; half < 2; ++half)
      notFinite |=
          copy(factor.from(line + half * side, term + done),
               std::min(side, lines - half * side),
               std::min(tileTerms, count - done), to + half * tileElements);
    to += factor.parts * stepElements;
  }
  return notFinite;
}

/// The shapes of the eight tiles, as the unit wants them described.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileShapes shapes;
constexpr int64_t tileBytes = 64; // of a row

/// The sums of a group of rows and one of columns over some terms, in tiles.
template <bool twoRows, bool twoColumns>
REMAT_AMX void addTiles(const Matmul &matmul, const uint16_t *a,
                        const uint16_t *b, int64_t steps, float *sums,
                        int64_t sumsRow, bool areZero) {
  int64_t bytes = sumsRow * size<float>;
  if (areZero) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, bytes);
    if constexpr (twoColumns)
      _tile_loadd(1, sums + side, bytes);
    if constexpr (twoRows)
      _tile_loadd(2, sums + side * sumsRow, bytes);
    if constexpr (twoRows && twoColumns)
      _tile_loadd(3, sums + side * sumsRow + side, bytes);
  }
  int64_t aParts = matmul.a.parts, bParts = matmul.b.parts;
  for (int64_t step = 0; step < steps; ++step) {
    // The smaller part first. One of the factors has one part.
    for (int64_t part = std::max(aParts, bParts); part-- > 0;) {
      const uint16_t *left = a + std::min(part, aParts - 1) * stepElements;
      const uint16_t *right = b + std::min(part, bParts - 1) * stepElements;
      _tile_loadd(4, left, tileBytes);
      _tile_loadd(6, right, tileBytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (twoColumns) {
        _tile_loadd(7, right + tileElements, tileBytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (twoRows) {
        _tile_loadd(5, left + tileElements, tileBytes);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (twoColumns)
          _tile_dpbf16ps(3, 5, 7);
      }
    }
    a += aParts * stepElements;
    b += bParts * stepElements;
  }
  _tile_stored(0, sums, bytes);
  if constexpr (twoColumns)
    _tile_stored(1, sums + side, bytes);
  if constexpr (twoRows)
    _tile_stored(2, sums + side * sumsRow, bytes);
  if constexpr (twoRows && twoColumns)
    _tile_stored(3, sums + side * sumsRow + side, bytes);
}

using AddTiles = void (*)(const Matmul &, const uint16_t *, const uint16_t *,
                          int64_t, float *, int64_t, bool);

AddTiles selectAdd(int64_t rows, int64_t columns) {
  constexpr AddTiles functions[2][2] = {
      {addTiles<false, false>, addTiles<false, true>},
      {addTiles<true, false>, addTiles<true, true>}};
  return functions[rows > side][columns > side];
}

/// Where the sums of a group of rows and a few groups of columns are made: in
/// the result, or beside it, to be copied or added to it row by row.
class Sums {
public:
  static constexpr int64_t mostColumns = 4 * group;

  REMAT_AMX Sums(const Matmul &matmul, int64_t row, int64_t column,
                 int64_t columns, bool areFirst)
      : result(matmul.c + row * matmul.cRow + column), resultRow(matmul.cRow),
        rows(std::min(group, matmul.m - row)), columns(columns) {
    bool isColliding = matmul.cRow % collidingRow == 0;
    isAdded = isColliding && !areFirst;
    startsAtZero = areFirst || isAdded;
    isInPlace = !isColliding && rows % side == 0 && columns % side == 0;
    if (isInPlace || startsAtZero)
      return;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; j += side)
        _mm512_store_ps(buffer + i * bufferRow + j,
                        _mm512_maskz_loadu_ps(getMask<__mmask16>(columns - j),
                                              result + i * resultRow + j));
  }

  /// Whether tiles begin with zeros, not with what is there.
  bool areZero() const { return startsAtZero; }
  float *get(int64_t column) { return (isInPlace ? result : buffer) + column; }
  int64_t getRow() const { return isInPlace ? resultRow : bufferRow; }
  int64_t getRows() const { return rows; }

  /// For a group of columns without tiles.
  void leaveOut(int64_t column) {
    if (startsAtZero && !isInPlace)
      for (int64_t i = 0; i < rows; ++i)
        std::fill_n(buffer + i * bufferRow + column, group, 0.0f);
  }

  REMAT_AMX void finish() const {
    if (isInPlace)
      return;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; j += side) {
        float *to = result + i * resultRow + j;
        __mmask16 mask = getMask<__mmask16>(columns - j);
        __m512 sums = _mm512_load_ps(buffer + i * bufferRow + j);
        if (isAdded)
          sums = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sums);
        _mm512_mask_storeu_ps(to, mask, sums);
      }
  }

private:
  /// Rows lie a line of the cache more than a power of two apart.
  static constexpr int64_t bufferRow = mostColumns + side;

  float *result;
  int64_t resultRow, rows, columns;
  bool isAdded, startsAtZero, isInPlace;
  alignas(64) float buffer[group * bufferRow];
};

/// The entry of a header for a group of columns and a piece.
int64_t getEntry(int64_t column, int64_t term) {
  return (column / group + term / depth) % headerEntries;
}

/// The same for columns that are next to each other: row by row, as they lie in
/// memory.
template <bool isWide>
REMAT_AMX void packRows(const Factor &b, int64_t k, int64_t n,
                        uint16_t *packed) {
  const __m512i infinity = _mm512_set1_epi16(0x7f80);
  const int64_t distance = countSteps(k) * b.parts * stepElements;
  for (int64_t term = 0; term < roundUp(k, tileTerms); term += 2) {
    uint16_t *to = packed + headerEntries +
                   term / tileTerms * b.parts * stepElements +
                   term % tileTerms / 2 * tileTerms;
    Terms from = b.from(0, term);
    for (int64_t column = 0; column < roundUp(n, group); column += side) {
      __mmask16 mask = getMask<__mmask16>(n - column);
      Parts parts =
          loadPair<isWide>(from.data, from.at + column, from.termStride,
                           term < k ? mask : 0, term + 1 < k ? mask : 0);
      uint16_t *tile =
          to + column / group * distance + column % group / side * tileElements;
      _mm512_store_si512(tile, parts.high);
      if constexpr (isWide)
        _mm512_store_si512(tile + stepElements, parts.low);
      else
        packed[getEntry(column, term)] |=
            _mm512_cmpeq_epi16_mask(_mm512_and_si512(parts.high, infinity),
                                    infinity) != 0;
    }
  }
}

REMAT_AMX void packColumns(const Factor &b, int64_t k, int64_t n,
                           uint16_t *packed) {
  std::fill_n(packed, headerEntries, uint16_t(0));
  if (b.terms.stride == 1 && b.terms.termStride != 1) {
    if (b.parts == 2)
      packRows<true>(b, k, n, packed);
    else
      packRows<false>(b, k, n, packed);
    return;
  }
  uint16_t *to = packed + headerEntries;
  for (int64_t column = 0; column < n; column += group)
    for (int64_t term = 0; term < k; term += depth) {
      int64_t count = std::min(depth, k - term);
      packed[getEntry(column, term)] |= copyGroup<Form::Pairs>(
          b, column, std::min(group, n - column), term, count, to);
      to += countSteps(count) * b.parts * stepElements;
    }
}

REMAT_AMX void multiplyTiles(const Matmul &matmul) {
  alignas(64) uint16_t rows[2 * depth * group];
  alignas(64) uint16_t block[blockElements];
  bool notFinite[blockElements / (tileTerms * group)];
  int64_t aParts = matmul.a.parts, bParts = matmul.b.parts;
  bool isSplit = aParts + bParts > 2;
  for (int64_t term = 0; term < matmul.k; term += depth) {
    int64_t count = std::min(depth, matmul.k - term);
    int64_t steps = countSteps(count);
    bool areFirst = term == 0 && !matmul.accumulate;
    // From one group of columns to the next.
    int64_t distance = steps * bParts * stepElements, width = matmul.n;
    const uint16_t *columns = block;
    if (matmul.packed) {
      distance = countSteps(matmul.packedRows) * bParts * stepElements;
      columns = matmul.packed + headerEntries +
                term / tileTerms * bParts * stepElements;
    } else {
      width = blockElements / distance * group;
    }
    for (int64_t first = 0; first < matmul.n; first += width) {
      int64_t last = std::min(first + width, matmul.n);
      for (int64_t column = first; column < last && !matmul.packed;
           column += group) {
        int64_t number = (column - first) / group;
        notFinite[number] = copyGroup<Form::Pairs>(
            matmul.b, column, std::min(group, last - column), term, count,
            block + number * distance);
      }
      for (int64_t row = 0; row < matmul.m; row += group) {
        bool isOther = copyGroup<Form::Lines>(
            matmul.a, row, std::min(group, matmul.m - row), term, count, rows);
        auto isLeft = [&](int64_t column) {
          return isSplit &&
                 (isOther ||
                  (matmul.packed ? matmul.packed[getEntry(column, term)]
                                 : notFinite[(column - first) / group]));
        };
        int64_t end;
        for (int64_t column = first; column < last; column = end) {
          end = std::min(column + Sums::mostColumns, last);
          Sums sums(matmul, row, column, end - column, areFirst);
          for (int64_t at = column; at < end; at += group)
            if (isLeft(at))
              sums.leaveOut(at - column);
            else
              selectAdd(sums.getRows(), end - at)(
                  matmul, rows, columns + (at - first) / group * distance,
                  steps, sums.get(at - column), sums.getRow(), sums.areZero());
          sums.finish();
          for (int64_t at = column; at < end; at += group)
            if (isLeft(at))
              sumInF32(matmul, row, at, term, count, !areFirst);
        }
      }
    }
  }
}

} // namespace

static void packTile(int64_t b, int64_t row, int64_t column, int64_t dtype,
                     int64_t k, int64_t n, int64_t packed) {
  if (hasMatrixUnit())
    packColumns(makeFactor(b, column, row, dtype), k, n,
                reinterpret_cast<uint16_t *>(packed));
}

REMAT_AMX static void multiplyConfigured(const Matmul &matmul) {
  _tile_loadconfig(&shapes);
  multiplyTiles(matmul);
  _tile_release();
}

[[gnu::target("avx512f")]] static void multiplyInVectors(const Matmul &matmul) {
  multiplyInF32(matmul);
}

static void multiply(const Matmul &matmul) {
  if (hasMatrixUnit())
    multiplyConfigured(matmul);
  else if (getVectorIsa() == VectorIsa::Avx512)
    multiplyInVectors(matmul);
  else
    multiplyInF32(matmul);
}

#else

static void packTile(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                     int64_t) {}
static void multiply(const Matmul &matmul) { multiplyInF32(matmul); }

#endif

static void multiplyTile(int64_t a, int64_t aRow, int64_t aColumn,
                         int64_t aDtype, int64_t b, int64_t bRow,
                         int64_t bColumn, int64_t bDtype, int64_t packed,
                         int64_t packedRows, int64_t c, int64_t cRow, int64_t m,
                         int64_t n, int64_t k, int64_t accumulate) {
  Matmul matmul{makeFactor(a, aRow, aColumn, aDtype),
                makeFactor(b, bColumn, bRow, bDtype),
                reinterpret_cast<const uint16_t *>(packed),
                packedRows,
                reinterpret_cast<float *>(c),
                cRow,
                m,
                n,
                k,
                accumulate != 0};
  multiply(matmul);
}

const remat_kernel_calls remat_calls_of_kernels = {packTile, multiplyTile};
