//===- LocalSearch.cpp - large-neighbourhood search over evictions --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epochs of simulated annealing that start from the best plan, and now and then
// from a new one. All randomness comes from one generator.
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"
#include "Greedy.h"
#include "OrderSearch.h"
#include "Residency.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

/// Attempts at a first plan beyond the systematic ones.
static constexpr size_t firstAttempts = 50;
/// Rounds of the first epoch; later ones are longer while nothing is found.
static constexpr size_t firstEpoch = 1000;
/// An epoch starts as hot as this many typical repeats cost.
static constexpr double initialHeat = 3.0;
/// Effort for orders: sets per search, moves per op.
static constexpr size_t orderStates = 20000, orderMoves = 200;

LocalSearch::LocalSearch(const Graph &graph, const SolverOptions &options,
                         const Stopwatch &watch, int64_t bound)
    : graph(graph), options(options), watch(watch), bound(bound),
      budget(graph.problem.deviceBudget.value_or(
          std::numeric_limits<int64_t>::max() / 4)),
      hostBudget(graph.problem.hostBudget.value_or(
          std::numeric_limits<int64_t>::max())),
      work(options, watch), timeline(graph),
      evictor(graph, timeline, work, options.seed), generator(evictor.random()),
      neighbourhoods(graph, timeline, generator),
      reorderer(graph, timeline, work, generator), start(saveAllPlan(graph)) {}

int64_t LocalSearch::objective() {
  if (timeline.hostBytes() > hostBudget)
    return noTime;
  if (timeline.transferTime() == 0)
    return timeline.cost();
  // Transfers overlap with ops: only a simulation knows.
  if (Error error = simulateInto(graph, timeline.plan(), simulation)) {
    consumeError(std::move(error));
    return std::numeric_limits<int64_t>::max();
  }
  work.add(2 * timeline.numStepIds());
  return simulation.time;
}

/// Whether the timeline's plan is legal for sure. One that came from elsewhere
/// may be only if it offloads later than the timeline does.
bool LocalSearch::isLegal(const Plan &plan) {
  if (timeline.hostBytes() == 0)
    return true;
  Error error = simulateInto(graph, plan, simulation);
  if (!error)
    error = verify(graph, plan, simulation);
  bool isLegal = !error;
  consumeError(std::move(error));
  return isLegal;
}

void LocalSearch::record() {
  int64_t time = objective();
  if (time >= bestTime)
    return;
  if (Plan plan = timeline.plan(); isLegal(plan))
    record(std::move(plan), time, timeline.peak());
}

void LocalSearch::record(Plan plan, int64_t time, int64_t peak) {
  bestTime = time;
  best = std::move(plan);
  secondsToBest = watch.seconds();
  if (firstPlanSeconds == 0)
    firstPlanSeconds = secondsToBest;
  if (options.onProgress)
    options.onProgress({"search", secondsToBest, bestTime, peak});
}

//===----------------------------------------------------------------------===//
// First plans
//===----------------------------------------------------------------------===//

/// Plans from the start. False if it did not fit.
bool LocalSearch::construct(const EvictionTuning &tuning) {
  timeline.load(start);
  if (!evictor.fit(budget, tuning))
    return false;
  evictor.prune(budget);
  advanceReloads();
  timeline.commit();
  record();
  return true;
}

void LocalSearch::findFirstPlans() {
  for (const EvictionTuning &tuning : systematicTunings(graph)) {
    if (work.overdrawn() || (hasPlan() && done()))
      return;
    construct(tuning);
  }
  for (size_t i = 0; i < firstAttempts && !hasPlan(); ++i) {
    if (work.overdrawn())
      return;
    construct(randomTuning(generator));
  }
}

void LocalSearch::searchLowPeak() {
  offer(findLowestPeak(graph, start, budget, work, options.seed));
}

void LocalSearch::offer(const Plan &plan) {
  // As it is: the timeline offloads right after an op.
  if (Error error = simulateInto(graph, plan, simulation))
    return consumeError(std::move(error));
  if (simulation.peakBytes <= budget &&
      simulation.hostPeakBytes <= hostBudget && simulation.time < bestTime)
    record(plan, simulation.time, simulation.peakBytes);
  timeline.load(plan);
  if (timeline.peak() > budget)
    return;
  evictor.prune(budget);
  timeline.commit();
  record();
}

//===----------------------------------------------------------------------===//
// Free order and transfers
//===----------------------------------------------------------------------===//

/// Gives every reader its own copy of what costs nothing and needs nothing.
void LocalSearch::repeatFreeSources() {
  for (OpId op = 0; op < graph.numOps(); ++op) {
    bool isFree = graph.problem.ops[op].cost == 0 && !graph.runsOnce(op) &&
                  graph.results(op).size() == 1 &&
                  all_of(graph.operands(op), [&](ValueId operand) {
                    return graph.isArgument(operand);
                  });
    if (!isFree)
      continue;
    ValueId value = graph.results(op)[0];
    SmallVector<StepId, 4> readers =
        timeline.copy(timeline.copies(value)[0]).readers;
    for (StepId reader : ArrayRef(readers).drop_front(!readers.empty()))
      timeline.insertRun(op, reader);
  }
  timeline.commit();
}

