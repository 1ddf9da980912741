//===- Foreign.h - a dialect of another project -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_LIB_FOREIGN_FOREIGN_H
#define REMAT_TEST_LIB_FOREIGN_FOREIGN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ForeignDialect.h.inc"
#define GET_OP_CLASSES
#include "ForeignOps.h.inc"

namespace foreign {

/// Registers the dialect.
void registerForeignDialect(mlir::DialectRegistry &registry);

/// Gives its operations derivative rules.
void registerForeignRules(mlir::DialectRegistry &registry);

/// Lets foreign.whole stay whole.
void registerForeignKernels(mlir::DialectRegistry &registry);

} // namespace foreign

#endif // REMAT_TEST_LIB_FOREIGN_FOREIGN_H
