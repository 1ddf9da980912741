//===- SeparateBackward.cpp - forward and backward as separate calls ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says of each task in which call of the step it runs. A task cannot run before
// the call that is given its arguments; a backward task runs in the first call
// that needs it, so that no call leaves more than it must.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "GraphPlanning.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

namespace remat {
#define GEN_PASS_DEF_SEPARATEBACKWARDPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The calls that give the arguments; 0 where nothing is said.
static DenseMap<Value, int64_t> getGivenPhases(GraphOp graph) {
  DenseMap<Value, int64_t> given;
  for (BlockArgument argument : graph.getArguments())
    if (auto phase = graph.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), RematDialect::phaseAttrName))
      given[argument] = phase.getInt();
  return given;
}

/// The earliest call for each operation, then, for what belongs to the backward
/// computation, the first that needs it.
static DenseMap<Operation *, int64_t> assignPhases(GraphOp graph,
                                                   unsigned derivatives) {
  unsigned highest = 0;
  for (auto task : graph.getOps<TaskOp>())
    highest = std::max(highest, task.getBackwardLevel());
  unsigned level = highest >= derivatives ? highest - derivatives + 1 : 1;
  auto isBackward = [&](TaskOp task) {
    return task && task.getBackwardLevel() >= std::max(level, 1u);
  };
  DenseMap<Value, int64_t> given = getGivenPhases(graph);
  DenseMap<Operation *, int64_t> phases;
  Block &body = graph.getBody().front();
  DenseMap<Operation *, Value> donors;
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), body.getTerminator()->getOperands()))
    if (donor)
      donors[getViewRoot(returned).getDefiningOp()] = donor;
  auto delay = [&](Operation &op) {
    int64_t &phase = phases[&op];
    for (Value operand : op.getOperands())
      phase = std::max(phase, operand.getDefiningOp()
                                  ? phases.at(operand.getDefiningOp())
                                  : given.lookup(operand));
    // What writes over an argument runs in the last call that reads it.
    if (Value donor = donors.lookup(&op))
      forEachReader(donor, [&](Operation *reader) {
        if (auto known = phases.find(reader); known != phases.end())
          phase = std::max(phase, known->second);
      });
  };
  for (Operation &op : body) {
    auto task = dyn_cast<TaskOp>(op);
    phases[&op] = isBackward(task);
    delay(op);
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto task = dyn_cast<TaskOp>(op);
    if (op.use_empty() || (task && !isBackward(task)))
      continue;
    std::optional<int64_t> needed;
    for (Operation *user : op.getUsers())
      if (!isa<ReturnOp>(user))
        needed = std::min(needed.value_or(phases.at(user)), phases.at(user));
    phases[&op] = std::max(phases.at(&op), needed.value_or(0));
  }
  if (!donors.empty())
    llvm::for_each(body, delay);
  return phases;
}

namespace {
struct SeparateBackward
    : remat::impl::SeparateBackwardPassBase<SeparateBackward> {
  using SeparateBackwardPassBase::SeparateBackwardPassBase;

  void runOnOperation() override {
    for (GraphOp graph : collectStepGraphs(getOperation())) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned, expected one without a plan");
        return signalPassFailure();
      }
      DenseMap<Operation *, int64_t> phases = assignPhases(graph, derivatives);
      Block &body = graph.getBody().front();
      auto ops = llvm::map_to_vector(body.without_terminator(),
                                     [](Operation &op) { return &op; });
      llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
        return phases.at(a) < phases.at(b);
      });
      for (Operation *op : ops) {
        op->moveBefore(body.getTerminator());
        if (auto task = dyn_cast<TaskOp>(op))
          task.setPhase(phases.at(op));
      }
      if (failed(orderDonations(graph)))
        return signalPassFailure();
    }
  }
};
} // namespace
