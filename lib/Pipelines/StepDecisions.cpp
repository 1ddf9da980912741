//===- StepDecisions.cpp - why a plan keeps or drops a value --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepDecisions.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace remat;
using planning::Decision;
using planning::ValueExplanation;

OpResult remat::findOrigin(Value value) {
  while (value && isa_and_nonnull<OffloadOp, ReloadOp>(value.getDefiningOp()))
    value = getViewRoot(value.getDefiningOp()->getOperand(0));
  auto result = dyn_cast_or_null<OpResult>(value);
  return result && isa<TaskOp>(result.getOwner()) ? result : OpResult();
}

/// Nanoseconds, for readers.
static std::string describeTime(double nanoseconds) {
  if (nanoseconds >= 1e6)
    return llvm::formatv("{0:f2} ms", nanoseconds / 1e6);
  if (nanoseconds >= 1e3)
    return llvm::formatv("{0:f1} us", nanoseconds / 1e3);
  return llvm::formatv("{0:f0} ns", nanoseconds);
}

/// What left the planner no choice.
static std::string describeForce(StringRef force) {
  if (force == "output")
    return "it is a result of the step";
  if (force == "runs once")
    return "what makes it may run only once";
  return ("the policy is " + force).str();
}

/// What bringing the value back takes.
static std::string describeCost(const ValueExplanation &entry) {
  switch (entry.decision) {
  case Decision::Offloaded:
    return "copying it to the host and back takes " +
           describeTime(entry.transferTime);
  case Decision::Packed:
    return "packing and unpacking it takes " + describeTime(entry.cost);
  case Decision::Absorbed:
    return "recomputing it inside of the kernels that read it takes " +
           describeTime(entry.cost);
  default:
    return "recomputing it takes " + describeTime(entry.cost);
  }
}

static std::string describeReason(const ValueExplanation &entry) {
  if (!entry.forcedBy.empty())
    return describeForce(entry.forcedBy);
  if (entry.decision == Decision::Saved)
    return entry.costIfDropped ? "recomputing it would take " +
                                     describeTime(*entry.costIfDropped)
                               : "it cannot be recomputed";
  std::string reason = describeCost(entry);
  if (entry.bytes > 0)
    reason += "; kept, it would hold its bytes for " +
              describeTime(entry.byteTimeIfKept / double(entry.bytes)) +
              " more";
  return reason;
}

DecisionReasons::DecisionReasons(ArrayRef<TaskDecision> decisions,
                                 StringRef body) {
  for (const TaskDecision &decision : decisions)
    if (decision.task && decision.body == body)
      entries[{*decision.task, decision.resultNumber}] = &decision.explanation;
}

std::string DecisionReasons::find(int64_t task, unsigned result) const {
  auto entry = entries.find({task, result});
  return entry == entries.end() ? "" : describeReason(*entry->second);
}
