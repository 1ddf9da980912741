//===- RowEmitter.h - kernels that work row by row --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_ROWEMITTER_H
#define REMAT_LIB_CONVERSION_CPU_ROWEMITTER_H

#include "LoopEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::cpu {

/// Whether all operations of a bufferized kernel carry rows, so that what it
/// allocates stays on the stack.
bool isRowKernel(mlir::func::FuncOp function);

/// The loops of such a kernel: a range of rows, or of what blocks of rows are
/// part of, with all operations inside. Gives the kernel's allocations their
/// buffers. Fails with a diagnostic at an operation that has no such loops.
mlir::FailureOr<std::unique_ptr<Emitter>>
makeRowEmitter(mlir::func::FuncOp function, KernelContext &kernel);

} // namespace remat::cpu

#endif // REMAT_LIB_CONVERSION_CPU_ROWEMITTER_H
