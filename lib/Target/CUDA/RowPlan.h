//===- RowPlan.h - how the rows of a kernel are divided ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_ROWPLAN_H
#define REMAT_LIB_TARGET_CUDA_ROWPLAN_H

#include "Launch.h"
#include "TiledRows.h"

#include "remat/Codegen/RowSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace remat::cuda {

/// The division of a kernel's rows over blocks.
struct RowPlan {
  RowSchedule schedule;
  int64_t blocks = 1, threads = 1;
  /// Rows of a block, each of which a warp of its own takes.
  int64_t teams = 1;
  /// The tiles of a run are blocks of their own; nothing is added up over them.
  bool tilesAreBlocks = false;
  /// What operations hand to each other, in shared memory for one row or tile,
  /// and in the workspace as a whole.
  llvm::SmallVector<mlir::memref::AllocOp> shared, workspace;
  /// Factors in shared memory, where tiles have all columns; and those that
  /// find no room, which launches of their own leave in the workspace before.
  llvm::SmallVector<FactorLayout> factors;
  llvm::SmallVector<mlir::linalg::GenericOp> prepared;
  /// Tiles have parts of the columns only.
  std::optional<TiledRows> tiled;
  /// Contractions read what is copied for them where it is copied from, in
  /// whatever order it is there.
  bool readsInAnyOrder = false;
  int64_t countTiles() const;
};

/// Elements of a buffer that stay inside for one row or tile.
int64_t countInside(const RowSchedule &schedule, mlir::MemRefType type);

/// Plans the rows of a bufferized kernel (isRowKernel), and changes what it
/// computes again.
mlir::FailureOr<RowPlan> planRows(mlir::func::FuncOp function);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_ROWPLAN_H
