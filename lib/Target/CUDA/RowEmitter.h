//===- RowEmitter.h - kernels that work row by row on a GPU -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row schedule (RowSchedule.h) as a launch: a team of threads takes a row, or
// a block a tile of rows, and does all operations on it, with a barrier after
// each. A team is a warp where that keeps the device busy, else a block.
// What operations hand to each other is in shared memory. Where that is too
// small, elementwise values are computed again by each operation that reads
// them, so that a long row is read several times; what is left is in the
// workspace.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_ROWEMITTER_H
#define REMAT_LIB_TARGET_CUDA_ROWEMITTER_H

#include "RowPlan.h"

#include "remat/Codegen/RowSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace remat::cuda {

/// Emits all steps into a launch of as many blocks and threads.
llvm::LogicalResult emitRows(const RowPlan &plan, mlir::func::FuncOp function,
                             LaunchBuilder &launch);

/// A contraction of a tile by all threads of the block. `nest` are its loops,
/// and with `isWhole` those that have bounds of their own have as many points
/// as they can have.
void emitTileMatmul(LaunchBuilder &launch, mlir::Location loc,
                    const TileMatmul &product, const LoopNest &nest,
                    bool isWhole, mlir::Value isFirst = {});

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_ROWEMITTER_H
