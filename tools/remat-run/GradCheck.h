//===- GradCheck.h - derivatives against finite differences -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the derivatives that a compiled step computes in f64 with central
// differences of what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_GRADCHECK_H
#define REMAT_TOOLS_REMAT_RUN_GRADCHECK_H

#include "GradPoint.h"

#include "remat/AutoDiff/AutoDiff.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat::run {

/// The derivatives to append to a function, and which arguments and results of
/// what is made are to be compared.
struct GradCheck {
  llvm::SmallVector<DifferentiateOptions, 2> derivatives;
  /// How many of `derivatives` it takes to compute `outputs`, and the arguments
  /// that this takes.
  size_t numForOutputs = 0, numArguments = 0;
  /// Arguments that are varied, results that are functions of them.
  llvm::SmallVector<int64_t> wrt, outputs;
  /// The numbers of the first argument that is a cotangent of `outputs` and of
  /// the first result that is a gradient by `wrt`.
  int64_t firstCotangent = 0, firstGradient = 0;
  /// The same for the tangents of `wrt` and those of `outputs`.
  int64_t firstTangent = 0, firstProduct = 0;
  /// Whether there are gradients, or tangents only.
  bool hasGradients = true;

  /// The gradients of `entry` (order 1), or those of its vector-Jacobian
  /// product by arguments and cotangents (order 2). An error if there is
  /// nothing to differentiate.
  static llvm::Expected<GradCheck> get(mlir::FunctionOpInterface entry,
                                       llvm::ArrayRef<int64_t> wrt, int order,
                                       bool forwardOnly);
};

/// As the parameters of PyTorch's gradcheck.
struct GradCheckOptions {
  double eps = 1e-6, atol = 1e-5, rtol = 1e-3, nondetTol = 0;
  uint64_t seed = 0;
  /// One random direction for each argument instead of single elements.
  bool fast = false;
  /// The model's arguments are given: there is one point.
  bool isGiven = false;
  bool allowSkipped = false;
  /// Say on standard error how far it is.
  bool showsProgress = false;
};

/// The comparisons of one result, by one argument or, forward, by all at once.
struct GradComparison {
  bool isForward = false;
  std::optional<int64_t> argument;
  int64_t result = 0;
  /// What was compared is one number for each direction, or forward each
  /// element of the result.
  size_t numCompared = 0, numSkipped = 0;
  /// Where |analytic - numeric| is the largest share of what is allowed: an
  /// element of the argument, or forward of the result, or a direction.
  struct Worst {
    size_t index = 0;
    bool isDirection = false;
    double analytic = 0, numeric = 0, share = 0;
  };
  std::optional<Worst> worst;

  double getShare() const { return worst ? worst->share : 0; }
};

struct GradCheckReport {
  std::string mode;
  size_t numPoints = 0, numCompared = 0, numSkipped = 0;
  std::vector<GradComparison> comparisons;
  /// What is wrong, empty if nothing is.
  std::string failure;

  /// A line for each argument and result.
  void print(llvm::raw_ostream &os) const;
  llvm::Error write(llvm::StringRef path,
                    const GradCheckOptions &options) const;
};

/// Compares each result of `check.outputs` for itself, at several points, with
/// central differences of what `evaluateOutputs` computes. An argument of few
/// elements is varied element by element, others in some elements and along
/// random directions. `arguments` are those of the step with the derivatives.
/// Fails only where evaluation does.
llvm::Expected<GradCheckReport>
checkGradients(const GradCheck &check, const GradCheckOptions &options,
               std::vector<tools::Tensor> &arguments, PointSampler &sampler,
               Evaluate evaluate, Evaluate evaluateOutputs);

/// Refuses flags of a check without one, and values that are none.
llvm::Error checkGradCheckFlags();

/// What `--gradcheck` does. The order is 1 or 2.
llvm::Error runGradCheck(int order);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_GRADCHECK_H
