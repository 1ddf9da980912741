//===- Explain.cpp - what a plan does, in words ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace remat;

llvm::Expected<std::vector<TaskDecision>>
remat::collectDecisions(GraphOp graph, const GraphProblem &graphProblem,
                        const planning::Plan &plan) {
  llvm::Expected<planning::Explanation> explanation =
      planning::explain(graphProblem.problem, plan);
  if (!explanation)
    return explanation.takeError();
  // By what is at stake, until now.
  llvm::sort(explanation->values,
             [](const auto &a, const auto &b) { return a.value < b.value; });
  std::vector<TaskDecision> decisions;
  for (planning::ValueExplanation &entry : explanation->values) {
    auto result = dyn_cast_or_null<OpResult>(graphProblem.values[entry.value]);
    if (!result || entry.decision == planning::Decision::ShortLived)
      continue;
    std::optional<int64_t> number;
    if (auto task = dyn_cast<TaskOp>(result.getOwner());
        task && !task.isClone())
      number = task.getId();
    decisions.push_back({result.getOwner()->getLoc(), graph.getName().str(),
                         graphProblem.problem.values[entry.value].name, number,
                         result.getResultNumber(), std::move(entry)});
  }
  return decisions;
}

void remat::explain(ArrayRef<TaskDecision> decisions) {
  for (const TaskDecision &decision : decisions)
    emitRemark(decision.location)
        << "result " << decision.resultNumber << ": "
        << planning::describe(decision.explanation, "ns");
}

void remat::emitDecisionRemarks(ArrayRef<TaskDecision> decisions) {
  for (const TaskDecision &decision : decisions) {
    const planning::ValueExplanation &entry = decision.explanation;
    remark::detail::InFlightRemark remark = remark::passed(
        decision.location, remark::RemarkOpts::name(stringify(entry.decision))
                               .category("remat")
                               .function(decision.function));
    if (!remark)
      continue;
    remark << remark::metric("Value", decision.value)
           << remark::metric("Bytes", entry.bytes)
           << remark::metric("Nanoseconds", entry.cost);
    if (entry.transferTime != 0)
      remark << remark::metric("TransferNanoseconds", entry.transferTime);
    if (entry.costIfDropped)
      remark << remark::metric("NanosecondsIfRecomputed", *entry.costIfDropped);
    if (!entry.forcedBy.empty())
      remark << remark::metric("ForcedBy", entry.forcedBy);
  }
}
