//===- HeaderEmitter.h - the C header of a step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_HEADEREMITTER_H
#define REMAT_CODEGEN_HEADEREMITTER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace remat::codegen {

/// Writes a C99 header that declares the `remat_module` called `name`, says how
/// to run it, and describes arguments, results and memory. It is made from the
/// placed graph in `module`, so this must run before the module is
/// lowered.
mlir::LogicalResult emitHeader(mlir::ModuleOp module, llvm::StringRef name,
                               llvm::raw_ostream &output);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_HEADEREMITTER_H
