//===- OrderTasks.h - an order that holds less ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ORDERTASKS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ORDERTASKS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// Moves tasks whose results are smaller than the operands that they read last
/// to where these operands are there and have no other reader left, unless more
/// were live there than anywhere on the way; and then tasks to their first
/// reader, if less is live at the most on the way. Backward tasks stay behind
/// forward ones. Workspaces are not known here.
void orderTasks(GraphOp graph);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_ORDERTASKS_H
