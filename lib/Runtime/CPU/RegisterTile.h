//===- RegisterTile.h - sums of products in registers -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loops of products: a few rows of sums, one vector each, stay in
// registers while terms are added, and how factors are copied for them. All of
// it is inlined into functions that say which instructions they may use.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_REGISTERTILE_H
#define REMAT_LIB_RUNTIME_CPU_REGISTERTILE_H

#include "Elements.h"

#include <algorithm>

namespace remat {

template <typename T>
constexpr auto size = static_cast<int64_t>(sizeof(T));

/// The terms of a tile of sums: `segments` runs of `count` terms. Distances are
/// in elements.
template <typename T>
struct TileTerms {
  /// The factor with the rows, of any alignment.
  const char *a = nullptr;
  int64_t aRow = 0, aTerm = 0, aSegment = 0;
  /// The other one: a vector for each term, one after the other.
  const T *b = nullptr;
  int64_t bSegment = 0;
  int64_t count = 0, segments = 1;
  /// Whether the sums begin with these terms, and not with what is there.
  bool areFirst = false;
};

/// sums[row][column] += a[row][term] * b[term][column], term by term in their
/// order, for one vector of columns. Rows of sums are `sumsRow` apart.
template <typename T, int bytes, int rows>
[[gnu::always_inline]] inline void addTerms(const TileTerms<T> &terms, T *sums,
                                            int64_t sumsRow) {
  typedef T Vector __attribute__((vector_size(bytes)));
  Vector sum[rows] = {};
  if (!terms.areFirst)
    for (int row = 0; row < rows; ++row)
      std::memcpy(&sum[row], sums + row * sumsRow, bytes);
  const char *a = terms.a;
  const char *b = reinterpret_cast<const char *>(terms.b);
  for (int64_t segment = 0; segment < terms.segments; ++segment) {
    for (int64_t term = 0; term < terms.count; ++term) {
      Vector columns;
      std::memcpy(&columns, b + term * bytes, bytes);
      for (int row = 0; row < rows; ++row) {
        T factor;
        std::memcpy(&factor,
                    a + (row * terms.aRow + term * terms.aTerm) * size<T>,
                    sizeof(T));
        sum[row] += factor * columns;
      }
    }
    a += terms.aSegment * size<T>;
    b += terms.bSegment * size<T>;
  }
  for (int row = 0; row < rows; ++row)
    std::memcpy(sums + row * sumsRow, &sum[row], bytes);
}

/// The same for at most `most` rows.
template <typename T, int bytes, int most>
[[gnu::always_inline]] inline void
addAnyTerms(int64_t rows, const TileTerms<T> &terms, T *sums, int64_t sumsRow) {
  if constexpr (most > 1)
    if (rows < most)
      return addAnyTerms<T, bytes, most - 1>(rows, terms, sums, sumsRow);
  addTerms<T, bytes, most>(terms, sums, sumsRow);
}

/// Terms of some rows of a factor, or of some columns.
struct Terms {
  const void *data;
  int32_t dtype;
  /// The first element, and the distances to that of the next row or column and
  /// to the next term.
  int64_t at, stride, termStride;
};

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
void transposeTerms(const Terms &from, int64_t width, int64_t count, T *to,
                    int64_t toStride) {
  int64_t done = 0, whole = holds<T>(from.dtype) ? count / 4 * 4 : 0;
  const char *base = static_cast<const char *>(from.data) + from.at * size<T>;
  for (; done + 4 <= width && whole > 0; done += 4)
    for (int64_t term = 0; term < whole; term += 4)
      transposeFour(base + (done * from.stride + term) * size<T>, from.stride,
                    to + term * toStride + done, toStride);
  constexpr int64_t lineTerms = 64;
  T line[lineTerms];
  for (int64_t i = 0; i < width; ++i)
    for (int64_t term = i < done ? whole : 0; term < count; term += lineTerms) {
      int64_t length = std::min(lineTerms, count - term);
      loadRow(line, from.data, from.dtype, from.at + i * from.stride + term, 1,
              length);
      for (int64_t j = 0; j < length; ++j)
        to[(term + j) * toStride + i] = line[j];
    }
}

/// Copies `count` terms of `width` rows or columns: all of a term of the first
/// `group` of them, the next term of these, and so on; the next `group` of them
/// is `distance` elements behind. Zeros fill the last group.
template <typename T, int group>
void pack(const Terms &from, int64_t width, int64_t count, T *to,
          int64_t distance) {
  int64_t whole = width / group * group;
  if (from.termStride == 1 && from.stride != 1) {
    for (int64_t first = 0; first < width; first += group, to += distance) {
      if (first == whole)
        std::fill_n(to, count * group, T());
      Terms part = from;
      part.at += first * from.stride;
      transposeTerms(part, std::min<int64_t>(group, width - first), count, to,
                     group);
    }
    return;
  }
  if (!holds<T>(from.dtype) || from.stride != 1)
    whole = 0;
  // Few terms at a time, so that a group of them is whole lines of the cache.
  constexpr int64_t fewTerms = 8;
  for (int64_t begin = 0; begin < count && whole > 0; begin += fewTerms) {
    int64_t end = std::min(begin + fewTerms, count);
    for (int64_t first = 0; first < whole; first += group)
      for (int64_t term = begin; term < end; ++term)
        std::memcpy(to + first / group * distance + term * group,
                    static_cast<const char *>(from.data) +
                        (from.at + term * from.termStride + first) * size<T>,
                    sizeof(T[group]));
  }
  constexpr int64_t lineWidth = 32 * group;
  T line[lineWidth];
  for (int64_t begin = whole; begin < width; begin += lineWidth) {
    int64_t length = std::min(lineWidth, width - begin);
    std::fill_n(line, lineWidth, T());
    for (int64_t term = 0; term < count; ++term) {
      loadRow(line, from.data, from.dtype,
              from.at + term * from.termStride + begin * from.stride,
              from.stride, length);
      for (int64_t first = 0; first < length; first += group)
        std::copy_n(line + first, group,
                    to + (begin + first) / group * distance + term * group);
    }
  }
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPU_REGISTERTILE_H
