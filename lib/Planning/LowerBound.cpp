//===- LowerBound.cpp - what no plan can beat -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the moments that are worth looking at, and how closely: all of them
// by their bytes, some at one price, a few at their best price, and branch and
// bound on the best. What is left of the effort goes into several moments at
// once.
//
// Where the time of a plan is known, only faster plans are of interest: ops
// that none of those can run again are taken out, and what is left is bounded
// once more. A bound of what is left is one of all plans up to the known time.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/LowerBound.h"

#include "PeakBound.h"
#include "SearchTuning.h"
#include "SingleCut.h"
#include "Solution.h"
#include "StageSearch.h"
#include "StateSearch.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

namespace {
class Search {
public:
  Search(const Graph &graph, const LowerBoundOptions &options)
      : graph(graph), problem(graph.problem), options(options), costs(graph) {
    best.time = baseTime = problem.baseCost() + costs.mustCost;
    if (costs.mustCost)
      best.method = "every op runs once, and again where a MUST says so";
    limit = uint64_t(std::clamp(options.effort, 0.0, 1e5) *
                     BoundTuning::stepsPerSecond);
  }

  LowerBound run();

private:
  struct Moment {
    OpId op;
    int64_t excess;
    SingleCut::Bound bound;
  };

  /// Building the network of a moment takes its time, too.
  uint64_t buildSteps() const {
    return BoundTuning::buildSteps * (graph.numOps() + graph.numValues());
  }
  bool stopped() const {
    return best.infeasible ||
           (options.knownTime && best.time >= *options.knownTime) ||
           (options.interrupt && *options.interrupt) ||
           (options.deadline && getSecondsLeft() <= 0) ||
           (options.timeLimitSeconds &&
            watch.seconds() > *options.timeLimitSeconds * clockShare);
  }
  /// Of the work, and of the time if that is limited, what may be spent up to
  /// here.
  uint64_t endPhase(double share) {
    clockShare = share;
    return uint64_t(double(limit) * share);
  }
  /// Up to the deadline, which is set.
  double getSecondsLeft() const {
    return std::chrono::duration<double>(*options.deadline -
                                         std::chrono::steady_clock::now())
        .count();
  }
  /// Work may go on to here before the clock is looked at again.
  uint64_t slice(uint64_t until) const {
    bool watched =
        options.timeLimitSeconds || options.interrupt || options.deadline;
    return watched ? std::min(until,
                              work + uint64_t(BoundTuning::stepsPerSecond / 50))
                   : until;
  }
  void record(const SingleCut::Bound &bound, OpId op, const char *method);
  void recordNoPlan(OpId op, const char *method);
  void recordTime(int64_t time, OpId op, const char *method);
  bool mayFit();
  void findMoments();
  void priceMoments(uint64_t until);
  void branchMoments(uint64_t until);
  bool excludeRuns(uint64_t until);
  void searchAllStates(uint64_t until);
  void relaxStages(double effort);

  const Graph &graph;
  const Problem &problem;
  const LowerBoundOptions &options;
  Stopwatch watch;
  CutCosts costs;
  LowerBound best;
  /// What every plan takes, whatever the budget.
  int64_t baseTime = 0;
  std::vector<Moment> moments;
  /// Whether `costs` leave out ops that no plan below the known time runs again
  /// (`excludeRuns`).
  bool excludes = false;
  uint64_t work = 0, limit = 0;
  double clockShare = 1;
};
} // namespace

/// No plan meets the budget; or none that is faster than the known one, if
/// only those are looked at.
void Search::recordNoPlan(OpId op, const char *method) {
  if (excludes)
    return recordTime(*options.knownTime, op, method);
  best.infeasible = true;
  best.bindingOp = op;
  best.method = method;
}

void Search::recordTime(int64_t time, OpId op, const char *method) {
  if (excludes)
    time = std::min(time, *options.knownTime);
  if (time <= best.time)
    return;
  best.time = time;
  best.bindingOp = op;
  best.method = method;
}

