//===- SumInvariants.h - what leaves a sum --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum that reads a value which is the same for all of its terms can often do
// without it until it is complete. Then it need not wait for that value.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_SUMINVARIANTS_H
#define REMAT_LIB_CONVERSION_IMPORT_SUMINVARIANTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace remat::import {

/// How a sum of floats can be made without some of its inputs, which are the
/// same for all terms of a result: sum(c * x) is c * sum(x), and likewise for
/// x / c, -x and x + x.
class SumSeparation {
public:
  /// Whether the sum `op` can do without the inputs for which `isLate` holds.
  bool match(mlir::linalg::GenericOp op,
             llvm::function_ref<bool(mlir::Value)> isLate);

  /// Replaces the matched operation and returns the sum in it.
  mlir::linalg::GenericOp rewrite(mlir::RewriterBase &rewriter);

private:
  mlir::Value clone(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::IRMapping &mapping);
  mlir::linalg::GenericOp createSum(mlir::RewriterBase &rewriter);

  mlir::linalg::GenericOp op;
  /// Values of the body that are the same for all terms of a result.
  llvm::DenseSet<mlir::Value> invariant;
  /// What is added to each term; the part of it that is summed instead.
  mlir::Value term, rest;
};

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_SUMINVARIANTS_H
