//===- TiledRows.h - rows in tiles of columns -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention in blocks: where a tile of whole rows does not fit into shared
// memory, its columns are cut into tiles, too. What has a row and a column (the
// scores) exists for one tile of both at a time, and is computed again in each
// sweep over the columns. A sweep ends where something is reduced over all of
// them: the maximum of a row, its sum, and the product with the values are
// three sweeps.
//
// What is added up over rows (the gradients of keys and values) is a launch of
// its own, after that of the rows: a block takes a tile of columns and walks
// the rows. So each sum has one owner, and a fixed order.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_TILEDROWS_H
#define REMAT_LIB_TARGET_CUDA_TILEDROWS_H

#include "Launch.h"
#include "RowFactors.h"

#include "remat/Codegen/RowSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

#include <memory>

namespace remat::cuda {

struct RegisterTiles;

struct TiledStep {
  enum Kind {
    /// Once for each tile of rows.
    RowsOnly,
    /// For each tile of rows and columns.
    Tile,
    /// Reduces the columns.
    OverColumns,
    /// Adds up rows.
    OverRows
  } kind = RowsOnly;
  /// The sweep in which it is complete; of what is for rows only, the one that
  /// it precedes.
  unsigned sweep = 0;
  /// The loop of the nest that walks the columns, or -1.
  int columnLoop = -1;
  /// The steps whose tiles it reads, and what is done again for each launch.
  llvm::SmallVector<unsigned> tiles;
  /// The factors that it reads a tile of.
  llvm::SmallVector<unsigned> factors;
  /// A tile that others than this kernel read.
  bool isResult = false;
  /// Of what is for rows only: the contraction over columns whose result this
  /// step alone reads, and the loop that walks the other side of that product,
  /// where threads finish what they have added up in registers. Else -1.
  int sum = -1, sideLoop = -1;
};

/// What finishes a sum over rows.
struct TiledFinal {
  /// The loop that walks the columns.
  unsigned columnLoop;
  /// The step that adds up what it reads, and the loop that walks the other
  /// side of that product, where threads finish what they have added up in
  /// registers. Then the sum is not in memory. Else -1.
  int sum = -1, sideLoop = -1;
};

struct TiledRows {
  /// Columns, and those of a tile. The last tile may have fewer.
  int64_t columns = 0, tileColumns = 0;
  /// One for each step of the schedule.
  std::vector<TiledStep> steps;
  unsigned numSweeps = 0;
  /// One for each of the schedule's finals.
  std::vector<TiledFinal> finals;
  /// By what it is: steps that make a number of each row of what a sweep ends
  /// with, which threads make for themselves in registers as well.
  llvm::DenseMap<mlir::Value, unsigned> derived;
  /// Sums that are in registers alone.
  llvm::DenseSet<mlir::Value> passing;
  /// Allocations for a tile of rows and columns in shared memory; for rows
  /// there; and those that are in the workspace as a whole, since both launches
  /// need them.
  llvm::SmallVector<mlir::memref::AllocOp> tiles, rows, workspace;
  /// Tiles of factors in shared memory.
  llvm::SmallVector<FactorLayout> factors;
  bool hasOverRows = false;
  /// The launch of the rows, and that of the sums over rows, where they keep
  /// their tiles in registers (RegisterTiles.h).
  std::shared_ptr<const RegisterTiles> rowRegisters, sumRegisters;

  const RegisterTiles *getRegisters(bool overRows) const {
    return (overRows ? sumRegisters : rowRegisters).get();
  }
  bool areAllInRegisters() const {
    return rowRegisters && (!hasOverRows || sumRegisters);
  }
  /// Threads of a launch; `tileThreads` of one that has its tiles in shared
  /// memory.
  int64_t countThreads(const RowSchedule &schedule, bool overRows,
                       int64_t tileThreads) const;
  int64_t countTiles() const { return llvm::divideCeil(columns, tileColumns); }
  bool hasWholeTiles() const { return columns % tileColumns == 0; }
  /// Elements from one row of a tile to the next.
  int64_t getPitch(mlir::Type elementType) const;
};

/// Cuts the rows of a schedule with blocks into tiles; none if something in it
/// has another form, or finds no room. With `repeats`, both launches make for
/// themselves what is cheap, else it is in the workspace.
std::optional<TiledRows> planTiledRows(const RowSchedule &schedule,
                                       mlir::func::FuncOp function,
                                       bool repeats, int64_t maxBytes);

/// Emits the launch of the rows, or that of the sums over rows.
llvm::LogicalResult emitTiledRows(const TiledRows &plan,
                                  const RowSchedule &schedule,
                                  LaunchBuilder &launch, bool overRows);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_TILEDROWS_H
