//===- BackwardMarks.cpp - operations of the backward computation ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/BackwardMarks.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

bool remat::isBackward(Operation *op) {
  return static_cast<bool>(
      op->getDiscardableAttr(RematDialect::backwardAttrName));
}

/// Whether `op` is of no phase of its own: scalar operations in bodies belong
/// to the operation around them.
static bool hasNoPhase(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         op->getParentOfType<linalg::LinalgOp>();
}

void remat::setBackward(Operation *op, bool backward) {
  if (!backward)
    op->removeDiscardableAttr(RematDialect::backwardAttrName);
  else if (!hasNoPhase(op))
    op->setDiscardableAttr(RematDialect::backwardAttrName,
                           UnitAttr::get(op->getContext()));
}

void remat::copyBackward(Operation *from, Operation *to) {
  if (isBackward(from))
    setBackward(to, true);
}

void remat::normalizeBackward(Operation *root) {
  root->walk([](Operation *op) {
    if (isBackward(op) && hasNoPhase(op))
      setBackward(op, false);
  });
}

//===----------------------------------------------------------------------===//
// BackwardMarkListener
//===----------------------------------------------------------------------===//

void BackwardMarkListener::begin(bool backward) {
  isRootBackward = backward;
  hasReplaced = false;
  made.clear();
  forward.clear();
}

void BackwardMarkListener::notifyPatternBegin(const Pattern &, Operation *op) {
  begin(isBackward(op));
}

void BackwardMarkListener::notifyPatternEnd(const Pattern &, LogicalResult) {
  begin(/*backward=*/false);
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
    forward.clear();
  }
  made.insert(op);
  if (isRootBackward)
    setBackward(op, true);
}

void BackwardMarkListener::notifyOperationReplaced(Operation *op,
                                                   ValueRange replacement) {
  hasReplaced = true;
  bool backward = isBackward(op);
  SmallVector<Value> worklist(replacement);
  SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *source = worklist.pop_back_val().getDefiningOp();
    if (!source || !made.contains(source) || !seen.insert(source).second)
      continue;
    if (!backward)
      forward.insert(source);
    setBackward(source, backward && !forward.contains(source));
    llvm::append_range(worklist, source->getOperands());
  }
}

void BackwardMarkListener::notifyOperationErased(Operation *op) {
  made.erase(op);
  forward.erase(op);
}