void Search::record(const SingleCut::Bound &bound, OpId op,
                    const char *method) {
  if (bound.infeasible)
    return recordNoPlan(op,
                        "what has to be resident at one op exceeds the budget");
  recordTime(baseTime + bound.extra, op, method);
}

/// The moments at which not everything that is read later fits, by how much.
void Search::findMoments() {
  std::vector<int64_t> change(graph.numOps() + 1, 0);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    ArrayRef<OpId> readers = graph.readers(value);
    if (problem.values[value].viewOf != noValue)
      continue;
    uint32_t from = graph.isArgument(value) ? 0 : graph.producer(value);
    uint32_t to = readers.empty() ? from : readers.back();
    if (graph.isOutput(value))
      to = graph.numOps() - 1;
    if (graph.isArgument(value) && readers.empty() && !graph.isOutput(value))
      continue;
    change[from] += graph.bytes(value);
    change[to + 1] -= graph.bytes(value);
  }
  int64_t live = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    live += change[op];
    int64_t excess = live + problem.ops[op].workspace - *problem.deviceBudget;
    if (excess > 0)
      moments.push_back({op, excess, {}});
  }
}

/// The bounds of the most promising moments: the fullest one first, then ever
/// closer to the fullest of each part of the order.
void Search::priceMoments(uint64_t until) {
  std::vector<uint32_t> order(moments.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  // The fullest of 1, 2, 4, ... parts, each once; then all others.
  std::vector<uint32_t> sequence;
  std::vector<bool> taken(moments.size(), false);
  for (size_t parts = 1; sequence.size() < order.size(); parts *= 2) {
    for (size_t part = 0; part < std::min(parts, order.size()); ++part) {
      size_t from = order.size() * part / std::min(parts, order.size());
      size_t to = order.size() * (part + 1) / std::min(parts, order.size());
      uint32_t fullest = from;
      for (size_t i = from; i < to; ++i)
        if (moments[i].excess > moments[fullest].excess)
          fullest = i;
      if (taken[fullest])
        continue;
      taken[fullest] = true;
      sequence.push_back(fullest);
    }
    if (parts >= order.size())
      for (uint32_t i = 0; i < order.size(); ++i)
        if (!taken[i]) {
          taken[i] = true;
          sequence.push_back(i);
        }
  }
  double price = 0;
  int64_t bestExtra = -1;
  for (uint32_t index : sequence) {
    if (work >= until || stopped())
      return;
    Moment &moment = moments[index];
    SingleCut cut(graph, costs, moment.op);
    work += buildSteps();
    moment.bound = cut.priced(price, bestExtra >= 0, work, slice(until));
    // Lines of two moments differ in slope; a good price for one is good for
    // its neighbours.
    if (bestExtra >= 0 && !moment.bound.infeasible &&
        double(moment.bound.extra) > 0.5 * double(bestExtra)) {
      SingleCut::Bound closer = cut.priced(price, false, work, slice(until));
      if (closer.extra >= moment.bound.extra)
        moment.bound = closer;
    }
    record(moment.bound, moment.op, "what fits at one op, at a price per byte");
    if (moment.bound.extra > bestExtra) {
      bestExtra = moment.bound.extra;
      price = moment.bound.price;
    }
  }
}

/// Branch and bound on the best moments.
void Search::branchMoments(uint64_t until) {
  llvm::sort(moments, [](const Moment &a, const Moment &b) {
    return std::pair(-a.bound.extra, a.op) < std::pair(-b.bound.extra, b.op);
  });
  int64_t enough = std::numeric_limits<int64_t>::max();
  if (options.knownTime)
    enough = *options.knownTime - baseTime;
  for (Moment &moment : moments) {
    if (work >= until || stopped())
      return;
    if (moment.bound.exact || moment.bound.extra == 0)
      continue;
    SingleCut cut(graph, costs, moment.op);
    work += buildSteps();
    if (work >= until)
      return;
    // A moment gets half of what is left: the next ones may be better.
    uint64_t share = work + (until - work) / 2;
    SingleCut::Bound bound = cut.branched(moment.bound, enough, work, share,
                                          [&] { return stopped(); });
    record(bound, moment.op, "what fits at one op, exactly");
  }
}

/// Takes out ops that no plan below the known time runs again, as the moment of
/// the bound tells. Whether there are any.
bool Search::excludeRuns(uint64_t until) {
  if (!options.knownTime || best.bindingOp == noOp || stopped())
    return false;
  RunAgainQuery query;
  query.moment = best.bindingOp;
  query.extra = *options.knownTime - baseTime - 1;
  query.known = best.time - baseTime;
  query.workLimit = until;
  std::vector<bool> may =
      mayRunAgain(graph, costs, query, work, [&] { return stopped(); });
  bool any = false;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    any |= costs.again[op] && !may[op];
    costs.again[op] = costs.again[op] && may[op];
  }
  excludes |= any;
  return any;
}

