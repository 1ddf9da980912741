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
// How factors are copied is in TileCopies.h.
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "TileCopies.h"
#include "VectorIsa.h"

#include "remat/Runtime/KernelCalls.h"

using namespace remat;

namespace {

/// Terms of a piece.
constexpr int64_t depth = 512;
/// Elements of bf16 of a block of B: 128 KiB.
constexpr int64_t blockElements = 64 << 10;
/// A packed B begins with this: for each of up to so many groups of columns and
/// pieces, whether it has an infinity or a NaN. Groups share an entry where
/// there are more.
constexpr int64_t headerEntries = 64;
/// Rows of sums that are a multiple of this apart share few places of the first
/// cache: they are read and written one after the other, not in tiles.
constexpr int64_t collidingRow = 256;

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
  alignas(64) float sums[group * group];
  int64_t numColumns = std::min(group, matmul.n - column);
  int64_t numRows = std::min(group, matmul.m - row);
  for (int64_t done = 0; done < count; done += mostTerms, accumulate = true) {
    sumSquare(matmul.a.from(row, term + done), numRows,
              matmul.b.from(column, term + done), numColumns,
              std::min(mostTerms, count - done), sums);
    for (int64_t i = 0; i < numRows; ++i) {
      float *to = matmul.c + (row + i) * matmul.cRow + column;
      for (int64_t j = 0; j < numColumns; ++j)
        to[j] = (accumulate ? to[j] : 0.0f) + sums[i * group + j];
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

} // namespace

int remat_has_matrix_unit(void) { return hasMatrixUnit(); }

int64_t remat_tile_packed_bytes(int64_t k, int64_t n, int32_t dtype) {
  int64_t parts = dtype == REMAT_F32 ? 2 : 1;
  return (headerEntries + roundUp(n, group) * roundUp(k, tileTerms) * parts) *
         size<uint16_t>;
}

#ifdef __x86_64__

namespace {

/// The sums of a group of rows and one of columns over some terms, in tiles.
template <bool twoRows, bool twoColumns>
REMAT_TILES void addTiles(const Matmul &matmul, const uint16_t *a,
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

  REMAT_TILES Sums(const Matmul &matmul, int64_t row, int64_t column,
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

  REMAT_TILES void finish() const {
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
REMAT_TILES void packRows(const Factor &b, int64_t k, int64_t n,
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

REMAT_TILES void packColumns(const Factor &b, int64_t k, int64_t n,
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

REMAT_TILES void multiplyTiles(const Matmul &matmul) {
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

REMAT_TILES static void multiplyConfigured(const Matmul &matmul) {
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
