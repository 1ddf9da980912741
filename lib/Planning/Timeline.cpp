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
  mostBytes.clear();
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
    mostBytes.push_back(0);
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
  case ActionKind::Release:
    break;
  }
  llvm_unreachable("offloads are implicit, and releases come later");
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

  forwardEnd = firstStep = allocateStep(StepKind::Border);
  append(firstStep);
  bool isForward = true;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isArgument(value) &&
        (!graph.readers(value).empty() || graph.isOutput(value)))
      define(value, firstStep);
  // Absorptions come last, as changes of what is there without them.
  SmallVector<OpId, 4> pending;
  SmallVector<std::pair<OpId, StepId>, 4> absorptions;
  SmallVector<ValueId, 8> buffer;
  for (const Action &action : plan.actions) {
    if (action.kind == ActionKind::Offload ||
        action.kind == ActionKind::Release)
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
    if (first) {
      firstRuns[action.id] = step;
      isForward = isForward && !problem.ops[action.id].backward;
      if (isForward)
        forwardEnd = step;
    } else {
      enlist(step);
    }
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
  fillChunks();
  for (auto [op, host] : absorptions)
    insertAbsorb(op, host);
  commit();
}

/// Counts the bytes of all steps, whose ids are positions.
void Timeline::fillChunks() {
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

/// Whether all that reads `made`, a copy of `value` in whatever form, may have
/// `source` instead. What is packed and unpacked is as fresh as that.
bool Timeline::mayReplace(const TimelineCopy &made, ValueId value,
                          uint32_t source) const {
  return all_of(made.readers, [&](StepId reader) {
    if (kind(reader) == StepKind::Pack || kind(reader) == StepKind::Unpack)
      return all_of(steps[reader].copies, [&](uint32_t derived) {
        return mayReplace(pool[derived], value, source);
      });
    return mayRead(reader, value, source);
  });
}

/// Whether something would read what a MUST keeps from it, or nothing at all,
/// if `step` were not there.
bool Timeline::isNeeded(StepId step) const {
  const Step &s = steps[step];
  if (!hasMusts && s.kind != StepKind::Pack)
    return false;
  if (s.kind == StepKind::Pack) {
    const TimelineCopy &packed = pool[s.copies[0]];
    if (packed.readers.empty())
      return false;
    uint32_t other = copyBefore(packedForm(s.value), step);
    return other == noCopy ||
           (graph.mustLeaveForward(s.value) &&
            !mayReplace(packed, s.value, copyBefore(s.value, pool[other].def)));
  }
  if (s.kind == StepKind::Absorb)
    return any_of(graph.results(s.op), [&](ValueId result) {
      return graph.mustLeaveForward(result) &&
             !mayRead(s.host, result, copyBefore(result, s.host));
    });
  for (uint32_t index : s.copies) {
    const TimelineCopy &made = pool[index];
    if (!graph.mustLeaveForward(made.value))
      continue;
    if (!mayReplace(made, made.value, copyBefore(made.value, step)))
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

} // namespace remat::planning
