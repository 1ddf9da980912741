//===- TensorParts.h - tensors that are made of slices ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_TENSORPARTS_H
#define REMAT_UTILS_TENSORPARTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace remat {

/// A slice of a tensor, as `tensor.insert_slice` puts `value` there. There is
/// an offset, a size and a stride for each dimension of the tensor; `value` may
/// lack some of those of size one.
struct TensorPart {
  TensorPart(mlir::Value value, llvm::ArrayRef<int64_t> offsets,
             llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides)
      : value(value), offsets(offsets), sizes(sizes), strides(strides) {}

  /// Whether the slices have an element in common, or may have one. Slices with
  /// strides are apart if their steps never meet, such as those of even and of
  /// odd places.
  bool overlaps(const TensorPart &other) const;

  mlir::Value value;
  llvm::SmallVector<int64_t> offsets, sizes, strides;
};

/// A tensor of `type` with the values of `parts`, of its element type, which do
/// not overlap, and with zeros elsewhere. It is a concatenation if the parts
/// are all of it, one behind the other in some dimension.
mlir::Value createFromParts(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::RankedTensorType type,
                            llvm::MutableArrayRef<TensorPart> parts);

} // namespace remat

#endif // REMAT_UTILS_TENSORPARTS_H
