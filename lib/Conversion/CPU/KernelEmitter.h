//===- KernelEmitter.h - a bufferized kernel as loops -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H
#define REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H

#include "KernelBufferization.h"
#include "KernelContext.h"

namespace remat::cpu {

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

/// What the step table has to know about an emitted kernel.
struct EmittedKernel {
  /// Takes the flat buffers of operands, results and workspace, a range of
  /// units and the status.
  mlir::func::FuncOp function;
  llvm::SmallVector<WorkspaceBuffer> workspace;
  int64_t workspaceBytes = 0;
  int64_t extent = 1;
  int64_t grain = 1;
};

/// Emits the loops of `kernel` as a function `name` into `module`, its
/// constants as globals beside it.
mlir::FailureOr<EmittedKernel> emitKernel(BufferizedKernel &kernel,
                                          llvm::StringRef name,
                                          mlir::ModuleOp module,
                                          CheckList &checks);

} // namespace remat::cpu

#endif // REMAT_LIB_CONVERSION_CPU_KERNELEMITTER_H
