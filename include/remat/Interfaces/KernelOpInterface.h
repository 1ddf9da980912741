//===- KernelOpInterface.h - operations that stay whole ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_INTERFACES_KERNELOPINTERFACE_H
#define REMAT_INTERFACES_KERNELOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace remat {

/// What an operation says of its time.
struct OpCost {
  /// Arithmetic in units of one addition, that of contractions aside.
  int64_t flops = 0;
  /// Arithmetic of contractions and convolutions, which run nearer to the
  /// peak of the machine. A multiplication and an addition count two.
  int64_t contractionFlops = 0;
  /// Bytes read from and written to memory if nothing is in a cache.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// What linalg::AggregatedOpInterface gives for `op`; a failure without a
/// diagnostic if `op` does not implement it.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
decomposeAggregate(mlir::Operation *op, mlir::OpBuilder &builder);

/// Replaces the operations under `root` that stay whole until here by their
/// parts, and parts that have parts by theirs. Returns whether
/// there were any. Fails with a diagnostic at an operation that has no parts.
mlir::FailureOr<bool> decomposeKernelOps(mlir::Operation *root);

} // namespace remat

#include "remat/Interfaces/KernelOpInterface.h.inc"

#endif // REMAT_INTERFACES_KERNELOPINTERFACE_H
