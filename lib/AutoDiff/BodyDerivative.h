//===- BodyDerivative.h - derivatives of scalar bodies ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two sweeps of the body of a structured operation: in reverse from the
// cotangents of what it yields, and forwards from the tangents of what it
// reads. What a body captures has its tangent outside.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_BODYDERIVATIVE_H
#define REMAT_LIB_AUTODIFF_BODYDERIVATIVE_H

#include "BodyBuilder.h"

namespace remat {

/// A body that sweeps the forward body in reverse.
class BodyDerivative : public BodyBuilder, public ReverseContext {
public:
  BodyDerivative(const StructuredBody &forward, bool forScatter, bool useStored,
                 mlir::Location loc);

  mlir::Value cotangent(mlir::Value value) override;
  void accumulate(mlir::Value value, mlir::Value term) override;

  /// Sweeps the forward body from the cotangents accumulated so far.
  llvm::LogicalResult sweep();

private:
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// A body that computes the tangents of the forward body.
class BodyTangents : public BodyBuilder, public ForwardContext {
public:
  /// `outer` has the tangents of what the forward operation reads. Partial
  /// results of reductions, `accumulators`, have the tangent zero.
  BodyTangents(const StructuredBody &forward, bool forScatter,
               mlir::Location loc, ForwardContext &outer,
               llvm::ArrayRef<mlir::Value> accumulators);

  mlir::Value tangent(mlir::Value value) override;

  /// Computes the tangents of `wanted` and of what they are made of.
  llvm::LogicalResult sweep(llvm::ArrayRef<mlir::Value> wanted);

protected:
  void setTangent(mlir::Value value, mlir::Value tangent) override {
    tangents[value] = tangent;
  }

private:
  ForwardContext &outer;
  llvm::DenseMap<mlir::Value, mlir::Value> tangents;
};

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_BODYDERIVATIVE_H
