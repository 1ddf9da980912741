//===- GraphAbsorptions.cpp - what tasks of a graph can absorb ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Planners know which ops a kernel can absorb, and let it absorb any set of
// them. A graph offers a kernel for each set. Offers are checked here: tasks
// may have been moved to other graphs since, or repeated for a region.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

using namespace mlir;
using namespace remat;

using OpIds = std::vector<planning::OpId>;

/// Of what a reader may absorb, all sets are looked at.
static constexpr size_t maxAbsorbed = 8;

/// Whether `reader` reads something that `maker` makes.
static bool reads(TaskOp reader, TaskOp maker) {
  return llvm::any_of(reader.getOperands(), [&](Value operand) {
    return getViewRoot(operand).getDefiningOp() == maker;
  });
}

/// Whether each of `absorbed` is read by `reader` or another of them.
static bool isRead(TaskOp reader, ArrayRef<TaskOp> absorbed) {
  return llvm::all_of(absorbed, [&](TaskOp task) {
    return reads(reader, task) || llvm::any_of(absorbed, [&](TaskOp other) {
             return reads(other, task);
           });
  });
}

/// Whether `reader` and the tasks of `absorbed` are wired as `offer` says: each
/// value that one of them reads is made in the kernel or given to it.
static bool isWired(TaskOp reader, ArrayRef<TaskOp> absorbed,
                    const Absorption &offer) {
  SmallVector<TaskOp> tasks(absorbed);
  tasks.push_back(reader);
  DenseSet<Value> given;
  for (auto [number, operand] : offer.operands) {
    const TaskOp *task = llvm::find_if(tasks, [&, id = number](TaskOp task) {
      return static_cast<int64_t>(task.getId()) == id;
    });
    if (task == tasks.end() || operand >= TaskOp(*task).getNumOperands())
      return false;
    given.insert(getViewRoot(TaskOp(*task).getOperand(operand)));
  }
  auto isMade = [&](Value root) {
    return llvm::is_contained(absorbed, root.getDefiningOp<TaskOp>());
  };
  return llvm::all_of(tasks, [&](TaskOp task) {
    return llvm::all_of(task.getOperands(), [&](Value operand) {
      Value root = getViewRoot(operand);
      return isMade(root) != given.contains(root);
    });
  });
}

/// What op `reader` can call where it absorbs others, by these, if that is all
/// sets of some ops of which each is read. What can be recomputed is in
/// `opsById`.
std::map<OpIds, Absorption> GraphProblem::collectAbsorptions(
    planning::OpId reader,
    const std::unordered_map<int64_t, planning::OpId> &opsById) const {
  TaskOp task = tasks[reader];
  std::map<OpIds, Absorption> offers;
  std::set<planning::OpId> absorbable;
  for (Absorption &offer : getAbsorptions(task)) {
    OpIds ops;
    SmallVector<TaskOp> absorbed;
    for (int64_t id : offer.tasks)
      if (auto op = opsById.find(id);
          op != opsById.end() && op->second < reader)
        ops.push_back(op->second);
    llvm::sort(ops);
    ops.erase(llvm::unique(ops), ops.end());
    for (planning::OpId op : ops)
      absorbed.push_back(tasks[op]);
    if (ops.empty() || ops.size() != offer.tasks.size() ||
        offer.workspace > static_cast<int64_t>(task.getWorkspace()) ||
        !isRead(task, absorbed) || !isWired(task, absorbed, offer))
      continue;
    absorbable.insert(ops.begin(), ops.end());
    offers[ops] = std::move(offer);
  }
  SmallVector<planning::OpId> all(absorbable.begin(), absorbable.end());
  if (all.size() > maxAbsorbed)
    return {};
  for (unsigned set = 1; set < 1u << all.size(); ++set) {
    OpIds ops;
    SmallVector<TaskOp> absorbed;
    for (auto [number, op] : llvm::enumerate(all))
      if (set >> number & 1) {
        ops.push_back(op);
        absorbed.push_back(tasks[op]);
      }
    if (isRead(task, absorbed) && !offers.count(ops))
      return {};
  }
  return offers;
}

/// What is absorbed costs as much wherever that is, and together at least what
/// the fused kernel takes longer than the reader's own.
void GraphProblem::addAbsorptions() {
  // A dense map does not take all numbers.
  std::unordered_map<int64_t, planning::OpId> opsById;
  for (auto [op, task] : llvm::enumerate(tasks))
    if (task && !task.isClone() && problem.ops[op].recomputable)
      opsById[task.getId()] = op;
  for (planning::OpId reader = 0; reader < tasks.size(); ++reader) {
    if (!tasks[reader] || tasks[reader].isClone() ||
        !tasks[reader]->hasAttr(absorptionsAttrName))
      continue;
    std::set<planning::OpId> absorbed;
    for (auto &[ops, offer] : collectAbsorptions(reader, opsById)) {
      absorbed.insert(ops.begin(), ops.end());
      absorptions[{reader, ops}] = offer;
    }
    for (planning::OpId op : absorbed) {
      problem.ops[op].absorbedCost = 0;
      problem.ops[op].absorbers.push_back(reader);
    }
  }
  // Small sets first.
  for (size_t size = 1; size <= maxAbsorbed; ++size)
    for (const auto &[key, offer] : absorptions) {
      const auto &[reader, ops] = key;
      if (ops.size() != size)
        continue;
      int64_t extra = offer.cost - problem.ops[reader].cost;
      for (planning::OpId op : ops)
        extra -= *problem.ops[op].absorbedCost;
      *problem.ops[ops.back()].absorbedCost += std::max<int64_t>(extra, 0);
    }
}
