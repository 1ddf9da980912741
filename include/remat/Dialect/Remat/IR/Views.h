//===- Views.h - what stands behind a value ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view is another shape of a buffer; a transparent operation only says
// something about its operand. Everything that asks for what "really" made or
// reads a value asks here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_VIEWS_H
#define REMAT_DIALECT_REMAT_IR_VIEWS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace remat {

/// Whether `op` is a view in a graph: its result shares its operand's buffer.
bool isViewOp(mlir::Operation *op);

/// The value at the end of the chain of views that `value` stands on: what
/// owns its buffer.
mlir::Value getViewRoot(mlir::Value value);

/// Whether the operation only passes its operand on: `remat.tag` and
/// `remat.stop_gradient`.
bool isTransparentOp(mlir::Operation *op);

/// What computed `value`, seen through views and transparent operations; null
/// for an argument.
mlir::Operation *getProducer(mlir::Value value);

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

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_VIEWS_H
