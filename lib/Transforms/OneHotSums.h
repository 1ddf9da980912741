//===- OneHotSums.h - sums of rows with one number --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ONEHOTSUMS_H
#define REMAT_LIB_TRANSFORMS_ONEHOTSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Lets sums of rows that are zero but for one element read that alone, and
/// returns how many there are. No bit changes.
unsigned sumOneHots(mlir::func::FuncOp function);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ONEHOTSUMS_H
