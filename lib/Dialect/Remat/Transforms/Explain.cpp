//===- Explain.cpp - what a plan does, in words ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Planning/Explanation.h"

using namespace mlir;
using namespace remat;

llvm::Error remat::explain(const GraphProblem &graphProblem,
                           const planning::Plan &plan) {
  llvm::Expected<planning::Explanation> explanation =
      planning::explain(graphProblem.problem, plan);
  if (!explanation)
    return explanation.takeError();
  // In the order of the graph, not of what is at stake.
  llvm::sort(explanation->values,
             [](const auto &a, const auto &b) { return a.value < b.value; });
  for (const planning::ValueExplanation &entry : explanation->values) {
    auto result = dyn_cast_or_null<OpResult>(graphProblem.values[entry.value]);
    if (!result || entry.decision == planning::Decision::ShortLived)
      continue;
    result.getOwner()->emitRemark() << "result " << result.getResultNumber()
                                    << ": " << planning::describe(entry);
  }
  return llvm::Error::success();
}
