//===- KernelWorkspace.h - scratch memory of a kernel -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_KERNELWORKSPACE_H
#define REMAT_CODEGEN_KERNELWORKSPACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::codegen {

/// Whether all operations of a bufferized kernel carry rows, so that what it
/// allocates stays on the stack.
bool isRowKernel(mlir::func::FuncOp function);

/// Whether an op reads or writes through `memref` or a view of it. Inputs that
/// only give a structured op its sizes do not count.
bool isAccessed(mlir::Value memref);

/// The buffers that a bufferized kernel still allocates, in order, each with
/// its place in the kernel's workspace.
struct WorkspaceBuffer {
  mlir::Value buffer;
  int64_t offset;
};

/// Gives every allocation whose memory is used a place in the workspace and
/// returns the workspace's bytes, a multiple of bufferAlignment. Places do not
/// overlap, so that no two buffers of a kernel alias.
int64_t assignWorkspace(mlir::func::FuncOp function,
                        llvm::SmallVectorImpl<WorkspaceBuffer> &buffers);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELWORKSPACE_H
