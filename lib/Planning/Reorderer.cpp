//===- Reorderer.cpp - moving the steps of a timeline ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A move changes the bytes only between the old and the new place. Its worth is
// the change of a sum over these steps: squares of what they have above most of
// the budget.
//
//===----------------------------------------------------------------------===//

#include "Reorderer.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

Reorderer::Reorderer(const Graph &graph, Timeline &timeline, WorkMeter &work,
                     std::mt19937_64 &generator, double pressureBegins)
    : graph(graph), timeline(timeline), work(work), generator(generator),
      pressureBegins(pressureBegins) {}

Reorderer::Range Reorderer::rangeOf(StepId step) const {
  Range range = {timeline.begin(), timeline.end()};
  auto notBefore = [&](StepId other) {
    if (timeline.before(range.after, other))
      range.after = other;
  };
  auto notAfter = [&](StepId other) {
    if (timeline.before(other, range.before))
      range.before = other;
  };
  OpId op = timeline.op(step);
  // What is absorbed somewhere has run before.
  bool isFirst = op != noOp && timeline.firstRun(op) == step;
  if (op == noOp || !graph.problem.ops[op].recomputable ||
      (isFirst && timeline.numAbsorptions(op) > 0))
    return {timeline.previous(step), timeline.next(step)};
  for (StepId absorption : timeline.absorptions(step))
    notBefore(timeline.firstRun(timeline.op(absorption)));
  SmallVector<ValueId, 8> buffer;
  for (ValueId operand : timeline.reads(step, buffer)) {
    ArrayRef<uint32_t> copies = timeline.copies(operand);
    uint32_t read = timeline.copyBefore(operand, step);
    notBefore(timeline.copy(read).def);
    const uint32_t *next = llvm::find(copies, read) + 1;
    if (next != copies.end())
      notAfter(timeline.copy(*next).def);
  }
  for (uint32_t index : timeline.copiesMadeBy(step)) {
    const TimelineCopy &copy = timeline.copy(index);
    ArrayRef<uint32_t> copies = timeline.copies(copy.value);
    const uint32_t *it = llvm::find(copies, index);
    if (!copy.readers.empty())
      notAfter(copy.readers.front());
    if (it != copies.begin())
      notBefore(timeline.lastUse(*std::prev(it)));
    if (std::next(it) != copies.end())
      notAfter(timeline.copy(*std::next(it)).def);
  }
  return range;
}

StepId Reorderer::pickStep() {
  ArrayRef<StepId> repeats = timeline.repeats();
  size_t pick = generator() % (graph.numOps() + repeats.size());
  return pick < graph.numOps()
             ? timeline.firstRun(OpId(pick))
             : timeline.anchor(repeats[pick - graph.numOps()]);
}

double Reorderer::pressure(StepId from, StepId to, int64_t budget) const {
  double threshold = pressureBegins * double(budget);
  double sum = 0;
  timeline.forEachBytes(from, to, [&](int64_t bytes) {
    double excess = std::max(0.0, double(bytes) - threshold);
    sum += excess * excess;
  });
  return sum / (threshold * threshold + 1);
}

bool Reorderer::tryMove(StepId step, int64_t budget, double heat) {
  Range range = rangeOf(step);
  StepId following = timeline.next(step);
  work.add(4);
  if (range.after == timeline.previous(step) && range.before == following)
    return false;
  // To one of the ends, or to somewhere near.
  StepId target = following;
  switch (generator() % 4) {
  case 0:
    target = timeline.next(range.after);
    break;
  case 1:
    target = range.before;
    break;
  default: {
    size_t distance = 1 + generator() % ReordererTuning::mostPlaces;
    bool later = generator() % 2;
    target = later ? following : step;
    for (size_t i = 0; i < distance; ++i) {
      if (later ? target == range.before
                : timeline.previous(target) == range.after)
        break;
      target = later ? timeline.next(target) : timeline.previous(target);
    }
    break;
  }
  }
  if (target == step || target == following)
    return false;
  bool later = timeline.before(step, target);
  StepId from = later ? timeline.previous(step) : timeline.previous(target);
  StepId to = later ? target : following;
  int64_t limit = std::max(budget, timeline.maxBetween(from, to));
  double before = pressure(from, to, budget);
  size_t mark = timeline.mark();
  timeline.move(step, target);
  double change = pressure(from, to, budget) - before;
  work.add(8);
  lastChange = change;
  double allowance = heat > 0 ? -heat * std::log(1 - uniform(generator)) : 0;
  if (change > allowance ||
      (heat <= 0 && timeline.maxBetween(from, to) > limit)) {
    timeline.rollback(mark);
    return false;
  }
  return true;
}

void Reorderer::reduce(int64_t budget, size_t rounds) {
  // The heat starts at the typical size of a change.
  double typical = 0;
  size_t samples = 0;
  for (size_t i = 0; i < rounds && !work.overdrawn(); ++i) {
    double left = 1 - double(i) / double(rounds);
    double heat = samples ? ReordererTuning::initialHeat * typical /
                                double(samples) * left * left
                          : 0;
    lastChange = 0;
    bool moved = tryMove(pickStep(), budget, std::max(heat, 1e-12));
    if (i < ReordererTuning::sampledMoves && lastChange != 0) {
      typical += std::abs(lastChange);
      ++samples;
    }
    if (moved && timeline.peak() <= budget)
      break;
  }
}

size_t Reorderer::smooth(int64_t budget, size_t count) {
  size_t made = 0;
  for (size_t i = 0; i < count; ++i)
    made += tryMove(pickStep(), budget, 0);
  return made;
}

} // namespace remat::planning
