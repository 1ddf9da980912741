//===- Rules.h - the tables of derivative rules -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_RULES_H
#define REMAT_LIB_AUTODIFF_RULES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "remat/AutoDiff/DerivativeRules.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

void registerScalarRules(mlir::DialectRegistry &registry);
void registerComplexRules(mlir::DialectRegistry &registry);
void registerLinalgRules(mlir::DialectRegistry &registry);
void registerTensorRules(mlir::DialectRegistry &registry);
void registerRematRules(mlir::DialectRegistry &registry);
void registerLoopRule(mlir::DialectRegistry &registry);

/// The rule for any structured operation: see StructuredRule.cpp.
llvm::LogicalResult emitStructuredVJP(mlir::linalg::LinalgOp op,
                                      ReverseContext &context);
llvm::LogicalResult emitStructuredVJP(ScatterOp op, ReverseContext &context);

llvm::LogicalResult emitStructuredJVP(mlir::linalg::LinalgOp op,
                                      ForwardContext &context);
llvm::LogicalResult emitStructuredJVP(ScatterOp op, ForwardContext &context);

/// Whether the body makes `result` out of an active value.
bool structuredResultVaries(mlir::linalg::LinalgOp op, mlir::OpResult result,
                            const Activity &activity);

/// Whether both derivatives of `op` are contractions again.
bool hasContractRule(mlir::linalg::LinalgOp op);
/// The rules for contractions, for which `hasContractRule` holds.
void emitContractVJP(mlir::linalg::LinalgOp op, ReverseContext &context);
void emitContractJVP(mlir::linalg::LinalgOp op, ForwardContext &context);

/// The forward rule for operations that are linear in all their operands that
/// carry derivatives: the same operation on tangents.
void emitLinearJVP(mlir::Operation *op, ForwardContext &context);

/// What the hook makes of `gradients`, one for each of its operands.
llvm::SmallVector<mlir::Value> emitHook(GradientHookOp hook,
                                        mlir::ValueRange gradients,
                                        DerivativeContext &context);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_RULES_H
