//===- ObjectEmitter.h - compile a step to files ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_CPU_OBJECTEMITTER_H
#define REMAT_CONVERSION_CPU_OBJECTEMITTER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace remat::cpu {

/// What machine code is for. Empty strings mean the host.
struct TargetOptions {
  /// As in `-mcpu`; a named CPU has the features that belong to it.
  std::string cpu;
};

/// Writes an object file with the code of `module`, which lowerToLLVM made.
llvm::Error emitObject(mlir::ModuleOp module, const TargetOptions &target,
                       llvm::raw_pwrite_stream &output);

/// Writes the assembly of the code, for inspection.
llvm::Error emitAssembly(mlir::ModuleOp module, const TargetOptions &target,
                         llvm::raw_pwrite_stream &output);

/// Writes a C99 header that declares the `remat_module` called `name`, says how
/// to run it, and describes arguments, results and memory. It is made from the
/// placed graph in `module`, so this must run before lowerToLLVM.
mlir::LogicalResult emitHeader(mlir::ModuleOp module, llvm::StringRef name,
                               llvm::raw_ostream &output);

/// Pieces of the above, for the JIT: a target machine, and the optimized LLVM
/// IR of a module.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetOptions &target, bool forJit);
llvm::Expected<std::unique_ptr<llvm::Module>>
translateAndOptimize(mlir::ModuleOp module, llvm::TargetMachine &machine,
                     llvm::LLVMContext &context);

} // namespace remat::cpu

#endif // REMAT_CONVERSION_CPU_OBJECTEMITTER_H
