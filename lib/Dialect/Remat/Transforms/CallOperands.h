//===- CallOperands.h - constants that calls read ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CALLOPERANDS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CALLOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Puts constants that convolutions, with their biases, loops and codecs of the
/// caller read into buffers: these are calls in any case, and cannot make them
/// for themselves.
void materializeCallOperands(mlir::func::FuncOp func);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CALLOPERANDS_H
