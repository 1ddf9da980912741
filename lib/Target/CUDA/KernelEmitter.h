//===- KernelEmitter.h - a bufferized kernel as launches --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELEMITTER_H
#define REMAT_LIB_TARGET_CUDA_KERNELEMITTER_H

#include "Launch.h"

#include "remat/Codegen/KernelBufferization.h"
#include "remat/Codegen/LibraryCall.h"

namespace remat::cuda {

/// What the step table has to know about an emitted kernel.
struct EmittedKernel {
  KernelBuffers buffers;
  /// In order; each waits for the one before.
  llvm::SmallVector<Launch> launches;
};

/// The library call that carries `kernel` out on a device, or null if code is
/// generated for it: convolutions without plans, and matmuls that cuBLASLt does
/// not take.
LibraryCallRef matchDeviceCall(mlir::func::FuncOp kernel);

/// Scratch bytes of such a call: what its plans need, or room for partial sums
/// where the results alone do not keep a device busy.
int64_t getDeviceWorkspaceBytes(const LibraryCall &call);

/// Bytes of workspace that the launches of `kernel` need. Fails with a
/// diagnostic at an op that has no code.
mlir::FailureOr<int64_t> getWorkspaceBytes(BufferizedKernel &kernel);

/// Emits `kernel` as functions `name`_0, ... of `module`, its constants as
/// globals beside them.
mlir::FailureOr<EmittedKernel> emitKernel(BufferizedKernel &kernel,
                                          llvm::StringRef name,
                                          mlir::gpu::GPUModuleOp module,
                                          CheckList &checks);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELEMITTER_H
