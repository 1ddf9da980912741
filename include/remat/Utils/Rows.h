//===- Rows.h - kernels that work row by row --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of several structured operations may walk the leading dimensions of
// its tensors once and do all operations on one row, or block of rows, before
// the next: what one operation hands to another then stays in the cache, and
// its tensor is never in memory. Task formation decides that; the attribute
// tells code generation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_ROWS_H
#define REMAT_UTILS_ROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// On each structured operation of such a kernel: the loops, in order, that
/// walk the rows (DenseI64ArrayAttr).
///
/// Whatever the operations exchange has the rows in its leading dimensions.
/// Where the kernel holds a product, blocks are made of the last of the loops,
/// in runs of as many rows as it has in the operation where it is shortest. A
/// product in which the last loops are reductions adds up over their blocks.
constexpr llvm::StringLiteral rowsAttrName = "remat.rows";

/// Beside it where the kernel holds a product: the rows of a block (i64).
constexpr llvm::StringLiteral blockAttrName = "remat.block";

/// The most bytes of one row of all that stays inside, and of a block of rows.
constexpr int64_t maxRowBytes = 192 << 10;
constexpr int64_t maxBlockBytes = 384 << 10;

/// The longest sum of a product: so many rows of a panel of one factor lie on
/// the stack.
constexpr int64_t maxSumLength = 16 << 10;

/// Rows of a block: so many that a product in it is efficient, if `rowBytes`
/// allows.
inline int64_t chooseBlockRows(int64_t rows, int64_t rowBytes) {
  int64_t block = rowBytes > 0 ? maxBlockBytes / rowBytes : rows;
  block = block < 64 ? block : 64;
  block -= block > 8 ? block % 8 : 0;
  return block < 1 ? 1 : block < rows ? block : rows;
}

/// Whether a product is one of two matrices at each point of all `rows` but
/// the last: of the three loops that are left, the last row among them, each is
/// in two of the three operands, and no two in the same. Sums of rows of a
/// block aside, none is longer than `maxSumLength`.
bool isMatrixProductInRow(mlir::linalg::LinalgOp product,
                          llvm::ArrayRef<int64_t> rows);

} // namespace remat

#endif // REMAT_UTILS_ROWS_H
