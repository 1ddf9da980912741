//===- Tuning.h - the numbers of heuristics of CPU code ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which loops are cut, ordered and shared among threads, one
// struct per emitter. They are for cores with vectors of 32 or 64 bytes and
// caches of some tens and some hundreds of KiB. What decides before code is
// generated is not here: it is a fact of `#remat.target`.
//
// Some of them decide the order in which a sum is added up, and so its last
// bits; these say so.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_TUNING_H
#define REMAT_LIB_TARGET_CPU_TUNING_H

#include <cstdint>

namespace remat::cpu {

/// How kernels are shared among threads.
struct ThreadTuning {
  /// Units of one addition that a thread should get at least: some
  /// microseconds, which is what it takes to wake one.
  static constexpr int64_t minCost = 32768;
};

/// Nests of loops over elements (NestEmitter.cpp).
struct NestTuning {
  /// What an access costs in the innermost loop: next to the last one; in the
  /// same line of the cache; anywhere else.
  static constexpr int64_t nextCost = 4, nearCost = 8, farCost = 32;
  /// The stride up to which an access is in the same line.
  static constexpr int64_t nearStride = 8;
  /// What starting the innermost loop costs for each of its elements, times the
  /// length: short loops are not worth vectorizing.
  static constexpr int64_t startCost = 64;

  /// Operands with at least this stride in the innermost loop, and contiguous
  /// in another one, are walked in tiles of both loops.
  static constexpr int64_t tiledStride = 16;
  /// Loops shorter than this are not cut into tiles.
  static constexpr int64_t minTiled = 8;
  /// The side of a tile: two lines of the cache, and its rows are few enough to
  /// stay there.
  static constexpr int64_t tileSize = 32;

  /// Units that a nest should have, so that threads can share them evenly.
  static constexpr int64_t wantedUnits = 64;
  /// Elements of a unit where the innermost loop is cut to have more units; a
  /// loop of fewer than two such parts is not cut.
  static constexpr int64_t minBlock = 2048;
  /// Cut loops go on at multiples of this.
  static constexpr int64_t blockMultiple = 64;
  /// Innermost loops of this length stay loops, to be vectorized.
  static constexpr int64_t minKept = 16;
  /// Elements that such a loop must leave behind its last vector for one more
  /// vector to make them. What reads that waits until both are in memory.
  static constexpr int64_t minOverlapped = 8;
  /// A reduction in the innermost loop is interleaved once for so many
  /// elements, at most `maxInterleaved` times. Decides the order of the sum.
  static constexpr int64_t interleavedElements = 64, maxInterleaved = 4;

  /// Results on the stack in a reduction across memory: 4 KiB of f64.
  static constexpr int64_t maxAccumulators = 512;
  /// The same where the neighbouring blocks of a thread are one.
  static constexpr int64_t maxJoined = 2048;
  /// Parts of a sum on the stack.
  static constexpr int64_t maxPartialSums = 128;
  /// Units from which on blocks of such results are as large as they may be.
  /// Where there are fewer, a row is cut into `wantedBlocks` blocks, of at
  /// least `minAccumulators` results: narrow ones would walk memory in small
  /// steps.
  static constexpr int64_t manyUnits = 16, wantedBlocks = 4;
  static constexpr int64_t minAccumulators = 64;
  /// Blocks of results are multiples of this: vectors of f32.
  static constexpr int64_t accumulatorMultiple = 16;
  /// Rows that are added at a time to what is on the stack (StackSums.cpp).
  static constexpr int64_t rowBlock = 4;
};

/// Sums to computed places (ScatterEmitter.cpp).
struct ScatterTuning {
  /// Units from which on a unit owns as much of a row as it may; where there
  /// are fewer, a row has `wantedBlocks` owners.
  static constexpr int64_t manyUnits = 16, wantedBlocks = 8;
  /// Elements of a row that one unit owns.
  static constexpr int64_t minOwned = 32, maxOwned = 4096;
  /// They are multiples of this: vectors of f32.
  static constexpr int64_t ownedMultiple = 16;
};

/// Kernels that go row by row (RowEmitter.cpp).
struct RowTuning {
  /// The most bytes of a factor that is packed once for all blocks.
  static constexpr int64_t maxPackedBytes = 768 << 10;
  /// What such factors, what stays inside and factors A that are widened may
  /// take on the stack together. A panel of B is there, too, and a thread has
  /// 2 MiB where a process has no limit (`ulimit -s unlimited`).
  static constexpr int64_t maxStackBytes = 3 << 19;
};

/// Contractions of tiles in the cache (TileMatmul.cpp).
struct TileTuning {
  /// Vectors of a row of C in registers.
  static constexpr int64_t panelVectors = 2;
  /// Rows of C in registers: 16 of 32 vectors, or 12 of 16. The others are for
  /// a row of B and an element of A.
  static constexpr int64_t manyRows = 8, fewRows = 6;
  /// Up to so many rows of C, a factor B whose rows lie in memory is read
  /// there.
  static constexpr int64_t maxDirectRows = 64;
  /// Rows of a panel of B: 256 KiB on the stack. Longer sums are done in parts.
  static constexpr int64_t maxPanelRows = 2048;
};

/// Contractions of tiles on a matrix unit (MatrixUnit.cpp).
struct UnitTuning {
  /// The least extents: tiles have 16 rows, 16 columns and 32 terms, and what
  /// is missing is filled up with zeros.
  static constexpr int64_t minRows = 8, minColumns = 16, minTerms = 16;
};

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_TUNING_H
