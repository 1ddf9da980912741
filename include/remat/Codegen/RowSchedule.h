//===- RowSchedule.h - how a kernel walks its rows --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of several operations that works row by row (Rows.h) is divided into
// units of work. A unit is one row or, where there are contractions, all tiles
// of one or more runs of rows: those of one index of the leading loops (a head
// of attention), or of all over which something is added up (the heads that
// share a key). What operations hand to each other is a buffer for one row or
// tile: its address is that of the tensor it stands for, less where the tile
// begins.
//
// Any target walks rows like this; how a tile is computed is its own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_ROWSCHEDULE_H
#define REMAT_CODEGEN_ROWSCHEDULE_H

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/LoopNest.h"
#include "remat/Codegen/MaskedColumns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace remat::codegen {

/// One operation, its loops and which of them walk the rows.
struct RowStep {
  mlir::linalg::GenericOp op;
  LoopNest nest;
  llvm::SmallVector<int64_t> rows, sizes;
  bool isContraction = false;
  /// Runs over whose tiles a contraction adds up, or 0.
  int64_t summedRuns = 0;
  /// The loop over columns of which each tile needs only the first, or -1.
  int columns = -1;
  /// Of a factor: the runs, one behind the other, that share what is made for
  /// one index of its rows.
  int64_t runs = 1;

  /// The buffer of its only result.
  mlir::Value getRoot() const { return nest.outputs.front().root; }
};

/// Where in the rows code is emitted.
struct RowPosition {
  /// The run, among all.
  mlir::Value run;
  /// The tile, as rows of the run.
  mlir::Value blockBegin, blockEnd;
  /// The end of the columns that rows of the tile need; null for all.
  mlir::Value columnEnd;
};

/// A matrix in a flat buffer: element (i, j) is at base + i * row + j * column.
struct TileMatrix {
  mlir::Value buffer;
  mlir::Value base;
  int64_t row = 0, column = 0;
};

/// C = A * B, or C += A * B if `accumulate`: a product of tiles, of m x k and
/// k x n elements.
struct TileMatmul {
  TileMatrix a, b, c;
  /// Rows of A and C, and the index of the sum, as ranges that need not begin
  /// at 0.
  mlir::Value mBegin, mEnd, kBegin, kEnd;
  /// At least mEnd - mBegin.
  int64_t maxM = 0;
  int64_t n = 0;
  /// If not null, only the columns before this one are needed of the n, which
  /// is a multiple of the panels' width, or n.
  mlir::Value nEnd;
  /// At least kEnd - kBegin.
  int64_t maxK = 0;
  bool accumulate = false;
  /// B in the form in which the target's code reads it, if it is packed
  /// already.
  mlir::Value packed;
};

/// The steps of a kernel that works row by row, and how its rows are divided
/// into units and tiles.
class RowSchedule {
public:
  /// Divides the rows of a bufferized kernel (isRowKernel). Fails with a
  /// diagnostic at an operation that has no such loops.
  mlir::LogicalResult analyze(mlir::func::FuncOp function);

  /// The loops of a step for one unit and tile.
  LoopNest openRows(mlir::OpBuilder &builder, const RowStep &step,
                    const RowPosition &position) const;

  /// The loops of what makes a factor for one run.
  LoopNest openFactor(mlir::OpBuilder &builder, const RowStep &factor,
                      mlir::Value run) const;

  /// Lets contractions read what is only copied for them, rows or factors,
  /// where it is copied from, if they then find as much next to each other, or
  /// `inAnyOrder`.
  void readSources(bool inAnyOrder = false);

  /// The loops of a step that finishes the sums of one unit.
  LoopNest openUnit(mlir::OpBuilder &builder, const RowStep &step,
                    mlir::Value unit) const;

  /// The operands of a contraction as matrices, with the loops that `openRows`
  /// gave. Its columns are what C has next to each other.
  TileMatmul describe(mlir::OpBuilder &builder, const RowStep &step,
                      LoopNest &nest, const KernelContext &kernel) const;

  /// Whether an operand of a step is the same for all runs of a unit.
  bool isSameInRuns(const RowStep &step, const Access &access) const;

  /// In the order in which they are done for each tile.
  std::vector<RowStep> steps;
  /// What is elementwise in the sums over a unit's rows, once they are
  /// complete. Their rows are the units.
  std::vector<RowStep> finals;
  /// What makes factors that all rows of a run share, and what is done by no
  /// step, since its readers read what it copies.
  std::vector<RowStep> factors, copies;
  /// The kernel's allocations of which only a row or tile is kept: all but
  /// those of such sums, and factors.
  llvm::DenseSet<mlir::Value> inside;
  /// Rows of a tile; 0 where each row is a unit.
  int64_t blockRows = 0;
  /// Rows of a run, and runs of a unit.
  int64_t runRows = 1, numRuns = 1;
  int64_t numUnits = 1, numRows = 1;
  /// Units of one addition that all rows take.
  int64_t cost = 0;
  /// What a causal mask hides of each tile.
  MaskedColumns masked;

private:
  mlir::LogicalResult addStep(mlir::linalg::GenericOp op);
  mlir::LogicalResult addFactor(mlir::linalg::GenericOp op);
  mlir::LogicalResult chooseUnits();
  mlir::LogicalResult checkFactor(RowStep &factor) const;
  bool mayReadSource(const RowStep &copy, bool isFactor, bool inAnyOrder) const;
  void readSource(mlir::OpBuilder &builder, mlir::Value run, LoopNest &nest,
                  Access &access) const;
  void findColumns();
};

} // namespace remat::codegen

#endif // REMAT_CODEGEN_ROWSCHEDULE_H
