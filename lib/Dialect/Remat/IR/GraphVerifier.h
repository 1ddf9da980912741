//===- GraphVerifier.h - parts of the verifier of graphs --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the verifier of remat.graph asks of planned and of placed graphs. Each
// function reports the first operation that breaks its rule.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_IR_GRAPHVERIFIER_H
#define REMAT_LIB_DIALECT_REMAT_IR_GRAPHVERIFIER_H

#include "remat/Dialect/Remat/IR/GraphLiveness.h"

namespace remat {

/// Checks the MUST policies of a planned graph.
mlir::LogicalResult verifyPolicies(GraphOp graph);

/// Checks the budgets of regions: what is kept of values with a name when the
/// last forward task is done. What comes back from the host before that is kept
/// as well. Returned values are in buffers of the caller.
mlir::LogicalResult verifyRegionBudgets(GraphOp graph);

/// Checks what is written over operands: each is read once, and over arguments
/// only what becomes, in their place, the result that they give their buffers
/// to.
mlir::LogicalResult verifyOverOperands(GraphOp graph);

/// Checks the values that are in buffers of results: that they lie within them,
/// do not overlap, and are dead when the result is written.
mlir::LogicalResult verifyReused(GraphOp graph, const GraphLiveness &liveness);

/// Checks where a step in several calls keeps what later calls need: in the
/// arena's first bytes, apart from each call's scratch memory, and in no buffer
/// that a call has not been given.
mlir::LogicalResult verifyCalls(GraphOp graph, const GraphLiveness &liveness);

/// Checks that each buffer of a placed graph has a slot that fits it, and that
/// those that are live at the same time do not overlap in the arenas.
mlir::LogicalResult verifyPlacement(GraphOp graph,
                                    const GraphLiveness &liveness);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_IR_GRAPHVERIFIER_H
