//===- SpreadStacks.h - stacks between loops as lists of buffers *- C++ -* ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SPREADSTACKS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SPREADSTACKS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/ADT/SetVector.h"

namespace remat {

/// Whether `task` runs a loop that stacks what may be a list of buffers.
bool maySpreadStacks(TaskOp task);

/// Gives each element of stacks that one loop makes for others a buffer of its
/// own, where those give the step elements of lists. Kernels that are changed
/// or made are put into `symbols`.
void spreadStacks(GraphOp graph, llvm::SetVector<mlir::Operation *> &symbols);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_SPREADSTACKS_H
