//===- CodecFunctions.h - what packs and unpacks ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_CODECFUNCTIONS_H
#define REMAT_LIB_TRANSFORMS_CODECFUNCTIONS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace remat {

/// What a tag with a codec is about, seen through other tags.
mlir::Value getPackedValue(TagOp tag);

/// The operands of backward operations that are to read what is unpacked. There
/// are none if the value has no elements.
llvm::SmallVector<mlir::OpOperand *> findPackedUses(TagOp tag);

/// Drops the codec of a tag, and the tag if it says nothing else.
void dropCodec(TagOp tag);

/// Patterns by which static shapes spread from tensor.cast operations.
mlir::FrozenRewritePatternSet getShapePatterns(mlir::MLIRContext *context);

/// Whether an argument of type `pattern` may have the static type `type`.
bool mayHaveType(mlir::Type pattern, mlir::RankedTensorType type);

/// Whether an argument of type `pattern` takes the elements of a value of type
/// `type` in row-major order.
bool takesElementsInOrder(mlir::Type pattern, mlir::RankedTensorType type);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_CODECFUNCTIONS_H
