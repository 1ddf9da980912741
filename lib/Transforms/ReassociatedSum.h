//===- ReassociatedSum.h - a sum in the shorter order -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_REASSOCIATEDSUM_H
#define REMAT_LIB_TRANSFORMS_REASSOCIATEDSUM_H

#include "ElementProducts.h"

namespace remat {

/// How the results of a sum over some of its loops are made from the sums of a
/// product of two elements over other indices.
struct ReassociatedSum {
  mlir::linalg::GenericOp op;
  mlir::FloatType type;
  IndexParts parts;
  /// Indices of the loops of `op`, and those that the new sum is over.
  llvm::SmallVector<PartedIndex> loops, inner;
  Access first, second;
  /// What the new sum is multiplied with.
  ElementProduct scale;
};

/// Replaces the operation.
void rewriteSum(mlir::RewriterBase &rewriter, const ReassociatedSum &sum);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_REASSOCIATEDSUM_H
