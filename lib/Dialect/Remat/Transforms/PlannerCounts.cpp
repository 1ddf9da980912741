//===- PlannerCounts.cpp - how planners count what arenas hold ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner knows sizes and live ranges. What will lie in buffers of the caller
// or in the place of an operand is decided behind it. So it is given problems
// that count each of these in a way that is close to what will come of it.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanner.h"

#include "remat/Dialect/Remat/IR/Donations.h"

#include <map>

using namespace mlir;
using namespace remat;

/// Finds what lies in the caller's buffers in `kept`, the graph with a plan
/// that keeps all, without being returned itself: sums that are added to.
void GraphPlanner::findReturned(GraphOp kept) {
  DenseSet<Value> owners;
  for (Value value : kept.getBody().front().getTerminator()->getOperands())
    owners.insert(GraphLiveness::getOwner(value));
  std::map<int64_t, TaskOp> taskOf;
  for (auto task : kept.getOps<TaskOp>())
    taskOf[task.getId()] = task;
  for (auto [id, value] : llvm::enumerate(graphProblem.values)) {
    auto result = dyn_cast_or_null<OpResult>(value);
    if (!result || problem.values[id].isOutput)
      continue;
    auto task = cast<TaskOp>(result.getOwner());
    Value twin = taskOf.at(task.getId())->getResult(result.getResultNumber());
    if (task.isPlannedBackward() &&
        owners.contains(GraphLiveness::getOwner(twin)))
      returned.push_back(id);
  }
}

/// Whether `op` of `problem` may be kept from running again, and its results
/// from leaving the arena.
static bool mayRunOnce(const planning::Problem &problem, planning::OpId op) {
  return llvm::all_of(problem.ops[op].results, [&](planning::ValueId result) {
    return problem.values[result].policy == planning::Policy::None;
  });
}

static void runOnce(planning::Problem &problem, planning::OpId op) {
  problem.ops[op].recomputable = false;
  problem.ops[op].absorbedCost.reset();
  problem.ops[op].absorbers.clear();
  for (planning::ValueId result : problem.ops[op].results) {
    problem.values[result].offloadable = false;
    problem.values[result].packed.reset();
  }
}

/// Lets what is written over a value that another task has made for it take
/// nothing in `counted`, and its readers read that value, too: the buffer is
/// then there from the first value to the last reader, and once. Whether there
/// is anything like that.
bool GraphPlanner::countInPlaceOnce(planning::Problem &counted) {
  SmallVector<WriteOverMade> writes =
      findWritesOverMade(graph, graph->getParentOfType<ModuleOp>());
  if (writes.empty())
    return false;
  DenseMap<Value, planning::ValueId> idOf;
  for (auto [id, value] : llvm::enumerate(graphProblem.values))
    if (value)
      idOf[value] = id;
  // For what is written over another value, the one that was there first.
  std::map<planning::ValueId, planning::ValueId> firstOf;
  for (auto [result, made] : writes) {
    planning::ValueId written = idOf.lookup(result), before = idOf.lookup(made);
    auto known = firstOf.find(before);
    planning::ValueId first = known == firstOf.end() ? before : known->second;
    const planning::Value &value = counted.values[written];
    if (value.isOutput || value.bytes == 0 ||
        value.bytes != counted.values[first].bytes ||
        !mayRunOnce(counted, value.producer) ||
        !mayRunOnce(counted, counted.values[first].producer))
      continue;
    firstOf[written] = first;
  }
  for (auto [written, first] : firstOf) {
    counted.values[written].bytes = 0;
    runOnce(counted, counted.values[written].producer);
    runOnce(counted, counted.values[first].producer);
  }
  for (planning::Op &op : counted.ops)
    for (size_t i = 0, count = op.operands.size(); i < count; ++i)
      if (auto first = firstOf.find(op.operands[i]);
          first != firstOf.end() &&
          !llvm::is_contained(op.operands, first->second))
        op.operands.push_back(first->second);
  return !firstOf.empty();
}

/// Counting the gradients from when they are written, as if they were in the
/// arena and this larger by all of them, a planner sees how the room in their
/// buffers shrinks, but takes it to be in one piece. Not counting them, it
/// takes that room to be the same at all times. Either can be closer to what
/// packing makes of it. What an earlier call of several keeps is not in buffers
/// of a later one. What is written over a value that waits for it alone counts
/// with this value once, in a way that does not make such a value again.
llvm::Error GraphPlanner::collectCounts() {
  Counted counted{problem};
  if (options.reuseResultBuffers && !graphProblem.tasks.empty() &&
      !graphProblem.hasSeveralCalls) {
    DenseSet<Value> reused;
    for (auto [donor, returned] :
         llvm::zip(getDonors(graph),
                   graph.getBody().front().getTerminator()->getOperands()))
      if (donor)
        reused.insert(getViewRoot(returned));
    // An argument is in its buffer until it is written.
    for (auto [value, counts] :
         llvm::zip(graphProblem.values, counted.problem.values))
      if (counts.isOutput && problem.ops[counts.producer].backward &&
          !reused.contains(value)) {
        int64_t bytes = getBufferBytes(cast<RankedTensorType>(value.getType()),
                                       graphProblem.target);
        countsReturned |= bytes != counts.bytes;
        counts.bytes = bytes;
      }
  }
  Counted inPlace{counted.problem};
  if (options.reuseResultBuffers && countInPlaceOnce(inPlace.problem))
    counts.push_back(std::move(inPlace));
  // Else it is the problem as it is, which comes last.
  if (countsReturned)
    counts.insert(counts.begin(), std::move(counted));
  counts.push_back({problem});
  for (Counted &counted : counts) {
    for (planning::ValueId value : returned)
      counted.problem.values[value].bytes = 0;
    llvm::Expected<planning::Solution> saveAll =
        keepAllValues(counted.problem, options);
    if (!saveAll)
      return saveAll.takeError();
    counted.reusedBytes =
        std::max<int64_t>(saveAll->peakBytes - saveAllArena, 0);
  }
  return llvm::Error::success();
}
