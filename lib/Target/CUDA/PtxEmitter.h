//===- PtxEmitter.h - functions of launches as PTX --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_PTXEMITTER_H
#define REMAT_LIB_TARGET_CUDA_PTXEMITTER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace remat::cuda {

/// Lowers the functions of launches (Launch.h) in all `gpu.module`s of `module`
/// to the NVVM dialect.
mlir::LogicalResult lowerToNVVM(mlir::ModuleOp module);

/// The PTX of a module that lowerToNVVM has lowered, for devices from `chip`
/// on, such as "sm_90". Functions of f64 come from the toolkit's libdevice, a
/// file of bitcode; without it they are refused. Errors name what is missing.
/// Where no ptxas has said which launches spill registers (Toolkit.h), those
/// with loops have the limit of blocks with which none did: `limitsBlocks`.
/// Safe to call from several threads.
llvm::Expected<std::string> emitPtx(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef chip,
                                    llvm::StringRef libdevice,
                                    bool limitsBlocks);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_PTXEMITTER_H
