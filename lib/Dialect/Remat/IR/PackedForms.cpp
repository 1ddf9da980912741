//===- PackedForms.cpp - tasks that pack and unpack values ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/PackedForms.h"

#include "remat/Dialect/Remat/IR/Views.h"

#include <set>

using namespace mlir;
using namespace remat;

Value remat::getUnpackedValue(TaskOp task) {
  if (!task->hasAttr(unpacksAttrName) || task.getOperands().empty())
    return {};
  auto pack = task.getOperand(0).getDefiningOp<TaskOp>();
  if (!pack || !pack->hasAttr(packsAttrName) || pack.getNumOperands() != 1)
    return {};
  return pack.getOperand(0);
}

/// What stands behind views and transfers.
static Value findOriginal(Value value) {
  while (true) {
    value = getViewRoot(value);
    auto reload = value.getDefiningOp<ReloadOp>();
    auto offload =
        reload ? reload.getSource().getDefiningOp<OffloadOp>() : OffloadOp();
    if (!offload)
      return value;
    value = offload.getSource();
  }
}

DenseSet<Operation *> remat::findInexactClones(GraphOp graph) {
  DenseSet<Operation *> clones;
  // By number, the first runs that read what is inexact.
  std::set<int64_t> readers;
  auto isInexact = [&](Value operand) {
    auto maker = findOriginal(operand).getDefiningOp<TaskOp>();
    return maker && (maker->hasAttr(unpacksAttrName) || clones.contains(maker));
  };
  for (auto task : graph.getOps<TaskOp>()) {
    bool reads = llvm::any_of(task.getOperands(), isInexact);
    if (!task.isClone() && reads)
      readers.insert(task.getId());
    else if (task.isClone() && (reads || readers.count(task.getId())))
      clones.insert(task);
  }
  return clones;
}
