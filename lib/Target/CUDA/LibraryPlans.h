//===- LibraryPlans.h - execution plans of cuDNN ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_LIBRARYPLANS_H
#define REMAT_LIB_TARGET_CUDA_LIBRARYPLANS_H

#include "remat/Target/Target.h"

namespace remat::cuda {

/// Whether cuDNN has algorithms for tensor cores that take the types of a
/// convolution.
bool usesTensorCores(const remat_convolution &conv, bool allowsTf32);

/// Bytes of its input and output that cuDNN's fast algorithms for a convolution
/// copy to another layout: tensor cores read channels-last tensors.
int64_t countRearrangedBytes(const remat_convolution &conv, bool allowsTf32);

/// Gives each kernel that is a convolution the plans that cuDNN makes of it for
/// each device that the options name. Equal convolutions have
/// equal plans. Kernels that have some keep them; those that cuDNN has none for
/// on one of the devices get none. Without a cuDNN, there are none, with a
/// diagnostic: an error if the options ask for it, else a remark.
llvm::LogicalResult makeConvolutionPlans(mlir::ModuleOp module,
                                         const LibraryOptions &options);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_LIBRARYPLANS_H
