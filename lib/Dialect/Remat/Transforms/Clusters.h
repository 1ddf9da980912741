//===- Clusters.h - operations that become one kernel -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// Operations that become one task, in program order, next to each other but
/// for views. Where they work row by row each carries the attribute
/// `remat.rows`.
using Cluster = llvm::SmallVector<mlir::Operation *>;

/// Finds structured operations of `body` that are best done row by row:
/// normalizations, softmax, cross entropy, and attention with its contractions,
/// forward and backward; contractions with what a library makes of them in the
/// same call; and pads with what makes their source. Moves the
/// operations of a cluster together.
llvm::SmallVector<Cluster> formClusters(mlir::Block &body);

/// The cluster of each operation that is in one. Points into `clusters`.
llvm::DenseMap<mlir::Operation *, const Cluster *>
mapClusters(llvm::ArrayRef<Cluster> clusters);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERS_H
