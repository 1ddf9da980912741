//===- StructuredRule.h - results of structured operations ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rule for structured operations knows about a result: how its
// elements come about, and so where the reverse sweep of the body starts.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_STRUCTUREDRULE_H
#define REMAT_LIB_AUTODIFF_STRUCTUREDRULE_H

#include <functional>

#include "BodyDerivative.h"
#include "Rules.h"

namespace remat {

/// How the body makes an element of a result out of the values at points.
enum class ReductionKind { Pointwise, Sum, Maximum, Minimum, Product };

/// An active result of a structured operation whose cotangent is not zero.
struct ReductionResult {
  ReductionKind kind;
  mlir::OpResult result;
  mlir::Value init;
  mlir::AffineMap map;
  mlir::Value cotangent;
  /// What the body yields.
  mlir::Value yielded;
  /// What the reduction combines at each point (Maximum, Minimum, Product).
  mlir::Value term;
};

/// Accumulates the cotangents from which a body is swept.
using Seed = std::function<void(BodyDerivative &)>;

/// Finds the results that a derivative has to be computed for. `accumulators`
/// are the body's arguments for the partial results of reductions.
llvm::LogicalResult
classifyResults(mlir::linalg::LinalgOp op, const StructuredBody &forward,
                ReverseContext &context,
                llvm::SmallVectorImpl<ReductionResult> &results,
                llvm::SmallVectorImpl<mlir::Value> &accumulators);

/// Emits what the derivative of a result needs before the adjoint of the
/// body, accumulates the cotangent of its init and adds its seed.
llvm::LogicalResult prepareReduction(const StructuredBody &forward,
                                     const ReductionResult &result,
                                     ReverseContext &context,
                                     llvm::SmallVectorImpl<Seed> &seeds);

/// Whether `result` is a maximum or minimum of elements that the body takes
/// through a map with windows (pooling).
bool isWindowMaximum(const StructuredBody &forward,
                     const ReductionResult &result);

/// The cotangent of a maximum over windows goes to the first element, in the
/// order of the reduction loops, that equals it.
llvm::LogicalResult emitWindowMaximumVJP(const StructuredBody &forward,
                                         const ReductionResult &result,
                                         ReverseContext &context);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_STRUCTUREDRULE_H
