//===- Simulator.cpp - what a plan costs and occupies ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the actions finds the copies and their last uses; byte counts
// are prefix sums over those; a second pass clocks ops and transfers.
//
//===----------------------------------------------------------------------===//

#include "SimulateInto.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace remat::planning {

namespace {
constexpr uint32_t none = ~uint32_t(0);

/// What the host holds of a value.
struct HostCopy {
  ValueId value = noValue;
  uint32_t offload = none;
  uint32_t lastReload = none;
  /// The device copy that was offloaded.
  uint32_t source = none;
};

class Run {
public:
  Run(const Graph &graph, const Plan &plan, Simulation &out)
      : graph(graph), problem(graph.problem), actions(plan.actions), out(out) {}

  Error simulate() {
    reset();
    for (uint32_t i = 0; i < actions.size(); ++i)
      if (Error error = step(i))
        return error;
    if (Error error = keepOutputs())
      return error;
    countBytes();
    findBackwardPhase();
    return clock();
  }

private:
  Error fail(uint32_t action, const Twine &message) const {
    return createStringError(inconvertibleErrorCode(),
                             "action " + Twine(action) + ": " + message);
  }
  std::string name(ValueId value) const {
    return "'" + problem.values[value].name + "'";
  }

  void reset() {
    out.copies.clear();
    out.reads.clear();
    out.readBegin.clear();
    out.readBegin.reserve(actions.size() + 1);
    out.readBegin.push_back(0);
    current.assign(graph.numValues(), none);
    for (ValueId v = 0; v < graph.numValues(); ++v)
      if (graph.isArgument(v)) {
        current[v] = out.copies.size();
        out.copies.push_back({v, Copy::beforeStart, 0, Copy::beforeStart});
      }
  }

  void define(ValueId value, uint32_t action, uint32_t origin) {
    current[value] = out.copies.size();
    out.copies.push_back({value, action, action, origin});
  }

  void read(ValueId value, uint32_t action) {
    uint32_t copy = current[value];
    out.reads.push_back(copy);
    out.copies[copy].lastUse = action;
  }

  Error step(uint32_t i) {
    const Action &action = actions[i];
    if (action.kind == ActionKind::Run) {
      if (action.id >= graph.numOps())
        return fail(i, "there is no op " + Twine(action.id));
      for (ValueId operand : graph.operands(action.id)) {
        if (current[operand] == none)
          return fail(i, "op '" + problem.ops[action.id].name + "' reads " +
                             name(operand) + ", which is not on the device");
        read(operand, i);
      }
      for (ValueId result : graph.results(action.id))
        define(result, i, i);
    } else if (Error error = transfer(i, action)) {
      return error;
    }
    out.readBegin.push_back(out.reads.size());
    return Error::success();
  }

  Error transfer(uint32_t i, const Action &action) {
    if (action.id >= graph.numValues())
      return fail(i, "there is no value " + Twine(action.id));
    if (problem.values[action.id].viewOf != noValue)
      return fail(i, name(action.id) + " is a view; its root is what moves");
    if (problem.linkBytesPerSecond <= 0)
      return fail(i, name(action.id) + " moves without a link to the host");
    hasTransfers = true;
    if (action.kind == ActionKind::Offload) {
      if (current[action.id] == none)
        return fail(i,
                    name(action.id) + " is offloaded and is not on the device");
      read(action.id, i);
      hostOf[action.id] = hostCopies.size();
      hostCopies.push_back({action.id, i, i, current[action.id]});
      return Error::success();
    }
    auto it = hostOf.find(action.id);
    if (it == hostOf.end())
      return fail(i, name(action.id) + " is reloaded and is not on the host");
    HostCopy &host = hostCopies[it->second];
    host.lastReload = i;
    define(action.id, i, out.copies[host.source].origin);
    return Error::success();
  }

  Error keepOutputs() {
    for (ValueId v = 0; v < graph.numValues(); ++v) {
      if (problem.values[v].viewOf != noValue || !graph.isOutput(v))
        continue;
      if (current[v] == none)
        return createStringError(inconvertibleErrorCode(),
                                 "output " + name(v) + " is never computed");
      if (!actions.empty())
        out.copies[current[v]].lastUse = actions.size() - 1;
    }
    return Error::success();
  }

  void countBytes() {
    std::vector<int64_t> &live = out.liveBytes;
    live.assign(actions.size() + 1, 0);
    for (const Copy &copy : out.copies) {
      bool early = copy.def == Copy::beforeStart;
      live[early ? 0 : copy.def] += graph.bytes(copy.value);
      if (!actions.empty())
        live[copy.lastUse + 1] -= graph.bytes(copy.value);
    }
    live.pop_back();
    out.peakBytes = 0;
    out.peakAction = 0;
    int64_t resident = 0;
    for (uint32_t i = 0; i < actions.size(); ++i) {
      resident += live[i];
      live[i] = resident;
      if (actions[i].kind == ActionKind::Run)
        live[i] += problem.ops[actions[i].id].workspace;
      if (live[i] > out.peakBytes) {
        out.peakBytes = live[i];
        out.peakAction = i;
      }
    }
    countHostBytes();
  }

