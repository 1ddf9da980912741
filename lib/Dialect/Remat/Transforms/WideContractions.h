//===- WideContractions.h - rounding apart from contractions ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of blocks add up in f32. A batch of contractions whose results have
// 16 bits, as programs in bf16 have them that say each rounding, is one of f32
// there and an operation that rounds it, which is what a library computes, too.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_WIDECONTRACTIONS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_WIDECONTRACTIONS_H

#include "ClusterGrower.h"

namespace remat {

/// Contractions of a block that are in two parts while clusters grow.
class WideContractions {
public:
  /// Divides those that a cluster may have.
  explicit WideContractions(mlir::Block &body);

  /// Makes one operation again of each contraction that is in no cluster.
  void join(BlockInfo &info, llvm::MutableArrayRef<Cluster> clusters,
            llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

private:
  struct Parts {
    mlir::linalg::ContractOp contraction;
    mlir::linalg::GenericOp rounding;
  };
  llvm::SmallVector<Parts> divided;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_WIDECONTRACTIONS_H
