//===- KernelBufferization.h - kernels on buffers ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a kernel on tensors into one on memrefs that writes its results
// straight to destination arguments. Upstream's one-shot bufferization does the
// work; what stands here prepares the kernel so that no copies are left.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_KERNELBUFFERIZATION_H
#define REMAT_CODEGEN_KERNELBUFFERIZATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace remat::codegen {

/// A kernel on buffers in a module of its own, together with its constants.
struct BufferizedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Takes a memref for each argument of the kernel, then one for each result,
  /// and returns nothing.
  mlir::func::FuncOp function;
  /// For each argument the number of the one whose buffer it has: its own, or
  /// that of the operand that a result is written over.
  llvm::SmallVector<unsigned> buffers;
};

/// Bufferizes a copy of `kernel`, whose results lie where `inPlace` has
/// operands. Fails with a diagnostic at an op that cannot be bufferized.
mlir::FailureOr<BufferizedKernel>
bufferizeKernel(mlir::func::FuncOp kernel,
                llvm::ArrayRef<std::optional<unsigned>> inPlace = {});

/// Rewrites the ops of `kernel` whose bufferization would copy or allocate
/// more than the computation needs; part of bufferizeKernel.
mlir::LogicalResult prepareForBufferization(mlir::func::FuncOp kernel);

/// What bufferization needs to know about the dialects in kernels. To be called
/// before a context is made in which kernels are analyzed or lowered.
void registerKernelInterfaces(mlir::DialectRegistry &registry);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELBUFFERIZATION_H
