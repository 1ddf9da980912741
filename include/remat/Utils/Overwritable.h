//===- Overwritable.h - operands that a kernel may write over ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_OVERWRITABLE_H
#define REMAT_UTILS_OVERWRITABLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// For each result of a kernel, the operands that it may overwrite: whoever
/// places results relies on it, and code generation asks again.
llvm::SmallVector<llvm::SmallVector<unsigned>>
findOverwritable(mlir::func::FuncOp kernel);

} // namespace remat

#endif // REMAT_UTILS_OVERWRITABLE_H
