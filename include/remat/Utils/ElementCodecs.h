//===- ElementCodecs.h - numbers in fewer bits ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the codecs of remat itself compute.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_ELEMENTCODECS_H
#define REMAT_UTILS_ELEMENTCODECS_H

#include "remat/Dialect/Remat/IR/Codecs.h"

#include "mlir/IR/Builders.h"

namespace remat {

/// Elements with a common scale, in row-major order.
constexpr int64_t codecBlockSize = 64;

/// Whether the codec has scales, one for each block. Where the last block is
/// not full, the elements are copied to where it is.
bool hasScales(ElementCodec codec);

/// The types of the form of a tensor of `type`: of the codes, and of scales if
/// there are any.
llvm::SmallVector<mlir::RankedTensorType>
getPackedTypes(mlir::RankedTensorType type, ElementCodec codec);

/// The form of a tensor of floating-point numbers. A block with a NaN or an
/// infinity is NaN when it is unpacked.
llvm::SmallVector<mlir::Value> createPacked(mlir::OpBuilder &builder,
                                            mlir::Location loc,
                                            mlir::Value value,
                                            ElementCodec codec);

/// What `createPacked` was given, rounded, as a tensor of `type`.
mlir::Value createUnpacked(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::ValueRange packed, mlir::RankedTensorType type,
                           ElementCodec codec);

} // namespace remat

#endif // REMAT_UTILS_ELEMENTCODECS_H
