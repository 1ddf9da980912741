//===- ModuleParts.h - a module of code in parts ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_MODULEPARTS_H
#define REMAT_LIB_CONVERSION_CPU_MODULEPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace remat::cpu {

/// Splits a module in the LLVM dialect so that its parts can be compiled on
/// their own, and linked: each holds some of the external functions, with what
/// is internal to the module and needed by them, so that internal symbols may
/// be in several parts. The first part holds the external variables. The split
/// depends on nothing but the module.
llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>>
splitModule(mlir::ModuleOp module);

} // namespace remat::cpu

#endif // REMAT_LIB_CONVERSION_CPU_MODULEPARTS_H
