//===- SavedValues.h - what is saved for backward ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_SAVEDVALUES_H
#define REMAT_PIPELINES_SAVEDVALUES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/Support/raw_ostream.h"

namespace remat {

/// Prints a line for each value that a planned graph keeps for its backward
/// computation, arguments first, in the form of JAX's print_saved_residuals:
///
///   f32[16,8] from the argument 'x'
///   f32[16,8] output of tanh from model.py:33:42 (f)
void printSavedValues(GraphOp graph, llvm::raw_ostream &os);

} // namespace remat

#endif // REMAT_PIPELINES_SAVEDVALUES_H
