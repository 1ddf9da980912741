//===- StepDecisions.h - why a plan keeps or drops a value ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_STEPDECISIONS_H
#define REMAT_LIB_PIPELINES_STEPDECISIONS_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include <map>
#include <string>

namespace remat {

/// The result of a task that a value is, or is a copy of: behind transfers to
/// the host and back. Null if there is none.
mlir::OpResult findOrigin(mlir::Value value);

/// The decisions of a plan by the results that they are about, as sentences:
/// those of the step, or those of the body of a loop.
class DecisionReasons {
public:
  DecisionReasons(llvm::ArrayRef<TaskDecision> decisions, llvm::StringRef body);

  /// Such as "recomputing it would take 12.5 us"; "" if nothing was decided.
  std::string find(int64_t task, unsigned result) const;

private:
  /// Numbers of tasks may be any, and those of a DenseMap may not.
  std::map<std::pair<int64_t, unsigned>, const planning::ValueExplanation *>
      entries;
};

} // namespace remat

#endif // REMAT_LIB_PIPELINES_STEPDECISIONS_H
