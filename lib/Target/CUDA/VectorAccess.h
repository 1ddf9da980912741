//===- VectorAccess.h - elements that are next to each other ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements next to each other in memory, as many as a power of two, from a
// multiple of their number on: one instruction reads or writes 16 bytes of
// them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_VECTORACCESS_H
#define REMAT_LIB_TARGET_CUDA_VECTORACCESS_H

#include "mlir/IR/Builders.h"

namespace remat::cuda {

/// The bytes that one instruction loads.
constexpr int64_t vectorBytes = 16;

/// Reads `width` elements of `type` from a flat buffer, from `address` on.
llvm::SmallVector<mlir::Value> loadVector(mlir::OpBuilder &builder,
                                          mlir::Location loc, int64_t width,
                                          mlir::Type type, mlir::Value buffer,
                                          mlir::Value address);

/// Writes elements of one type to a flat buffer, from `address` on.
void storeVector(mlir::OpBuilder &builder, mlir::Location loc,
                 llvm::ArrayRef<mlir::Value> values, mlir::Value buffer,
                 mlir::Value address);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_VECTORACCESS_H
