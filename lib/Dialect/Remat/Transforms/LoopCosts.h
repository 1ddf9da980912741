//===- LoopCosts.h - what tasks that run loops take -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H

#include "remat/Dialect/Remat/IR/StepGraphs.h"

namespace remat {

/// The time of one iteration of a body, in nanoseconds.
int64_t getIterationCost(GraphOp body);

/// The iterations of `loop` that are counted in its cost: the most that it may
/// run, or an estimate if there is no limit.
int64_t getIterations(LoopOp loop);

/// Scratch bytes of `loop`, whose bodies are placed graphs: the larger arena of
/// both; a buffer for each carried value that the body does not update in
/// place; and if it makes states again, two buffers for the current ones and
/// one for each slot but the first, which is an operand.
int64_t getWorkspaceBytes(LoopOp loop);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H
