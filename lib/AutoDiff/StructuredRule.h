//===- StructuredRule.h - results of structured operations ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rules for structured operations know about a result: how its
// elements come about, and the partial derivatives of reductions.
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

/// What a reduction by `op` is, if `op` is a product, or takes the larger or
/// smaller of its last two operands.
std::optional<ReductionKind> getCombinerKind(mlir::Operation *op);

/// A result of a structured operation that a derivative is computed for.
struct ReductionResult {
  ReductionKind kind;
  mlir::OpResult result;
  mlir::Value init;
  mlir::AffineMap map;
  /// What the body yields.
  mlir::Value yielded;
  /// What the reduction combines at each point (Maximum, Minimum, Product).
  mlir::Value term;
};

/// Says how the elements of the results `wanted` come about. `accumulators`
/// are the body's arguments for the partial results of reductions.
llvm::LogicalResult
classifyResults(mlir::linalg::LinalgOp op, const StructuredBody &forward,
                llvm::ArrayRef<mlir::OpResult> wanted,
                llvm::SmallVectorImpl<ReductionResult> &results,
                llvm::SmallVectorImpl<mlir::Value> &accumulators);

/// The partial derivative of a reduction by `element`, which it takes up at
/// the current point of a body, times `derivative`: the cotangent of the
/// result there, or the tangent of the element. `map` leads to the result.
using Partial =
    std::function<mlir::Value(BodyBuilder &, mlir::Value element,
                              mlir::AffineMap map, mlir::Value derivative)>;

/// Emits what the partial derivatives of a reduction need. Null where they
/// are 1: for sums, and for what is not reduced.
Partial preparePartial(const StructuredBody &forward,
                       const ReductionResult &result,
                       DerivativeContext &context);

/// `partial` by the init of a reduction, for all its elements at once.
mlir::Value applyToInit(const ReductionResult &result, const Partial &partial,
                        mlir::Value derivative, DerivativeContext &context);

/// Whether the init of a maximum or minimum is the least candidate, which
/// does not count as one of the elements.
bool hasNeutralInit(const ReductionResult &result);

/// A body that visits the elements of a result, and the map that selects them.
StructuredBody getResultSpace(const ReductionResult &result);
mlir::AffineMap getIdentity(const StructuredBody &space,
                            mlir::MLIRContext *context);

/// Whether `result` is a maximum or minimum of elements that the body takes
/// through a map with windows (pooling).
bool isWindowMaximum(const StructuredBody &forward,
                     const ReductionResult &result);

/// For each element of a maximum or minimum the place of its first extremum,
/// counted in the order of the reduction loops.
mlir::Value findFirst(const StructuredBody &forward,
                      const ReductionResult &result,
                      DerivativeContext &context);

/// The number of the point in that order.
mlir::AffineMap getPlaceMap(const StructuredBody &forward,
                            const ReductionResult &result);

/// The derivative of a maximum over windows belongs to the first element, in
/// the order of the reduction loops, that equals it.
void emitWindowMaximumVJP(const StructuredBody &forward,
                          const ReductionResult &result,
                          ReverseContext &context);
void emitWindowMaximumJVP(const StructuredBody &forward,
                          const ReductionResult &result,
                          ForwardContext &context);

/// Operations with regions inside a body have no rule: reports the first.
llvm::LogicalResult checkBody(const StructuredBody &forward);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_STRUCTUREDRULE_H
