//===- TileCopies.h - factors as a matrix unit reads them -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of a factor has the two terms that Intel's AMX adds up at a time next
// to each other: a line of A has 32 terms of a row, a line of B has two terms
// of 16 columns. One form is the transpose of the other, as 16 x 16 numbers of
// 32 bits. A factor of f32 has two parts, of bf16, whose sum it is.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_TILECOPIES_H
#define REMAT_LIB_RUNTIME_CPU_TILECOPIES_H

#include "UnitTiles.h"

#include <type_traits>

namespace remat {

/// Elements of bf16 of what a group has of 32 terms in one part.
constexpr int64_t stepElements = 2 * tileElements;

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

inline int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

} // namespace remat

#ifdef __x86_64__

#include <immintrin.h>

#define REMAT_TILES                                                            \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,"      \
                "amx-bf16")]]
#define REMAT_TILES_INLINE REMAT_TILES [[gnu::always_inline]] inline

namespace remat {

/// 32 numbers of bf16, and 32 others that are added to them.
struct Parts {
  __m512i high, low;
};

/// Widens the numbers in even or odd places.
REMAT_TILES_INLINE __m512 widenEven(__m512i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
REMAT_TILES_INLINE __m512 widenOdd(__m512i x) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
}

/// What is left of x; nothing of infinity and NaN.
REMAT_TILES_INLINE __m512 getRest(__m512 x, __m512 rounded) {
  constexpr int notFinite = 0x99;
  __mmask16 left = _knot_mask16(_mm512_fpclass_ps_mask(rounded, notFinite));
  return _mm512_maskz_sub_ps(left, x, rounded);
}

/// Rounds two vectors to one, with their elements by turns.
REMAT_TILES_INLINE __m512i roundPairs(__m512 even, __m512 odd) {
  alignas(64) static constexpr uint16_t order[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(
      _mm512_load_si512(order),
      reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
}

REMAT_TILES_INLINE Parts splitPairs(__m512 even, __m512 odd) {
  Parts parts;
  parts.high = roundPairs(even, odd);
  parts.low = roundPairs(getRest(even, widenEven(parts.high)),
                         getRest(odd, widenOdd(parts.high)));
  return parts;
}

REMAT_TILES_INLINE __m512 widen(__m256i x) {
  return widenEven(_mm512_cvtepu16_epi32(x));
}

/// The same for vectors that lie one after the other.
REMAT_TILES_INLINE Parts splitRow(__m512 first, __m512 second) {
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

/// How a factor lies: terms of a line next to each other, or lines.
enum class Layout { Terms, Lines };

/// 32 terms of a line.
template <bool isWide>
REMAT_TILES_INLINE Parts loadTerms(const void *data, int64_t at,
                                   __mmask32 mask) {
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
REMAT_TILES_INLINE Parts loadPair(const void *data, int64_t at,
                                  int64_t distance, __mmask16 first,
                                  __mmask16 second) {
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
REMAT_TILES_INLINE void transpose(__m512i *rows) {
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
REMAT_TILES bool copyTile(const Terms &from, int64_t lines, int64_t count,
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
REMAT_TILES bool copyScattered(const Terms &from, int64_t lines, int64_t count,
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
REMAT_TILES bool copyGroup(const Factor &factor, int64_t line, int64_t lines,
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

} // namespace remat

#endif // __x86_64__

#endif // REMAT_LIB_RUNTIME_CPU_TILECOPIES_H