/// All plans, from what single moments say of what is to come.
void Search::searchAllStates(uint64_t until) {
  if (!options.useStates || stopped() || !canSearchStates(graph))
    return;
  std::vector<int64_t> later(graph.numOps(), 0);
  for (const Moment &moment : moments)
    later[moment.op] = moment.bound.extra;
  int64_t enough = std::numeric_limits<int64_t>::max();
  if (options.knownTime)
    enough = *options.knownTime - baseTime;
  StateBound bound = searchStates(graph, costs, later, enough, work, until,
                                  [&] { return stopped(); });
  if (bound.infeasible)
    return recordNoPlan(noOp, "search over all plans");
  recordTime(baseTime + bound.extra, noOp, "search over all plans");
}

/// Several moments at once.
void Search::relaxStages(double effort) {
  const char *method = "what fits at several ops";
  std::vector<OpId> ops;
  for (const Moment &moment : moments)
    ops.push_back(moment.op);
  llvm::sort(ops);
  StageSearchOptions brief;
  brief.effort = effort;
  if (options.timeLimitSeconds)
    brief.seconds = *options.timeLimitSeconds - watch.seconds();
  if (options.knownTime) {
    brief.known = *options.knownTime - baseTime;
    excludes = true;
  }
  brief.interrupt = options.interrupt;
  brief.deadline = options.deadline;
  StageBound bound =
      searchStages(graph, costs, std::move(ops), best.bindingOp, brief);
  if (bound.infeasible)
    return recordNoPlan(noOp, method);
  recordTime(baseTime + bound.extra, noOp, method);
}

/// False if it is proven that no plan meets the budget; where one is known,
/// there is nothing to prove.
bool Search::mayFit() {
  PeakBound peak = peakBound(
      graph,
      uint64_t(std::clamp(options.effort, 0.0, BoundTuning::mostPeakEffort) *
               BoundTuning::peakSteps),
      [&] { return stopped(); });
  if (peak.bytes <= *problem.deviceBudget)
    return true;
  recordNoPlan(peak.op, "what an op and its operands take exceeds the budget");
  return false;
}

LowerBound Search::run() {
  if (!problem.deviceBudget)
    return best;
  if (!options.knownTime && !mayFit())
    return best;
  findMoments();
  if (moments.empty())
    return best;
  // Small efforts are better spent on one moment.
  bool thorough = options.effort >= BoundTuning::thoroughEffort;
  bool programs = thorough && options.usePrograms && hasProgramSolver() &&
                  !problem.freeOrder;
  double rest = programs ? BoundTuning::singleShare : 1;
  priceMoments(endPhase(rest / 3));
  branchMoments(endPhase(thorough ? rest * 2 / 3 : rest));
  for (unsigned round = 0; round < BoundTuning::excludingRounds; ++round) {
    if (!thorough || !excludeRuns(endPhase(rest)))
      break;
    for (Moment &moment : moments)
      moment.bound.exact = false;
    branchMoments(endPhase(rest));
  }
  if (thorough)
    searchAllStates(endPhase(rest + (1 - rest) * BoundTuning::stateShare));
  endPhase(1);
  if (programs && !stopped())
    relaxStages(options.effort * (1 - rest));
  return best;
}

LowerBound lowerBound(const Problem &problem,
                      const LowerBoundOptions &options) {
  Graph graph(problem);
  return Search(graph, options).run();
}

} // namespace remat::planning
