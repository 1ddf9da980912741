//===- HostArguments.h - copies of what is in host memory -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_HOSTARGUMENTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_HOSTARGUMENTS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// Makes a task before an operation that copies a value, of a level of
/// derivatives.
using MakeTransfer = llvm::function_ref<TaskOp(
    mlir::Operation *before, mlir::Value value, unsigned level)>;

/// Lets the tasks of a graph read copies of the arguments in host memory, and
/// copies results that take their buffers there. What comes in is copied a task
/// before it is read, so that the copy runs beside that task.
void transferHostArguments(GraphOp graph, MakeTransfer makeTransfer);

/// Lets the copies of a planned graph run beside more of the computation, as
/// far as its peak allows.
void overlapTransfers(GraphOp graph);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_HOSTARGUMENTS_H
