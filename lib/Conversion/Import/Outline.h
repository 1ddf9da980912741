//===- Outline.h - from an scf.for to a remat.loop --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_OUTLINE_H
#define REMAT_LIB_CONVERSION_IMPORT_OUTLINE_H

#include "LoopBounds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::import {

/// Whether a value of `type` can go in or out of the body of a remat.loop: it
/// is a tensor of static shape, or a number, which becomes such a tensor.
bool canCross(mlir::Type type);

/// The tensor that a value goes in and out of a body as.
mlir::Value toTensor(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value);

/// What `tensor` stands for: itself if that is of `type`, else its element.
mlir::Value fromTensor(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor, mlir::Type type);

/// Makes `value`, which is made of constants, where `builder` stands, unless
/// `again` has it.
mlir::Value makeAgain(mlir::OpBuilder &builder, mlir::Value value,
                      mlir::IRMapping &again);

/// Replaces `loop`, whose body has no effects, by a remat.loop. The result is
/// the new function that has its body; null if nothing of the loop was needed.
mlir::func::FuncOp outlineLoop(mlir::scf::ForOp loop, LoopBounds bounds,
                               mlir::SymbolTable &symbols);

/// Replaces `loop`, whose regions have no effects, by a remat.loop that may run
/// `most` iterations, or any number if that is 0. The result is the new
/// function that has its body.
mlir::func::FuncOp outlineWhile(mlir::scf::WhileOp loop, int64_t most,
                                mlir::SymbolTable &symbols);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_OUTLINE_H
