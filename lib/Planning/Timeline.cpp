//===- Timeline.cpp - a plan that can be changed in place -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is live from its definition to its last reader. Every change of the
// sequence changes a few readers or definitions, and with them the ends of a
// few of these intervals; the bytes follow by adding to ranges.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace llvm;

namespace remat::planning {

/// Less than the bytes at any step: the maximum of nothing.
static constexpr int64_t nothing = std::numeric_limits<int64_t>::min() / 4;
/// Between the labels of neighbouring chunks after a renumbering.
static constexpr uint64_t labelSpacing = uint64_t(1) << 36;

Timeline::Timeline(const Graph &graph)
    : graph(graph), problem(graph.problem), copiesOf(graph.numValues()),
      firstRuns(graph.numOps(), noStep), reloads(graph.numValues(), 0) {}

//===----------------------------------------------------------------------===//
// Building and reading
//===----------------------------------------------------------------------===//

void Timeline::clear() {
  steps.clear();
  freeSteps.clear();
  removedSteps.clear();
  pool.clear();
  freeCopies.clear();
  for (SmallVector<uint32_t, 2> &list : copiesOf)
    list.clear();
  firstRuns.assign(graph.numOps(), noStep);
  repeatList.clear();
  reloads.assign(graph.numValues(), 0);
  chunks.clear();
  freeChunks.clear();
  order.clear();
  journal.clear();
  totalCost = totalTransfer = totalHost = 0;
}

StepId Timeline::allocateStep() {
  if (freeSteps.empty()) {
    steps.emplace_back();
    return steps.size() - 1;
  }
  StepId step = freeSteps.back();
  freeSteps.pop_back();
  steps[step] = Step();
  return step;
}

uint32_t Timeline::allocateCopy(ValueId value, StepId def) {
  uint32_t index = pool.size();
  if (freeCopies.empty()) {
    pool.emplace_back();
  } else {
    index = freeCopies.back();
    freeCopies.pop_back();
    pool[index].readers.clear();
  }
  pool[index].value = value;
  pool[index].def = def;
  return index;
}

void Timeline::append(StepId step) {
  if (order.empty() || chunks[order.back()].steps.size() >= chunkCapacity) {
    chunks.emplace_back();
    order.push_back(chunks.size() - 1);
  }
  Chunk &chunk = chunks[order.back()];
  steps[step].chunk = order.back();
  steps[step].slot = chunk.steps.size();
  steps[step].alive = true;
  chunk.steps.push_back(step);
}

void Timeline::load(const Plan &plan) {
  clear();
  size_t count = plan.actions.size() + 2;
  chunkCapacity = std::clamp<size_t>(size_t(std::sqrt(double(count))), 32, 512);
  std::vector<uint32_t> current(graph.numValues(), ~uint32_t(0));
  auto define = [&](ValueId value, StepId step) {
    current[value] = allocateCopy(value, step);
    steps[step].copies.push_back(current[value]);
    copiesOf[value].push_back(current[value]);
  };
  auto read = [&](ValueId value, StepId step) {
    pool[current[value]].readers.push_back(step);
  };

  firstStep = allocateStep();
  append(firstStep);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isArgument(value))
      define(value, firstStep);
  for (const Action &action : plan.actions) {
    if (action.kind == ActionKind::Offload)
      continue;
    StepId step = allocateStep();
    append(step);
    if (action.kind == ActionKind::Reload) {
      steps[step].reload = steps[step].repeat = true;
      steps[step].value = action.id;
      define(action.id, step);
    } else {
      steps[step].op = action.id;
      steps[step].repeat = firstRuns[action.id] != noStep;
      if (!steps[step].repeat)
        firstRuns[action.id] = step;
      for (ValueId operand : graph.operands(action.id))
        read(operand, step);
      for (ValueId result : graph.results(action.id))
        define(result, step);
    }
    if (steps[step].repeat) {
      steps[step].repeatIndex = repeatList.size();
      repeatList.push_back(step);
    }
    account(step, 1);
  }
  lastStep = allocateStep();
  append(lastStep);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (problem.values[value].viewOf != noValue)
      continue;
    if (graph.isOutput(value))
      read(value, lastStep);
    else if (graph.isArgument(value) && pool[current[value]].readers.empty())
      read(value, next(firstStep));
  }
  renumberChunks();

  // Step ids are positions now.
  std::vector<int64_t> change(steps.size() + 1, 0);
  for (const TimelineCopy &copy : pool) {
    StepId last = copy.readers.empty() ? copy.def : copy.readers.back();
    change[copy.def] += graph.bytes(copy.value);
    change[last + 1] -= graph.bytes(copy.value);
  }
  int64_t live = 0;
  for (StepId step = 0; step < steps.size(); ++step) {
    live += change[step];
    int64_t workspace =
        steps[step].op == noOp ? 0 : problem.ops[steps[step].op].workspace;
    chunks[steps[step].chunk].bytes.push_back(live + workspace);
  }
  for (uint32_t index : order)
    updateMax(chunks[index]);
}

