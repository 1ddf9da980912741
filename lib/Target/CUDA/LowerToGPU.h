//===- LowerToGPU.h - placed graphs to launches of a GPU --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H
#define REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H

#include "mlir/IR/BuiltinOps.h"

namespace remat::cuda {

/// Replaces the contents of `module`, one placed graph and its kernels, by a
/// gpu.module with the functions of all launches, `name`_K_0 and so on for
/// kernel K. Fails with a diagnostic at what has no code.
mlir::LogicalResult lowerToGPU(mlir::ModuleOp module, llvm::StringRef name);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H
