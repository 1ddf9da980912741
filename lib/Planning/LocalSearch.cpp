//===- LocalSearch.cpp - large-neighbourhood search over evictions --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First plans from a few tunings of `Evictor::fit`; then rounds that take a few
// evictions back, fit again with some noise, prune, and keep what is better, or
// a little worse while the search is hot.
//
//===----------------------------------------------------------------------===//

#include "Evictor.h"
#include "OrderSearch.h"
#include "Reorderer.h"
#include "Residency.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

static const double HEAT = getenv("HEAT") ? atof(getenv("HEAT")) : 3.0;
namespace {
/// Tunings of the first plans, tried in this order.
constexpr double keepRatios[] = {0.1, 0.0, 0.3, 1.0};

class LocalSearch {
public:
  LocalSearch(const Graph &graph, const SolverOptions &options,
              const Stopwatch &watch)
      : graph(graph), options(options), watch(watch), work(options, watch),
        timeline(graph), evictor(graph, timeline, work, options.seed),
        generator(evictor.random()),
        reorderer(graph, timeline, work, generator) {}

  Expected<Solution> run();

private:
  void repeatFreeSources();
  EvictionTuning randomTuning();
  bool construct(const EvictionTuning &tuning);
  bool findFirstPlan();
  bool round(int64_t current, double allowance);
  void anneal(size_t rounds, double heat);
  void improve();
  void takeBack();
  void takeBackWindow(size_t count);
  void takeBackAround(size_t count);
  void takeBackSome(size_t count);
  void takeBackRelated(size_t count);
  void removeAll(ArrayRef<StepId> steps);
  int64_t objective() const { return timeline.cost(); }
  void record();
  double uniform() {
    return double(generator() >> 11) * (1.0 / double(uint64_t(1) << 53));
  }
  size_t below(size_t limit) { return generator() % limit; }

  const Graph &graph;
  const SolverOptions &options;
  const Stopwatch &watch;
  WorkMeter work;
  Timeline timeline;
  Evictor evictor;
  std::mt19937_64 &generator;
  Reorderer reorderer;
  int64_t budget = 0;

  /// Saves everything.
  Plan start;
  Plan best;
  int64_t bestTime = std::numeric_limits<int64_t>::max();
  double firstPlanSeconds = 0, secondsToBest = 0;
  SmallVector<StepId, 32> chosen;
};
} // namespace

void LocalSearch::record() {
  if (objective() >= bestTime)
    return;
  bestTime = objective();
  best = timeline.plan();
  secondsToBest = watch.seconds();
  if (options.onProgress)
    options.onProgress({"search", secondsToBest, bestTime, timeline.peak()});
}

/// Gives every reader its own copy of what costs nothing and needs nothing.
void LocalSearch::repeatFreeSources() {
  for (OpId op = 0; op < graph.numOps(); ++op) {
    bool isFree = graph.problem.ops[op].cost == 0 && !graph.runsOnce(op) &&
                  llvm::all_of(graph.operands(op), [&](ValueId operand) {
                    return graph.isArgument(operand);
                  });
    if (!isFree || graph.results(op).size() != 1)
      continue;
    ValueId value = graph.results(op)[0];
    SmallVector<StepId, 4> readers =
        timeline.copy(timeline.copies(value)[0]).readers;
    for (StepId reader : ArrayRef(readers).drop_front(!readers.empty()))
      timeline.insertRun(op, reader);
  }
  timeline.commit();
}

EvictionTuning LocalSearch::randomTuning() {
  EvictionTuning tuning;
  tuning.keepRatio = keepRatios[below(std::size(keepRatios))];
  tuning.keepWhereItFits = below(4) != 0;
  tuning.noise = below(2) ? 0.5 : 2.0;
  tuning.rankByArea = below(3) != 0;
  return tuning;
}

