//===- TimelineChanges.cpp - changes of a timeline ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps are inserted, removed and moved. Each change can be taken back.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cassert>

using namespace llvm;

namespace remat::planning {

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
void Timeline::changeReads(StepId host, function_ref<void()> change) {
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
