//===- Views.cpp - what stands behind a value -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Views.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

bool remat::isViewOp(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

Value remat::getViewRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isViewOp(op))
      break;
    // Verifiers see IR whose order is not yet known to be right: views that
    // stand on each other in a circle must not keep them busy.
    Operation *source = op->getOperand(0).getDefiningOp();
    if (source && source->getBlock() == op->getBlock() &&
        !source->isBeforeInBlock(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool remat::isTransparentOp(Operation *op) {
  return isa<TagOp, StopGradientOp>(op);
}

Operation *remat::getProducer(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && (isViewOp(op) || isTransparentOp(op)))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

bool remat::isAlias(Operation *op) {
  return isViewOp(op) || isa<StopGradientOp>(op);
}

Value remat::getRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isAlias(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Operation *remat::getSource(Value value) {
  return getRoot(value).getDefiningOp();
}

void remat::forEachReader(Value value, function_ref<void(Operation *)> visit) {
  for (Operation *user : value.getUsers()) {
    if (isAlias(user))
      forEachReader(user->getResult(0), visit);
    else
      visit(user);
  }
}

bool remat::isTagged(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<TagOp>(user) || (isAlias(user) && isTagged(user->getResult(0)));
  });
}
