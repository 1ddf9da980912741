//===- WidenScatters.cpp - scatters whose sums are kept in full -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scatter whose sums are wider than its result is rounded in the end. Where
// its sums cannot be rounded as they are made, all of them are kept.
//
//===----------------------------------------------------------------------===//

#include "WidenScatters.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/ScatterWindows.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;

static void widen(ScatterOp op, FloatType update) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getInit().getType());
  auto wide = type.clone(update);
  Value init =
      isZeroTensor(op.getInit())
          ? createZeros(builder, loc, wide)
          : createElementwise(
                builder, loc, op.getInit(), wide,
                [&](OpBuilder &b, Location at, ValueRange elements) {
                  return arith::ExtFOp::create(b, at, update, elements.front());
                });
  builder.setInsertionPointAfter(op);
  auto sums = ScatterOp::create(builder, loc, TypeRange(wide), op.getInputs(),
                                init, op.getIndexingMaps(), op.getSizes());
  sums->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  sums.getBody().takeBody(op.getBody());
  Value rounded =
      createElementwise(builder, loc, sums.getResult(), type,
                        [&](OpBuilder &b, Location at, ValueRange elements) {
                          return arith::TruncFOp::create(
                              b, at, type.getElementType(), elements.front());
                        });
  op->replaceAllUsesWith(ValueRange(rounded));
  op->erase();
}

void remat::codegen::widenScatters(func::FuncOp kernel) {
  for (ScatterOp op : collectOps<ScatterOp>(kernel)) {
    Type update =
        op.getBody().front().getTerminator()->getOperands().back().getType();
    if (update == getElementTypeOrSelf(op.getInit().getType()))
      continue;
    if (!getSplatConstant(op.getInit()) || !canRoundSums(op))
      widen(op, cast<FloatType>(update));
  }
}
