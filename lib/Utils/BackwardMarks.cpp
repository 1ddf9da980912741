//===- BackwardMarks.cpp - operations of the backward computation ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/BackwardMarks.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

Attribute remat::getBackwardMark(MLIRContext *context, unsigned level) {
  if (level == 1)
    return UnitAttr::get(context);
  return Builder(context).getI64IntegerAttr(level);
}

unsigned remat::getBackwardLevel(Operation *op) {
  Attribute mark = op->getDiscardableAttr(RematDialect::backwardAttrName);
  if (auto level = dyn_cast_or_null<IntegerAttr>(mark))
    return level.getInt();
  return mark ? 1 : 0;
}

unsigned remat::getHighestLevel(Operation *root) {
  unsigned highest = 0;
  root->walk([&](Operation *op) {
    highest = std::max(highest, getBackwardLevel(op));
  });
  return highest;
}

/// Whether `op` is of no phase of its own: scalar operations in bodies belong
/// to the operation around them.
static bool hasNoPhase(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         op->getParentOfType<linalg::LinalgOp>();
}

void remat::setBackwardLevel(Operation *op, unsigned level) {
  if (level == 0)
    op->removeDiscardableAttr(RematDialect::backwardAttrName);
  else if (!hasNoPhase(op))
    op->setDiscardableAttr(RematDialect::backwardAttrName,
                           getBackwardMark(op->getContext(), level));
}

void remat::copyBackward(Operation *from, Operation *to) {
  if (unsigned level = getBackwardLevel(from))
    setBackwardLevel(to, level);
}

void remat::normalizeBackward(Operation *root) {
  root->walk([](Operation *op) {
    if (isBackward(op) && hasNoPhase(op))
      setBackwardLevel(op, 0);
  });
}

//===----------------------------------------------------------------------===//
// BackwardMarkListener
//===----------------------------------------------------------------------===//

void BackwardMarkListener::begin(unsigned level) {
  rootLevel = level;
  hasReplaced = false;
  made.clear();
}

void BackwardMarkListener::notifyPatternBegin(const Pattern &, Operation *op) {
  begin(getBackwardLevel(op));
}

void BackwardMarkListener::notifyPatternEnd(const Pattern &, LogicalResult) {
  begin(0);
}

void BackwardMarkListener::notifyOperationInserted(
    Operation *op, OpBuilder::InsertPoint previous) {
  // An operation that is only moved keeps its mark. Inside of what is not in a
  // function yet are bodies.
  if (previous.isSet() || !op->getParentOp())
    return;
  // Not all drivers tell when the next pattern begins.
  if (hasReplaced) {
    hasReplaced = false;
    made.clear();
  }
  made[op] = std::nullopt;
  if (rootLevel != 0)
    setBackwardLevel(op, rootLevel);
}

void BackwardMarkListener::notifyOperationReplaced(Operation *op,
                                                   ValueRange replacement) {
  hasReplaced = true;
  unsigned level = getBackwardLevel(op);
  SmallVector<Value> worklist(replacement);
  SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *source = worklist.pop_back_val().getDefiningOp();
    auto known = source ? made.find(source) : made.end();
    if (known == made.end() || !seen.insert(source).second)
      continue;
    known->second = std::min(known->second.value_or(level), level);
    setBackwardLevel(source, *known->second);
    llvm::append_range(worklist, source->getOperands());
  }
}

void BackwardMarkListener::notifyOperationErased(Operation *op) {
  made.erase(op);
}
