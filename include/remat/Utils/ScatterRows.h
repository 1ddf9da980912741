//===- ScatterRows.h - sums of scatters in blocks of rows -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of a scatter may need more precision than its result has. They are
// made in a small buffer then, for some rows of the result at a time: every
// block of rows looks at all points, adds those that are in it, and is rounded.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_SCATTERROWS_H
#define REMAT_UTILS_SCATTERROWS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace remat {

class ScatterOp;

/// How the result of a scatter is cut into blocks.
struct ScatterRows {
  /// For each loop the dimension of the result whose index it is, or -1. All
  /// dimensions but `dim` are the indices of loops.
  llvm::SmallVector<int> ownedDims;
  /// The dimension of the result whose index is computed.
  unsigned dim;
  /// The loop of the last dimension of the result.
  unsigned inner;
  /// Indices of `dim` and of the last dimension in a block.
  int64_t rows, columns;
};

/// Sums that a block of a scatter may have, by the facts of the target.
int64_t countBlockSums(ScatterOp op);

/// The blocks of a scatter on tensors or memrefs, or nothing: one dimension of
/// the result is computed, from what does not depend on the loop of the last
/// dimension, all others are the indices of loops, and looking at the points
/// once for each block takes no longer than writing the sums, by the facts of
/// the target.
std::optional<ScatterRows> findScatterRows(ScatterOp op);

} // namespace remat

#endif // REMAT_UTILS_SCATTERROWS_H
