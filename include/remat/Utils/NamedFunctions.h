//===- NamedFunctions.h - functions that operations name --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_NAMEDFUNCTIONS_H
#define REMAT_UTILS_NAMEDFUNCTIONS_H

#include "mlir/IR/Operation.h"

namespace remat {

/// The function that `op` calls or differentiates; null if it does neither.
mlir::Operation *getNamedFunction(mlir::Operation *op);

/// Whether a derivative (remat.vjp, remat.jvp) is in `function`, or in one that
/// it calls.
bool holdsDerivative(mlir::Operation *function);

} // namespace remat

#endif // REMAT_UTILS_NAMEDFUNCTIONS_H