/// Plans from the start. False if it did not fit.
bool LocalSearch::construct(const EvictionTuning &tuning) {
  timeline.load(start, /*pinRepeats=*/!reorderer.allowed());
  if (!evictor.fit(budget, tuning))
    return false;
  evictor.prune(budget);
  timeline.commit();
  if (best.actions.empty())
    firstPlanSeconds = watch.seconds();
  if (getenv("REMAT_DEBUG"))
    fprintf(stderr, "%.3f s: constructed %lld, %zu repeats\n", watch.seconds(), (long long)objective(), timeline.repeats().size());
  record();
  return true;
}

bool LocalSearch::findFirstPlan() {
  for (bool keepWhereItFits : {true, false})
    for (double keepRatio : keepRatios) {
      EvictionTuning tuning;
      tuning.keepRatio = keepRatio;
      tuning.keepWhereItFits = keepWhereItFits;
      construct(tuning);
      if (work.overdrawn())
        return !best.actions.empty();
    }
  for (size_t i = 0; best.actions.empty() && i < 50 && !work.overdrawn(); ++i)
    construct(randomTuning());
  return !best.actions.empty();
}

//===----------------------------------------------------------------------===//
// Neighbourhoods
//===----------------------------------------------------------------------===//

void LocalSearch::removeAll(ArrayRef<StepId> steps) {
  for (StepId step : steps)
    if (timeline.isRemovable(step))
      timeline.remove(step);
}

/// Repeats that stand together.
void LocalSearch::takeBackWindow(size_t count) {
  ArrayRef<StepId> repeats = timeline.repeats();
  StepId step = repeats[below(repeats.size())];
  chosen.clear();
  while (chosen.size() < count && step != timeline.end()) {
    if (timeline.isRemovable(step))
      chosen.push_back(step);
    step = timeline.next(step);
  }
  removeAll(chosen);
}

/// Repeats whose values are gone at the same step.
void LocalSearch::takeBackAround(size_t count) {
  ArrayRef<StepId> repeats = timeline.repeats();
  StepId pivot = repeats[below(repeats.size())];
  uint64_t high = timeline.key(pivot);
  chosen.clear();
  auto gapBegin = [&](StepId step) -> uint64_t {
    ArrayRef<uint32_t> copies = timeline.copiesMadeBy(step);
    if (copies.empty())
      return timeline.key(step);
    ValueId value = timeline.copy(copies[0]).value;
    return timeline.key(
        timeline.lastUse(timeline.copyBefore(value, step)));
  };
  uint64_t low = gapBegin(pivot);
  for (StepId step : repeats)
    if (timeline.key(step) > low && gapBegin(step) < high)
      chosen.push_back(step);
  while (chosen.size() > count) {
    chosen[below(chosen.size())] = chosen.back();
    chosen.pop_back();
  }
  removeAll(chosen);
}

void LocalSearch::takeBackSome(size_t count) {
  ArrayRef<StepId> repeats = timeline.repeats();
  chosen.clear();
  for (size_t i = 0; i < count; ++i)
    chosen.push_back(repeats[below(repeats.size())]);
  removeAll(chosen);
}

/// Repeats of neighbours in the graph.
void LocalSearch::takeBackRelated(size_t count) {
  ArrayRef<StepId> repeats = timeline.repeats();
  StepId pivot = repeats[below(repeats.size())];
  OpId op = timeline.op(pivot);
  chosen.assign(1, pivot);
  if (op != noOp) {
    auto isRelated = [&](OpId other) {
      if (other == noOp)
        return false;
      if (other == op)
        return true;
      for (ValueId operand : graph.operands(op))
        if (graph.producer(operand) == other ||
            is_contained(graph.operands(other), operand))
          return true;
      for (ValueId result : graph.results(op))
        if (is_contained(graph.operands(other), result))
          return true;
      return false;
    };
    for (StepId step : repeats)
      if (step != pivot && isRelated(timeline.op(step)))
        chosen.push_back(step);
    while (chosen.size() > count + 1) {
      chosen[1 + below(chosen.size() - 1)] = chosen.back();
      chosen.pop_back();
    }
  }
  removeAll(chosen);
}

