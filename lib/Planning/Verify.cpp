//===- Verify.cpp - the one legality predicate ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solution constraints beyond what simulation itself needs. No algorithm gets
// around this file.
//
//===----------------------------------------------------------------------===//

#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

namespace {
class Verifier {
public:
  Verifier(const Graph &graph, const Plan &plan, const Simulation &simulation)
      : graph(graph), problem(graph.problem), actions(plan.actions),
        simulation(simulation) {}

  Error run() {
    if (Error error = verifyRuns())
      return error;
    if (Error error = verifyOffloads())
      return error;
    if (Error error = verifyBackwardReads())
      return error;
    return verifyBudgets();
  }

private:
  Error fail(const Twine &message) const {
    return createStringError(inconvertibleErrorCode(), message);
  }
  std::string value(ValueId id) const {
    return "value '" + problem.values[id].name + "'";
  }
  std::string op(OpId id) const { return "op '" + problem.ops[id].name + "'"; }

  /// Every op runs; some only once, and those with effects in their order.
  Error verifyRuns() const {
    std::vector<unsigned> runs(graph.numOps(), 0);
    OpId lastEffect = noOp;
    for (auto [i, action] : enumerate(actions)) {
      if (action.kind != ActionKind::Run)
        continue;
      OpId id = action.id;
      ++runs[id];
      if (problem.ops[id].recomputable || runs[id] > 1)
        continue;
      if (lastEffect != noOp && lastEffect > id)
        return fail("action " + Twine(i) + ": " + op(id) + " runs after " +
                    op(lastEffect) +
                    "; ops that may run only once keep their order");
      lastEffect = id;
    }
    for (OpId id = 0; id < graph.numOps(); ++id) {
      if (runs[id] == 0)
        return fail(op(id) + " never runs");
      if (runs[id] == 1 || !graph.runsOnce(id))
        continue;
      for (ValueId result : graph.results(id))
        if (graph.policy(result) == Policy::MustSave ||
            graph.policy(result) == Policy::MustCpuOffload)
          return fail(value(result) + " is " + stringify(graph.policy(result)) +
                      ", but " + op(id) + " runs " + Twine(runs[id]) +
                      " times, expected once");
      return fail(op(id) + " runs " + Twine(runs[id]) +
                  " times, but may run only once");
    }
    return Error::success();
  }

  Error verifyOffloads() const {
    for (auto [i, action] : enumerate(actions)) {
      if (action.kind != ActionKind::Offload || graph.canOffload(action.id))
        continue;
      if (graph.policy(action.id) == Policy::MustSave)
        return fail("action " + Twine(i) + ": " + value(action.id) +
                    " is MUST_SAVE and is offloaded");
      return fail("action " + Twine(i) + ": " + value(action.id) +
                  " may not be offloaded");
    }
    return Error::success();
  }

  /// MUST_RECOMPUTE and MUST_CPU_OFFLOAD: what backward ops read of forward
  /// values.
  Error verifyBackwardReads() const {
    for (auto [i, action] : enumerate(actions)) {
      if (action.kind != ActionKind::Run || !problem.ops[action.id].backward)
        continue;
      for (uint32_t index : simulation.readsOf(i)) {
        const Copy &copy = simulation.copies[index];
        if (!graph.mustLeaveForward(copy.value))
          continue;
        if (graph.policy(copy.value) == Policy::MustRecompute &&
            copy.origin < simulation.backwardBegin)
          return fail("action " + Twine(i) + ": " + op(action.id) + " reads " +
                      value(copy.value) +
                      ", which is MUST_RECOMPUTE, as the forward phase left "
                      "it");
        if (graph.policy(copy.value) == Policy::MustCpuOffload &&
            actions[copy.def].kind != ActionKind::Reload)
          return fail("action " + Twine(i) + ": " + op(action.id) + " reads " +
                      value(copy.value) +
                      ", which is MUST_CPU_OFFLOAD and was not reloaded");
      }
    }
    return Error::success();
  }

  Error verifyBudgets() const {
    if (problem.deviceBudget && simulation.peakBytes > *problem.deviceBudget) {
      const Action &action = actions[simulation.peakAction];
      std::string where =
          action.kind == ActionKind::Run ? op(action.id) : value(action.id);
      return fail("peak of " + Twine(simulation.peakBytes) +
                  " bytes exceeds the budget of " +
                  Twine(*problem.deviceBudget) + " bytes at action " +
                  Twine(simulation.peakAction) + ", " + where);
    }
    if (problem.hostBudget && simulation.hostPeakBytes > *problem.hostBudget)
      return fail("host peak of " + Twine(simulation.hostPeakBytes) +
                  " bytes exceeds the host budget of " +
                  Twine(*problem.hostBudget) + " bytes");
    return Error::success();
  }

  const Graph &graph;
  const Problem &problem;
  ArrayRef<Action> actions;
  const Simulation &simulation;
};
} // namespace

Error verify(const Graph &graph, const Plan &plan,
             const Simulation &simulation) {
  return Verifier(graph, plan, simulation).run();
}

Error verify(const Problem &problem, const Plan &plan,
             const Simulation &simulation) {
  Graph graph(problem);
  return verify(graph, plan, simulation);
}

Error verify(const Problem &problem, const Plan &plan) {
  Graph graph(problem);
  Simulation simulation;
  if (Error error = simulateInto(graph, plan, simulation))
    return error;
  return verify(graph, plan, simulation);
}

} // namespace remat::planning
