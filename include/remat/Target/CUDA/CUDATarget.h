//===- CUDATarget.h - the target "cuda" -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_CUDATARGET_H
#define REMAT_TARGET_CUDA_CUDATARGET_H

#include "remat/Target/Target.h"

namespace remat::cuda {

/// GPUs of compute capability 8.0 and later. Steps are loaded to the device
/// "cuda", the GPU that the driver has. The device "sim" runs the code of a GPU
/// on the CPU, "sim-reverse" with the threads of a block in the opposite
/// order.
std::unique_ptr<Target> createTarget();

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_CUDATARGET_H