/// Replaces the start by one that needs less memory.
void LocalSearch::reorderStart() {
  timeline.load(start);
  std::vector<OpId> order =
      findLowOrder(graph, budget, timeline.peak(), orderStates, work);
  if (!order.empty()) {
    Plan reordered;
    for (OpId op : order)
      reordered.run(op);
    timeline.load(reordered);
  }
  if (timeline.peak() > budget) {
    repeatFreeSources();
    reorderer.reduce(budget, orderMoves * graph.numOps());
  }
  start = timeline.plan();
}

/// Issues reloads earlier, as far as memory allows and the transfer takes. How
/// exactly is up to chance: whether from scratch, whether a reload may overtake
/// another, and how long it may have to wait for the link.
void LocalSearch::advanceReloads() {
  if (timeline.transferTime() == 0)
    return;
  bool fromScratch = below(2), overtake = below(2);
  int64_t slack = int64_t(1) << below(4);
  SmallVector<StepId, 32> reloads;
  for (StepId step : timeline.repeats())
    if (timeline.isReload(step))
      reloads.push_back(step);
  llvm::sort(reloads,
             [&](StepId a, StepId b) { return timeline.before(a, b); });
  if (fromScratch) {
    for (StepId step : reloads) {
      const TimelineCopy &copy =
          timeline.copy(timeline.copiesMadeBy(step).front());
      if (!copy.readers.empty())
        timeline.move(step, copy.readers.front());
    }
    llvm::sort(reloads,
               [&](StepId a, StepId b) { return timeline.before(a, b); });
  }
  for (StepId step : reloads) {
    ValueId value = timeline.value(step);
    int64_t room = budget - graph.bytes(value);
    int64_t needed = timeline.costOf(step) * slack;
    StepId limit = timeline.lastUse(timeline.copyBefore(value, step));
    StepId target = step;
    for (StepId at = timeline.previous(step); at != limit && needed > 0;
         at = timeline.previous(at)) {
      if (timeline.bytesAt(at) > room || (!overtake && timeline.isReload(at)))
        break;
      target = at;
      if (timeline.op(at) != noOp)
        needed -= graph.problem.ops[timeline.op(at)].cost;
    }
    if (target != step)
      timeline.move(step, target);
    work.add(8);
  }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Takes evictions back, fits again, prunes. False if that failed or is more
/// than `allowance` worse than `current`; then nothing has changed.
bool LocalSearch::round(int64_t current, double allowance) {
  if (reordering)
    reorderer.smooth(budget, 1 + below(64));
  neighbourhoods.takeBack();
  work.add(16);
  EvictionTuning tuning = randomTuning(generator);
  if (transferWeight)
    tuning.transferWeight = *transferWeight;
  if (evictor.fit(budget, tuning)) {
    evictor.prune(budget, below(2) ? 0 : 2.0);
    advanceReloads();
    if (double(objective()) <= double(current) + allowance) {
      timeline.commit();
      return true;
    }
  }
  timeline.rollback();
  return false;
}

/// For every other epoch, one price of the link: plans that only offload, or
/// hardly do, are not found by changing one's mind in every round.
void LocalSearch::drawTransferWeight() {
  transferWeight.reset();
  if (graph.problem.linkBytesPerSecond > 0 && below(2))
    transferWeight = randomTuning(generator).transferWeight;
}

/// Cools down from `heat` in `rounds` rounds.
void LocalSearch::anneal(size_t rounds, double heat) {
  int64_t current = objective();
  for (size_t i = 0; i < rounds; ++i) {
    if (done() || timeline.repeats().empty())
      return;
    double left = 1 - double(i) / double(rounds);
    double allowance = -heat * left * left * std::log(1 - uniform());
    if (!round(current, allowance))
      continue;
    current = objective();
    record();
  }
}

/// Epochs, for a share of the effort or the time.
void LocalSearch::improve(double share, size_t patience) {
  int64_t base = graph.problem.baseCost();
  size_t rounds = firstEpoch, fruitless = 0;
  while (hasPlan() && !done() && !work.spent(share)) {
    if (fruitless > patience)
      return;
    int64_t before = bestTime;
    // From the best plan, or from a new one.
    if (fruitless % 3 != 2 || !construct(randomTuning(generator)))
      timeline.load(best);
    drawTransferWeight();
    size_t repeats = std::max<size_t>(1, timeline.repeats().size());
    double typical = double(bestTime - base) / double(repeats);
    anneal(rounds, fruitless == 0 ? 0 : initialHeat * typical);
    fruitless = bestTime < before ? 0 : fruitless + 1;
    if (fruitless)
      rounds += rounds / 4;
  }
}

void LocalSearch::improveInFreeOrder(double share) {
  if (!reorderer.allowed() || done())
    return;
  reordering = true;
  reorderStart();
  findFirstPlans();
  improve(share);
}

Expected<Solution> LocalSearch::takeSolution(StringRef solver) {
  if (!hasPlan())
    return make_error<InfeasibleBudgetError>(budget, 0, std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(best), solver, watch);
  if (solution) {
    solution->secondsToBest = secondsToBest;
    solution->cutShort = work.wasCutShort();
    if (bound > solution->lowerBound) {
      solution->lowerBound = bound;
      solution->proof = std::move(proof);
    }
  }
  return solution;
}

Expected<Solution> planSearch(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  LocalSearch search(graph, options, watch, problem.baseCost());
  search.findFirstPlans();
  search.improve(search.mayReorder() ? 0.5 : 1.0);
  search.improveInFreeOrder(1.0);
  return search.takeSolution("search");
}

} // namespace remat::planning
