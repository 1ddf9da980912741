//===- Emit.h - small tensor computations -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_EMIT_H
#define REMAT_LIB_AUTODIFF_EMIT_H

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {

/// `tensor` with its elements converted to the floating-point type `element`.
mlir::Value createConversion(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value tensor, mlir::Type element);

/// The scalar `value` converted to the floating-point type `type`.
mlir::Value createScalarConversion(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::Value value, mlir::Type type);

/// The sum of the elements of `tensor` as a tensor of rank 0.
mlir::Value createTotal(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value tensor);

/// The type that sums of many elements of type `element` are formed in: at
/// least f32, as PyTorch does.
mlir::Type getAccumulatorType(mlir::Type element);

/// `tensor` viewed as a tensor of `type`, which differs in dimensions of size
/// 1 only.
mlir::Value createUnitReshape(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value tensor, mlir::RankedTensorType type);

/// `source` written into a part of `target`.
mlir::Value createInsertSlice(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value source, mlir::Value target,
                              llvm::ArrayRef<int64_t> offsets,
                              llvm::ArrayRef<int64_t> sizes,
                              llvm::ArrayRef<int64_t> strides);

/// The part of `source` as a tensor of `type`.
mlir::Value createExtractSlice(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value source, mlir::RankedTensorType type,
                               llvm::ArrayRef<int64_t> offsets,
                               llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<int64_t> strides);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_EMIT_H
