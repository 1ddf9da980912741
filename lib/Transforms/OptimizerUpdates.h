//===- OptimizerUpdates.h - what optimizers do with an element --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H
#define REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H

#include "remat/Transforms/Optimizer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat {

/// A scalar in the body of an update.
struct OptimizerScalar {
  mlir::OpBuilder *builder;
  mlir::Value value;

  OptimizerScalar constant(double number) const {
    return {builder, mlir::arith::ConstantOp::create(
                         *builder, value.getLoc(),
                         builder->getFloatAttr(value.getType(), number))};
  }
  template <typename Op>
  OptimizerScalar apply(OptimizerScalar other) const {
    return {builder, Op::create(*builder, value.getLoc(), value, other.value)};
  }
};

/// What is known of an element and what becomes of it.
struct OptimizedElement {
  OptimizerScalar weight, gradient;
  llvm::SmallVector<OptimizerScalar, 2> state;
};

/// Numbers that are the same for all elements; null where not used.
struct StepNumbers {
  /// The learning rate; of Adam corrected for a mean that began with zeros.
  OptimizerScalar rate;
  /// What AdamW and Lion multiply weights by.
  OptimizerScalar decay;
  /// Of Adam: what the root of the mean square is divided by, as that began
  /// with zeros, too.
  OptimizerScalar rootCorrection;
  /// Of SGD with dampening, i1: whether there is no momentum yet.
  OptimizerScalar isFirst;
  /// What gradients are multiplied by.
  OptimizerScalar clip;
};

/// Whether weights get smaller by themselves, not by way of their gradients.
bool decaysWeights(const OptimizerOptions &options);

/// The names of what is kept of each weight.
llvm::SmallVector<llvm::StringRef>
getStateNames(const OptimizerOptions &options);

/// Emits the update of `element` and makes weight and state the new ones.
void updateElement(const OptimizerOptions &options, OptimizedElement &element,
                   const StepNumbers &numbers);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H
