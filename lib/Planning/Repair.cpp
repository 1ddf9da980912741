//===- Repair.cpp - dropping values until a plan fits ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One round: simulate, find the worst action, rank what is idle there, drop
// the best. The plan is simulated again after each round; a round is linear in
// the length of the plan.
//
//===----------------------------------------------------------------------===//

#include "Repair.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

static constexpr uint32_t none = ~uint32_t(0);
/// A PREFER moves a candidate this far up or down the ranking.
static constexpr double preference = 1e3;

Repair::Repair(const Graph &graph, WorkMeter &work, uint64_t seed)
    : graph(graph), problem(graph.problem), work(work), generator(seed),
      residency(graph), drops(graph.numValues(), 0),
      visited(graph.numOps(), 0) {}

double Repair::random() {
  return double(generator() >> 11) * (1.0 / double(uint64_t(1) << 53));
}

void Repair::load(Residency state) {
  residency = std::move(state);
  drops.assign(graph.numValues(), 0);
  hostBytes = 0;
  for (ValueId v = 0; v < graph.numValues(); ++v)
    if (residency.offloaded(v))
      hostBytes += problem.values[v].transferBytes;
  evaluate();
}

void Repair::evaluate() {
  schedule(graph, residency, staged);
  // What `schedule` makes is well formed, so simulation cannot fail; and if
  // it did, `makeSolution` would report it.
  consumeError(simulateInto(graph, staged.plan, simulated));
  work.add(staged.plan.actions.size() + simulated.reads.size());
}

//===----------------------------------------------------------------------===//
// Looking around in a simulated plan
//===----------------------------------------------------------------------===//

void Repair::indexReads() {
  size_t copies = simulated.copies.size();
  readActionsBegin.assign(copies + 1, 0);
  for (uint32_t copy : simulated.reads)
    ++readActionsBegin[copy + 1];
  for (size_t i = 0; i < copies; ++i)
    readActionsBegin[i + 1] += readActionsBegin[i];
  readActions.resize(simulated.reads.size());
  std::vector<uint32_t> next(readActionsBegin.begin(),
                             readActionsBegin.end() - 1);
  for (uint32_t action = 0; action < staged.stages.size(); ++action)
    for (uint32_t copy : simulated.readsOf(action))
      readActions[next[copy]++] = action;

  latestCopy.assign(graph.numValues(), none);
  previousCopy.resize(copies);
  for (uint32_t copy = 0; copy < copies; ++copy) {
    uint32_t &latest = latestCopy[simulated.copies[copy].value];
    previousCopy[copy] = latest;
    latest = copy;
  }
}

/// The most recent copy of `value` made at or before `stage`.
uint32_t Repair::copyBefore(ValueId value, uint32_t stage) const {
  uint32_t copy = latestCopy[value];
  while (copy != none && simulated.copies[copy].def != Copy::beforeStart &&
         staged.stages[simulated.copies[copy].def] > stage)
    copy = previousCopy[copy];
  return copy;
}

