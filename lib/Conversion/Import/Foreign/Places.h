//===- Places.h - places in a tensor that indices select --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_PLACES_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_PLACES_H

#include "Lowering.h"

namespace remat::foreign {

/// Many places in a tensor.
struct Places {
  /// One tensor of integers for each dimension that is indexed.
  llvm::SmallVector<mlir::Value> parts;
  llvm::SmallVector<int64_t> dims;
  /// How many places there are in each direction.
  llvm::SmallVector<int64_t> shape;
  bool isUnsigned = false;
};

/// Splits `indices`, in which `vectorDim` goes through the numbers of a place,
/// which belong to the dimensions `indexMap`.
std::optional<Places> findPlaces(mlir::Operation *op, Lowering &lowering,
                                 mlir::Value indices,
                                 llvm::ArrayRef<int64_t> indexMap,
                                 int64_t vectorDim);

/// Whether the dimensions `dims` of a tensor and those of its indices say the
/// same batches.
bool areBatches(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims,
                mlir::RankedTensorType indices,
                llvm::ArrayRef<int64_t> indexDims, int64_t vectorDim);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_PLACES_H
