//===- Windows.h - cumulative reductions ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_WINDOWS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_WINDOWS_H

#include "Lowering.h"

namespace remat::foreign {

/// For each element along `dim` what the associative `region` makes of all up
/// to it, or, `isReversed`, from it on. Its first arguments are the earlier
/// elements, or later ones.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
createCumulative(mlir::Operation *op, Lowering &lowering, mlir::Region &region,
                 mlir::ValueRange inputs, int64_t dim, bool isReversed);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_WINDOWS_H
