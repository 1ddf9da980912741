//===- VerifyPolicies.cpp - what a plan does with policies ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the policies and the budgets of regions of a planned graph: which
// values are made again, are kept, or leave for the host.
//
//===----------------------------------------------------------------------===//

#include "GraphVerifier.h"

#include "remat/Dialect/Remat/IR/Absorptions.h"

#include <map>

using namespace mlir;
using namespace remat;

/// The first user of `value`, or of a view of it, for which `isWanted` holds.
/// With `throughHost`, copies that came back from the host count too.
static Operation *findUser(Value value, bool throughHost,
                           function_ref<bool(Operation *)> isWanted) {
  for (Operation *user : value.getUsers()) {
    if (isWanted(user))
      return user;
    if (isViewOp(user) || (throughHost && isa<OffloadOp, ReloadOp>(user)))
      if (Operation *found =
              findUser(user->getResult(0), throughHost, isWanted))
        return found;
  }
  return nullptr;
}

/// Whether `op` is a task of the backward computation of a derivative of
/// `level` or a higher one.
static bool isBackwardTask(Operation *op, unsigned level) {
  auto task = dyn_cast<TaskOp>(op);
  return task && task.getBackwardLevel() >= level;
}

static LogicalResult emitBrokenPolicy(TaskOp task, unsigned result,
                                      Policy policy, Operation *culprit,
                                      StringRef what) {
  InFlightDiagnostic diag = task.emitOpError("result ")
                            << result << " has policy '"
                            << stringifyPolicy(policy) << "' but " << what;
  if (culprit)
    diag.attachNote(culprit->getLoc()) << "here";
  return diag;
}

/// The last task before the backward computation that is planned, clones aside;
/// null without one.
static TaskOp findLastForward(GraphOp graph) {
  TaskOp last;
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isPlannedBackward())
      break;
    if (!task.isClone())
      last = task;
  }
  return last;
}

LogicalResult remat::verifyPolicies(GraphOp graph) {
  TaskOp lastForward = findLastForward(graph);
  unsigned planned = graph.getPlannedLevel(), highest = 0;
  for (auto task : graph.getOps<TaskOp>())
    highest = std::max(highest, task.getBackwardLevel());
  // Repeated tasks behind the border are for the backward computation. Others
  // that stand there, as those that write over a donated argument at last, are
  // not.
  auto runsInBackward = [&](Operation *op) {
    auto task = dyn_cast<TaskOp>(op);
    return isBackwardTask(op, planned) ||
           (task && task.isClone() && lastForward &&
            lastForward->isBeforeInBlock(op));
  };
  // What makes the results of a task again.
  std::map<int64_t, TaskOp> clones;
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isClone())
      clones.try_emplace(task.getId(), task);
    for (int64_t absorbed : getAbsorbed(task))
      clones.try_emplace(absorbed, task);
  }
  for (auto task : graph.getOps<TaskOp>()) {
    unsigned level = task.getPolicyDerivative();
    // Nothing is asked of the last derivative.
    if (task.isClone() || (level > 1 && level > highest))
      continue;
    auto isAbout = [&](Operation *op) { return isBackwardTask(op, level); };
    for (OpResult result : task->getResults()) {
      unsigned number = result.getResultNumber();
      std::optional<Policy> policy = task.getResultPolicy(number);
      bool isReturned =
          findUser(result, /*throughHost=*/false, llvm::IsaPred<ReturnOp>);
      if (!policy || (isReturned && *policy != Policy::MustSave))
        continue;
      auto found = clones.find(task.getId());
      TaskOp clone = found == clones.end() ? TaskOp() : found->second;
      bool runsOnce =
          *policy == Policy::MustSave || *policy == Policy::MustCpuOffload;
      if (runsOnce && clone)
        return emitBrokenPolicy(task, number, *policy, clone,
                                "the task is repeated");
      // A copy that comes back from the host is what the forward computation
      // made, too: offloading does not recompute.
      Operation *reader = nullptr;
      // Behind the first backward task, and for derivatives of another level,
      // there are other borders between forward and backward tasks, and forward
      // tasks run between them.
      bool isLater = level != planned ||
                     (lastForward && lastForward->isBeforeInBlock(task));
      if (*policy == Policy::MustRecompute && isLater)
        reader = findUser(result, /*throughHost=*/true, isAbout);
      else if (*policy == Policy::MustRecompute)
        reader = findUser(result, /*throughHost=*/true, runsInBackward);
      else if (*policy == Policy::MustCpuOffload)
        reader = findUser(result, /*throughHost=*/false, isAbout);
      if (reader)
        return emitBrokenPolicy(task, number, *policy, reader,
                                "the backward computation reads it");
      if (*policy == Policy::MustSave)
        if (Operation *offload = findUser(result, /*throughHost=*/false,
                                          llvm::IsaPred<OffloadOp>))
          return emitBrokenPolicy(task, number, *policy, offload,
                                  "it is offloaded");
    }
  }
  return success();
}

/// Adds the copies of a value that come back from the host.
static void collectReloads(Value value, SmallVectorImpl<Value> &copies) {
  for (Operation *user : value.getUsers()) {
    if (isa<ReloadOp>(user))
      copies.push_back(user->getResult(0));
    if (isViewOp(user) || isa<OffloadOp, ReloadOp>(user))
      collectReloads(user->getResult(0), copies);
  }
}

LogicalResult remat::verifyRegionBudgets(GraphOp graph) {
  std::optional<DictionaryAttr> budgets = graph.getRegionBudgets();
  if (!budgets)
    return success();
  Operation *last = findLastForward(graph);
  if (!last)
    return success();
  // What leaves right behind it was not kept.
  while (isa_and_nonnull<OffloadOp, ReleaseOp>(last->getNextNode()))
    last = last->getNextNode();
  auto isLater = [&](Operation *op) { return last->isBeforeInBlock(op); };
  std::map<StringRef, int64_t> kept;
  TargetAttr target = getTargetFacts(graph);
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.isPlannedBackward() || isLater(task))
      continue;
    for (OpResult result : task->getResults()) {
      if (findUser(result, /*throughHost=*/true, llvm::IsaPred<ReturnOp>))
        continue;
      SmallVector<Value> copies = {result};
      collectReloads(result, copies);
      int64_t numKept = llvm::count_if(copies, [&](Value copy) {
        return !isLater(copy.getDefiningOp()) &&
               findUser(copy, /*throughHost=*/false, isLater);
      });
      for (Attribute name : task.getResultNames(result.getResultNumber()))
        kept[cast<StringAttr>(name).getValue()] +=
            numKept *
            getBufferBytes(cast<RankedTensorType>(result.getType()), target);
    }
  }
  for (NamedAttribute region : *budgets) {
    StringRef name = region.getName().getValue();
    auto budget = dyn_cast<IntegerAttr>(region.getValue());
    if (!budget || budget.getInt() < 0)
      return graph.emitOpError("region '")
             << name << "' has budget " << region.getValue()
             << ", expected a number of bytes";
    if (kept[name] > budget.getInt())
      return graph.emitOpError("keeps ")
             << kept[name] << " bytes of region '" << name
             << "', its budget is " << budget.getInt();
  }
  return success();
}
