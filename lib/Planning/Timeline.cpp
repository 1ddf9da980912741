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
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace llvm;

namespace remat::planning {

Timeline::Timeline(const Graph &graph) : graph(graph), problem(graph.problem) {
  for (const Value &value : problem.values)
    formBytes.push_back(value.bytes);
  bool canPack = any_of(problem.values,
                        [](const Value &value) { return bool(value.packed); });
  if (canPack)
    for (const Value &value : problem.values)
      formBytes.push_back(value.packed ? value.packed->bytes : 0);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    hasMusts |= graph.mustLeaveForward(value);
  copiesOf.resize(formBytes.size());
  clear();
}

//===----------------------------------------------------------------------===//
// Building and reading
//===----------------------------------------------------------------------===//

void Timeline::clear() {
  steps.clear();
  places.clear();
  freeSteps.clear();
  removedSteps.clear();
  pool.clear();
  freeCopies.clear();
  for (SmallVector<uint32_t, 2> &list : copiesOf)
    list.clear();
  firstRuns.assign(graph.numOps(), noStep);
  repeatList.clear();
  reloads.assign(graph.numValues(), 0);
  absorptionCount.assign(graph.numOps(), 0);
  absorbed.clear();
  chunks.clear();
  freeChunks.clear();
  order.clear();
  journal.clear();
  totalCost = totalTransfer = totalHost = 0;
}

StepId Timeline::allocateStep(StepKind kind) {
  StepId step = steps.size();
  if (freeSteps.empty()) {
    steps.emplace_back();
    places.emplace_back();
  } else {
    step = freeSteps.back();
    freeSteps.pop_back();
    steps[step] = Step();
  }
  steps[step].kind = kind;
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
  places[step].chunk = order.back();
  places[step].slot = chunk.steps.size();
  steps[step].alive = true;
  chunk.steps.push_back(step);
}

static StepKind stepKind(ActionKind kind) {
  switch (kind) {
  case ActionKind::Run:
    return StepKind::Run;
  case ActionKind::Reload:
    return StepKind::Reload;
  case ActionKind::Pack:
    return StepKind::Pack;
  case ActionKind::Unpack:
    return StepKind::Unpack;
  case ActionKind::Absorb:
    return StepKind::Absorb;
  case ActionKind::Offload:
    break;
  }
  llvm_unreachable("offloads are implicit");
}

void Timeline::load(const Plan &plan) {
  clear();
  size_t count = plan.actions.size() + 2;
  chunkCapacity = std::clamp<size_t>(size_t(std::sqrt(double(count))), 32, 512);
  std::vector<uint32_t> current(formBytes.size(), noCopy);
  auto define = [&](ValueId form, StepId step) {
    current[form] = allocateCopy(form, step);
    steps[step].copies.push_back(current[form]);
    copiesOf[form].push_back(current[form]);
  };
  auto read = [&](ValueId form, StepId step) {
    pool[current[form]].readers.push_back(step);
  };

  firstStep = allocateStep(StepKind::Border);
  append(firstStep);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isArgument(value) &&
        (!graph.readers(value).empty() || graph.isOutput(value)))
      define(value, firstStep);
  // Absorptions come last, as changes of what is there without them.
  SmallVector<OpId, 4> pending;
  SmallVector<std::pair<OpId, StepId>, 4> absorptions;
  SmallVector<ValueId, 8> buffer;
  for (const Action &action : plan.actions) {
    if (action.kind == ActionKind::Offload)
      continue;
    if (action.kind == ActionKind::Absorb) {
      pending.push_back(action.id);
      continue;
    }
    StepId step = allocateStep(stepKind(action.kind));
    append(step);
    if (action.kind == ActionKind::Run) {
      steps[step].op = action.id;
      for (OpId op : pending)
        absorptions.push_back({op, step});
      pending.clear();
    } else {
      steps[step].value = action.id;
    }
    bool first =
        action.kind == ActionKind::Run && firstRuns[action.id] == noStep;
    if (first)
      firstRuns[action.id] = step;
    else
      enlist(step);
    for (ValueId form : reads(step, buffer))
      read(form, step);
    for (ValueId form : makes(step, buffer))
      define(form, step);
    account(step, 1);
  }
  lastStep = allocateStep(StepKind::Border);
  append(lastStep);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (problem.values[value].viewOf == noValue && graph.isOutput(value))
      read(value, lastStep);
  renumber();

