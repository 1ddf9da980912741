//===- Builders.h - small tensor computations -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_BUILDERS_H
#define REMAT_UTILS_BUILDERS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {

/// A constant number; the value of a complex one is an array of two floats.
mlir::Value createScalarConstant(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::Type type, mlir::Attribute value);

/// A constant zero of a floating-point, integer, index or complex, scalar or
/// tensor `type`.
mlir::Value createZeroConstant(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Type type);

/// A new tensor of zeros to accumulate into.
mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type);

/// The scalar result of a body for the elements of its operands.
using ScalarBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// An elementwise operation on tensors of the shape of `type`, its result.
mlir::Value createElementwise(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::ValueRange inputs,
                              mlir::RankedTensorType type, ScalarBody body);

/// The elementwise sum of two scalars or tensors of equal type; that of i1 is
/// their disjunction.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value lhs, mlir::Value rhs);

/// The principal logarithm of a complex scalar, of its magnitude and angle. The
/// magnitude is infinite where a part is, whatever the other one is.
/// Upstream folds that of an exponential to the exponent.
mlir::Value createComplexLog(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value number);

} // namespace remat

#endif // REMAT_UTILS_BUILDERS_H
