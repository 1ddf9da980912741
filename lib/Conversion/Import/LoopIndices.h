//===- LoopIndices.h - which element an iteration selects -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_LOOPINDICES_H
#define REMAT_LIB_CONVERSION_IMPORT_LOOPINDICES_H

#include "LoopBounds.h"

#include "llvm/ADT/DenseMap.h"

namespace remat::import {

/// How the iterations of a loop go through what has an element for each.
enum class Order {
  /// Neither of the others.
  None,
  /// The n-th iteration selects element n.
  Forward,
  /// The first iteration selects the last element, and so on.
  Backward
};

/// Finds out what the indices are that iterations of one loop compute.
///
/// Exporters count from any number, with integers of any type, turn negative
/// indices around and move those that are out of bounds. Rather than to know
/// how, this computes what an index is in every iteration.
class LoopIndices {
public:
  LoopIndices(mlir::scf::ForOp loop, LoopBounds bounds)
      : loop(loop), bounds(bounds) {}

  /// The order in which `index` goes through the numbers from 0 to that of the
  /// iterations.
  Order findOrder(mlir::OpFoldResult index);

private:
  mlir::scf::ForOp loop;
  LoopBounds bounds;
  llvm::DenseMap<mlir::Value, Order> orders;
};

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_LOOPINDICES_H
