//===- LoopDecisions.h - what is decided inside of loops --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To the plan of a step a loop is one task. What the plans of bodies decide is
// said behind what that of the step does.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_LOOPDECISIONS_H
#define REMAT_PIPELINES_LOOPDECISIONS_H

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace remat {

/// Adds those of `decisions` that are of values in the bodies of loops to the
/// list of an explanation, with the key `loop`, what the loop is called.
void addLoopDecisions(llvm::ArrayRef<TaskDecision> decisions,
                      llvm::json::Array &values);

/// Prints the same: for each loop a line, and one for each value. Costs are
/// nanoseconds of one iteration.
void printLoopDecisions(llvm::ArrayRef<TaskDecision> decisions,
                        llvm::raw_ostream &os);

} // namespace remat

#endif // REMAT_PIPELINES_LOOPDECISIONS_H
