//===- LoopBodies.h - functions made of bodies of loops ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_LOOPBODIES_H
#define REMAT_LIB_AUTODIFF_LOOPBODIES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// The function that `loop` runs, which must be straight-line code.
llvm::FailureOr<mlir::func::FuncOp> getBody(LoopOp loop);

/// Puts `function` behind `body`, private, without attributes of arguments and
/// results, and with a name that begins with that of `body`.
void insertBehind(mlir::func::FuncOp body, mlir::func::FuncOp function,
                  llvm::StringRef suffix);

/// A copy of `body` behind it.
mlir::func::FuncOp copyBehind(mlir::func::FuncOp body, llvm::StringRef suffix);

/// Lets each `remat.loop` of `function` stack what its derivative in reverse
/// reads: what it carries at the start of each iteration, and what iterations
/// make of that.
llvm::LogicalResult stackSaved(mlir::func::FuncOp function);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_LOOPBODIES_H
