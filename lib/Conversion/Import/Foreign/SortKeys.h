//===- SortKeys.h - comparisons of keys -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTKEYS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTKEYS_H

#include "Lowering.h"

namespace remat::foreign {

/// How integers or numbers of floating point are ordered. In their total order,
/// floating-point numbers are -nan, -inf, ..., -0, 0, ..., inf, nan. Otherwise
/// both zeros are one, and all nans are the greatest.
struct KeyOrder {
  bool isUnsigned = false, isDescending = false, isTotal = false;
};

/// A signed integer in the order of the scalars of the type of `value`.
mlir::Value createKey(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, KeyOrder order);

/// The keys of a sort whose region compares what one function makes of both
/// elements, or several such, of which the later ones count where all earlier
/// ones are equal. None if the region does something else. `inputs` are what is
/// sorted, and have the shape of the keys.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
createRegionKeys(mlir::Operation *sort, Lowering &lowering,
                 llvm::ArrayRef<mlir::Value> inputs);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTKEYS_H
