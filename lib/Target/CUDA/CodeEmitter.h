//===- CodeEmitter.h - the code of a step for devices -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_CODEEMITTER_H
#define REMAT_LIB_TARGET_CUDA_CODEEMITTER_H

#include "remat/Target/Target.h"

namespace remat::cuda {

/// A device that code is made for.
struct Chip {
  llvm::StringLiteral name;
  /// 90 is 9.0.
  unsigned capability;
};

/// The devices that `name` stands for: one, or, if it is empty, all. An error
/// names those there are.
llvm::Expected<llvm::SmallVector<const Chip *>> findChips(llvm::StringRef name);

/// The contents of remat_module::device_code (DeviceCode.h): each `gpu.module`
/// of `module`, which is lowered in place, is a unit with a cubin for each
/// known device and PTX for newer ones, or, without a toolkit, with PTX alone.
llvm::Expected<std::string> emitDeviceCode(mlir::ModuleOp module,
                                           const EmitOptions &options);

/// The PTX of all units in one file, for the device that the options name.
llvm::Expected<std::string> emitAllPtx(mlir::ModuleOp module,
                                       const EmitOptions &options);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_CODEEMITTER_H
