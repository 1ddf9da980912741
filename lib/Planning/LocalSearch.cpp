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
#include "RunAnnealing.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

LocalSearch::LocalSearch(const Graph &graph, const SolverOptions &options,
                         const Stopwatch &watch, int64_t bound)
    : graph(graph), options(options), watch(watch), bound(bound),
      budget(graph.problem.deviceBudget.value_or(
          std::numeric_limits<int64_t>::max() / 4)),
      goal(budget), hostBudget(graph.problem.hostRoom()), work(options, watch),
      lowPeakWork(options, watch, /*effort=*/0), timeline(graph),
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

/// Whether the caller wants it, and runs may be inserted wherever their
/// operands were there before.
bool LocalSearch::mayAnneal() const {
  if (!options.anneal)
    return false;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.mustLeaveForward(value))
      return false;
  return true;
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
  if (budget != goal)
    return;
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
  bestPeak = peak;
  reportProgress();
}

void LocalSearch::reportProgress() {
  if (options.onProgress && hasPlan())
    options.onProgress({"search", watch.seconds(), bestTime, bestPeak,
                        std::min(bound, bestTime), graph.problem.baseCost()});
}

void LocalSearch::raiseBound(int64_t time, StringRef method) {
  if (time <= bound)
    return;
  bound = time;
  proof = method.str();
  reportProgress();
}

//===----------------------------------------------------------------------===//
// First plans
//===----------------------------------------------------------------------===//

/// Evicts, and gives up where what is made again makes ever more be made again:
/// there are better ways then, or none.
bool LocalSearch::fit(const EvictionRanking &ranking) {
  return evictor.fit(budget, ranking,
                     2 * timeline.repeats().size() + graph.numOps() + 100);
}

/// Plans from the start. False if it did not fit.
bool LocalSearch::construct(const EvictionRanking &ranking) {
  timeline.load(start);
  if (!fit(ranking))
    return false;
  evictor.prune(budget);
  advanceReloads();
  timeline.commit();
  record();
  return true;
}

void LocalSearch::findFirstPlans(double share) {
  TriedRankings tried;
  for (const EvictionRanking &ranking : systematicRankings(graph)) {
    if (work.overdrawn() || work.spent(share) || (hasPlan() && done()))
      return;
    if (!tried.wouldRepeat(ranking)) {
      evictor.keepDecisions().clear();
      construct(ranking);
      tried.add(ranking, evictor.keepDecisions());
    }
    // Where that makes too much again, smaller steps do not.
    if (!hasPlan())
      descend(LocalSearchTuning::quickStages, LocalSearchTuning::quickRounds,
              share);
  }
  for (size_t i = 0; i < LocalSearchTuning::firstAttempts && !hasPlan(); ++i) {
    if (work.overdrawn() || work.spent(share))
      return;
    construct(randomRanking(generator));
  }
}

const LowOrder &LocalSearch::findLowOrder() {
  if (!lowOrder) {
    lowOrder.emplace();
    // A start that makes something again is none of an order.
    if (!mayReorder())
      return *lowOrder;
    lowOrder = findLowPeakOrder(graph, ListScheduleTuning::share, work);
    timeline.load(start);
    if (lowOrder->peak >= timeline.peak())
      lowOrder->ops.clear();
  }
  return *lowOrder;
}

Plan LocalSearch::findLowPeak(int64_t lowest, double share,
                              double annealingShare, LowPeakPlans *made) {
  Plan plan = findLowPeakOfOrders(lowest, share, made);
  timeline.load(plan);
  int64_t peak = timeline.peak();
  if (peak <= lowest || !mayAnneal())
    return plan;
  // Counted apart: the rest of the effort is left to improve the plan.
  WorkMeter annealingWork(options, watch);
  RunAnnealing annealing(graph, timeline, evictor, annealingWork);
  size_t patience = options.timeLimitSeconds
                        ? LocalSearchTuning::tireless
                        : size_t(RunAnnealingTuning::patience *
                                 std::clamp(options.effort, 1.0, 1e6));
  annealing.lowerPeak(lowest, annealingShare, patience);
  // What is hardly less is not worth the time that it takes.
  return timeline.peak() <=
                 std::max(lowest, peak - peak / RunAnnealingTuning::leastGain)
             ? timeline.plan()
             : plan;
}

