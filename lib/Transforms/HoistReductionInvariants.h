//===- HoistReductionInvariants.h - what leaves a sum -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum that reads a value which is the same for all of its terms can often do
// without it until it is complete. Then it need not wait for that value.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_HOISTREDUCTIONINVARIANTS_H
#define REMAT_LIB_TRANSFORMS_HOISTREDUCTIONINVARIANTS_H

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace remat {

/// How a sum of floats can be made without some of its inputs, which are the
/// same for all terms of a result: factors of products, sum(c * x) = c *
/// sum(x), leave the sum. Squares about a center m are summed about one of the
/// values x instead, in f64: with s any of them and d = m - s,
///   sum((x - m)^2) = sum((x - s)^2) - d (2 sum(x - s) - n d).
/// No digits are lost that matter: (s - mean)^2 is at most n times the variance
/// whatever the values are, so that the relative error is of the order of
/// n * 2^-53.
class SumSeparation {
public:
  /// Whether the sum `op` can do without the inputs for which `isLate` holds.
  bool match(mlir::linalg::GenericOp op,
             llvm::function_ref<bool(mlir::Value)> isLate);

  /// Whether anything leaves the matched sum.
  bool isTrivial() const {
    return outside.empty() && !isNegative && doublings == 0;
  }

  /// Replaces the matched operation and returns the sum in it.
  mlir::linalg::GenericOp rewrite(mlir::RewriterBase &rewriter);

private:
  /// A factor that is the same for all terms.
  struct Factor {
    mlir::Value value;
    bool isDivisor;
  };

  bool isInvariant(mlir::Value value);
  void findInvariants(llvm::function_ref<bool(mlir::Value)> isLate);
  void split(mlir::Value product);
  mlir::Value clone(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::IRMapping &mapping);
  mlir::linalg::GenericOp createSum(mlir::RewriterBase &rewriter);
  mlir::linalg::GenericOp createWhole(mlir::RewriterBase &rewriter,
                                      mlir::linalg::GenericOp sum);

  mlir::linalg::GenericOp op;
  /// Values of the body that are the same for all terms of a result, and those
  /// that late inputs are needed for.
  llvm::DenseSet<mlir::Value> invariant, late;
  /// A term is +-2^doublings times these factors.
  llvm::SmallVector<Factor> outside;
  llvm::SmallVector<mlir::Value> inside;
  bool isNegative = false;
  unsigned doublings = 0;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_HOISTREDUCTIONINVARIANTS_H