  // Step ids are positions now.
  std::vector<int64_t> change(steps.size() + 1, 0);
  for (const TimelineCopy &copy : pool) {
    StepId last = copy.readers.empty() ? copy.def : copy.readers.back();
    change[copy.def] += bytes(copy.value);
    change[last + 1] -= bytes(copy.value);
  }
  int64_t live = 0;
  for (StepId step = 0; step < steps.size(); ++step) {
    live += change[step];
    int64_t workspace =
        steps[step].op == noOp ? 0 : problem.ops[steps[step].op].workspace;
    chunks[places[step].chunk].bytes.push_back(live + workspace);
  }
  for (uint32_t index : order)
    updateMax(chunks[index]);
  for (auto [op, host] : absorptions)
    insertAbsorb(op, host);
  commit();
}

Plan Timeline::plan() const {
  Plan plan;
  for (StepId step = next(firstStep); step != lastStep; step = next(step)) {
    const Step &s = steps[step];
    switch (s.kind) {
    case StepKind::Reload:
      plan.reload(s.value);
      continue;
    case StepKind::Pack:
      plan.pack(s.value);
      continue;
    case StepKind::Unpack:
      plan.unpack(s.value);
      continue;
    default:
      break;
    }
    for (StepId absorption : absorptions(step))
      plan.absorb(steps[absorption].op);
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
  const Chunk &chunk = chunks[places[step].chunk];
  size_t slot = places[step].slot + 1;
  return slot < chunk.steps.size() ? chunk.steps[slot]
                                   : chunks[order[chunk.index + 1]].steps[0];
}

StepId Timeline::previous(StepId step) const {
  const Chunk &chunk = chunks[places[step].chunk];
  return places[step].slot > 0 ? chunk.steps[places[step].slot - 1]
                               : chunks[order[chunk.index - 1]].steps.back();
}

ArrayRef<ValueId> Timeline::reads(StepId step,
                                  SmallVectorImpl<ValueId> &buffer) const {
  const Step &s = steps[step];
  switch (s.kind) {
  case StepKind::Run:
    break;
  case StepKind::Pack:
    return s.value;
  case StepKind::Unpack:
    buffer.assign(1, packedForm(s.value));
    return buffer;
  default:
    return {};
  }
  if (!s.isHost)
    return graph.operands(s.op);
  // What the kernel and what is absorbed into it read, less what is made there.
  ArrayRef<StepId> inside = absorptions(step);
  buffer.clear();
  auto add = [&](OpId op) {
    for (ValueId operand : graph.operands(op))
      if (!is_contained(buffer, operand) &&
          none_of(inside, [&](StepId absorption) {
            return steps[absorption].op == graph.producer(operand);
          }))
        buffer.push_back(operand);
  };
  add(s.op);
  for (StepId absorption : inside)
    add(steps[absorption].op);
  return buffer;
}

/// The copies that a step makes, as values and packed forms.
ArrayRef<ValueId> Timeline::makes(StepId step,
                                  SmallVectorImpl<ValueId> &buffer) const {
  const Step &s = steps[step];
  switch (s.kind) {
  case StepKind::Run:
    return graph.results(s.op);
  case StepKind::Reload:
  case StepKind::Unpack:
    return s.value;
  case StepKind::Pack:
    buffer.assign(1, packedForm(s.value));
    return buffer;
  default:
    return {};
  }
}

bool Timeline::isAbsorbed(OpId op, StepId host) const {
  return any_of(absorptions(host),
                [&](StepId absorption) { return steps[absorption].op == op; });
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

/// Whether a copy of a value that a MUST keeps from crossing into the backward
/// phase has not crossed.
bool Timeline::isFresh(const TimelineCopy &copy) const {
  if (graph.policy(copy.value) == Policy::MustCpuOffload)
    return kind(copy.def) == StepKind::Reload;
  // What is unpacked is as fresh as what was packed.
  StepId def = copy.def;
  while (kind(def) == StepKind::Unpack) {
    StepId pack = pool[copyBefore(packedForm(copy.value), def)].def;
    def = pool[copyBefore(copy.value, pack)].def;
  }
  return kind(def) == StepKind::Run && isBehindForward(def);
}

/// Whether a run, with what it absorbs, may read `value` from `copy`.
bool Timeline::mayRead(StepId reader, ValueId value, uint32_t copy) const {
  if (kind(reader) != StepKind::Run)
    return true;
  const TimelineCopy &read = pool[copy];
  auto may = [&](OpId op) {
    if (!is_contained(graph.operands(op), value) ||
        !graph.mustLeaveForward(value))
      return true;
    return problem.ops[op].backward ? isFresh(read)
                                    : mayReadAgain(copy, reader);
  };
  return may(op(reader)) && all_of(absorptions(reader), [&](StepId absorption) {
           return may(op(absorption));
         });
}

/// Whether something would read what a MUST keeps from it, or nothing at all,
/// if `step` were not there.
bool Timeline::isNeeded(StepId step) const {
  const Step &s = steps[step];
  if (!hasMusts && s.kind != StepKind::Pack)
    return false;
  if (s.kind == StepKind::Pack)
    return !pool[s.copies[0]].readers.empty() &&
           copiesOf[packedForm(s.value)].front() == s.copies[0];
  if (s.kind == StepKind::Absorb)
    return any_of(graph.results(s.op), [&](ValueId result) {
      return graph.mustLeaveForward(result) &&
             !mayRead(s.host, result, copyBefore(result, s.host));
    });
  for (uint32_t index : s.copies) {
    const TimelineCopy &made = pool[index];
    if (!graph.mustLeaveForward(made.value))
      continue;
    uint32_t source = copyBefore(made.value, step);
    for (StepId reader : made.readers)
      if (!mayRead(reader, made.value, source))
        return true;
  }
  return false;
}

/// Whether its kernel, or what else is absorbed there, reads what an absorbed
/// op makes.
bool Timeline::isUseful(StepId absorption) const {
  auto isRead = [&](OpId reader) {
    return any_of(graph.operands(reader), [&](ValueId operand) {
      return graph.producer(operand) == op(absorption);
    });
  };
  StepId host = anchor(absorption);
  return isRead(op(host)) || any_of(absorptions(host), [&](StepId other) {
           return isRead(op(other));
         });
}

uint32_t Timeline::copyBefore(ValueId value, StepId step) const {
  uint64_t position = key(step);
  ArrayRef<uint32_t> copies = copiesOf[value];
  const uint32_t *after = llvm::partition_point(
      copies, [&](uint32_t copy) { return key(pool[copy].def) < position; });
  return after == copies.begin() ? noCopy : *std::prev(after);
}

//===----------------------------------------------------------------------===//
// Changing
//===----------------------------------------------------------------------===//

void Timeline::addReader(uint32_t copy, StepId step) {
  TimelineCopy &c = pool[copy];
  StepId last = lastUse(copy);
  if (before(last, step)) {
    c.readers.push_back(step);
    return addBytes(last, step, bytes(c.value));
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
  addBytes(lastUse(copy), step, -bytes(c.value));
}

int64_t Timeline::costOf(StepId step) const {
  const Step &s = steps[step];
  switch (s.kind) {
  case StepKind::Run:
    return problem.ops[s.op].cost;
  case StepKind::Absorb:
    return *problem.ops[s.op].absorbedCost;
  case StepKind::Pack:
    return problem.values[s.value].packed->packCost;
  case StepKind::Unpack:
    return problem.values[s.value].packed->unpackCost;
  case StepKind::Reload:
    return problem.transferTime(problem.values[s.value].transferBytes);
  case StepKind::Border:
    return 0;
  }
  llvm_unreachable("all kinds are covered");
}

void Timeline::account(StepId step, int sign) {
  const Step &s = steps[step];
  if (s.kind != StepKind::Reload) {
    totalCost += sign * costOf(step);
    return;
  }
  int64_t time = costOf(step);
  totalTransfer += sign * time;
  if (sign > 0 ? reloads[s.value]++ == 0 : --reloads[s.value] == 0) {
    totalTransfer += sign * time;
    totalHost += sign * problem.values[s.value].transferBytes;
  }
}

void Timeline::enlist(StepId step) {
  steps[step].repeat = true;
  steps[step].repeatIndex = repeatList.size();
  repeatList.push_back(step);
}

void Timeline::delist(StepId step) {
  StepId moved = repeatList.back();
  repeatList[steps[step].repeatIndex] = moved;
  steps[moved].repeatIndex = steps[step].repeatIndex;
  repeatList.pop_back();
}

/// Takes a step into the sequence.
void Timeline::attach(StepId step, StepId before) {
  steps[step].alive = true;
  enlist(step);
  account(step, 1);
  if (kind(step) == StepKind::Absorb)
    return attachAbsorption(step);
  place(step, before);
  SmallVector<ValueId, 8> buffer;
  for (ValueId form : reads(step, buffer))
    addReader(copyBefore(form, step), step);
  if (op(step) != noOp)
    addBytes(previous(step), step, problem.ops[op(step)].workspace);
  for (ValueId form : makes(step, buffer)) {
    uint32_t old = copyBefore(form, step);
    uint32_t fresh = allocateCopy(form, step);
    steps[step].copies.push_back(fresh);
    SmallVector<uint32_t, 2> &list = copiesOf[form];
    if (old == noCopy) {
      list.insert(list.begin(), fresh);
      addBytes(previous(step), step, bytes(form));
      continue;
    }
    list.insert(std::find(list.begin(), list.end(), old) + 1, fresh);
    TimelineCopy &from = pool[old], &to = pool[fresh];
    auto split = std::upper_bound(
        from.readers.begin(), from.readers.end(), step,
        [&](StepId a, StepId b) { return this->before(a, b); });
    to.readers.assign(split, from.readers.end());
    from.readers.erase(split, from.readers.end());
    if (to.readers.empty())
      addBytes(previous(step), step, bytes(form));
    else
      addBytes(lastUse(old), previous(step), -bytes(form));
  }
}

/// Takes a step out of the sequence.
void Timeline::detach(StepId step) {
  steps[step].alive = false;
  delist(step);
  account(step, -1);
  if (kind(step) == StepKind::Absorb)
    return detachAbsorption(step);
  for (uint32_t copy : steps[step].copies) {
    ValueId form = pool[copy].value;
    SmallVector<uint32_t, 2> &list = copiesOf[form];
    auto it = std::find(list.begin(), list.end(), copy);
    if (!pool[copy].readers.empty()) {
      uint32_t old = *std::prev(it);
      addBytes(lastUse(old), previous(step), bytes(form));
      pool[old].readers.append(pool[copy].readers.begin(),
                               pool[copy].readers.end());
    }
    list.erase(it);
    freeCopies.push_back(copy);
  }
  steps[step].copies.clear();
  SmallVector<ValueId, 8> buffer;
  for (ValueId form : reads(step, buffer))
    removeReader(copyBefore(form, step), step);
  unplace(step);
}

/// Makes `host` a reader of what it reads after `change`, and of nothing else.
template <typename Change>
void Timeline::changeReads(StepId host, Change change) {
  SmallVector<ValueId, 8> buffer, bufferAfter;
  ArrayRef<ValueId> before = reads(host, buffer);
  change();
  ArrayRef<ValueId> after = reads(host, bufferAfter);
  for (ValueId value : before)
    if (!is_contained(after, value))
      removeReader(copyBefore(value, host), host);
  for (ValueId value : after)
    if (!is_contained(before, value))
      addReader(copyBefore(value, host), host);
}

void Timeline::attachAbsorption(StepId step) {
  StepId host = steps[step].host;
  ++absorptionCount[op(step)];
  changeReads(host, [&] {
    SmallVector<StepId, 2> &list = absorbed[host];
    steps[host].isHost = true;
    list.insert(llvm::partition_point(
                    list, [&](StepId other) { return op(other) < op(step); }),
                step);
  });
}

void Timeline::detachAbsorption(StepId step) {
  StepId host = steps[step].host;
  --absorptionCount[op(step)];
  changeReads(host, [&] {
    auto it = absorbed.find(host);
    it->second.erase(llvm::find(it->second, step));
    if (!it->second.empty())
      return;
    absorbed.erase(it);
    steps[host].isHost = false;
  });
}

StepId Timeline::insert(StepKind kind, OpId op, ValueId value, StepId before) {
  StepId step = allocateStep(kind);
  steps[step].op = op;
  steps[step].value = value;
  if (kind == StepKind::Absorb)
    steps[step].host = before;
  attach(step, before);
  journal.push_back({Change::Inserted, step, noStep});
  return step;
}

StepId Timeline::insertRun(OpId op, StepId before) {
  return insert(StepKind::Run, op, noValue, before);
}

StepId Timeline::insertReload(ValueId value, StepId before) {
  return insert(StepKind::Reload, noOp, value, before);
}

StepId Timeline::insertPack(ValueId value, StepId before) {
  return insert(StepKind::Pack, noOp, value, before);
}

StepId Timeline::insertUnpack(ValueId value, StepId before) {
  return insert(StepKind::Unpack, noOp, value, before);
}

StepId Timeline::insertAbsorb(OpId op, StepId host) {
  return insert(StepKind::Absorb, op, noValue, host);
}

void Timeline::removeOne(StepId step) {
  StepId following = kind(step) == StepKind::Absorb ? noStep : next(step);
  detach(step);
  removedSteps.push_back(step);
  journal.push_back({Change::Removed, step, following});
}

void Timeline::remove(StepId step) {
  assert(isRemovable(step) && "not a repeat");
  SmallVector<StepId, 4> inside(absorptions(anchor(step)));
  uint32_t packed = noCopy;
  if (kind(step) == StepKind::Run)
    for (StepId absorption : reverse(inside))
      removeOne(absorption);
  if (kind(step) == StepKind::Unpack)
    packed = copyBefore(packedForm(value(step)), step);
  removeOne(step);
  if (packed != noCopy && pool[packed].readers.empty())
    removeOne(pool[packed].def);
  if (kind(step) == StepKind::Absorb)
    for (StepId absorption : reverse(inside))
      if (absorption != step && !isUseful(absorption))
        removeOne(absorption);
}

void Timeline::moveTo(StepId step, StepId before) {
  SmallVector<uint32_t, 8> read;
  SmallVector<ValueId, 8> buffer;
  for (ValueId form : reads(step, buffer)) {
    read.push_back(copyBefore(form, step));
    removeReader(read.back(), step);
  }
  for (uint32_t copy : steps[step].copies)
    addBytes(step, lastUse(copy), -bytes(pool[copy].value));
  unplace(step);
  place(step, before);
  addBytes(previous(step), step, ownBytes(step));
  for (uint32_t copy : steps[step].copies)
    addBytes(step, lastUse(copy), bytes(pool[copy].value));
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
