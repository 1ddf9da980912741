//===- Simulator.cpp - what a plan costs and occupies ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the actions finds the copies and their last uses; byte counts
// are prefix sums over those; a second pass clocks compute and transfers.
//
//===----------------------------------------------------------------------===//

#include "SimulateInto.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <array>

using namespace llvm;

namespace remat::planning {

int64_t computeTime(const Problem &problem, const Action &action) {
  switch (action.kind) {
  case ActionKind::Run:
    return problem.ops[action.id].cost;
  case ActionKind::Absorb:
    return *problem.ops[action.id].absorbedCost;
  case ActionKind::Pack:
    return problem.values[action.id].packed->packCost;
  case ActionKind::Unpack:
    return problem.values[action.id].packed->unpackCost;
  case ActionKind::Offload:
  case ActionKind::Reload:
  case ActionKind::Release:
    return 0;
  }
  llvm_unreachable("all kinds are covered");
}

namespace {
constexpr uint32_t noCopy = ~uint32_t(0);

/// When transfers run, in the order of the plan.
class Link {
public:
  Link(const Problem &problem, const Simulation &simulation)
      : problem(problem), hostCopies(simulation.hostCopies) {}

  /// The next host copy is made, not before `now`; false on overflow.
  bool offload(int64_t now, int64_t &end) {
    const HostCopy &host = hostCopies[ends.size()];
    latest[host.value] = ends.size();
    bool fits = transfer(host.value, std::max(now, roomOnHost), out(), end);
    ends.push_back(end);
    return fits;
  }

  bool reload(ValueId value, uint32_t action, int64_t now, int64_t &end) {
    uint32_t copy = latest.lookup(value);
    bool fits = transfer(value, std::max(now, ends[copy]), in, end);
    if (hostCopies[copy].lastReload == action)
      roomOnHost = std::max(roomOnHost, end);
    return fits;
  }

  size_t offloadCount() const { return ends.size(); }
  int64_t idle() const { return std::max(in, outbound); }
  /// Something else has used it up to `now`.
  void leave(int64_t now) { in = outbound = now; }

private:
  int64_t &out() { return problem.duplexLink ? outbound : in; }

  /// What arrives only now cannot leave before: each direction is a queue.
  bool transfer(ValueId value, int64_t earliest, int64_t &queue, int64_t &end) {
    bool fits = !AddOverflow(
        std::max(queue, earliest),
        problem.transferTime(problem.values[value].transferBytes), queue);
    end = queue;
    return fits;
  }

  const Problem &problem;
  ArrayRef<HostCopy> hostCopies;
  /// Until when each direction is at work; if they are one, all is in `in`.
  int64_t in = 0, outbound = 0;
  /// When the memory of all host copies that are gone is free of transfers.
  int64_t roomOnHost = 0;
  /// When each host copy so far is there, and the latest of each value.
  SmallVector<int64_t> ends;
  DenseMap<ValueId, uint32_t> latest;
};

class Run {
public:
  Run(const Graph &graph, const Plan &plan, Simulation &out, ActionTimes *times)
      : graph(graph), problem(graph.problem), actions(plan.actions), out(out),
        times(times) {}

