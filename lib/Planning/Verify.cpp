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

#include "ProblemMessages.h"
#include "Regions.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

namespace {
class Verifier : ProblemMessages {
public:
  Verifier(const Graph &graph, const Plan &plan, const Simulation &simulation)
      : ProblemMessages(graph.problem), graph(graph), actions(plan.actions),
        simulation(simulation) {}

  Error run() {
    if (Error error = verifyRuns())
      return error;
    if (Error error = verifyMoves())
      return error;
    if (Error error = verifyBackwardReads())
      return error;
    if (Error error = verifyRegions())
      return error;
    return verifyBudgets();
  }

private:
  /// Every op runs, for the first time in a legal order; some run only once.
  Error verifyRuns() const {
    std::vector<unsigned> runs(graph.numOps(), 0);
    OpId lastEffect = noOp, last = noOp;
    for (auto [i, action] : enumerate(actions)) {
      OpId id = action.id;
      if (action.kind == ActionKind::Absorb)
        if (Error error = verifyAbsorption(i, id))
          return error;
      if (action.kind != ActionKind::Run || runs[id]++ > 0)
        continue;
      if (!problem.ops[id].recomputable) {
        if (lastEffect != noOp && lastEffect > id)
          return fail("action " + Twine(i) + ": " + op(id) + " runs after " +
                      op(lastEffect) +
                      "; ops that may run only once keep their order");
        lastEffect = id;
      }
      if (!problem.freeOrder && last != noOp && last > id)
        return fail("action " + Twine(i) + ": " + op(id) +
                    " runs for the first time after " + op(last) +
                    "; the problem's order is not free");
      last = id;
    }
    for (OpId id = 0; id < graph.numOps(); ++id) {
      if (runs[id] == 0)
        return fail(op(id) + " never runs");
      if (runs[id] > 1 && !mayRunAgain(id))
        return runsAgain(id, "runs " + Twine(runs[id]) + " times");
    }
    return Error::success();
  }

  bool mayRunAgain(OpId id) const {
    return !graph.runsOnce(id) ||
           (graph.keepsOutputExact(id) && !packsWithLoss());
  }

  bool packsWithLoss() const {
    return any_of(actions, [&](const Action &action) {
      return action.kind == ActionKind::Pack &&
             problem.values[action.id].packed->lossy;
    });
  }

  /// `id` may run only once; `how` says what it does instead.
  Error runsAgain(OpId id, const Twine &how) const {
    for (ValueId result : graph.results(id)) {
      Policy policy = graph.policy(result);
      if (policy == Policy::MustSave || policy == Policy::MustCpuOffload)
        return fail(value(result) + " is " + stringify(policy) + ", but " +
                    op(id) + " " + how + ", expected once");
    }
    if (graph.keepsOutputExact(id))
      return fail(op(id) + " " + how +
                  " and makes an output that lossy packed forms must not "
                  "change, expected once");
    return fail(op(id) + " " + how + ", but may run only once");
  }

  Error verifyAbsorption(size_t i, OpId id) const {
    if (mayRunAgain(id))
      return Error::success();
    return runsAgain(id, "runs again, absorbed at action " + Twine(i));
  }

  /// What may be offloaded and packed, and unpacked where.
  Error verifyMoves() const {
    for (auto [i, action] : enumerate(actions)) {
      if (action.kind == ActionKind::Unpack && i < simulation.backwardBegin &&
          problem.values[action.id].packed->lossy)
        return fail("action " + Twine(i) + ": " + value(action.id) +
                    " is unpacked before the backward phase, and its packed "
                    "form is lossy");
      bool offload = action.kind == ActionKind::Offload;
      bool pack = action.kind == ActionKind::Pack;
      if ((!offload || graph.canOffload(action.id)) &&
          (!pack || graph.canPack(action.id)))
        continue;
      Policy policy = graph.policy(action.id);
      std::string what = offload ? "offloaded" : "packed";
      if (policy == Policy::MustSave || (pack && isMust(policy)))
        return fail("action " + Twine(i) + ": " + value(action.id) + " is " +
                    stringify(policy) + " and is " + what);
      return fail("action " + Twine(i) + ": " + value(action.id) +
                  " may not be " + what);
    }
    return Error::success();
  }

  /// MUST_RECOMPUTE and MUST_CPU_OFFLOAD: what is read of forward values in the
  /// backward phase.
  Error verifyBackwardReads() const {
    for (auto [i, action] : enumerate(actions)) {
      bool isBackward =
          actsOnOp(action.kind) && problem.ops[action.id].backward;
      if (!actsOnOp(action.kind) ||
          !(isBackward || i >= simulation.backwardBegin))
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
        if (isBackward && graph.policy(copy.value) == Policy::MustCpuOffload &&
            actions[copy.def].kind != ActionKind::Reload)
          return fail("action " + Twine(i) + ": " + op(action.id) + " reads " +
                      value(copy.value) +
                      ", which is MUST_CPU_OFFLOAD and was not reloaded");
      }
    }
    return Error::success();
  }

  /// What is carried of each region into the backward phase.
  Error verifyRegions() const {
    for (const Region &region : problem.regions) {
      int64_t bytes = keptBytes(graph, region, simulation);
      if (bytes > region.budget)
        return fail("region '" + region.name + "' keeps " + Twine(bytes) +
                    " bytes for the backward phase, which exceeds its budget "
                    "of " +
                    Twine(region.budget) + " bytes");
    }
    return Error::success();
  }

  Error verifyBudgets() const {
    if (problem.deviceBudget && simulation.peakBytes > *problem.deviceBudget) {
      const Action &action = actions[simulation.peakAction];
      std::string where =
          actsOnOp(action.kind) ? op(action.id) : value(action.id);
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

Error verifyClaims(const Simulation &simulation, const PlanClaims &claims) {
  std::tuple<const char *, std::optional<int64_t>, int64_t> rows[] = {
      {"peak", claims.peakBytes, simulation.peakBytes},
      {"host peak", claims.hostPeakBytes, simulation.hostPeakBytes},
      {"cost", claims.cost, simulation.cost},
      {"time", claims.time, simulation.time}};
  for (auto [what, claimed, actual] : rows)
    if (claimed && *claimed != actual)
      return createStringError(inconvertibleErrorCode(),
                               Twine("the plan's ") + what + " is stated as " +
                                   Twine(*claimed) + " and is " +
                                   Twine(actual));
  return Error::success();
}

} // namespace remat::planning
