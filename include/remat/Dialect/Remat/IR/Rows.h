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

#ifndef REMAT_DIALECT_REMAT_IR_ROWS_H
#define REMAT_DIALECT_REMAT_IR_ROWS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On each structured operation of such a kernel: the loops, in order, that
/// walk the rows (DenseI64ArrayAttr).
///
/// Whatever the operations exchange has the rows in its leading dimensions.
/// Where the kernel holds a contraction, blocks are made of the last of the
/// loops, in runs of as many rows as it has in the operation where it is
/// shortest. A contraction in which the last loops are reductions adds up over
/// their blocks; an operation behind it that has no attribute `remat.block` is
/// done with what was added up, for each index of the loops that are none.
constexpr llvm::StringLiteral rowsAttrName = "remat.rows";

/// Beside it where the kernel holds a contraction: the rows of a block (i64).
/// What is made of complete sums does not have it.
constexpr llvm::StringLiteral blockAttrName = "remat.block";

/// On an elementwise operation of such a kernel with contractions alone: it
/// makes a factor of contractions that is the same for all rows of a run, or of
/// several runs that follow each other. `remat.rows` are its loops that walk
/// the runs.
constexpr llvm::StringLiteral factorAttrName = "remat.factor";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_ROWS_H
