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
#include "Residency.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

namespace {
/// Tunings of the first plans, tried in this order.
constexpr double keepRatios[] = {0.1, 0.0, 0.3, 1.0};

class LocalSearch {
public:
  LocalSearch(const Graph &graph, const SolverOptions &options,
              const Stopwatch &watch)
      : graph(graph), options(options), watch(watch), work(options, watch),
        timeline(graph), evictor(graph, timeline, work, options.seed),
        generator(evictor.random()) {}

  Expected<Solution> run();

private:
  bool findFirstPlan(const Plan &start);
  void improve();
  void takeBack();
  void takeBackWindow(size_t count);
  void takeBackAround(size_t count);
  void takeBackSome(size_t count);
  void takeBackRelated(size_t count);
  void removeAll(ArrayRef<StepId> steps);
  bool perturb();
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
  int64_t budget = 0;

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

bool LocalSearch::findFirstPlan(const Plan &start) {
  for (double keepRatio : keepRatios) {
    timeline.load(start, /*pinRepeats=*/true);
    EvictionTuning tuning;
    tuning.keepRatio = keepRatio;
    if (!evictor.fit(budget, tuning))
      continue;
    evictor.prune(budget);
    if (best.actions.empty())
      firstPlanSeconds = watch.seconds();
    record();
    if (work.overdrawn())
      break;
  }
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

void LocalSearch::improve() {
  int64_t base = graph.problem.baseCost();
  size_t iterations = 0, stalled = 0;
  size_t patience = 2000 + 20 * graph.numOps();
  timeline.load(best);
  int64_t current = objective();
  while (!work.exhausted() && bestTime > base && stalled++ < patience) {
    ++iterations;
    if (timeline.repeats().empty())
      break;
    takeBack();
    EvictionTuning tuning;
    tuning.keepRatio = keepRatios[below(std::size(keepRatios))];
    tuning.keepWhereItFits = below(4) != 0;
    tuning.noise = below(2) ? 0.5 : 2.0;
    work.add(16);
    if (!evictor.fit(budget, tuning)) {
      timeline.rollback();
      continue;
    }
    evictor.prune(budget);
    double heat = 0.02 * double(bestTime - base) * uniform() * uniform();
    if (double(objective()) > double(current) + (below(10) ? 0 : heat)) {
      timeline.rollback();
      continue;
    }
    timeline.commit();
    if (objective() < bestTime)
      stalled = 0;
    current = objective();
    record();
    if (double(current - bestTime) > 0.03 * double(bestTime - base)) {
      timeline.load(best);
      current = objective();
    }
  }
  if (getenv("REMAT_DEBUG"))
    fprintf(stderr, "%zu iterations, %.3f s, %llu work\n", iterations,
            watch.seconds(), (unsigned long long)work.steps());
}

Expected<Solution> LocalSearch::run() {
  StagedPlan start;
  schedule(graph, saveAllResidency(graph), start);
  budget = graph.problem.deviceBudget.value_or(
      std::numeric_limits<int64_t>::max() / 4);
  if (!findFirstPlan(start.plan))
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