Plan Timeline::plan() const {
  Plan plan;
  for (StepId step = next(firstStep); step != lastStep; step = next(step)) {
    const Step &s = steps[step];
    if (s.reload) {
      plan.reload(s.value);
      continue;
    }
    plan.run(s.op);
    if (s.repeat)
      continue;
    for (ValueId result : graph.results(s.op))
      if (reloads[result])
        plan.offload(result);
  }
  return plan;
}

StepId Timeline::next(StepId step) const {
  const Chunk &chunk = chunks[steps[step].chunk];
  size_t slot = steps[step].slot + 1;
  return slot < chunk.steps.size() ? chunk.steps[slot]
                                   : chunks[order[chunk.index + 1]].steps[0];
}

StepId Timeline::previous(StepId step) const {
  const Chunk &chunk = chunks[steps[step].chunk];
  return steps[step].slot > 0 ? chunk.steps[steps[step].slot - 1]
                              : chunks[order[chunk.index - 1]].steps.back();
}

int64_t Timeline::peak() const {
  int64_t peak = 0;
  for (uint32_t index : order)
    peak = std::max(peak, chunks[index].maxBytes + chunks[index].offset);
  return peak;
}

StepId Timeline::peakStep() const {
  int64_t most = peak();
  for (uint32_t index : order) {
    const Chunk &chunk = chunks[index];
    if (chunk.maxBytes + chunk.offset != most)
      continue;
    auto it = std::find(chunk.bytes.begin(), chunk.bytes.end(), chunk.maxBytes);
    return chunk.steps[it - chunk.bytes.begin()];
  }
  return firstStep;
}

static int64_t maxOf(const int64_t *begin, const int64_t *end) {
  int64_t most = nothing;
  for (const int64_t *it = begin; it < end; ++it)
    most = std::max(most, *it);
  return most;
}

int64_t Timeline::maxBetween(StepId after, StepId before) const {
  const Chunk &first = chunks[steps[after].chunk];
  const Chunk &last = chunks[steps[before].chunk];
  const int64_t *firstBytes = first.bytes.data() + steps[after].slot + 1;
  const int64_t *lastBytes = last.bytes.data() + steps[before].slot;
  if (&first == &last)
    return maxOf(firstBytes, lastBytes) + first.offset;
  int64_t most = std::max(
      maxOf(firstBytes, first.bytes.data() + first.bytes.size()) + first.offset,
      maxOf(last.bytes.data(), lastBytes) + last.offset);
  for (uint32_t i = first.index + 1; i < last.index; ++i)
    most = std::max(most, chunks[order[i]].maxBytes + chunks[order[i]].offset);
  return most;
}

