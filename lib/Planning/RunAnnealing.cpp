//===- RunAnnealing.cpp - annealing over sequences of runs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds of simulated annealing, each for a budget a little below the lowest
// peak so far. There are three kinds of moves: a copy that nobody reads at a
// full step is made again before its next reader, with what that takes; a run
// that repeats something goes; a step moves. A move is worth what it changes of
// the pressure, as the `Reorderer` defines it, and a little for each run. After
// each round, evictions that have to fit go down as far as they get.
//
//===----------------------------------------------------------------------===//

#include "RunAnnealing.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <utility>

using namespace llvm;

namespace remat::planning {

RunAnnealing::RunAnnealing(const Graph &graph, Timeline &timeline,
                           Evictor &evictor, WorkMeter &work)
    : graph(graph), timeline(timeline), evictor(evictor), work(work),
      generator(evictor.random()),
      reorderer(graph, timeline, work, generator,
                RunAnnealingTuning::pressureBegins),
      whole(graph, timeline, work, generator, 1) {
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (!graph.isArgument(value) && graph.bytes(value) > 0 &&
        graph.problem.values[value].viewOf == noValue &&
        !graph.runsOnce(graph.producer(value)))
      candidates.push_back(value);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// A step above the budget; the fullest where the ones known are not any more,
/// or any where the cost counts.
StepId RunAnnealing::pickFullStep() {
  if (judge)
    return judge->pickStep();
  if (picks++ % RunAnnealingTuning::picksPerCollection == 0) {
    fullSteps.clear();
    timeline.forEachAbove(
        budget, [&](StepId step, int64_t) { fullSteps.push_back(step); });
    work.add(1 + fullSteps.size() / 4);
  }
  if (!fullSteps.empty()) {
    StepId step = fullSteps[below(fullSteps.size())];
    if (timeline.isAlive(step) && timeline.bytesAt(step) > budget)
      return step;
  }
  if (countsCost())
    return whole.pickStep();
  return timeline.peakStep();
}

/// A step that is at most some hundred places from a full one.
StepId RunAnnealing::pickStepNearby() {
  StepId step = pickFullStep();
  size_t distance =
      below(size_t(1) << below(RunAnnealingTuning::nearbyExponents));
  bool later = below(2);
  StepId end = later ? timeline.end() : timeline.begin();
  for (size_t i = 0; i < distance && step != end; ++i)
    step = later ? timeline.next(step) : timeline.previous(step);
  work.add(distance / 16);
  return step;
}

/// A copy that lives on behind a step and is neither made nor read there.
uint32_t RunAnnealing::pickIdleCopy(StepId at) {
  for (size_t i = 0; i < RunAnnealingTuning::idleTries; ++i) {
    ValueId value = candidates[below(candidates.size())];
    uint32_t index = timeline.copyBefore(value, at);
    work.add(1);
    if (index == Timeline::noCopy)
      continue;
    const TimelineCopy &copy = timeline.copy(index);
    if (timeline.before(at, timeline.lastUse(index)) &&
        !is_contained(copy.readers, at))
      return index;
  }
  return Timeline::noCopy;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// What one run more is worth.
double RunAnnealing::priceOf(OpId op) const {
  return runPrice + costPrice * double(graph.problem.ops[op].cost);
}

/// Ends a move that changed bytes in `range`: keeps it if it lowers the
/// pressure and the price of runs together, or raises them by less than `heat`
/// allows.
bool RunAnnealing::finish(const Range &range, double before, double cost,
                          size_t mark, double heat) {
  if (judge) {
    bool isKept = judge->accepts(noStep);
    if (!isKept)
      timeline.rollback(mark);
    return isKept;
  }
  double change =
      pressures().pressure(range.after, range.before, budget) - before + cost;
  if (change <= -heat * std::log(1 - uniform(generator)))
    return true;
  timeline.rollback(mark);
  return false;
}

/// Collects the ops that make `op` run again at `before`: `op` itself and, for
/// operands that are not there, their ops; a part of `keep` of those operands
/// lives on instead. `from` becomes the first step from which one does. False
/// if it is too much.
bool RunAnnealing::makeAgain(OpId op, StepId before, double keep,
                             StepId &from) {
  closure.assign(1, op);
  for (size_t i = 0; i < closure.size(); ++i) {
    for (ValueId operand : graph.operands(closure[i])) {
      StepId last = timeline.lastUse(timeline.copyBefore(operand, before));
      OpId producer = graph.producer(operand);
      if (!timeline.before(last, before) || is_contained(closure, producer))
        continue;
      if (!graph.isArgument(operand) && !graph.runsOnce(producer) &&
          uniform(generator) >= keep) {
        closure.push_back(producer);
        continue;
      }
      if (timeline.before(last, from))
        from = last;
    }
    if (closure.size() > RunAnnealingTuning::mostRuns)
      return false;
  }
  // Ids are in a valid order.
  llvm::sort(closure);
  return true;
}

bool RunAnnealing::tryEviction(double heat) {
  StepId at = pickFullStep();
  uint32_t index = pickIdleCopy(at);
  if (index == Timeline::noCopy)
    return false;
  const TimelineCopy &copy = timeline.copy(index);
  const StepId *reader = partition_point(
      copy.readers, [&](StepId step) { return timeline.before(step, at); });
  OpId op = graph.producer(copy.value);
  Range range = {reader == copy.readers.begin() ? copy.def : *std::prev(reader),
                 *reader};
  // Right before its reader, or as long as one of its operands is there.
  StepId place = *reader;
  ArrayRef<ValueId> operands = graph.operands(op);
  if (!operands.empty() && below(2)) {
    StepId last = timeline.lastUse(
        timeline.copyBefore(operands[below(operands.size())], place));
    if (timeline.before(at, last) && timeline.before(last, place))
      place = timeline.next(last);
  }
  if (!makeAgain(op, place, below(2) ? 1.0 : uniform(generator), range.after))
    return false;
  double before = pressures().pressure(range.after, range.before, budget);
  size_t mark = timeline.mark();
  double price = 0;
  for (OpId each : closure) {
    price += priceOf(each);
    timeline.insertRun(each, place);
  }
  return finish(range, before, price, mark, heat);
}

/// What a run reads dies earlier without it, and the copies before those that
/// it makes live on.
RunAnnealing::Range RunAnnealing::rangeOfRemoval(StepId step) const {
  Range range = {timeline.previous(step), timeline.next(step)};
  auto widen = [&](StepId from) {
    if (timeline.before(from, range.after))
      range.after = from;
  };
  for (uint32_t index : timeline.copiesMadeBy(step)) {
    ArrayRef<uint32_t> copies = timeline.copies(timeline.copy(index).value);
    const uint32_t *it = llvm::find(copies, index);
    if (it != copies.begin())
      widen(timeline.lastUse(*std::prev(it)));
    if (timeline.before(range.before, timeline.lastUse(index)))
      range.before = timeline.lastUse(index);
  }
  SmallVector<ValueId, 8> buffer;
  for (ValueId operand : timeline.reads(step, buffer)) {
    const TimelineCopy &copy =
        timeline.copy(timeline.copyBefore(operand, step));
    if (copy.readers.back() == step)
      widen(copy.readers.size() > 1 ? *std::prev(copy.readers.end(), 2)
                                    : copy.def);
  }
  return range;
}

bool RunAnnealing::tryRemoval(double heat) {
  StepId step = pickStepNearby();
  ArrayRef<StepId> repeats = timeline.repeats();
  if (!repeats.empty() && (below(2) || !timeline.isRemovable(step)))
    step = repeats[below(repeats.size())];
  if (timeline.kind(step) != StepKind::Run || !timeline.isRemovable(step))
    return false;
  Range range = rangeOfRemoval(step);
  double before = pressures().pressure(range.after, range.before, budget);
  size_t mark = timeline.mark();
  double price = priceOf(timeline.op(step));
  timeline.remove(step);
  return finish(range, before, -price, mark, heat);
}

bool RunAnnealing::tryMove(double heat) {
  StepId step = pickStepNearby();
  if (below(2)) {
    ArrayRef<StepId> repeats = timeline.repeats();
    size_t pick = below(graph.numOps() + repeats.size());
    step = pick < graph.numOps()
               ? timeline.firstRun(OpId(pick))
               : timeline.anchor(repeats[pick - graph.numOps()]);
  }
  if (timeline.kind(step) != StepKind::Run ||
      (!timeline.isRepeat(step) && !graph.mayReorder()))
    return false;
  if (!judge)
    return pressures().tryMove(step, budget, heat);
  size_t mark = timeline.mark();
  if (!pressures().tryMove(step, budget, std::numeric_limits<double>::max()))
    return false;
  bool isKept = judge->accepts(step);
  if (!isKept)
    timeline.rollback(mark);
  return isKept;
}

/// A change of any kind. Whether it is made.
bool RunAnnealing::tryAny(double heat) {
  unsigned kind = below(3);
  bool made = kind == 0   ? tryEviction(heat)
              : kind == 1 ? tryRemoval(heat)
                          : tryMove(heat);
  if (made)
    timeline.commit();
  return made;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

void RunAnnealing::keepIfLower() {
  if (timeline.peak() >= least)
    return;
  least = timeline.peak();
  best = timeline.plan();
}

void RunAnnealing::tryChange(Judge &newJudge) {
  judge = &newJudge;
  tryAny(0);
  judge = nullptr;
}

size_t RunAnnealing::countMoves() const {
  return std::clamp(graph.numOps() * RunAnnealingTuning::movesPerOp,
                    RunAnnealingTuning::fewestMoves,
                    RunAnnealingTuning::mostMoves);
}

/// A move looks at the bytes of a part of the steps.
void RunAnnealing::countMove() {
  work.add(RunAnnealingTuning::moveSteps +
           (graph.numOps() + timeline.repeats().size()) / 20);
}

/// One round, from the best plan.
void RunAnnealing::anneal(int64_t lowest, double share) {
  timeline.load(best);
  picks = 0;
  const size_t moves = countMoves();
  int64_t wanted = std::max(lowest, budget);
  for (size_t i = 0; i < moves && least > wanted && !isOver(share); ++i) {
    double left = 1 - double(i) / double(moves);
    double heat = RunAnnealingTuning::heat * left * left;
    if (tryAny(heat))
      keepIfLower();
    countMove();
  }
}

/// Evictions that have to fit, from the best plan.
void RunAnnealing::evict(int64_t lowest) {
  for (unsigned i = 0; i < RunAnnealingTuning::evictions && least > lowest;
       ++i) {
    timeline.load(best);
    int64_t part = RunAnnealingTuning::coarsest << i % 4;
    int64_t aim = least - std::max<int64_t>(1, least / part);
    size_t limit = 4 * timeline.repeats().size() + graph.numOps();
    if (!evictor.fit(aim, randomRanking(generator), limit))
      continue;
    evictor.prune(aim);
    timeline.commit();
    keepIfLower();
  }
}

void RunAnnealing::lowerPeak(int64_t lowest, double share, size_t patience) {
  best = timeline.plan();
  least = timeline.peak();
  if (candidates.empty())
    return;
  // Where the first round hardly gets anywhere, as in most regular graphs,
  // others do not either.
  const int64_t some = least - least / RunAnnealingTuning::leastGain;
  size_t fruitless = 0;
  while (least > lowest && fruitless < patience && !isOver(share)) {
    int64_t before = least;
    // It does not depend on what is wanted, so that a smaller budget is found
    // on the same way as a larger one.
    budget = least - std::max<int64_t>(1, least / RunAnnealingTuning::step);
    anneal(lowest, share);
    if (least > some)
      break;
    evict(lowest);
    fruitless = least < before ? 0 : fruitless + 1;
  }
  timeline.load(best);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

void RunAnnealing::keepIfCheaper() {
  if (timeline.cost() >= least || timeline.peak() > budget)
    return;
  least = timeline.cost();
  best = timeline.plan();
}

/// One round, from the cheapest plan. It cools down by the time the share is
/// spent.
void RunAnnealing::annealCost(double share) {
  timeline.load(best);
  picks = 0;
  const size_t moves = countMoves();
  const double begin = work.getSpent();
  for (size_t i = 0; i < moves && !isOver(share); ++i) {
    double done = std::max(double(i) / double(moves),
                           (work.getSpent() - begin) / (share - begin));
    double left = std::max(1 - done, 0.0);
    if (tryAny(RunAnnealingTuning::costHeat * left * left))
      keepIfCheaper();
    countMove();
  }
}

void RunAnnealing::lowerCost(int64_t most, double share) {
  best = timeline.plan();
  least = timeline.cost();
  budget = most;
  const int64_t base = graph.problem.baseCost();
  if (candidates.empty() || timeline.peak() > most || base <= 0)
    return;
  const double priceBefore = std::exchange(runPrice, 0);
  costPrice = RunAnnealingTuning::averageRunPrice * double(graph.numOps()) /
              double(base);
  int64_t before = least;
  do {
    before = least;
    annealCost(share);
  } while (before - least > (before - base) / RunAnnealingTuning::leastSaving &&
           !isOver(share));
  runPrice = priceBefore;
  costPrice = 0;
  timeline.load(best);
}

} // namespace remat::planning
