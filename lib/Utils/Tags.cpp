//===- Tags.cpp - what tags demand ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Tags.h"

#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

Value remat::getTaggedValue(TagOp tag) {
  Value value = tag.getInput();
  while (Operation *op = value.getDefiningOp()) {
    if (isViewOp(op) || isTransparentOp(op))
      value = op->getOperand(0);
    else if (isa<CheckpointOp, ScopeOp>(op))
      value = op->getRegion(0).front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    else
      break;
  }
  return value;
}

SmallVector<TagOp> remat::findTags(Value value) {
  SmallVector<TagOp> tags;
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (auto tag = dyn_cast<TagOp>(user))
        tags.push_back(tag);
      if (isTransparentOp(user) || isViewOp(user))
        values.push_back(user->getResult(0));
    }
  }
  llvm::sort(tags, [](TagOp a, TagOp b) { return a->isBeforeInBlock(b); });
  return tags;
}

std::optional<Policy> remat::getAskedPolicy(Value value) {
  std::optional<Policy> asked;
  for (TagOp tag : findTags(value)) {
    std::optional<Policy> policy = tag.getPolicy();
    if (policy && (!asked || (isMust(*policy) && !isMust(*asked))))
      asked = policy;
  }
  return asked;
}

unsigned remat::getTagLevel(TagOp tag) {
  if (std::optional<uint64_t> level = tag.getLevel())
    return *level;
  Operation *producer = getTaggedValue(tag).getDefiningOp();
  return producer ? getBackwardLevel(producer) + 1 : 1;
}

bool remat::holdsPolicy(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<tensor::EmptyOp, linalg::FillOp>(op);
}

bool remat::isOnlyOfRegion(TagOp tag) {
  return tag.getOfRegion() && !tag.getName() && !tag.getCodec() &&
         !tag.getWholeRegion();
}

bool remat::readsHidden(Operation *op, unsigned level) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    while (Operation *source = operand.getDefiningOp()) {
      auto tag = dyn_cast<TagOp>(source);
      if (tag && tag.getOfRegion() &&
          tag.getPolicy() == Policy::MustRecompute && getTagLevel(tag) > level)
        return true;
      if (!isViewOp(source) && !isTransparentOp(source))
        break;
      operand = source->getOperand(0);
    }
    return false;
  });
}
