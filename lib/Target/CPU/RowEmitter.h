//===- RowEmitter.h - kernels that work row by row --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_ROWEMITTER_H
#define REMAT_LIB_TARGET_CPU_ROWEMITTER_H

#include "LoopEmitter.h"
#include "TileMatmul.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::cpu {

using namespace codegen;

/// The loops of a kernel of rows (isRowKernel): a range of rows, or of what
/// blocks of rows are part of, with all operations inside. Gives the kernel's
/// allocations their buffers. Fails with a diagnostic at an operation that has
/// no such loops.
mlir::FailureOr<std::unique_ptr<Emitter>>
makeRowEmitter(mlir::func::FuncOp function, KernelContext &kernel,
               const TileShape &tile);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_ROWEMITTER_H
