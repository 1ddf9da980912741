//===- Neighbourhoods.cpp - which evictions to take back ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four relations between repeats: close in time, gone at the same step, close
// in the graph, none.
//
//===----------------------------------------------------------------------===//

#include "Neighbourhoods.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

/// Leaves `count` of what was chosen behind the `first`.
void Neighbourhoods::thinOut(size_t first, size_t count) {
  while (chosen.size() > first + count) {
    chosen[first + below(chosen.size() - first)] = chosen.back();
    chosen.pop_back();
  }
}

/// Repeats that stand together.
void Neighbourhoods::takeBackWindow(size_t count) {
  for (StepId step = timeline.anchor(pick());
       chosen.size() < count && step != timeline.end();
       step = timeline.next(step)) {
    if (timeline.isRemovable(step))
      chosen.push_back(step);
    for (StepId absorption : timeline.absorptions(step))
      chosen.push_back(absorption);
  }
}

/// The last use before a repeat of what it makes.
uint64_t Neighbourhoods::gapBegin(StepId step) const {
  StepId at = timeline.anchor(step);
  ValueId value = noValue;
  ArrayRef<uint32_t> copies = timeline.copiesMadeBy(step);
  if (!copies.empty())
    value = timeline.copy(copies[0]).value;
  else if (at != step && !graph.results(timeline.op(step)).empty())
    value = graph.results(timeline.op(step))[0];
  uint32_t copy =
      value == noValue ? Timeline::noCopy : timeline.copyBefore(value, at);
  return timeline.key(copy == Timeline::noCopy ? at : timeline.lastUse(copy));
}

/// Repeats whose values are gone at the same time.
void Neighbourhoods::takeBackAround(size_t count) {
  StepId pivot = pick();
  uint64_t low = gapBegin(pivot), high = timeline.key(timeline.anchor(pivot));
  for (StepId step : timeline.repeats())
    if (timeline.key(timeline.anchor(step)) > low && gapBegin(step) < high)
      chosen.push_back(step);
  thinOut(0, count);
}

void Neighbourhoods::takeBackSome(size_t count) {
  for (size_t i = 0; i < count; ++i)
    chosen.push_back(pick());
}

/// Whether two ops are the same, neighbours, or read the same value.
bool Neighbourhoods::areRelated(OpId op, OpId other) const {
  if (other == noOp || other == op)
    return other == op;
  for (ValueId operand : graph.operands(op))
    if (graph.producer(operand) == other ||
        is_contained(graph.operands(other), operand))
      return true;
  return any_of(graph.results(op), [&](ValueId result) {
    return is_contained(graph.operands(other), result);
  });
}

void Neighbourhoods::takeBackRelated(size_t count) {
  StepId pivot = pick();
  chosen.push_back(pivot);
  OpId op = timeline.op(pivot);
  if (op == noOp)
    return;
  for (StepId step : timeline.repeats())
    if (step != pivot && areRelated(op, timeline.op(step)))
      chosen.push_back(step);
  thinOut(1, count);
}

/// Makes what a repeat makes earlier: where an operand, which is kept or made
/// again for it, is still there.
void Neighbourhoods::advance(StepId step) {
  OpId op = timeline.op(step);
  if (!timeline.isRemovable(step) || timeline.kind(step) != StepKind::Run ||
      !timeline.absorptions(step).empty() || graph.operands(op).empty())
    return;
  // What a MUST says of the phases holds where things are.
  auto isFree = [&](ValueId value) { return !graph.mustLeaveForward(value); };
  ArrayRef<ValueId> operands = graph.operands(op);
  if (!all_of(operands, isFree) || !all_of(graph.results(op), isFree))
    return;
  ValueId operand = operands[below(operands.size())];
  const TimelineCopy &copy = timeline.copy(timeline.copyBefore(operand, step));
  const StepId *reader = llvm::find(copy.readers, step);
  StepId last = reader == copy.readers.begin() ? copy.def : *std::prev(reader);
  if (last == copy.def && timeline.isRepeat(last) && below(4) != 0) {
    uint32_t before = timeline.copyBefore(operand, last);
    if (before == Timeline::noCopy)
      return;
    last = timeline.lastUse(before);
  }
  StepId target = timeline.next(last);
  if (target == step || !timeline.before(timeline.firstRun(op), target))
    return;
  timeline.insertRun(op, target);
  timeline.remove(step);
}

void Neighbourhoods::takeBack() {
  size_t count = 1;
  if (below(20) == 0)
    count += below(1 + timeline.repeats().size() / 2);
  while (count < 64 && below(4) != 0)
    ++count;
  chosen.clear();
  if (below(4) == 0) {
    for (size_t i = 0; i < 1 + count / 2; ++i)
      advance(pick());
    if (below(2))
      return;
  }
  if (timeline.repeats().empty())
    return;
  switch (below(4)) {
  case 0:
    takeBackWindow(count);
    break;
  case 1:
    takeBackAround(count);
    break;
  case 2:
    takeBackSome(count);
    break;
  default:
    takeBackRelated(count);
    break;
  }
  for (StepId step : chosen)
    if (timeline.isRemovable(step))
      timeline.remove(step);
}

} // namespace remat::planning
