//===- StagedRows.h - rows that a block reads once --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_STAGEDROWS_H
#define REMAT_LIB_TARGET_CUDA_STAGEDROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::cuda {

/// Lets a row kernel (isRowKernel) copy long rows of arguments that several of
/// its operations read, and read the copies: the rows that all blocks have at
/// once may be more than a cache holds. The copies of one of its `numRows` rows
/// have at most `maxBytes`. Returns how many bytes they have, 0 if nothing is
/// copied.
int64_t stageRows(mlir::func::FuncOp function, int64_t numRows,
                  int64_t maxBytes);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_STAGEDROWS_H
