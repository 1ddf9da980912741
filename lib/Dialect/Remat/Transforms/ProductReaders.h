//===- ProductReaders.h - what reads a product ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PRODUCTREADERS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PRODUCTREADERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// The operations that read a product.
struct ProductReaders {
  /// Inputs of linalg.generic in the block of the product.
  llvm::SmallVector<mlir::OpOperand *> reads;
  /// Views of the product that they are, or that those stand on.
  llvm::SmallVector<mlir::Operation *> views;

  /// Finds all that reads `value` or a view of it; false if that is not only
  /// linalg.generic in `block`.
  bool collect(mlir::Value value, mlir::Block *block);
};

/// The contractions of `block` that make one tensor. What reads them may be
/// erased while they are rewritten, but none of them.
llvm::SmallVector<mlir::linalg::LinalgOp> getProducts(mlir::Block &block);

/// Whether somebody asked for something about `op` or what it makes.
bool hasPolicy(mlir::Operation *op);

/// Drops what `reader` does not need any more: scalars and inputs, or all of it
/// if its result is what it reads.
void simplifyReader(mlir::linalg::GenericOp reader);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PRODUCTREADERS_H
