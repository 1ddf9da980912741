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

bool remat::isBackward(Operation *op) {
  return op->hasAttr(RematDialect::backwardAttrName);
}

Location remat::getBackwardLoc(Location loc) {
  if (isBackwardLoc(loc))
    return loc;
  return NameLoc::get(
      StringAttr::get(loc.getContext(), RematDialect::backwardAttrName), loc);
}

bool remat::isBackwardLoc(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name && name.getName() == RematDialect::backwardAttrName;
}

void remat::backwardToLocations(Operation *root) {
  auto name =
      StringAttr::get(root->getContext(), RematDialect::backwardAttrName);
  root->walk([&](Operation *op) {
    if (!op->getDiscardableAttrDictionary().empty() &&
        op->removeDiscardableAttr(name))
      op->setLoc(getBackwardLoc(op->getLoc()));
  });
}

void remat::backwardToAttributes(Operation *root) {
  root->walk([](Operation *op) {
    auto name = dyn_cast<NameLoc>(op->getLoc());
    if (!name || !isBackwardLoc(name))
      return;
    op->setLoc(name.getChildLoc());
    // Scalar operations in bodies belong to the operation around them.
    if (!op->getParentOfType<linalg::LinalgOp>() &&
        !op->hasTrait<OpTrait::ConstantLike>())
      op->setDiscardableAttr(RematDialect::backwardAttrName,
                             UnitAttr::get(op->getContext()));
  });
}
