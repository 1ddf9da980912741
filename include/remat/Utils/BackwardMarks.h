//===- BackwardMarks.h - operations of the backward computation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the backward computation carry the attribute `remat.backward`.
// Upstream patterns drop such attributes when they replace operations, but keep
// locations. Around such patterns the mark therefore moves into locations.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_BACKWARDMARKS_H
#define REMAT_UTILS_BACKWARDMARKS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace remat {

/// Whether `op` belongs to the backward computation of a joint function.
bool isBackward(mlir::Operation *op);

/// The location that marks an operation as part of the backward computation:
/// one named `remat.backward` around `loc`. Passes keep locations where they
/// drop attributes.
mlir::Location getBackwardLoc(mlir::Location loc);

/// Whether `loc` was made by `getBackwardLoc`.
bool isBackwardLoc(mlir::Location loc);

/// Moves the attribute `remat.backward` of all operations in `root` into their
/// locations.
void backwardToLocations(mlir::Operation *root);

/// The inverse of `backwardToLocations`.
void backwardToAttributes(mlir::Operation *root);

} // namespace remat

#endif // REMAT_UTILS_BACKWARDMARKS_H