void LocalSearch::lowerCost(double share) {
  if (!options.annealCost || !hasPlan() || !mayAnneal() || isOptimal())
    return;
  timeline.load(best);
  if (timeline.peak() > budget)
    return;
  WorkMeter annealingWork(options, watch);
  RunAnnealing(graph, timeline, evictor, annealingWork)
      .lowerCost(budget, share);
  evictor.prune(budget);
  timeline.commit();
  record();
}

/// From the given order and, if that is not low enough, from a lower one.
Plan LocalSearch::findLowPeakOfOrders(int64_t lowest, double share,
                                      LowPeakPlans *made) {
  Plan plan =
      findLowPeakFrom(lowest, share, made ? &made->inGivenOrder : nullptr);
  timeline.load(plan);
  int64_t peak = timeline.peak();
  if (peak <= lowest || findLowOrder().ops.empty())
    return plan;
  Plan given = std::exchange(start, runOnce(findLowOrder().ops));
  Plan other = findLowPeakFrom(lowest, work.getSpent() + share,
                               made ? &made->inLowOrder : nullptr);
  start = std::move(given);
  timeline.load(other);
  return timeline.peak() < peak ? other : plan;
}

Plan LocalSearch::findLowPeakFrom(int64_t lowest, double share,
                                  std::optional<LowPeakPlans::Made> *made) {
  Plan plan = descendFurther(lowest, share);
  timeline.load(plan);
  int64_t peak = timeline.peak();
  if (peak <= lowest)
    return plan;
  // Without a search, but with everything made again that has to be.
  LowPeakPlans::Made other;
  if (made && *made && (*made)->holdsFor(lowest)) {
    other = **made;
    lowPeakWork.add(other.steps);
    lowPeakWork.addBeyondEffort(other.stepsBeyond);
  } else {
    other = findLowestPeak(graph, start, lowest, made ? lowPeakWork : work,
                           options.seed);
    if (made && !lowPeakWork.wasCutShort())
      *made = other;
  }
  timeline.load(other.plan);
  return timeline.peak() < peak ? std::move(other.plan) : plan;
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

void LocalSearch::adapt(const Plan &plan) {
  timeline.load(plan);
  if (!fit(EvictionRanking()))
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
  if (ArrayRef<OpId> order = findLowOrder().ops; !order.empty())
    start = runOnce(order);
  timeline.load(start);
  work.setCap(LocalSearchTuning::orderShare,
              LocalSearchTuning::orderOverdraftShare);
  std::vector<OpId> order = searchLowOrder(
      graph, budget, timeline.peak(), LocalSearchTuning::orderStates, work);
  work.setCap(std::nullopt);
  if (!order.empty())
    timeline.load(runOnce(order));
  if (timeline.peak() > budget) {
    repeatFreeSources();
    reorderer.reduce(budget, LocalSearchTuning::orderMoves * graph.numOps());
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

/// Takes evictions back and fits again, or adds some, and prunes. False if that
/// failed or is more than `allowance` worse than `current`; then nothing has
/// changed.
bool LocalSearch::round(int64_t current, double allowance) {
  if (reordering)
    reorderer.smooth(budget, 1 + below(64));
  EvictionRanking ranking = randomRanking(generator);
  if (transferWeight)
    ranking.transferWeight = *transferWeight;
  SmallVector<StepId, 8> newest;
  // Evictions more make others unnecessary, or the other way round.
  size_t mark = timeline.mark();
  if (below(2) && evictor.evictSome(ranking, budget)) {
    while (below(2))
      evictor.evictSome(ranking, budget);
    timeline.forEachInserted(mark,
                             [&](StepId step) { newest.push_back(step); });
  } else {
    neighbourhoods.takeBack();
  }
  work.add(16);
  if (fit(ranking)) {
    evictor.prune(budget, below(2) ? 0 : 2.0, newest);
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
    transferWeight = randomRanking(generator).transferWeight;
}

/// Cools down from `heat` in `rounds` rounds.
void LocalSearch::anneal(size_t rounds, double heat) {
  int64_t current = objective();
  for (size_t i = 0; i < rounds; ++i) {
    if (done() || timeline.repeats().empty())
      return;
    double left = 1 - double(i) / double(rounds);
    double allowance = -heat * left * left * std::log(1 - uniform(generator));
    if (!round(current, allowance))
      continue;
    current = objective();
    record();
  }
}

/// A new plan by budgets that come down step by step, with a search at each:
/// less has to be made again for what is made again.
bool LocalSearch::descend(size_t stages, size_t rounds, double share) {
  timeline.load(start);
  work.add(LocalSearchTuning::loadSteps * graph.numOps());
  int64_t first = timeline.peak();
  int64_t step = std::max<int64_t>(1, (first - goal) / int64_t(stages));
  int64_t smallest = step / 16;
  budget = first;
  while (budget > goal && !(hasPlan() && work.spent(share))) {
    int64_t before = budget;
    budget = std::max(goal, before - step);
    if (fit(randomRanking(generator))) {
      evictor.prune(budget);
      advanceReloads();
      timeline.commit();
      record();
    } else {
      timeline.rollback();
      budget = before;
      step /= 2;
      if (step <= smallest)
        break;
    }
    anneal(rounds, 0);
  }
  bool fits = budget == goal;
  budget = goal;
  return fits;
}

/// Budgets that come down as long as a search at each of them makes room for
/// the next one. Returns the plan with the lowest peak.
Plan LocalSearch::descendFurther(int64_t lowest, double share) {
  Plan plan = start;
  timeline.load(plan);
  int64_t first = timeline.peak(), least = first;
  int64_t step = (first - lowest) / 8;
  int64_t wanted = goal;
  // No plan on the way is what the search is for.
  goal = -1;
  budget = first;
  for (size_t rounds = LocalSearchTuning::descentRounds;
       budget > lowest && step > first / 512 && !work.spent(share);) {
    int64_t before = budget;
    budget = std::max(lowest, before - step);
    if (fit(randomRanking(generator))) {
      evictor.prune(budget);
      timeline.commit();
      if (timeline.peak() < least) {
        least = timeline.peak();
        plan = timeline.plan();
      }
    } else {
      timeline.rollback();
      budget = before;
      // A step of one or two bytes has no third.
      step -= std::max<int64_t>(1, step / 3);
      rounds += rounds / 3;
    }
    anneal(rounds, 0);
  }
  goal = budget = wanted;
  return plan;
}

/// A new plan to improve. False if there is none.
bool LocalSearch::startAgain(double share) {
  if (below(2))
    return construct(randomRanking(generator));
  return descend(4 << below(3), LocalSearchTuning::descentRounds << below(3),
                 share);
}

void LocalSearch::diversify(double share) {
  for (size_t i = 0;
       i < LocalSearchTuning::descents && !done() && !work.spent(share); ++i)
    if (i % 2 ? construct(randomRanking(generator))
              : descend(4 << (i / 2 % 3), LocalSearchTuning::descentRounds,
                        share))
      anneal(LocalSearchTuning::longestFirstEpoch / 2, 0);
}

/// Epochs, for a share of the effort or the time. What was given up is not
/// taken up again without a new plan, unless only the clock ends it.
void LocalSearch::improve(double share, size_t patience) {
  if (patience != LocalSearchTuning::tireless && givenUp == bestTime)
    return;
  int64_t base = graph.problem.baseCost();
  size_t rounds = std::clamp(LocalSearchTuning::roundsPerOp * graph.numOps(),
                             LocalSearchTuning::shortestEpoch,
                             LocalSearchTuning::longestFirstEpoch);
  size_t fruitless = 0;
  while (hasPlan() && !done() && !work.spent(share)) {
    if (fruitless > patience) {
      givenUp = bestTime;
      return;
    }
    int64_t before = bestTime;
    // From the best plan, or from a new one, which takes longer to get there.
    bool isNew = fruitless % 3 == 2 && startAgain(share);
    if (!isNew)
      timeline.load(best);
    drawTransferWeight();
    size_t repeats = std::max<size_t>(1, timeline.repeats().size());
    double typical = double(bestTime - base) / double(repeats);
    // A new plan first goes down as far as it gets.
    if (isNew)
      anneal(rounds, 0);
    double heat = fruitless == 0 ? 0
                                 : LocalSearchTuning::heats[below(
                                       std::size(LocalSearchTuning::heats))] *
                                       typical;
    anneal(rounds, heat);
    fruitless = bestTime < before ? 0 : fruitless + 1;
    if (fruitless)
      rounds += rounds / 4;
  }
}

void LocalSearch::improveInFreeOrder(double share) {
  if (!mayReorder() || done())
    return;
  int64_t before = bestTime;
  Plan given = start;
  reordering = true;
  reorderStart();
  findFirstPlans();
  improve(share);
  // Where that was of no use, what comes after keeps the order.
  if (bestTime < before)
    return;
  reordering = false;
  start = std::move(given);
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
