//===- Sorts.h - sorting by any comparison ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTS_H

#include "Lowering.h"

namespace remat::foreign {

/// Builds whether the element with the first keys comes before the other one.
using IsBefore = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value>,
    llvm::ArrayRef<mlir::Value>)>;

/// The permutation that exchanges `dim` and the last dimension.
llvm::SmallVector<int64_t> exchangeLast(int64_t rank, int64_t dim);

/// The numbers of the elements along the last dimension of `keys`, in their
/// order. Equal elements stay in the order that they have.
mlir::Value createOrder(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> keys, IsBefore isBefore);

/// The elements of `value` along the last dimension that `order` numbers.
mlir::Value createReadInOrder(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value value, mlir::Value order);

/// The `k` largest, or smallest, elements along the last dimension, in order,
/// and their numbers.
llvm::FailureOr<std::pair<mlir::Value, mlir::Value>>
createTopK(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
           int64_t k, bool isUnsigned, bool isLargest);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SORTS_H
