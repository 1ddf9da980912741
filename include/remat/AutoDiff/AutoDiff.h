//===- AutoDiff.h - differentiation of functions ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation of straight-line functions on tensors, in reverse and
// forwards. The rules and their conventions are listed in
// docs/differentiation.md.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_AUTODIFF_H
#define REMAT_AUTODIFF_AUTODIFF_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// What to differentiate with respect to what.
struct DifferentiateOptions {
  enum Mode {
    /// The gradient of one result, which must have one element.
    Gradient,
    /// The vector-Jacobian product: the function gets one more argument for
    /// each chosen result, which is its cotangent, and one more result for
    /// each chosen argument.
    Reverse,
    /// The Jacobian-vector product: the function gets one more argument for
    /// each chosen argument, which is its tangent, and one more result for
    /// each chosen result.
    Forward,
  };
  Mode mode = Gradient;
  /// Numbers of the arguments to differentiate with respect to. Empty: all
  /// floating-point arguments.
  llvm::SmallVector<int64_t> wrt;
  /// Number of the result to differentiate (Gradient). Negative numbers count
  /// from the end.
  int64_t result = -1;
  /// Numbers of the results to differentiate (Reverse, Forward). Empty: all
  /// floating-point results.
  llvm::SmallVector<int64_t> results;
  /// Names of `remat.tag`s: their gradients follow those of the arguments
  /// (Gradient, Reverse).
  llvm::SmallVector<std::string> tags;
  /// Add the gradients to what is in additional arguments, one for each
  /// (Gradient, Reverse).
  bool accumulate = false;
  /// Say of each result that is a gradient which argument it is of
  /// (`remat.gradient`).
  bool markGradients = false;
  /// Differentiate functions that exporters write out (a sigmoid, an elu) as a
  /// whole and not part by part, which gives other values at singular points.
  bool idioms = true;
};

/// What a derivative came across.
struct DifferentiateStatistics {
  /// Operations that were differentiated as the end of such a function.
  int64_t numIdioms = 0;
};

/// Makes `function` return the derivative after its own results. A gradient
/// or tangent that does not exist is a zero.
///
/// The operations of the function stay as they are, in their order. In
/// reverse, those of the derivative follow them in reverse order of what they
/// differentiate and carry the attribute `remat.backward`. Forwards, each
/// operation is followed by those of its tangents. As the result is such a
/// function again, derivatives of any order are made by repetition: the
/// forward derivative of a reverse one has Hessian-vector products.
///
/// Rules that the function has as attributes are attached first.
///
/// On failure an error has been reported at the operation that is to blame,
/// and `function` computes what it did. What is found is added to `statistics`.
llvm::LogicalResult
differentiate(mlir::func::FuncOp function, const DifferentiateOptions &options,
              DifferentiateStatistics *statistics = nullptr);

/// Whether attributes of `function` name rules for its derivative.
bool hasRules(mlir::func::FuncOp function);

/// Puts the rules that attributes of `function` name into its body, as a
/// `remat.custom_rule` that calls them, and drops the attributes: whoever
/// differentiates or inlines the function meets them there. Fails with a
/// diagnostic if a rule does not fit.
llvm::LogicalResult attachRules(mlir::func::FuncOp function);

/// Attaches the derivative rules to the operations of arith, math, linalg and
/// tensor and to those of remat.
void registerAutoDiffModels(mlir::DialectRegistry &registry);

} // namespace remat

#endif // REMAT_AUTODIFF_AUTODIFF_H
