//===- LowerToGPU.h - placed graphs to launches of a GPU --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H
#define REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H

#include "remat/Target/Target.h"

namespace remat::cuda {

/// Replaces the contents of `module`, one placed graph and its kernels, by a
/// gpu.module for each kernel, with the functions K_0 and so on of kernel K,
/// and by what defines the `remat_module` but for the code of the device
/// (StepModule.h). Fails with a diagnostic at what has no code.
mlir::LogicalResult lowerToGPU(mlir::ModuleOp module,
                               const LoweringOptions &options);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_LOWERTOGPU_H
