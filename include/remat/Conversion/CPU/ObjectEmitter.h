//===- ObjectEmitter.h - compile a step to files ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_CPU_OBJECTEMITTER_H
#define REMAT_CONVERSION_CPU_OBJECTEMITTER_H

#include "remat/Conversion/CPU/KernelCache.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace remat::cpu {

/// What machine code is for. Empty strings mean the host.
struct TargetOptions {
  /// As in `-mcpu`; a named CPU has the features that belong to it.
  std::string cpu;
};

/// How code is made. The code does not depend on `cache`.
struct EmitOptions {
  TargetOptions target;
  /// Where kernels are looked for and kept, or null.
  KernelCache *cache = nullptr;
};

/// Writes an object file with the code of `module`, which lowerToLLVM made.
llvm::Error emitObject(mlir::ModuleOp module, const EmitOptions &options,
                       llvm::raw_pwrite_stream &output);

/// Writes the assembly of the code, for inspection.
llvm::Error emitAssembly(mlir::ModuleOp module, const EmitOptions &options,
                         llvm::raw_pwrite_stream &output);

/// Writes a C99 header that declares the `remat_module` called `name`, says how
/// to run it, and describes arguments, results and memory. It is made from the
/// placed graph in `module`, so this must run before lowerToLLVM.
mlir::LogicalResult emitHeader(mlir::ModuleOp module, llvm::StringRef name,
                               llvm::raw_ostream &output);

/// The same code as object files that are to be linked, for the JIT. Compiled
/// on the threads of the module's context; the bytes do not depend on them.
llvm::Expected<std::vector<ObjectCode>>
emitObjects(mlir::ModuleOp module, const EmitOptions &options);

/// The machine that code is generated for.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetOptions &target, bool forJit);

} // namespace remat::cpu

#endif // REMAT_CONVERSION_CPU_OBJECTEMITTER_H
