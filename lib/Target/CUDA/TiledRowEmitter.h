//===- TiledRowEmitter.h - launches of rows in tiles of columns -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk over tiles that both forms of their launches share. Here, tiles are
// in shared memory, and all threads of the block do one step after the other;
// RegisterTileEmitter.h has the other form.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_TILEDROWEMITTER_H
#define REMAT_LIB_TARGET_CUDA_TILEDROWEMITTER_H

#include "TiledRows.h"

#include "remat/Codegen/IndexArithmetic.h"

namespace remat::cuda {

class TiledRowEmission : protected IndexArithmetic {
public:
  TiledRowEmission(const TiledRows &plan, const RowSchedule &schedule,
                   LaunchBuilder &launch);
  virtual ~TiledRowEmission() = default;

  /// All sweeps of a tile of rows.
  llvm::LogicalResult emitRows();
  /// All sums over rows of a tile of columns.
  llvm::LogicalResult emitOverRows();

protected:
  virtual void allocate();
  virtual llvm::LogicalResult emitSweep(unsigned sweep);
  virtual llvm::LogicalResult emitSums(mlir::Value unit);

  mlir::Value isEqual(mlir::Value a, int64_t b) {
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::eq, a, index(b));
  }
  void addShared(mlir::memref::AllocOp alloc, int64_t columns);
  void setTile(mlir::Value number);
  mlir::Value emitColumnEnd();
  llvm::LogicalResult emitStep(unsigned number);
  llvm::LogicalResult emitFactors(const std::vector<bool> &steps);
  bool hidesColumns(const std::vector<bool> &steps) const;
  mlir::Value emitTileCount(const std::vector<bool> &steps);
  mlir::Value emitFirstTile(const std::vector<bool> &steps);
  int64_t countRowTiles() const {
    return llvm::divideCeil(schedule.runRows, schedule.blockRows);
  }

  const TiledRows &plan;
  const RowSchedule &schedule;
  LaunchBuilder &launch;
  llvm::DenseSet<mlir::Value> wide;
  RowPosition position;
  /// Where the tile of columns begins, and whether it is the first of a sum.
  mlir::Value columnBegin, isFirst;

private:
  LoopNest open(unsigned number);
  bool sharesFactors(const std::vector<bool> &steps) const;
  llvm::LogicalResult emitRowsOnly(unsigned sweep);
  llvm::LogicalResult emitFinals(mlir::Value unit);
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_TILEDROWEMITTER_H
