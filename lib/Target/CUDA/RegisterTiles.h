//===- RegisterTiles.h - tiles of scores in registers -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the contractions of tiled rows (TiledRows.h) have factors of 16 bits, a
// launch keeps its tiles of rows and columns in registers, as tensor cores
// leave them (Dao, FlashAttention-2, 2023). A warp owns 16 rows, or in the
// launch of sums over rows 16 columns, and sweeps over the others, tile by
// tile. What is reduced over the sweep stays in registers, too; what tensor
// cores read from memory is copied to shared memory one tile ahead.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_REGISTERTILES_H
#define REMAT_LIB_TARGET_CUDA_REGISTERTILES_H

#include "TiledRows.h"

namespace remat::cuda {

/// A factor of 16 bits that is in memory: a matrix of the rows, or of the
/// columns, of a tile and of what the contraction adds up or keeps.
struct TileFactor {
  /// The first step that reads it, and its operand.
  unsigned step = 0, input = 0;
  bool ofRows = false;
  /// The loop of that step for its other side, and how many points that has.
  unsigned sideLoop = 0;
  int64_t side = 0;

  /// The points of the side as tensor cores take them.
  int64_t getPaddedSide() const { return llvm::alignTo(side, uint64_t(16)); }
};

/// A maximum of rows beside which exponentials of differences to it are added
/// up. What was added up is multiplied where the maximum grows.
struct RunningMaximum {
  /// The step that finds the maximum, and those that add up.
  unsigned step = 0;
  llvm::SmallVector<unsigned> sums;
};

/// What one walk over all tiles adds up.
struct TilePass {
  /// By step: whether it is done. Steps for rows only are not among them before
  /// it is known where rows are.
  std::vector<bool> steps;
  /// The steps that reduce, in order.
  llvm::SmallVector<unsigned> ends;
  std::optional<RunningMaximum> maximum;
};

/// A launch whose tiles are in registers.
struct RegisterTiles {
  bool overRows = false;
  /// Whether there are products of tiles that all readers round to 16 bits, and
  /// whether there are others.
  bool hasRounded = false, hasExact = false;
  llvm::SmallVector<TileFactor> factors;
  /// The factors that a step reads, by step and operand; -1 for tiles.
  std::vector<std::array<int, 2>> factorOf;
  /// By step: parts of 16 bits that a tile which is a factor is taken apart
  /// into. Three have all bits of f32; two are enough, and err by 2^-17 of each
  /// term, where all that reads the sums rounds to 16 bits.
  std::vector<int64_t> partsOf;
  /// For each sweep, or for the sums over rows. No pass has more sums than find
  /// room in registers.
  std::vector<llvm::SmallVector<TilePass>> sweeps;

  /// Whether a factor belongs to what warps own.
  bool isOwned(const TileFactor &factor) const {
    return factor.ofRows != overRows;
  }
  /// Whether all products of tiles are rounded to 16 bits, so that what they
  /// are made of may err by 2^-17 of itself.
  bool areRounded() const { return hasRounded && !hasExact; }
  /// Shared memory for factors, with tiles of so many rows and columns.
  int64_t countBytes(int64_t rows, int64_t columns) const;
};

/// Sums that a thread has of a contraction whose result has so many points for
/// each row or column that its warp owns.
constexpr int64_t countThreadSums(int64_t side) { return (side + 15) / 16 * 8; }

/// Plans a launch with tiles in registers, of steps whose sweeps are known;
/// none if a step has another form. `wide` are the allocations of rows and
/// columns.
std::optional<RegisterTiles>
planRegisterTiles(const RowSchedule &schedule, const TiledRows &plan,
                  const llvm::DenseSet<mlir::Value> &wide, bool overRows);

/// Joins sweeps that only a maximum separates, of which running sums can be
/// made, if the sums of both find room: `maxSums` for each thread.
void joinSweeps(const RowSchedule &schedule, const TiledRows &plan,
                int64_t maxSums, RegisterTiles &tiles);

/// The steps that are wanted, and those that make their tiles.
std::vector<bool>
findTiledSteps(const TiledRows &plan,
               llvm::function_ref<bool(unsigned, const TiledStep &)> wanted);

/// How what a step reads or writes depends on the loops outside of a run, such
/// as those of batches and heads, in their order.
llvm::SmallVector<int64_t> getOuterCoefficients(const codegen::RowStep &step,
                                                const codegen::Access &access);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_REGISTERTILES_H