/// Whether ops of the backward phase would read what a MUST keeps from them if
/// `step` were not there.
bool Timeline::isForced(StepId step) const {
  for (uint32_t index : steps[step].copies) {
    const TimelineCopy &made = pool[index];
    if (!graph.mustLeaveForward(made.value))
      continue;
    bool feedsBackward = any_of(made.readers, [&](StepId reader) {
      OpId op = steps[reader].op;
      return op != noOp && problem.ops[op].backward;
    });
    if (!feedsBackward)
      continue;
    StepId source = pool[copyBefore(made.value, step)].def;
    bool allowed = graph.policy(made.value) == Policy::MustCpuOffload
                       ? steps[source].reload
                       : before(firstRuns[graph.firstBackward() - 1], source);
    if (!allowed)
      return true;
  }
  return false;
}

uint32_t Timeline::copyBefore(ValueId value, StepId step) const {
  uint64_t position = key(step);
  ArrayRef<uint32_t> copies = copiesOf[value];
  for (size_t i = copies.size(); i-- > 0;)
    if (key(pool[copies[i]].def) < position)
      return copies[i];
  return ~uint32_t(0);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

void Timeline::renumberChunks() {
  for (auto [i, index] : enumerate(order)) {
    chunks[index].label = i * labelSpacing;
    chunks[index].index = i;
  }
}

void Timeline::updateMax(Chunk &chunk) {
  chunk.maxBytes =
      maxOf(chunk.bytes.data(), chunk.bytes.data() + chunk.bytes.size());
}

void Timeline::splitChunk(uint32_t index) {
  uint32_t fresh = chunks.size();
  if (freeChunks.empty()) {
    chunks.emplace_back();
  } else {
    fresh = freeChunks.back();
    freeChunks.pop_back();
  }
  Chunk &chunk = chunks[index], &half = chunks[fresh];
  size_t middle = chunk.steps.size() / 2;
  half.steps.assign(chunk.steps.begin() + middle, chunk.steps.end());
  half.bytes.assign(chunk.bytes.begin() + middle, chunk.bytes.end());
  half.offset = chunk.offset;
  chunk.steps.resize(middle);
  chunk.bytes.resize(middle);
  updateMax(chunk);
  updateMax(half);
  for (auto [slot, step] : enumerate(half.steps)) {
    steps[step].chunk = fresh;
    steps[step].slot = slot;
  }
  order.insert(order.begin() + chunk.index + 1, fresh);
  for (size_t i = chunk.index + 1; i < order.size(); ++i)
    chunks[order[i]].index = i;
  uint64_t follower = half.index + 1 < order.size()
                          ? chunks[order[half.index + 1]].label
                          : chunk.label + labelSpacing;
  half.label = chunk.label + (follower - chunk.label) / 2;
  if (follower - chunk.label < 8 * chunkCapacity)
    renumberChunks();
}

void Timeline::place(StepId step, StepId before) {
  int64_t across = bytesAcross(before);
  uint32_t index = steps[before].chunk, slot = steps[before].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.insert(chunk.steps.begin() + slot, step);
  chunk.bytes.insert(chunk.bytes.begin() + slot, across - chunk.offset);
  steps[step].chunk = index;
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    steps[chunk.steps[i]].slot = i;
  chunk.maxBytes = std::max(chunk.maxBytes, across - chunk.offset);
  if (chunk.steps.size() > 2 * chunkCapacity)
    splitChunk(index);
}

void Timeline::unplace(StepId step) {
  uint32_t index = steps[step].chunk, slot = steps[step].slot;
  Chunk &chunk = chunks[index];
  chunk.steps.erase(chunk.steps.begin() + slot);
  chunk.bytes.erase(chunk.bytes.begin() + slot);
  for (size_t i = slot; i < chunk.steps.size(); ++i)
    steps[chunk.steps[i]].slot = i;
  if (!chunk.steps.empty())
    return updateMax(chunk);
  order.erase(order.begin() + chunk.index);
  for (size_t i = chunk.index; i < order.size(); ++i)
    chunks[order[i]].index = i;
  freeChunks.push_back(index);
}

void Timeline::addBytes(StepId after, StepId upTo, int64_t bytes) {
  if (bytes == 0)
    return;
  Chunk &first = chunks[steps[after].chunk];
  Chunk &last = chunks[steps[upTo].chunk];
  size_t from = steps[after].slot + 1, to = steps[upTo].slot + 1;
  if (&first == &last) {
    if (from >= to)
      return;
    for (size_t i = from; i < to; ++i)
      first.bytes[i] += bytes;
    return updateMax(first);
  }
  if (from < first.bytes.size()) {
    for (size_t i = from; i < first.bytes.size(); ++i)
      first.bytes[i] += bytes;
    updateMax(first);
  }
  for (uint32_t i = first.index + 1; i < last.index; ++i)
    chunks[order[i]].offset += bytes;
  for (size_t i = 0; i < to; ++i)
    last.bytes[i] += bytes;
  updateMax(last);
}

int64_t Timeline::ownBytes(StepId step) const {
  const Step &s = steps[step];
  int64_t bytes = s.op == noOp ? 0 : problem.ops[s.op].workspace;
  for (uint32_t copy : s.copies)
    bytes += graph.bytes(pool[copy].value);
  return bytes;
}

int64_t Timeline::bytesAcross(StepId step) const {
  return bytesAt(step) - ownBytes(step);
}

//===----------------------------------------------------------------------===//
// Changing
//===----------------------------------------------------------------------===//

void Timeline::addReader(uint32_t copy, StepId step) {
  TimelineCopy &c = pool[copy];
  StepId last = lastUse(copy);
  if (before(last, step)) {
    c.readers.push_back(step);
    return addBytes(last, step, graph.bytes(c.value));
  }
  auto at = std::upper_bound(c.readers.begin(), c.readers.end(), step,
                             [&](StepId a, StepId b) { return before(a, b); });
  c.readers.insert(at, step);
}

void Timeline::removeReader(uint32_t copy, StepId step) {
  TimelineCopy &c = pool[copy];
  if (c.readers.back() != step) {
    c.readers.erase(std::find(c.readers.begin(), c.readers.end(), step));
    return;
  }
  c.readers.pop_back();
  addBytes(lastUse(copy), step, -graph.bytes(c.value));
}

void Timeline::account(StepId step, int sign) {
  const Step &s = steps[step];
  if (!s.reload) {
    totalCost += sign * problem.ops[s.op].cost;
    return;
  }
  int64_t bytes = problem.values[s.value].transferBytes;
  int64_t time = problem.transferTime(bytes);
  totalTransfer += sign * time;
  if (sign > 0 ? reloads[s.value]++ == 0 : --reloads[s.value] == 0) {
    totalTransfer += sign * time;
    totalHost += sign * bytes;
  }
}

/// Takes a repeat into the sequence.
void Timeline::attach(StepId step, StepId before) {
  place(step, before);
  ArrayRef<ValueId> results = steps[step].reload
                                  ? ArrayRef(steps[step].value)
                                  : graph.results(steps[step].op);
  if (steps[step].op != noOp) {
    for (ValueId operand : graph.operands(steps[step].op))
      addReader(copyBefore(operand, step), step);
    int64_t workspace = problem.ops[steps[step].op].workspace;
    addBytes(previous(step), step, workspace);
  }
  for (ValueId value : results) {
    uint32_t old = copyBefore(value, step);
    uint32_t fresh = allocateCopy(value, step);
    steps[step].copies.push_back(fresh);
    SmallVector<uint32_t, 2> &list = copiesOf[value];
    list.insert(std::find(list.begin(), list.end(), old) + 1, fresh);
    TimelineCopy &from = pool[old], &to = pool[fresh];
    auto split = std::upper_bound(
        from.readers.begin(), from.readers.end(), step,
        [&](StepId a, StepId b) { return this->before(a, b); });
    to.readers.assign(split, from.readers.end());
    from.readers.erase(split, from.readers.end());
    if (to.readers.empty())
      addBytes(previous(step), step, graph.bytes(value));
    else
      addBytes(lastUse(old), previous(step), -graph.bytes(value));
  }
  steps[step].alive = true;
  steps[step].repeatIndex = repeatList.size();
  repeatList.push_back(step);
  account(step, 1);
}

/// Takes a repeat out of the sequence.
void Timeline::detach(StepId step) {
  account(step, -1);
  for (uint32_t copy : steps[step].copies) {
    SmallVector<uint32_t, 2> &list = copiesOf[pool[copy].value];
    auto it = std::find(list.begin(), list.end(), copy);
    uint32_t old = *std::prev(it);
    list.erase(it);
    if (!pool[copy].readers.empty()) {
      addBytes(lastUse(old), previous(step), graph.bytes(pool[copy].value));
      pool[old].readers.append(pool[copy].readers.begin(),
                               pool[copy].readers.end());
    }
    freeCopies.push_back(copy);
  }
  steps[step].copies.clear();
  if (steps[step].op != noOp)
    for (ValueId operand : graph.operands(steps[step].op))
      removeReader(copyBefore(operand, step), step);
  unplace(step);
  steps[step].alive = false;
  StepId moved = repeatList.back();
  repeatList[steps[step].repeatIndex] = moved;
  steps[moved].repeatIndex = steps[step].repeatIndex;
  repeatList.pop_back();
}

StepId Timeline::insertRun(OpId op, StepId before) {
  StepId step = allocateStep();
  steps[step].op = op;
  steps[step].repeat = true;
  StepId following = before;
  attach(step, following);
  journal.push_back({Change::Inserted, step, noStep});
  return step;
}

StepId Timeline::insertReload(ValueId value, StepId before) {
  StepId step = allocateStep();
  steps[step].value = value;
  steps[step].repeat = steps[step].reload = true;
  attach(step, before);
  journal.push_back({Change::Inserted, step, noStep});
  return step;
}

void Timeline::remove(StepId step) {
  assert(isRemovable(step) && "not a repeat");
  StepId following = next(step);
  detach(step);
  removedSteps.push_back(step);
  journal.push_back({Change::Removed, step, following});
}

void Timeline::moveTo(StepId step, StepId before) {
  SmallVector<uint32_t, 8> read;
  if (steps[step].op != noOp)
    for (ValueId operand : graph.operands(steps[step].op)) {
      read.push_back(copyBefore(operand, step));
      removeReader(read.back(), step);
    }
  for (uint32_t copy : steps[step].copies)
    addBytes(step, lastUse(copy), -graph.bytes(pool[copy].value));
  unplace(step);
  place(step, before);
  addBytes(previous(step), step, ownBytes(step));
  for (uint32_t copy : steps[step].copies)
    addBytes(step, lastUse(copy), graph.bytes(pool[copy].value));
  for (uint32_t copy : read)
    addReader(copy, step);
}

void Timeline::move(StepId step, StepId before) {
  StepId following = next(step);
  if (before == step || before == following)
    return;
  moveTo(step, before);
  journal.push_back({Change::Moved, step, following});
}

void Timeline::commit() {
  freeSteps.insert(freeSteps.end(), removedSteps.begin(), removedSteps.end());
  removedSteps.clear();
  journal.clear();
}

void Timeline::rollback(size_t mark) {
  while (journal.size() > mark) {
    Change change = journal.back();
    journal.pop_back();
    switch (change.kind) {
    case Change::Inserted:
      detach(change.step);
      freeSteps.push_back(change.step);
      break;
    case Change::Removed:
      attach(change.step, change.next);
      removedSteps.pop_back();
      break;
    case Change::Moved:
      moveTo(change.step, change.next);
      break;
    }
  }
}

} // namespace remat::planning
