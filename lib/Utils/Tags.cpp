//===- Tags.cpp - what tags demand ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Tags.h"

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

bool remat::holdsPolicy(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<tensor::EmptyOp, linalg::FillOp>(op);
}
