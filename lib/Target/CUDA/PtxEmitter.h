//===- PtxEmitter.h - functions of launches as PTX --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_PTXEMITTER_H
#define REMAT_LIB_TARGET_CUDA_PTXEMITTER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

#include <string>

namespace remat::cuda {

/// The PTX of a module of launches (Launch.h), which is lowered in place, for
/// devices from `chip` on, such as "sm_90". Functions of f64 come from the
/// toolkit's libdevice, a file of bitcode; without it they are refused. Errors
/// name what is missing.
llvm::Expected<std::string> emitPtx(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef chip,
                                    llvm::StringRef libdevice);

/// The libdevice of the CUDA toolkit that CUDA_HOME names, or of the one in its
/// usual place; empty if there is none.
std::string findLibdevice();

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_PTXEMITTER_H
