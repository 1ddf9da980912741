//===- StackSyntax.h - the type that a stack is written with ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the formats of remat.stack and remat.unstack call.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_IR_STACKSYNTAX_H
#define REMAT_LIB_DIALECT_REMAT_IR_STACKSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace remat {

/// Reads the type of a stack, which says those of its elements. More elements
/// than an operation can have are an error.
mlir::ParseResult parseStack(mlir::OpAsmParser &parser,
                             llvm::SmallVectorImpl<mlir::Type> &elements,
                             mlir::Type &stack);

void printStack(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange,
                mlir::Type stack);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_IR_STACKSYNTAX_H
