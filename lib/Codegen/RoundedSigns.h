//===- RoundedSigns.h - what is above zero before rounding ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_ROUNDEDSIGNS_H
#define REMAT_LIB_CODEGEN_ROUNDEDSIGNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::codegen {

/// Lets comparisons with zero in a kernel look through roundings and maxima
/// with zero, of which they need no result.
void compareBeforeRounding(mlir::func::FuncOp kernel);

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_ROUNDEDSIGNS_H
