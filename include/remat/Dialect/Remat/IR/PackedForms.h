//===- PackedForms.h - tasks that pack and unpack values --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that the backward computation reads later may be kept in a smaller
// form. A graph without a plan offers that by pairs of tasks whose results
// nothing reads; a planned graph has those that its plan uses. What is unpacked
// stands for the value, so that a recomputation may read either.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_PACKEDFORMS_H
#define REMAT_DIALECT_REMAT_IR_PACKEDFORMS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// On a task that makes the packed form of its operand: the codec (string).
constexpr llvm::StringLiteral packsAttrName = "remat.packs";

/// On a task that brings back, as its only result, what the task that makes its
/// operands has packed: the codec (string).
constexpr llvm::StringLiteral unpacksAttrName = "remat.unpacks";

/// Beside `remat.packs`, where errors of gradients are bounded: what packing
/// this value may add to the relative error of a gradient (f64).
constexpr llvm::StringLiteral gradientErrorAttrName = "remat.gradient_error";

/// What `task` brings back, the value that was packed, or null if it is no such
/// task.
mlir::Value getUnpackedValue(TaskOp task);

/// The clones in a planned graph that may make other bits than the tasks that
/// they repeat, since the one or the other reads what has been unpacked.
llvm::DenseSet<mlir::Operation *> findInexactClones(GraphOp graph);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_PACKEDFORMS_H