/// What it takes to recompute `value` at `stage`. Fails when something that
/// cannot come back is missing.
bool Repair::findClosure(ValueId value, uint32_t stage, uint32_t worst,
                         double keepRatio, Closure &closure) {
  closure.recomputed.assign(1, value);
  closure.kept.clear();
  closure.cost = 0;
  closure.extended = 0;
  ++visit;
  double keepBytes = keepRatio * double(graph.bytes(value));
  visited[graph.producer(value)] = visit;
  for (size_t i = 0; i < closure.recomputed.size(); ++i) {
    OpId op = graph.producer(closure.recomputed[i]);
    closure.cost += problem.ops[op].cost;
    work.add(1 + graph.operands(op).size());
    for (ValueId operand : graph.operands(op)) {
      if (graph.isArgument(operand))
        continue;
      uint32_t copy = copyBefore(operand, stage);
      if (copy == none)
        return false;
      uint32_t made = staged.stages[simulated.copies[copy].def];
      OpId producer = graph.producer(operand);
      bool there = made == stage || residency.carried(operand, made, stage) ||
                   (graph.runsOnce(producer) && !residency.offloaded(operand));
      bool keep = !there && !graph.mustLeaveForward(operand) &&
                  double(graph.bytes(operand)) <= keepBytes;
      if (there || keep) {
        uint32_t last = simulated.copies[copy].lastUse;
        if (made != stage && simulated.copies[copy].def <= worst &&
            last < worst)
          closure.extended += graph.bytes(operand);
        if (keep)
          closure.kept.push_back(operand);
        continue;
      }
      if (residency.offloaded(operand)) {
        closure.cost +=
            problem.transferTime(problem.values[operand].transferBytes);
        continue;
      }
      if (visited[producer] == visit)
        continue;
      visited[producer] = visit;
      closure.recomputed.push_back(operand);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Ranking and applying drops
//===----------------------------------------------------------------------===//

void Repair::rank(Candidate &candidate, uint32_t worst, int64_t over,
                  int64_t overSteps, const RepairTuning &tuning,
                  std::optional<Candidate> &best) {
  ValueId value = candidate.value;
  Policy policy = graph.policy(value);
  int64_t cost, removed;
  if (candidate.offload) {
    int64_t bytes = problem.values[value].transferBytes;
    cost = problem.transferTime(bytes) * (residency.offloaded(value) ? 1 : 2);
    removed = graph.bytes(value);
  } else {
    Closure closure;
    if (!findClosure(value, candidate.to, worst, tuning.keepRatio, closure))
      return;
    cost = closure.cost;
    removed = graph.bytes(value) - closure.extended;
  }
  if (removed <= 0)
    return;
  removed = std::min(removed, over);
  // A little is added so that free recomputations are ranked by bytes.
  double rank = (double(cost) + 1e-3) / (double(removed) * double(overSteps));
  rank *= 1.0 + drops[value];
  if (tuning.noise > 0)
    rank *= 1.0 + tuning.noise * random();
  if (policy == Policy::PreferSave)
    rank *= preference;
  if (policy ==
      (candidate.offload ? Policy::PreferCpuOffload : Policy::PreferRecompute))
    rank /= preference;
  candidate.rank = rank;
  if (!best || rank < best->rank)
    best = candidate;
}

std::optional<Repair::Candidate>
Repair::bestCandidate(uint32_t worst, int64_t budget,
                      const RepairTuning &tuning) {
  indexReads();
  size_t numActions = staged.stages.size();
  // overBefore[i]: actions before i that are over the budget.
  std::vector<uint32_t> overBefore(numActions + 1, 0);
  for (size_t i = 0; i < numActions; ++i)
    overBefore[i + 1] = overBefore[i] + (simulated.liveBytes[i] > budget);
  int64_t over = simulated.liveBytes[worst] - budget;

  std::optional<Candidate> best;
  for (uint32_t c = 0; c < simulated.copies.size(); ++c) {
    const Copy &copy = simulated.copies[c];
    // What an output's last copy waits for comes after the last action.
    bool toEnd = graph.isOutput(copy.value) && latestCopy[copy.value] == c;
    if (copy.def == Copy::beforeStart || copy.def >= worst ||
        (!toEnd && copy.lastUse <= worst) || !graph.bytes(copy.value))
      continue;
    auto begin = readActions.begin() + readActionsBegin[c];
    auto end = readActions.begin() + readActionsBegin[c + 1];
    auto next = std::lower_bound(begin, end, worst);
    if (next != end && *next == worst)
      continue;
    uint32_t touched = next == begin ? copy.def : *(next - 1);
    uint32_t needed = next == end ? numActions : *next;
    Candidate candidate;
    candidate.value = copy.value;
    candidate.from = staged.stages[touched];
    candidate.to = next == end ? graph.numOps() : staged.stages[needed];
    if (candidate.from >= candidate.to)
      continue;
    int64_t overSteps = overBefore[needed] - overBefore[touched + 1];
    if (!graph.runsOnce(graph.producer(copy.value)) &&
        !residency.offloaded(copy.value))
      rank(candidate, worst, over, overSteps, tuning, best);
    int64_t hostBytesAfter =
        hostBytes + problem.values[copy.value].transferBytes;
    if (graph.canOffload(copy.value) &&
        graph.policy(copy.value) != Policy::MustRecompute &&
        (residency.offloaded(copy.value) || !problem.hostBudget ||
         hostBytesAfter <= *problem.hostBudget)) {
      candidate.offload = true;
      rank(candidate, worst, over, overSteps, tuning, best);
    }
  }
  return best;
}

void Repair::apply(const Candidate &candidate, const RepairTuning &tuning) {
  ValueId value = candidate.value;
  ++drops[value];
  if (candidate.offload) {
    if (!residency.offloaded(value))
      hostBytes += problem.values[value].transferBytes;
    residency.setOffloaded(value, true);
    residency.drop(value, candidate.from, candidate.to);
    return;
  }
  Closure closure;
  findClosure(value, candidate.to, none, tuning.keepRatio, closure);
  residency.drop(value, candidate.from, candidate.to);
  for (ValueId kept : closure.kept) {
    uint32_t copy = copyBefore(kept, candidate.to);
    residency.carry(kept, staged.stages[simulated.copies[copy].def],
                    candidate.to);
  }
  // What the recomputation makes on its way stays until its own next copy,
  // which is not needed then.
  for (ValueId made : ArrayRef(closure.recomputed).drop_front()) {
    uint32_t nextCopy = none;
    for (uint32_t copy = latestCopy[made]; copy != none;
         copy = previousCopy[copy]) {
      if (staged.stages[simulated.copies[copy].def] <= candidate.to)
        break;
      nextCopy = copy;
    }
    if (nextCopy != none)
      residency.carry(made, candidate.to,
                      staged.stages[simulated.copies[nextCopy].def]);
  }
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

bool Repair::fit(int64_t budget, const RepairTuning &tuning) {
  if (simulated.peakBytes <= budget)
    return true;
  Residency lowest = residency;
  int64_t lowestPeak = simulated.peakBytes;
  // Rounds since the summed violation was last at its lowest.
  size_t stalled = 0, patience = 50 + graph.numOps() / 4;
  double lowestViolation = -1;
  while (simulated.peakBytes > budget && stalled < patience &&
         !work.overdrawn()) {
    std::optional<Candidate> best =
        bestCandidate(simulated.peakAction, budget, tuning);
    if (!best)
      break;
    apply(*best, tuning);
    evaluate();
    double violation = 0;
    for (int64_t bytes : simulated.liveBytes)
      violation += double(std::max<int64_t>(0, bytes - budget));
    bool lower = lowestViolation < 0 || violation < lowestViolation;
    stalled = lower ? 0 : stalled + 1;
    if (lower)
      lowestViolation = violation;
    if (simulated.peakBytes < lowestPeak) {
      lowestPeak = simulated.peakBytes;
      lowest = residency;
    }
  }
  if (simulated.peakBytes <= budget)
    return true;
  residency = std::move(lowest);
  evaluate();
  return false;
}

void Repair::prune(int64_t budget) {
  struct Drop {
    ValueId value;
    uint32_t from, to;
    int64_t cost;
  };
  std::vector<Drop> taken;
  indexReads();
  for (uint32_t c = 0; c < simulated.copies.size(); ++c) {
    const Copy &copy = simulated.copies[c];
    if (previousCopy[c] == none || graph.mustLeaveForward(copy.value))
      continue;
    uint32_t made = staged.stages[simulated.copies[previousCopy[c]].def];
    bool reload = staged.plan.actions[copy.def].kind == ActionKind::Reload;
    int64_t cost =
        reload ? problem.transferTime(problem.values[copy.value].transferBytes)
               : problem.ops[graph.producer(copy.value)].cost;
    taken.push_back({copy.value, made, staged.stages[copy.def], cost});
  }
  llvm::sort(taken, [](const Drop &a, const Drop &b) {
    return std::tie(b.cost, a.value, a.from) <
           std::tie(a.cost, b.value, b.from);
  });
  for (const Drop &drop : taken) {
    if (work.overdrawn())
      break;
    Residency before = residency;
    int64_t timeBefore = simulated.time;
    residency.carry(drop.value, drop.from, drop.to);
    evaluate();
    if (simulated.peakBytes <= budget && simulated.time <= timeBefore)
      continue;
    residency = std::move(before);
  }
  evaluate();
}

void Repair::restore(uint32_t from, uint32_t to) {
  indexReads();
  for (uint32_t c = 0; c < simulated.copies.size(); ++c) {
    if (previousCopy[c] == none)
      continue;
    uint32_t stage = staged.stages[simulated.copies[c].def];
    if (stage < from || stage >= to)
      continue;
    uint32_t made = staged.stages[simulated.copies[previousCopy[c]].def];
    residency.carry(simulated.copies[c].value, made, stage);
  }
  evaluate();
}

} // namespace remat::planning
