//===- UnitTiles.h - tiles of a matrix unit ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all products on Intel's AMX have in common: the shapes of tiles, which
// terms at the end of a factor count, and sums that tiles cannot make, since a
// factor is not finite.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_UNITTILES_H
#define REMAT_LIB_RUNTIME_CPU_UNITTILES_H

#include "RegisterTile.h"

namespace remat {

/// Rows, or columns, of a tile and of a group; terms of a tile.
constexpr int64_t side = 16, group = 32, tileTerms = 32;
/// Elements of bf16 of a tile.
constexpr int64_t tileElements = side * tileTerms;

/// The sums of a group of rows and one of columns, in rows of `group`, of at
/// most `mostTerms` terms, in vectors of f32.
constexpr int64_t mostTerms = 128;
[[gnu::always_inline]] inline void sumSquare(const Terms &a, int64_t numRows,
                                             const Terms &b, int64_t numColumns,
                                             int64_t count, float *sums) {
  constexpr int64_t few = 8;
  alignas(64) float columns[mostTerms * group], rows[mostTerms * few];
  pack<float, group>(b, numColumns, count, columns, mostTerms * group);
  for (int64_t row = 0; row < numRows; row += few) {
    Terms part = a;
    part.at += row * a.stride;
    int64_t number = std::min(few, numRows - row);
    pack<float, few>(part, number, count, rows, mostTerms * few);
    TileTerms<float> terms;
    terms.a = reinterpret_cast<const char *>(rows);
    terms.aRow = 1;
    terms.aTerm = few;
    terms.b = columns;
    terms.count = count;
    terms.areFirst = true;
    addAnyTerms<float, group * sizeof(float), few>(number, terms,
                                                   sums + row * group, group);
  }
}

/// The first `count` of so many, of any number.
template <typename Mask>
constexpr Mask getMask(int64_t count) {
  constexpr int64_t bits = 8 * size<Mask>;
  return count >= bits ? static_cast<Mask>(-1)
         : count > 0   ? static_cast<Mask>((Mask(1) << count) - 1)
                       : Mask(0);
}

/// The shapes of the eight tiles, as the unit wants them described.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constexpr TileShapes shapes;
constexpr int64_t tileBytes = 64; // of a row

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPU_UNITTILES_H
