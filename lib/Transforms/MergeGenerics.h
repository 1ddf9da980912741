//===- MergeGenerics.h - one operation in the place of several --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_MERGEGENERICS_H
#define REMAT_LIB_TRANSFORMS_MERGEGENERICS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// Replaces `ops`, which have the same loops, by one operation with the results
/// of all of them, in their order. It is where the builder is, and has the
/// attributes of the first of them. What one of them reads of an earlier one is
/// not read any more: where it does so by the map of the result, that is there
/// at each point of the loops, and it has to do so.
mlir::linalg::GenericOp
mergeGenerics(mlir::RewriterBase &rewriter,
              llvm::ArrayRef<mlir::linalg::GenericOp> ops);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_MERGEGENERICS_H