  Error simulate() {
    reset();
    for (uint32_t i = 0; i < actions.size(); ++i) {
      if (Error error = step(i))
        return error;
      out.readBegin.push_back(out.reads.size());
    }
    if (!absorbedOps.empty())
      return fail(absorbedOps.front(),
                  opName(actions[absorbedOps.front()].id) +
                      " is absorbed, and no kernel runs after it");
    if (Error error = keepOutputs())
      return error;
    countBytes();
    countHostBytes();
    findBackwardPhase();
    if (Error error = sumCosts())
      return error;
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
  std::string opName(OpId op) const {
    return "op '" + problem.ops[op].name + "'";
  }

  void reset() {
    out.copies.clear();
    out.hostCopies.clear();
    out.reads.clear();
    out.readBegin.clear();
    out.readBegin.reserve(actions.size() + 1);
    out.readBegin.push_back(0);
    current.assign(graph.numValues(), noCopy);
    ran.assign(graph.numOps(), false);
    for (ValueId v = 0; v < graph.numValues(); ++v)
      if (graph.isArgument(v) &&
          (!graph.readers(v).empty() || graph.isOutput(v))) {
        current[v] = out.copies.size();
        out.copies.push_back(
            {v, Copy::beforeStart, 0, Copy::beforeStart, Copy::Form::Full});
      }
  }

  //===--------------------------------------------------------------------===//
  // One action
  //===--------------------------------------------------------------------===//

  /// Appends a copy and returns its index.
  uint32_t define(ValueId value, uint32_t action, uint32_t origin,
                  Copy::Form form = Copy::Form::Full) {
    out.copies.push_back({value, action, action, origin, form});
    return out.copies.size() - 1;
  }

  void read(uint32_t copy, uint32_t action) {
    out.reads.push_back(copy);
    out.copies[copy].lastUse = action;
  }

  Error step(uint32_t i) {
    const Action &action = actions[i];
    bool onOp = actsOnOp(action.kind);
    if (onOp && action.id >= graph.numOps())
      return fail(i, "there is no op " + Twine(action.id));
    if (!onOp && action.id >= graph.numValues())
      return fail(i, "there is no value " + Twine(action.id));
    if (!onOp && problem.values[action.id].viewOf != noValue)
      return fail(i, name(action.id) + " is a view; its root is what moves");
    switch (action.kind) {
    case ActionKind::Run:
      return run(i, action.id);
    case ActionKind::Absorb:
      return absorb(i, action.id);
    case ActionKind::Offload:
    case ActionKind::Reload:
      if (problem.linkBytesPerSecond <= 0)
        return fail(i, name(action.id) + " moves without a link to the host");
      return action.kind == ActionKind::Offload ? offload(i, action.id)
                                                : reload(i, action.id);
    case ActionKind::Pack:
      return pack(i, action.id);
    case ActionKind::Unpack:
      return unpack(i, action.id);
    case ActionKind::Release:
      return release(i, action.id);
    }
    llvm_unreachable("all kinds are covered");
  }

  /// Reads the operands of `op`: what is absorbed into the same kernel, else
  /// what is on the device.
  Error readOperands(uint32_t i, OpId op) {
    for (ValueId operand : graph.operands(op)) {
      auto it = absorbed.find(operand);
      uint32_t copy = it == absorbed.end() ? current[operand] : it->second;
      if (copy == noCopy)
        return fail(i, opName(op) + " reads " + name(operand) +
                           ", which is not on the device");
      read(copy, i);
    }
    return Error::success();
  }

  Error run(uint32_t i, OpId op) {
    if (Error error = readOperands(i, op))
      return error;
    if (!absorbedOps.empty())
      if (Error error = closeKernel(i, op))
        return error;
    for (ValueId result : graph.results(op))
      current[result] = define(result, i, i);
    ran[op] = true;
    return Error::success();
  }

  Error absorb(uint32_t i, OpId op) {
    if (!problem.ops[op].absorbedCost)
      return fail(i, opName(op) + " cannot be absorbed");
    if (!ran[op])
      return fail(i, opName(op) + " is absorbed before it has run");
    for (uint32_t other : absorbedOps)
      if (actions[other].id == op)
        return fail(i, opName(op) + " is absorbed twice into one kernel");
    if (Error error = readOperands(i, op))
      return error;
    for (ValueId result : graph.results(op))
      absorbed[result] = define(result, i, i, Copy::Form::Absorbed);
    absorbedOps.push_back(i);
    return Error::success();
  }

  /// The kernel of `op` runs at `i`, with all that is absorbed so far: what
  /// this reads stays until now. As each is read by one behind it, all are
  /// needed in the end.
  Error closeKernel(uint32_t i, OpId op) {
    SmallVector<uint32_t> readers(absorbedOps);
    readers.push_back(i);
    for (auto [k, at] : enumerate(absorbedOps)) {
      if (!graph.isAbsorber(op, actions[at].id))
        return fail(at, opName(actions[at].id) +
                            " cannot be absorbed by the kernel of " +
                            opName(op) + ", action " + Twine(i));
      bool isRead = false;
      for (uint32_t reader : ArrayRef(readers).drop_front(k + 1))
        for (ValueId operand : graph.operands(actions[reader].id))
          isRead |= graph.producer(operand) == actions[at].id;
      if (!isRead)
        return fail(at, opName(actions[at].id) +
                            " is absorbed, and nothing in the kernel of " +
                            opName(op) + ", action " + Twine(i) + ", reads it");
      for (uint32_t r = out.readBegin[at]; r < out.readBegin[at + 1]; ++r)
        out.copies[out.reads[r]].lastUse = i;
    }
    absorbedOps.clear();
    absorbed.clear();
    return Error::success();
  }

  Error offload(uint32_t i, ValueId value) {
    uint32_t source = current[value];
    if (source == noCopy)
      return fail(i, name(value) + " is offloaded and is not on the device");
    read(source, i);
    hostOf[value] = out.hostCopies.size();
    out.hostCopies.push_back({value, i, i, source});
    return Error::success();
  }

  Error reload(uint32_t i, ValueId value) {
    auto it = hostOf.find(value);
    if (it == hostOf.end())
      return fail(i, name(value) + " is reloaded and is not on the host");
    HostCopy &host = out.hostCopies[it->second];
    host.lastReload = i;
    current[value] = define(value, i, out.copies[host.source].origin);
    return Error::success();
  }

  Error release(uint32_t i, ValueId value) {
    auto it = hostOf.find(value);
    if (it == hostOf.end())
      return fail(i, name(value) + " is released and was not offloaded");
    const HostCopy &host = out.hostCopies[it->second];
    auto [last, isFirst] = givenBack.try_emplace(value, it->second);
    if (!isFirst && std::exchange(last->second, it->second) == it->second)
      return fail(i, name(value) + " is released twice");
    // Nothing reads it any more.
    if (current[value] == host.source)
      current[value] = noCopy;
    read(host.source, i);
    return Error::success();
  }

  Error pack(uint32_t i, ValueId value) {
    if (!problem.values[value].packed)
      return fail(i, name(value) + " has no packed form");
    uint32_t source = current[value];
    if (source == noCopy)
      return fail(i, name(value) + " is packed and is not on the device");
    read(source, i);
    packedOf[value] =
        define(value, i, out.copies[source].origin, Copy::Form::Packed);
    return Error::success();
  }

  Error unpack(uint32_t i, ValueId value) {
    auto it = packedOf.find(value);
    if (it == packedOf.end())
      return fail(i, name(value) + " is unpacked and was not packed");
    read(it->second, i);
    current[value] = define(value, i, out.copies[it->second].origin);
    return Error::success();
  }

  //===--------------------------------------------------------------------===//
  // The whole plan
  //===--------------------------------------------------------------------===//

  Error keepOutputs() {
    for (ValueId v = 0; v < graph.numValues(); ++v) {
      if (problem.values[v].viewOf != noValue || !graph.isOutput(v))
        continue;
      if (current[v] == noCopy)
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
      live[early ? 0 : copy.def] += copy.bytes(problem);
      if (!actions.empty())
        live[copy.lastUse + 1] -= copy.bytes(problem);
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
  }

  void countHostBytes() {
    out.hostPeakBytes = 0;
    bool hasWorkspaces =
        any_of(problem.ops, [](const Op &op) { return op.hostWorkspace != 0; });
    if (out.hostCopies.empty() && !hasWorkspaces)
      return;
    std::vector<int64_t> delta(actions.size() + 1, 0);
    for (const HostCopy &host : out.hostCopies) {
      int64_t bytes = problem.values[host.value].transferBytes;
      delta[host.offload] += bytes;
      delta[host.lastReload + 1] -= bytes;
    }
    int64_t resident = 0;
    for (auto [i, change] : enumerate(delta)) {
      resident += change;
      bool runs = i < actions.size() && actions[i].kind == ActionKind::Run;
      int64_t own = runs ? problem.ops[actions[i].id].hostWorkspace : 0;
      out.hostPeakBytes = std::max(out.hostPeakBytes, resident + own);
    }
  }

  void findBackwardPhase() {
    ran.assign(graph.numOps(), false);
    out.backwardBegin = 0;
    for (uint32_t i = 0; i < actions.size(); ++i) {
      const Action &action = actions[i];
      // What leaves right behind the last of these was not kept.
      bool leaves = action.kind == ActionKind::Offload ||
                    action.kind == ActionKind::Pack ||
                    action.kind == ActionKind::Release;
      if (leaves && out.backwardBegin == i)
        out.backwardBegin = i + 1;
      if (action.kind != ActionKind::Run)
        continue;
      if (problem.ops[action.id].backward)
        return;
      if (!ran[action.id])
        out.backwardBegin = i + 1;
      ran[action.id] = true;
    }
    out.backwardBegin = actions.size();
  }

  int64_t costOf(const Action &action) const {
    return computeTime(problem, action);
  }

  Error sumCosts() {
    out.cost = 0;
    for (const Action &action : actions)
      if (AddOverflow(out.cost, costOf(action), out.cost))
        return createStringError(inconvertibleErrorCode(),
                                 "the plan's cost does not fit 64 bits");
    return Error::success();
  }

  /// Clocks the engines: compute, and one or both directions of the link.
  Error clock() {
    out.time = out.cost;
    if (times)
      *times = ActionTimes();
    if (out.hostCopies.empty())
      return Error::success();

    // When each reloaded copy has arrived, and from when on the memory of what
    // dies at an action is free of transfers.
    DenseMap<uint32_t, int64_t> arrival, released;
    // An absorbed op runs with its kernel.
    int64_t now = 0, absorbedCost = 0;
    Link link(problem, out);
    uint32_t nextCopy = 0;
    bool fits = true;
    for (uint32_t i = 0; i < actions.size(); ++i) {
      if (times)
        times->ready.push_back(now);
      if (i > 0)
        now = std::max(now, released.lookup(i - 1));
      for (uint32_t copy : out.readsOf(i))
        if (actions[i].kind != ActionKind::Offload)
          now = std::max(now, arrival.lookup(copy));
      bool usesLink = actions[i].kind == ActionKind::Run &&
                      problem.ops[actions[i].id].hostWorkspace != 0;
      if (usesLink)
        now = std::max(now, link.idle());
      if (times)
        times->begin.push_back(now);
      int64_t end = 0;
      switch (actions[i].kind) {
      case ActionKind::Offload:
        fits &= link.offload(now, end);
        break;
      case ActionKind::Reload:
        fits &= link.reload(actions[i].id, i, now, end);
        break;
      case ActionKind::Release:
        break;
      case ActionKind::Absorb:
        absorbedCost += costOf(actions[i]);
        break;
      default:
        fits &= !AddOverflow(now, costOf(actions[i]) + absorbedCost, now);
        absorbedCost = 0;
        if (usesLink)
          link.leave(now);
      }
      if (!fits)
        return createStringError(inconvertibleErrorCode(),
                                 "the plan's time does not fit 64 bits");
      if (actions[i].kind == ActionKind::Offload) {
        const HostCopy &host = out.hostCopies[link.offloadCount() - 1];
        int64_t &free = released[out.copies[host.source].lastUse];
        free = std::max(free, end);
        if (times)
          times->offloadEnds.push_back(end);
      }
      for (; nextCopy < out.copies.size() &&
             (out.copies[nextCopy].def == Copy::beforeStart ||
              out.copies[nextCopy].def == i);
           ++nextCopy) {
        if (actions[i].kind != ActionKind::Reload ||
            out.copies[nextCopy].def != i)
          continue;
        arrival[nextCopy] = end;
        if (out.copies[nextCopy].lastUse == i)
          released[i] = end;
      }
    }
    out.time = std::max(now, link.idle());
    return Error::success();
  }

  const Graph &graph;
  const Problem &problem;
  ArrayRef<Action> actions;
  Simulation &out;
  ActionTimes *times;

  /// The most recent full copy of each value.
  std::vector<uint32_t> current;
  std::vector<bool> ran;
  /// The most recent host copy and packed copy.
  DenseMap<ValueId, uint32_t> hostOf, packedOf;
  /// Of each value, the host copy whose source was released last.
  DenseMap<ValueId, uint32_t> givenBack;
  /// The Absorb actions since the last Run, and the copies that they made.
  SmallVector<uint32_t> absorbedOps;
  DenseMap<ValueId, uint32_t> absorbed;
};
} // namespace

int64_t Copy::bytes(const Problem &problem) const {
  switch (form) {
  case Form::Full:
    return problem.values[value].bytes;
  case Form::Packed:
    return problem.values[value].packed->bytes;
  case Form::Absorbed:
    return 0;
  }
  llvm_unreachable("all forms are covered");
}

Error simulateInto(const Graph &graph, const Plan &plan, Simulation &simulation,
                   ActionTimes *times) {
  return Run(graph, plan, simulation, times).simulate();
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
    if (copy.form != Copy::Form::Absorbed && copy.isResident(action))
      resident.push_back(copy.value);
  llvm::sort(resident, [&](ValueId a, ValueId b) {
    int64_t bytesA = problem.values[a].bytes, bytesB = problem.values[b].bytes;
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });
  resident.erase(llvm::unique(resident), resident.end());
  return resident;
}

std::vector<unsigned> copyNumbers(const Problem &problem, const Plan &plan) {
  // One counter for each kind, of the ops or values that it is about.
  std::array<std::vector<unsigned>, numActionKinds> counts;
  std::vector<unsigned> numbers;
  numbers.reserve(plan.actions.size());
  for (const Action &action : plan.actions) {
    std::vector<unsigned> &count = counts[size_t(action.kind)];
    if (count.empty())
      count.resize(std::max(problem.ops.size(), problem.values.size()), 0);
    numbers.push_back(count[action.id]++);
  }
  return numbers;
}

} // namespace remat::planning
