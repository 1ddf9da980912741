//===- KernelEmitter.h - a bufferized kernel as loops -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_KERNELEMITTER_H
#define REMAT_LIB_TARGET_CPU_KERNELEMITTER_H

#include "TileMatmul.h"

#include "remat/Codegen/KernelBufferization.h"
#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/KernelWorkspace.h"

namespace remat::cpu {

using namespace codegen;

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
/// constants as globals beside it. Contractions in kernels of rows are cut into
/// tiles of the shape `tile`.
mlir::FailureOr<EmittedKernel>
emitKernel(BufferizedKernel &kernel, llvm::StringRef name,
           mlir::ModuleOp module, CheckList &checks, const TileShape &tile);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_KERNELEMITTER_H
