//===- Residency.cpp - plans as what is carried where ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval sets per value, and the linear pass from them to actions.
//
//===----------------------------------------------------------------------===//

#include "Residency.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

//===----------------------------------------------------------------------===//
// Interval sets
//===----------------------------------------------------------------------===//

Residency::Residency(const Graph &graph)
    : graph(&graph), intervals(graph.numValues()),
      onHost(graph.numValues(), false) {
  for (OpId op = 0; op < graph.numOps(); ++op) {
    for (ValueId value : graph.results(op)) {
      ArrayRef<OpId> readers = graph.readers(value);
      uint32_t end = readers.empty() ? op : readers.back();
      if (graph.isOutput(value))
        end = graph.numOps();
      carry(value, op, end);
      onHost[value] = graph.mustLeaveForward(value) &&
                      graph.policy(value) == Policy::MustCpuOffload;
    }
  }
}

bool Residency::carried(ValueId value, uint32_t from, uint32_t to) const {
  if (from >= to)
    return true;
  for (const Interval &interval : intervals[value])
    if (interval.first <= from && from < interval.second)
      return to <= interval.second;
  return false;
}

void Residency::carry(ValueId value, uint32_t from, uint32_t to) {
  if (from >= to)
    return;
  SmallVector<Interval, 2> &set = intervals[value];
  auto *first =
      llvm::find_if(set, [&](const Interval &i) { return i.second >= from; });
  auto *last = first;
  for (; last != set.end() && last->first <= to; ++last) {
    from = std::min(from, last->first);
    to = std::max(to, last->second);
  }
  first = set.erase(first, last);
  set.insert(first, {from, to});
  // A MUST is not negotiable, whoever asks.
  if (graph->mustLeaveForward(value))
    drop(value, graph->border(value) - 1, graph->border(value));
}

void Residency::drop(ValueId value, uint32_t from, uint32_t to) {
  SmallVector<Interval, 2> kept;
  for (const Interval &interval : intervals[value]) {
    if (interval.first < std::min(from, interval.second))
      kept.push_back({interval.first, std::min(from, interval.second)});
    if (std::max(to, interval.first) < interval.second)
      kept.push_back({std::max(to, interval.first), interval.second});
  }
  intervals[value] = std::move(kept);
}

//===----------------------------------------------------------------------===//
// From residency to actions
//===----------------------------------------------------------------------===//

namespace {
/// The linear pass. `carryMissing`, if given, is told to carry what is missing
/// instead of bringing it back, as far as the MUST policies let it.
class Scheduler {
public:
  Scheduler(const Graph &graph, const Residency &residency, StagedPlan &result,
            Residency *carryMissing = nullptr)
      : graph(graph), residency(residency), result(result),
        carryMissing(carryMissing), madeAt(graph.numValues(), never),
        ran(graph.numOps(), false), hasHostCopy(graph.numValues(), false) {}

  bool run(size_t mostActions = ~size_t(0)) {
    result.plan.actions.clear();
    result.stages.clear();
    for (stage = 0; stage < graph.numOps(); ++stage) {
      runWithOperands(stage);
      if (result.stages.size() > mostActions)
        return false;
    }
    for (ValueId value = 0; value < graph.numValues(); ++value)
      if (graph.isOutput(value) && madeAt[value] != never)
        bringBack(value);
    dropUselessOffloads();
    return true;
  }

private:
  static constexpr uint32_t never = ~uint32_t(0);

  void emit(ActionKind kind, uint32_t id) {
    result.plan.actions.push_back({kind, id});
    result.stages.push_back(stage);
  }

  bool available(ValueId value) {
    if (graph.isArgument(value) || madeAt[value] == stage)
      return true;
    bool bringable =
        residency.offloaded(value) || !graph.runsOnce(graph.producer(value));
    if (!bringable || residency.carried(value, madeAt[value], stage))
      return true;
    // What a MUST keeps from crossing may be kept once it was made behind that.
    if (!carryMissing ||
        (graph.mustLeaveForward(value) && madeAt[value] < graph.border(value)))
      return false;
    carryMissing->carry(value, madeAt[value], stage);
    return true;
  }

  /// Reloads `value` if that is how it comes back.
  bool reload(ValueId value) {
    if (!hasHostCopy[value])
      return false;
    emit(ActionKind::Reload, value);
    madeAt[value] = stage;
    hasReload = true;
    return true;
  }

  void bringBack(ValueId value) {
    if (!available(value) && !reload(value))
      runWithOperands(graph.producer(value));
  }

  /// Runs `op` after what it needs. An explicit stack: chains can be long.
  void runWithOperands(OpId op) {
    stack.assign(1, {op, 0});
    while (!stack.empty()) {
      OpId top = stack.back().first;
      ArrayRef<ValueId> operands = graph.operands(top);
      OpId missing = noOp;
      while (missing == noOp && stack.back().second < operands.size()) {
        ValueId operand = operands[stack.back().second++];
        if (!available(operand) && !reload(operand))
          missing = graph.producer(operand);
      }
      if (missing != noOp) {
        stack.push_back({missing, 0});
        continue;
      }
      stack.pop_back();
      runOp(top);
    }
  }

  void runOp(OpId op) {
    emit(ActionKind::Run, op);
    for (ValueId value : graph.results(op)) {
      madeAt[value] = stage;
      if (!ran[op] && residency.offloaded(value)) {
        emit(ActionKind::Offload, value);
        hasHostCopy[value] = true;
        hasOffload = true;
      }
    }
    ran[op] = true;
  }

  void dropUselessOffloads() {
    if (!hasOffload)
      return;
    std::vector<bool> reloaded(graph.numValues(), false);
    for (const Action &action : result.plan.actions)
      if (action.kind == ActionKind::Reload)
        reloaded[action.id] = true;
    size_t kept = 0;
    std::vector<Action> &actions = result.plan.actions;
    for (size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind == ActionKind::Offload && !reloaded[actions[i].id])
        continue;
      actions[kept] = actions[i];
      result.stages[kept++] = result.stages[i];
    }
    actions.resize(kept);
    result.stages.resize(kept);
  }

  const Graph &graph;
  const Residency &residency;
  StagedPlan &result;
  Residency *carryMissing;

  uint32_t stage = 0;
  /// The stage at which the most recent copy was made.
  std::vector<uint32_t> madeAt;
  std::vector<bool> ran, hasHostCopy;
  std::vector<std::pair<OpId, uint32_t>> stack;
  bool hasOffload = false, hasReload = false;
};
} // namespace

bool schedule(const Graph &graph, const Residency &residency,
              StagedPlan &result, size_t mostActions) {
  return Scheduler(graph, residency, result).run(mostActions);
}

StagedPlan stagePlan(const Graph &graph, const Plan &plan) {
  StagedPlan staged;
  staged.plan = plan;
  uint32_t stage = 0;
  for (const Action &action : plan.actions) {
    staged.stages.push_back(stage);
    if (action.kind == ActionKind::Run && action.id == stage)
      ++stage;
  }
  return staged;
}

Residency saveAllResidency(const Graph &graph) {
  Residency residency(graph);
  StagedPlan ignored;
  Scheduler(graph, residency, ignored, &residency).run();
  return residency;
}

Plan saveAllPlan(const Graph &graph) {
  StagedPlan staged;
  schedule(graph, saveAllResidency(graph), staged);
  return std::move(staged.plan);
}

} // namespace remat::planning
