//===- GradCheck.h - derivatives against finite differences -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the gradients that a compiled step computes in f64 with central
// differences of what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_GRADCHECK_H
#define REMAT_TOOLS_REMAT_RUN_GRADCHECK_H

#include "common/Tensor.h"

#include "remat/AutoDiff/AutoDiff.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace remat::run {

/// The derivatives to append to a function, and which arguments and results of
/// what is made are to be compared.
struct GradCheck {
  llvm::SmallVector<DifferentiateOptions, 2> derivatives;
  /// How many of `derivatives` it takes to compute `outputs`.
  size_t numForOutputs = 0;
  /// Arguments that are varied, results that are functions of them.
  llvm::SmallVector<int64_t> wrt, outputs;
  /// The numbers of the first argument that is a cotangent of `outputs` and of
  /// the first result that is a gradient by `wrt`.
  int64_t firstCotangent = 0, firstGradient = 0;
  /// The same for the tangents of `wrt` and those of `outputs`.
  int64_t firstTangent = 0, firstProduct = 0;

  /// The gradients of `entry` (order 1), or those of its vector-Jacobian
  /// product by arguments and cotangents (order 2).
  static GradCheck get(mlir::FunctionOpInterface entry,
                       llvm::ArrayRef<int64_t> wrt, int order);
};

using Evaluate = llvm::function_ref<llvm::Expected<std::vector<tools::Tensor>>(
    llvm::ArrayRef<tools::Tensor>)>;

/// Fills floating-point tensors with random numbers from `least` to `least` +
/// 0.8, the same each time, and others with zeros and ones.
void fillRandom(tools::Tensor &tensor, uint64_t seed, double least);

/// Whether no output is nan.
llvm::Expected<bool> isDefined(const GradCheck &check,
                               llvm::ArrayRef<tools::Tensor> arguments,
                               Evaluate evaluate);

/// Compares for each argument in `check.wrt` the gradients that `evaluate`
/// computes with central differences of what `evaluateOutputs` does, from the
/// arguments before `firstCotangent`: element by element, or, for an argument
/// of many elements, along random directions. Does the same for each output's
/// tangent, along the tangents of all arguments. Prints a line for each and
/// returns an error that tells argument or result, index and both values where
/// they differ most if that is too much: |a - b| > 1e-5 + 1e-3 |b|, as in
/// PyTorch's gradcheck.
llvm::Error checkGradients(const GradCheck &check,
                           std::vector<tools::Tensor> &arguments,
                           Evaluate evaluate, Evaluate evaluateOutputs);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_GRADCHECK_H
