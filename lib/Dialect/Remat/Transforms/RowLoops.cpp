//===- RowLoops.cpp - how structured operations walk rows -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowLoops.h.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;

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

std::optional<LoopList>
remat::getLeadingLoops(AffineMap map, RankedTensorType type, int64_t rows) {
  LoopList loops;
  int64_t points = 1;
  for (auto [size, expr] : llvm::zip(type.getShape(), map.getResults())) {
    if (points == rows)
      break;
    points *= size;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    loops.push_back(dim.getPosition());
  }
  if (points != rows)
    return std::nullopt;
  return loops;
}

int64_t remat::getBytes(Value value) {
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}

bool remat::isBackward(Operation *op) {
  return op->hasAttr(RematDialect::backwardAttrName);
}

SetVector<Value> remat::getReadValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}
