//===- StepModule.h - a placed graph as a module of code --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code of a step is made of on any machine that runs kernels as host
// functions: one function for each distinct kernel, and for each way in which
// its results are written over operands; the step table; and the `remat_module`
// that holds them (StepTable.h). How a kernel becomes a function is up to the
// target.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_STEPMODULE_H
#define REMAT_CODEGEN_STEPMODULE_H

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/StepTableEmission.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace remat::codegen {

/// How a target makes functions of kernels.
class KernelCompiler {
public:
  virtual ~KernelCompiler();

  /// Whether kernels are launched on a device. Then `compile` sets what the
  /// step table says of them, `code` gets no functions of kernels, and whoever
  /// emits it defines the variable called as getDeviceCodeName says.
  virtual bool isForDevice() const { return false; }

  /// The flags of the step table.
  virtual uint64_t getTableFlags() const { return 0; }

  /// The library call that carries `kernel` out, or null if code is generated.
  virtual LibraryCallRef match(mlir::func::FuncOp kernel) const;

  /// Scratch bytes of the call, which `match` gave.
  virtual int64_t getWorkspaceBytes(const LibraryCall &call, int threads) const;

  /// Emits `kernel` into `code`. Its function will be called `symbol`, and is
  /// made when all kernels are there. Sets what the step table has to know
  /// beside the function's number. Fails with a diagnostic at what cannot be
  /// compiled.
  virtual mlir::LogicalResult compile(mlir::func::FuncOp kernel,
                                      llvm::StringRef symbol,
                                      mlir::ModuleOp code, CheckList &checks,
                                      CompiledKernel &result) = 0;

  /// Lowers all of `code` to the LLVM dialect, with a function of type
  /// remat_kernel_fn for each kernel.
  virtual mlir::LogicalResult finish(mlir::ModuleOp code) = 0;
};

/// Replaces the contents of `module`, one placed remat.graph and the kernels
/// that it calls, by functions and globals of the LLVM dialect that define one
/// `remat_module` called `name`. Contractions and convolutions that a library
/// carries out are described in the step table, with workspaces for `threads`
/// threads. Fails with a diagnostic at what cannot be compiled.
mlir::LogicalResult lowerStep(mlir::ModuleOp module, llvm::StringRef name,
                              int threads, KernelCompiler &compiler);

/// The only graph of `module`, which must be placed; else a diagnostic.
mlir::FailureOr<GraphOp> findPlacedGraph(mlir::ModuleOp module);

/// The symbol of what remat_module::device_code of the step points to.
std::string getDeviceCodeName(llvm::StringRef step);

/// The type of a remat_kernel_fn.
mlir::LLVM::LLVMFunctionType getKernelType(mlir::MLIRContext *context);

/// Creates a remat_kernel_fn and leaves `builder` in its body, which the caller
/// ends.
mlir::LLVM::LLVMFuncOp createKernelFunction(mlir::OpBuilder &builder,
                                            mlir::Location loc,
                                            llvm::StringRef symbol);

/// The pointer `number` of those that `buffers` points to.
mlir::Value loadPointer(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value buffers, int32_t number);

/// `offset` bytes behind `pointer`.
mlir::Value offsetPointer(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value pointer, int64_t offset);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_STEPMODULE_H
