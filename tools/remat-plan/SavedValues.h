//===- SavedValues.h - what is saved for backward ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_SAVEDVALUES_H
#define REMAT_TOOLS_REMAT_PLAN_SAVEDVALUES_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat::plan {

/// Prints a line for each value that a planned graph keeps for its backward
/// computation, arguments first, in the form of JAX's print_saved_residuals:
///
///   f32[16,8] from the argument 'x'
///   f32[16,8] output of tanh from model.py:33:42 (f)
void printSavedValues(GraphOp graph, llvm::raw_ostream &os);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_SAVEDVALUES_H