void LocalSearch::takeBack() {
  // Mostly few, now and then many.
  size_t count = 1;
  if (below(20) == 0)
    count += below(1 + timeline.repeats().size() / 2);
  while (count < 64 && uniform() < 0.75)
    ++count;
  switch (below(4)) {
  case 0:
    return takeBackWindow(count);
  case 1:
    return takeBackAround(count);
  case 2:
    return takeBackSome(count);
  default:
    return takeBackRelated(count);
  }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// One round: takes evictions back, fits again, prunes. False if that failed
/// or is `allowance` worse than `current`; then nothing has changed.
bool LocalSearch::round(int64_t current, double allowance) {
  if (reorderer.allowed())
    reorderer.smooth(budget, 1 + below(64));
  takeBack();
  work.add(16);
  if (evictor.fit(budget, randomTuning())) {
    evictor.prune(budget, below(2) ? 0 : 2.0);
    if (double(objective()) <= double(current) + allowance) {
      timeline.commit();
      return true;
    }
  }
  timeline.rollback();
  return false;
}

/// Cools down from `heat` in `rounds` rounds.
void LocalSearch::anneal(size_t rounds, double heat) {
  int64_t current = objective();
  for (size_t i = 0; i < rounds; ++i) {
    if (work.exhausted() || timeline.repeats().empty())
      return;
    double left = 1 - double(i) / double(rounds);
    double allowance = -heat * left * left * std::log(1 - uniform());
    if (!round(current, allowance))
      continue;
    current = objective();
    record();
  }
}

void LocalSearch::improve() {
  int64_t base = graph.problem.baseCost();
  size_t rounds = 1000, fruitless = 0;
  while (!work.exhausted() && bestTime > base) {
    int64_t before = bestTime;
    // From the best plan, or from a new one.
    if (fruitless % 3 != 2 || !construct(randomTuning()))
      timeline.load(best);
    double typical = double(bestTime - base) /
                     double(std::max<size_t>(1, timeline.repeats().size()));
    anneal(rounds, fruitless == 0 ? 0 : typical * HEAT);
    if (getenv("REMAT_DEBUG"))
      fprintf(stderr, "%.3f s: epoch of %zu, typical %.1f fruitless %zu, %lld -> %lld (best %lld)\n", watch.seconds(), rounds, typical, fruitless, (long long)before, (long long)objective(), (long long)bestTime);
    fruitless = bestTime < before ? 0 : fruitless + 1;
    if (fruitless)
      rounds += rounds / 4;
  }
}

Expected<Solution> LocalSearch::run() {
  StagedPlan saveAll;
  schedule(graph, saveAllResidency(graph), saveAll);
  start = std::move(saveAll.plan);
  budget = graph.problem.deviceBudget.value_or(
      std::numeric_limits<int64_t>::max() / 4);
  if (reorderer.allowed()) {
    timeline.load(start);
    std::vector<OpId> order = findLowOrder(graph, budget, timeline.peak(), 4000, work);
    if (getenv("REMAT_DEBUG"))
      fprintf(stderr, "%.3f s: order search from %lld %s\n", watch.seconds(), (long long)timeline.peak(), order.empty() ? "none":"found");
    if (!order.empty()) {
      Plan reordered;
      for (OpId op : order)
        reordered.run(op);
      timeline.load(reordered);
    }
    if (getenv("REMAT_DEBUG"))
      fprintf(stderr, "%.3f s: reordered to %lld of %lld\n", watch.seconds(), (long long)timeline.peak(), (long long)budget);
    repeatFreeSources();
    reorderer.reduce(budget, 200 * graph.numOps());
    if (getenv("REMAT_DEBUG"))
      fprintf(stderr, "%.3f s: reordered to %lld of %lld\n", watch.seconds(), (long long)timeline.peak(), (long long)budget);
    start = timeline.plan();
  }
  if (!findFirstPlan())
    return make_error<InfeasibleBudgetError>(budget, 0, std::string());
  improve();
  Expected<Solution> solution =
      makeSolution(graph, std::move(best), "search", watch);
  if (solution) {
    solution->secondsToBest = secondsToBest;
    solution->cutShort = work.wasCutShort();
  }
  return solution;
}

Expected<Solution> planSearch(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  return LocalSearch(graph, options, watch).run();
}

} // namespace remat::planning
