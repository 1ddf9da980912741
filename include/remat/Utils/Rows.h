//===- Rows.h - tiles of kernels that work row by row -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_ROWS_H
#define REMAT_UTILS_ROWS_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// Rows of a block: so many that a contraction in it is efficient on `target`,
/// if `rowBytes`, what is kept of each row, allows.
int64_t chooseBlockRows(int64_t rows, int64_t rowBytes, TargetAttr target);

/// Whether a contraction of three operands adds up in f32; its factors may be
/// narrower.
bool addsUpInF32(mlir::linalg::LinalgOp contraction);

/// Whether a contraction is one of two matrices at each point of all `rows` but
/// the last: of the three loops that are left, the last row among them, each is
/// in two of the three operands, and no two in the same. Sums of rows of a
/// block aside, none is longer than `sum_length` of the target. The columns of
/// the result are next to each other, and it is added up in f32.
bool isContractionInRow(mlir::linalg::LinalgOp contraction,
                        llvm::ArrayRef<int64_t> rows);

/// Whether the result of a contraction is not smaller than its factors.
bool isExpanding(mlir::linalg::LinalgOp contraction);

/// Whether an expanding contraction, whose result has at least three
/// dimensions, is one of a batch or is reduced row by row: scores of attention,
/// and logits. A kernel that works row by row does not write them to memory.
/// Others are layers of a network, for which a library takes less time.
bool makesScores(mlir::linalg::LinalgOp contraction);

} // namespace remat

#endif // REMAT_UTILS_ROWS_H
