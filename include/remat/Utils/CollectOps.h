//===- CollectOps.h - operations of one kind --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_COLLECTOPS_H
#define REMAT_UTILS_COLLECTOPS_H

#include "mlir/IR/Operation.h"

namespace remat {

/// The operations of one kind in `root`, itself included, those in regions
/// before the ones around them: for changes that a walk does not allow.
template <typename OpT>
llvm::SmallVector<OpT> collectOps(mlir::Operation *root) {
  llvm::SmallVector<OpT> ops;
  root->walk([&](OpT op) { ops.push_back(op); });
  return ops;
}

} // namespace remat

#endif // REMAT_UTILS_COLLECTOPS_H
