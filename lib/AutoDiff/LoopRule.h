//===- LoopRule.h - derivatives of loops that stay loops --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_LOOPRULE_H
#define REMAT_LIB_AUTODIFF_LOOPRULE_H

#include "Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Lets each `remat.loop` of `function` stack what it carries at the start of
/// its iterations, which its derivative in reverse reads.
llvm::LogicalResult stackStates(mlir::func::FuncOp function);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_LOOPRULE_H
