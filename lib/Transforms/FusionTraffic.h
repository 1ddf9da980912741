//===- FusionTraffic.h - memory traffic of fused operations -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations several users compute for themselves, since that reads and
// writes less or takes less time. `remat-fuse-elementwise` asks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FUSIONTRAFFIC_H
#define REMAT_LIB_TRANSFORMS_FUSIONTRAFFIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CastInterfaces.h"

namespace remat {

/// Whether `op` is a cast of numbers.
inline bool isCast(mlir::Operation &op) {
  return mlir::isa<mlir::CastOpInterface>(op) &&
         mlir::isa<mlir::arith::ArithDialect>(op.getDialect());
}

/// Whether something other than a view reads `value`, or a view of it, once.
bool hasOneReader(mlir::Value value);

/// Whether the result of `op` is a tensor that nothing else needs, cast to
/// fewer bytes, perhaps with a bias: keeping the result takes less memory than
/// keeping that.
bool isNarrowing(mlir::linalg::GenericOp op);

/// Whether all users of `op` can do without its result at no cost in memory
/// traffic: centering in a normalization, for instance; or, once it is known
/// who reads it, at no cost in time.
/// With `keepNarrow`, readers may yet be added, and time is not asked for.
bool isAbsorbed(mlir::linalg::GenericOp op, bool keepNarrow);

/// Whether all users of `consumer` can do without its result once that is made
/// of what `producer` reads: the gradient of a ReLU behind a norm, whose mask
/// follows from what the gradient of the norm reads anyway.
bool completes(mlir::linalg::GenericOp producer,
               mlir::linalg::GenericOp consumer);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_FUSIONTRAFFIC_H
