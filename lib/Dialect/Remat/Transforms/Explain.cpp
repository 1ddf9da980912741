//===- Explain.cpp - what a plan does, in words ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Planning/Explanation.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace remat;

/// Calls `visit` with each result of a task that waits or comes back and what
/// was decided on it, in the order of the graph, not of what is at stake.
static llvm::Error visitDecisions(
    const GraphProblem &graphProblem, const planning::Plan &plan,
    llvm::function_ref<void(OpResult, const planning::ValueExplanation &)>
        visit) {
  llvm::Expected<planning::Explanation> explanation =
      planning::explain(graphProblem.problem, plan);
  if (!explanation)
    return explanation.takeError();
  llvm::sort(explanation->values,
             [](const auto &a, const auto &b) { return a.value < b.value; });
  for (const planning::ValueExplanation &entry : explanation->values) {
    auto result = dyn_cast_or_null<OpResult>(graphProblem.values[entry.value]);
    if (result && entry.decision != planning::Decision::ShortLived)
      visit(result, entry);
  }
  return llvm::Error::success();
}

llvm::Error remat::explain(const GraphProblem &graphProblem,
                           const planning::Plan &plan) {
  return visitDecisions(
      graphProblem, plan,
      [](OpResult result, const planning::ValueExplanation &entry) {
        result.getOwner()->emitRemark() << "result " << result.getResultNumber()
                                        << ": " << planning::describe(entry);
      });
}

llvm::Error remat::emitDecisionRemarks(GraphOp graph,
                                       const GraphProblem &graphProblem,
                                       const planning::Plan &plan) {
  // Without anybody who listens, the explanation need not be made.
  if (!graph.getContext()->getRemarkEngine())
    return llvm::Error::success();
  return visitDecisions(
      graphProblem, plan,
      [&](OpResult result, const planning::ValueExplanation &entry) {
        remark::detail::InFlightRemark remark =
            remark::passed(result.getOwner()->getLoc(),
                           remark::RemarkOpts::name(stringify(entry.decision))
                               .category("remat")
                               .function(graph.getName()));
        if (!remark)
          return;
        remark << remark::metric("Value",
                                 graphProblem.problem.values[entry.value].name)
               << remark::metric("Bytes", entry.bytes)
               << remark::metric("Nanoseconds", entry.cost);
        if (entry.transferTime != 0)
          remark << remark::metric("TransferNanoseconds", entry.transferTime);
        if (entry.costIfDropped)
          remark << remark::metric("NanosecondsIfRecomputed",
                                   *entry.costIfDropped);
        if (!entry.forcedBy.empty())
          remark << remark::metric("ForcedBy", entry.forcedBy);
      });
}
