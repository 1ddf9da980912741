//===- SimulatorLowering.h - launches as code for the simulator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SIMULATORLOWERING_H
#define REMAT_LIB_TARGET_CUDA_SIMULATORLOWERING_H

#include "remat/Target/Target.h"

namespace remat::cuda {

/// Replaces the contents of `module`, one placed graph and its kernels, by code
/// of this machine that runs the launches of a GPU (Simulator.h). With
/// `reverse`, threads of a block run in the opposite order.
mlir::LogicalResult lowerForSimulator(mlir::ModuleOp module,
                                      const LoweringOptions &options,
                                      bool reverse);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SIMULATORLOWERING_H
