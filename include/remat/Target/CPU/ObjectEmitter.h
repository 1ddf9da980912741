//===- ObjectEmitter.h - compile a step to files ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_OBJECTEMITTER_H
#define REMAT_TARGET_CPU_OBJECTEMITTER_H

#include "remat/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <vector>

namespace remat::cpu {

using codegen::ObjectCode;

/// Writes an object file with the code of `module`, which lowerToLLVM made.
llvm::Error emitObject(mlir::ModuleOp module, const EmitOptions &options,
                       llvm::raw_pwrite_stream &output);

/// Writes the assembly of the code, for inspection.
llvm::Error emitAssembly(mlir::ModuleOp module, const EmitOptions &options,
                         llvm::raw_pwrite_stream &output);

/// The same code as object files that are to be linked, for the JIT. Compiled
/// on the threads of the module's context; the bytes do not depend on them.
llvm::Expected<std::vector<ObjectCode>> emitObjects(mlir::ModuleOp module,
                                                    const EmitOptions &options);

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_OBJECTEMITTER_H
