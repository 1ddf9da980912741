//===- AutoDiff.h - differentiation of functions ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse-mode differentiation of straight-line functions on tensors. The
// rules and their conventions are listed in docs/differentiation.md.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_AUTODIFF_H
#define REMAT_AUTODIFF_AUTODIFF_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// What to differentiate with respect to what.
struct DifferentiateOptions {
  /// Numbers of the arguments to differentiate with respect to. Empty: all
  /// floating-point arguments.
  llvm::SmallVector<int64_t> wrt;
  /// Number of the result to differentiate, which must have one element.
  /// Negative numbers count from the end.
  int64_t result = -1;
  /// Differentiate all floating-point results instead. The function gets one
  /// more argument for each of them, which is its cotangent.
  bool cotangents = false;
};

/// Appends the backward computation to `function`, which then returns the
/// gradient of the chosen result with respect to each chosen argument after
/// its own results. A gradient that does not exist is a zero.
///
/// The forward operations stay as they are. The backward operations follow
/// them in reverse order of what they differentiate and carry the attribute
/// `remat.backward`. On failure an error has been reported at the operation
/// that is to blame, and `function` is unchanged.
llvm::LogicalResult differentiate(mlir::func::FuncOp function,
                                  const DifferentiateOptions &options);

/// Attaches the derivative rules to the operations of arith, math, linalg and
/// tensor and to those of remat.
void registerAutoDiffModels(mlir::DialectRegistry &registry);

} // namespace remat

#endif // REMAT_AUTODIFF_AUTODIFF_H
