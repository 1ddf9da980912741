//===- RoundScatters.cpp - scatters that are written as they are read -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-round-scatters`.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/ScatterWindows.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_ROUNDSCATTERSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// What the body of `reader` makes of its operand `operand` if that is nothing
/// but to round it: the operations that do, all to one type.
static SmallVector<arith::TruncFOp> findRoundings(linalg::GenericOp reader,
                                                  OpOperand &operand) {
  SmallVector<arith::TruncFOp> roundings;
  if (!reader.isDpsInput(&operand))
    return roundings;
  for (Operation *user : reader.getMatchingBlockArgument(&operand).getUsers()) {
    auto rounding = dyn_cast<arith::TruncFOp>(user);
    if (!rounding ||
        (!roundings.empty() && rounding.getType() != roundings[0].getType()))
      return {};
    roundings.push_back(rounding);
  }
  return roundings;
}

/// Whether `op` is nothing but its only input.
static bool isIdentity(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op->getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }) &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0);
}

/// The type that all readers of what `scatter` makes round it to, or null.
static Type findRoundedType(ScatterOp scatter) {
  Value sums = scatter.getResult();
  if (!sums || sums.use_empty() || isTagged(sums) ||
      scatter->hasAttr(RematDialect::policyAttrName) ||
      !isZeroTensor(scatter.getInit()))
    return {};
  Type type;
  for (OpOperand &use : sums.getUses()) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!reader || reader->getBlock() != scatter->getBlock() ||
        reader->hasAttr(RematDialect::policyAttrName))
      return {};
    SmallVector<arith::TruncFOp> roundings = findRoundings(reader, use);
    if (roundings.empty() || (type && type != roundings[0].getType()))
      return {};
    type = roundings[0].getType();
  }
  return type;
}

/// Lets `scatter` make elements of `type`, and its readers read them.
static void rewrite(ScatterOp scatter, Type type) {
  OpBuilder builder(scatter);
  auto rounded =
      cast<RankedTensorType>(scatter.getResult().getType()).clone(type);
  Value zeros = createZeros(builder, scatter.getLoc(), rounded);
  auto narrow = ScatterOp::create(
      builder, scatter.getLoc(), TypeRange(rounded), scatter.getInputs(), zeros,
      scatter.getIndexingMaps(), scatter.getSizes());
  narrow->setDiscardableAttrs(scatter->getDiscardableAttrDictionary());
  narrow.getBody().takeBody(scatter.getBody());
  for (OpOperand &use : llvm::make_early_inc_range(scatter->getUses())) {
    auto reader = cast<linalg::GenericOp>(use.getOwner());
    SmallVector<arith::TruncFOp> roundings = findRoundings(reader, use);
    BlockArgument element = reader.getMatchingBlockArgument(&use);
    use.set(narrow.getResult());
    element.setType(type);
    for (arith::TruncFOp rounding : roundings) {
      rounding->replaceAllUsesWith(ValueRange(element));
      rounding->erase();
    }
    if (isIdentity(reader)) {
      reader->replaceAllUsesWith(ValueRange(narrow.getResult()));
      reader->erase();
    }
  }
  scatter->erase();
}

/// Lets `scatter` widen what is made for it alone, and widened in the end.
static void narrowInput(ScatterOp scatter, unsigned number) {
  auto made = dyn_cast<OpResult>(scatter.getInputs()[number]);
  if (!made || !made.hasOneUse() || isTagged(made))
    return;
  auto maker = dyn_cast<linalg::GenericOp>(made.getOwner());
  if (!maker || maker->getBlock() != scatter->getBlock() ||
      maker->hasAttr(RematDialect::policyAttrName))
    return;
  OpOperand &init = maker.getDpsInitsMutable()[made.getResultNumber()];
  BlockArgument output = maker.getMatchingBlockArgument(&init);
  OpOperand &yielded =
      maker.getBody()->getTerminator()->getOpOperand(made.getResultNumber());
  auto widening = yielded.get().getDefiningOp<arith::ExtFOp>();
  auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
  if (!widening || !empty || !output.use_empty())
    return;
  OpBuilder builder(maker);
  Type wide = widening.getType(), narrow = widening.getIn().getType();
  auto type = cast<RankedTensorType>(made.getType()).clone(narrow);
  init.set(tensor::EmptyOp::create(builder, empty.getLoc(), type.getShape(),
                                   narrow));
  output.setType(narrow);
  made.setType(type);
  yielded.set(widening.getIn());
  if (widening->use_empty())
    widening->erase();
  BlockArgument element = scatter.getElementArguments()[number];
  element.setType(narrow);
  builder.setInsertionPointToStart(&scatter.getBody().front());
  auto again = arith::ExtFOp::create(builder, scatter.getLoc(), wide, element);
  element.replaceAllUsesExcept(again, again);
}

namespace {
struct RoundScatters
    : public remat::impl::RoundScattersPassBase<RoundScatters> {
  void runOnOperation() override {
    for (ScatterOp scatter : collectOps<ScatterOp>(getOperation())) {
      for (unsigned number = 0; number < scatter.getInputs().size(); ++number)
        narrowInput(scatter, number);
      if (Type type = findRoundedType(scatter); type && canRoundSums(scatter))
        rewrite(scatter, type);
    }
  }
};
} // namespace
