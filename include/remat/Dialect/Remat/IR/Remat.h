//===- Remat.h - ops, attributes and types of the dialect -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ face of the remat dialect. The ops themselves are documented in the
// .td files beside this one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMAT_H
#define REMAT_DIALECT_REMAT_IR_REMAT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/KnownAttributes.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Interfaces/RecomputableOpInterface.h"

#include "remat/Dialect/Remat/IR/RematDialect.h.inc"
#include "remat/Dialect/Remat/IR/RematEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.h.inc"

namespace remat {

/// The types of the elements of the first dimension of `stack`, a ranked
/// tensor; none if it has no static first dimension.
llvm::SmallVector<mlir::Type> getStackElementTypes(mlir::Type stack);

} // namespace remat

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.h.inc"

namespace remat {

/// The kernel that copy `copy` of a task with `kernel` calls if the kernel
/// reads the copy's number (`remat.copy_number`).
std::string getCopyKernelName(llvm::StringRef kernel, int64_t copy);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_REMAT_H
