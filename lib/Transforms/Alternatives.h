//===- Alternatives.h - another form of a function --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ALTERNATIVES_H
#define REMAT_LIB_TRANSFORMS_ALTERNATIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// A private copy of `function`, with `suffix` behind its name, that this names
/// as its alternative (`remat.alternative`).
mlir::func::FuncOp addAlternative(mlir::func::FuncOp function,
                                  llvm::StringRef suffix);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ALTERNATIVES_H
