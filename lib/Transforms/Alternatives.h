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

/// A private copy of `function` that is called by its name with `suffix`, and
/// copies of the functions that loops in it run, which the loops in the copies
/// run: the copy of `function` is the first one.
llvm::SmallVector<mlir::func::FuncOp>
cloneWithBodies(mlir::func::FuncOp function, llvm::StringRef suffix);

/// `function` and what cloneWithBodies copies with it.
llvm::SmallVector<mlir::func::FuncOp>
collectWithBodies(mlir::func::FuncOp function);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ALTERNATIVES_H
