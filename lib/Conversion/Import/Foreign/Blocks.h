//===- Blocks.h - triangular systems and factors in blocks ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large matrices are halved: a system is two of half the size and a product,
// and a factor is two of half the size, a system and a product. What is not
// large is a loop over rows or columns, so that a step takes no longer to
// compile for more of them, and has a rule for its derivative. Of what is
// small, each row or column is one elementwise operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_BLOCKS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_BLOCKS_H

#include "Factorizations.h"

namespace remat::foreign {

/// Matrices up to this size are no loops. An operation has twice as many
/// operands at most.
inline constexpr int64_t smallSize = 8;

/// On matrices in the last two dimensions of tensors.
class Blocks {
public:
  Blocks(mlir::OpBuilder &builder, mlir::Location loc,
         bool hasUnitDiagonal = false)
      : builder(builder), loc(loc), hasUnitDiagonal(hasUnitDiagonal) {}

  /// The x with a x = b, where one triangle of `a` counts as zeros.
  mlir::Value solve(mlir::Value a, mlir::Value b, bool isLower);
  /// The lower triangular l with l l^T = a, whose upper triangle is not read.
  mlir::Value factor(mlir::Value a);
  mlir::Value transpose(mlir::Value matrix);
  /// `factor` if its last element is a number, else that in all places: so a
  /// matrix that has no factor is seen at once.
  mlir::Value spoil(mlir::Value factor);

private:
  static int64_t getSize(mlir::Value matrix) {
    return llvm::cast<mlir::RankedTensorType>(matrix.getType())
        .getShape()
        .back();
  }
  static int64_t getRank(mlir::Value matrix) {
    return llvm::cast<mlir::RankedTensorType>(matrix.getType()).getRank();
  }
  mlir::Value solveSmall(mlir::Value a, mlir::Value b, bool isLower);
  mlir::Value factorSmall(mlir::Value a);
  mlir::Value solveInLoop(mlir::Value a, mlir::Value b, bool isLower);
  mlir::Value factorInLoop(mlir::Value a);
  /// The map of loops over batches and `loops - batches` others to the batches
  /// and `exprs`.
  mlir::AffineMap makeMap(int64_t batches, int64_t loops,
                          llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value slice(mlir::Value matrix, int64_t row, int64_t rows,
                    int64_t column, int64_t columns);
  mlir::Value concat(int64_t dimFromEnd, mlir::ValueRange parts);
  /// c - a b, or c - a b^T.
  mlir::Value subtractProduct(mlir::Value c, mlir::Value a, mlir::Value b,
                              bool isTransposed);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool hasUnitDiagonal;
};

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_BLOCKS_H
