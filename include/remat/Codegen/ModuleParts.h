//===- ModuleParts.h - a module of code in parts ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_MODULEPARTS_H
#define REMAT_CODEGEN_MODULEPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <utility>
#include <vector>

namespace remat::codegen {

/// A part of a module that is compiled on its own.
struct ModulePart {
  mlir::OwningOpRef<mlir::ModuleOp> code;
  /// What a kernel is, whatever it is called and where it came from: equal
  /// kernels have equal keys. Empty for the variables.
  std::string key;
  /// Names in `code`, and what these symbols are called in the module.
  std::vector<std::pair<std::string, std::string>> names;
};

/// A hash of the code in `op`, which says nothing of where it came from.
std::string hashCode(mlir::Operation *op);

/// Splits a module in the LLVM dialect into its distinct kernels, which are its
/// external functions, and its external variables, which come first. With each
/// goes what is internal to the module and needed by it. A kernel is called
/// after its key, its internal symbols by number. The split depends on nothing
/// but the module.
std::vector<ModulePart> splitModule(mlir::ModuleOp module);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_MODULEPARTS_H