  void countHostBytes() {
    out.hostPeakBytes = 0;
    if (hostCopies.empty())
      return;
    std::vector<int64_t> delta(actions.size() + 1, 0);
    for (const HostCopy &host : hostCopies) {
      int64_t bytes = problem.values[host.value].transferBytes;
      delta[host.offload] += bytes;
      delta[host.lastReload + 1] -= bytes;
    }
    int64_t resident = 0;
    for (int64_t change : delta)
      out.hostPeakBytes = std::max(out.hostPeakBytes, resident += change);
  }

  void findBackwardPhase() {
    std::vector<bool> again(actions.size(), false);
    std::vector<bool> ran(graph.numOps(), false);
    uint32_t first = 0;
    for (; first < actions.size(); ++first) {
      const Action &action = actions[first];
      if (action.kind == ActionKind::Run) {
        if (problem.ops[action.id].backward)
          break;
        again[first] = ran[action.id];
        ran[action.id] = true;
      } else {
        again[first] = action.kind == ActionKind::Reload;
      }
    }
    if (first < actions.size())
      while (first > 0 && again[first - 1])
        --first;
    out.backwardBegin = first;
  }

  /// Clocks the two engines: ops and the link.
  Error clock() {
    out.cost = 0;
    for (const Action &action : actions)
      if (action.kind == ActionKind::Run &&
          AddOverflow(out.cost, problem.ops[action.id].cost, out.cost))
        return createStringError(inconvertibleErrorCode(),
                                 "the plan's cost does not fit 64 bits");
    out.time = out.cost;
    if (!hasTransfers)
      return Error::success();

    // When each reloaded copy has arrived, and when an offload whose source
    // dies at an action has left the device.
    DenseMap<uint32_t, int64_t> arrival, departure;
    int64_t now = 0, link = 0;
    uint32_t nextCopy = 0, nextHost = 0;
    while (nextCopy < out.copies.size() &&
           out.copies[nextCopy].def == Copy::beforeStart)
      ++nextCopy;
    for (uint32_t i = 0; i < actions.size(); ++i) {
      if (i > 0)
        now = std::max(now, departure.lookup(i - 1));
      const Action &action = actions[i];
      if (action.kind == ActionKind::Run) {
        nextCopy += graph.results(action.id).size();
        for (uint32_t copy : out.readsOf(i))
          now = std::max(now, arrival.lookup(copy));
        now += problem.ops[action.id].cost;
        continue;
      }
      int64_t bytes = problem.values[action.id].transferBytes;
      link = std::max(link, now) + problem.transferTime(bytes);
      if (action.kind == ActionKind::Reload) {
        arrival[nextCopy++] = link;
      } else {
        uint32_t source = hostCopies[nextHost++].source;
        // What arrives only now cannot leave before.
        int64_t &leaves = departure[out.copies[source].lastUse];
        leaves = std::max(leaves, link);
      }
    }
    out.time = std::max(now, link);
    return Error::success();
  }

  const Graph &graph;
  const Problem &problem;
  ArrayRef<Action> actions;
  Simulation &out;

  /// The most recent copy of each value.
  std::vector<uint32_t> current;
  std::vector<HostCopy> hostCopies;
  DenseMap<ValueId, uint32_t> hostOf;
  bool hasTransfers = false;
};
} // namespace

Error simulateInto(const Graph &graph, const Plan &plan,
                   Simulation &simulation) {
  return Run(graph, plan, simulation).simulate();
}

Expected<Simulation> simulate(const Problem &problem, const Plan &plan) {
  Graph graph(problem);
  Simulation simulation;
  if (Error error = simulateInto(graph, plan, simulation))
    return std::move(error);
  return simulation;
}

std::vector<ValueId> Simulation::residentAt(const Problem &problem,
                                            uint32_t action) const {
  std::vector<ValueId> resident;
  for (const Copy &copy : copies)
    if ((copy.def == Copy::beforeStart || copy.def <= action) &&
        action <= copy.lastUse)
      resident.push_back(copy.value);
  llvm::sort(resident, [&](ValueId a, ValueId b) {
    int64_t bytesA = problem.values[a].bytes, bytesB = problem.values[b].bytes;
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });
  return resident;
}

std::vector<unsigned> copyNumbers(const Problem &problem, const Plan &plan) {
  std::vector<unsigned> runs(problem.ops.size(), 0);
  std::vector<unsigned> offloads(problem.values.size(), 0);
  std::vector<unsigned> reloads(problem.values.size(), 0);
  std::vector<unsigned> numbers;
  numbers.reserve(plan.actions.size());
  for (const Action &action : plan.actions) {
    std::vector<unsigned> &counts =
        action.kind == ActionKind::Run
            ? runs
            : (action.kind == ActionKind::Offload ? offloads : reloads);
    numbers.push_back(counts[action.id]++);
  }
  return numbers;
}

} // namespace remat::planning
