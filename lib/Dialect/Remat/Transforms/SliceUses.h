//===- SliceUses.h - how long tensors with slices are in use ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice may be read where it lies only if that keeps the tensor that it is a
// part of no longer than it is kept anyway.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SLICEUSES_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SLICEUSES_H

#include "ClusterGrower.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {

/// The uses of the tensors of a block that have slices. Operations do not move
/// while there is such an object: what was found out for one slice is kept for
/// the next one of the same tensor.
class SliceUses {
public:
  explicit SliceUses(const BlockInfo &info) : info(info) {}

  /// Whether what `slice` is a part of is in use from there to `reader`: only
  /// what reads it as well stands in between. An argument is in use as long as
  /// its buffer is its own.
  bool isInUseUntil(mlir::tensor::ExtractSliceOp slice,
                    mlir::Operation *reader);

  /// Whether something behind `reader` reads what `slice` is a part of.
  bool isInUseBehind(mlir::tensor::ExtractSliceOp slice,
                     mlir::Operation *reader);

private:
  /// All from `begin` up to `end` is a use of a tensor, and what follows is not
  /// if `isWhole`, or not known.
  struct Span {
    mlir::Operation *begin, *end;
    bool isWhole = false;
  };

  void extend(Span &span, mlir::tensor::ExtractSliceOp slice,
              mlir::Operation *until) const;
  mlir::Operation *findLastReader(mlir::Value value) const;

  const BlockInfo &info;
  llvm::DenseMap<mlir::Value, Span> spans;
  llvm::DenseMap<mlir::Value, mlir::Operation *> lastReaders;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SLICEUSES_H
