//===- LoopCosts.cpp - what tasks that run loops take ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopCosts.h"

#include "Tuning.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Planning/Problem.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;

int64_t remat::getIterationCost(GraphOp body) {
  int64_t cost = 0;
  for (auto task : body.getOps<TaskOp>())
    cost = addCounts(cost, task.getCost());
  return cost;
}

int64_t remat::getIterations(LoopOp loop) {
  return loop.getCount() != 0 ? loop.getCount()
                              : LoopTuning::iterationsWithoutLimit;
}

/// Bytes of the buffers of `values`, and of those that `body` does not update
/// in place.
static std::pair<int64_t, int64_t> countBytes(GraphOp body, ValueRange values) {
  int64_t alignment = getTargetFacts(body).getAlignment();
  int64_t all = 0, copied = 0;
  SmallVector<BlockArgument> donors = getDonors(body);
  for (auto [number, value] : llvm::enumerate(values)) {
    int64_t bytes = llvm::alignTo(getBufferBytes(value), alignment);
    all += bytes;
    if (donors[number] != body.getArguments()[number])
      copied += bytes;
  }
  return {all, copied};
}

/// The iterations between two checkpoints that are not in the arena.
static int64_t getSegment(LoopOp loop) {
  int64_t count = loop.getCount();
  return loop.getPeriod() ? std::min<int64_t>(*loop.getPeriod(), count) : count;
}

int64_t LoopWorkspaceParts::getBytes() const {
  int64_t bytes = 0;
  for (int64_t part : {iteration, carried, states, checkpoints, stages})
    bytes = addCounts(bytes, part);
  return bytes;
}

LoopWorkspaceParts remat::getWorkspaceParts(LoopOp loop) {
  GraphOp body = findBody(loop);
  LoopWorkspaceParts parts;
  parts.iteration = body.getArenaBytes().value_or(0);
  parts.carried = countBytes(body, loop.getInits()).second;
  if (!loop.getAdvance())
    return parts;
  auto advance = SymbolTable::lookupNearestSymbolFrom<GraphOp>(
      loop, loop.getAdvanceAttr());
  parts.iteration =
      std::max<int64_t>(parts.iteration, advance.getArenaBytes().value_or(0));
  auto [states, copiedStates] = countBytes(advance, loop.getStateInits());
  parts.numCheckpoints =
      std::min<int64_t>(*loop.getSlots(), getSegment(loop)) - 1;
  parts.checkpoints = multiplyCounts(states, parts.numCheckpoints);
  if (!areAllOnHost(loop.getCount(), loop.getHostSlots().value_or(0),
                    loop.getPeriod().value_or(0)))
    parts.states = addCounts(states, copiedStates);
  if (loop.getHostSlots())
    parts.stages = multiplyCounts(states, 2);
  return parts;
}

int64_t remat::getWorkspaceBytes(LoopOp loop) {
  return getWorkspaceParts(loop).getBytes();
}

int64_t remat::getAdvances(LoopOp loop) {
  if (!loop.getAdvance())
    return 0;
  return fewestAdvances(loop.getCount(), *loop.getSlots(),
                        loop.getHostSlots().value_or(0),
                        loop.getPeriod().value_or(0));
}

/// The body that makes the states of `loop` again, or null.
static GraphOp findAdvance(LoopOp loop) {
  return loop.getAdvance() ? SymbolTable::lookupNearestSymbolFrom<GraphOp>(
                                 loop, loop.getAdvanceAttr())
                           : GraphOp();
}

int64_t remat::getHostWorkspaceBytes(LoopOp loop) {
  GraphOp advance = findAdvance(loop);
  int64_t inner = findBody(loop).getHostArenaBytes().value_or(0);
  if (advance)
    inner = std::max<int64_t>(inner, advance.getHostArenaBytes().value_or(0));
  if (!loop.getHostSlots())
    return inner;
  int64_t segments = segmentsOf(loop.getCount(), getSegment(loop));
  return addCounts(
      inner,
      multiplyCounts(countBytes(advance, loop.getStateInits()).first,
                     std::min<int64_t>(*loop.getHostSlots(), segments - 1)));
}

std::optional<planning::HostSchedule>
remat::planHostSlots(GraphOp body, GraphOp advance, int64_t count,
                     int64_t slots, const HostLink &link) {
  unsigned numStates = advance.getFunctionType().getNumResults();
  int64_t bytes =
      countBytes(advance,
                 advance.getBody().front().getArguments().take_front(numStates))
          .first;
  if (bytes == 0)
    return std::nullopt;
  planning::Problem problem;
  problem.linkBytesPerSecond = link.bytesPerSecond;
  planning::HostLoop loop;
  loop.iterations = count;
  loop.slots = slots;
  loop.advanceTime = getIterationCost(advance);
  loop.backwardTime = getIterationCost(body);
  loop.transferTime = problem.transferTime(bytes);
  loop.duplexLink = link.isDuplex;
  return planning::planHostSlots(loop, link.budget / bytes);
}

int64_t remat::getOffloadedWithin(GraphOp body) {
  int64_t bytes = 0;
  if (body && body.getHostArenaBytes().value_or(0) > 0)
    for (auto task : body.getOps<TaskOp>())
      if (LoopOp inner = findLoop(task))
        bytes = addCounts(bytes, getOffloadedBytes(inner));
  return bytes;
}

int64_t remat::getOffloadedBytes(LoopOp loop) {
  GraphOp advance = findAdvance(loop);
  int64_t count = loop.getCount();
  int64_t inner = multiplyCounts(getOffloadedWithin(findBody(loop)), count);
  if (int64_t again = getOffloadedWithin(advance))
    inner = addCounts(inner, multiplyCounts(again, getAdvances(loop)));
  if (!loop.getHostSlots())
    return inner;
  int64_t states = countBytes(advance, loop.getStateInits()).first, stored = 0;
  int64_t segments = segmentsOf(loop.getCount(), getSegment(loop));
  LoopReversal reversal(segments,
                        std::min<int64_t>(*loop.getHostSlots() + 1, segments));
  for (LoopAction action; reversal.next(action, cutOfRevolve);)
    stored += action.kind == LoopActionKind::Store && reversal.getSlot() > 0;
  return addCounts(inner, multiplyCounts(states, stored));
}
