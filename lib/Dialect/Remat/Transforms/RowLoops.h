//===- RowLoops.h - how structured operations walk rows ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions that are asked when operations are put together by the rows, the
// points of the leading dimensions, of what they hand to each other.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ROWLOOPS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ROWLOOPS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace remat {

using LoopList = llvm::SmallVector<int64_t>;

/// Whether the result of `op` is its operand in another shape.
bool isAlias(mlir::Operation *op);

/// What `value` is another shape of.
mlir::Value getRoot(mlir::Value value);

/// What computes `value`, whatever its shape is now.
mlir::Operation *getSource(mlir::Value value);

/// Calls `visit` for the operations that read `value` or a view of it.
void forEachReader(mlir::Value value,
                   llvm::function_ref<void(mlir::Operation *)> visit);

/// Whether somebody asked for something about `value` or a view of it.
bool isTagged(mlir::Value value);

/// The loops that walk the leading dimensions of a tensor, of which there are
/// `rows` points; nothing if no dimensions make up so many.
std::optional<LoopList>
getLeadingLoops(mlir::AffineMap map, mlir::RankedTensorType type, int64_t rows);

/// Bytes of a tensor's buffer.
int64_t getBytes(mlir::Value value);

/// Whether `op` belongs to the backward computation of a joint function.
bool isBackward(mlir::Operation *op);

/// The operands of `op` and what its regions read from outside.
llvm::SetVector<mlir::Value> getReadValues(mlir::Operation *op);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ROWLOOPS_H
