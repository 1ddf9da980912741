//===- Foreign.cpp - a dialect of another project -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Foreign.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#include "ForeignDialect.cpp.inc"
#define GET_OP_CLASSES
#include "ForeignOps.cpp.inc"

void foreign::ForeignDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ForeignOps.cpp.inc"
      >();
}

void foreign::registerForeignDialect(mlir::DialectRegistry &registry) {
  registry.insert<ForeignDialect>();
}
