//===- ScatterIntoSums.cpp - scatters that add to what is there -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a table that is looked up and multiplied with is the sum of
// scatters and a product, and in a loop also of what earlier iterations have
// added up. A scatter adds in any case: into the sum of the others, in place.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseSums.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_SCATTERINTOSUMSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Where a sum adds the elements of its input `number`, in place, to those that
/// it makes of the others. Null if it does anything else with them.
static Operation *findAddition(linalg::GenericOp sum, unsigned number) {
  OpOperand *input = sum.getDpsInputOperand(number);
  if (sum->getNumResults() != 1 || !sum.hasPureTensorSemantics() ||
      sum.getNumReductionLoops() != 0 ||
      !sum.getMatchingIndexingMap(input).isIdentity() ||
      !sum.getIndexingMapsArray().back().isIdentity())
    return nullptr;
  Value term = sum.getMatchingBlockArgument(input);
  Operation *addition = nullptr;
  while (term.hasOneUse()) {
    Operation *user = *term.user_begin();
    if (user == sum.getBody()->getTerminator())
      return addition;
    if (!isa<arith::AddFOp, arith::AddIOp>(user))
      return nullptr;
    if (!addition)
      addition = user;
    term = user->getResult(0);
  }
  return nullptr;
}

/// The sum that alone reads what `scatter` makes, or null. Terms in a narrow
/// type are added up first: each addition to something large would round.
static linalg::GenericOp findSum(ScatterOp scatter) {
  if (scatter.getMaximum() || scatter->getNumResults() != 1 ||
      !scatter->hasOneUse() || !isMemoryEffectFree(scatter))
    return nullptr;
  Type element = getElementTypeOrSelf(scatter.getInit().getType());
  OpOperand &use = *scatter->use_begin();
  auto sum = dyn_cast<linalg::GenericOp>(use.getOwner());
  bool isWide = element.isF32() || element.isF64() || isa<IntegerType>(element);
  return sum && isWide && sum->getBlock() == scatter->getBlock() &&
                 sum->getResultTypes() == scatter->getResultTypes() &&
                 !sum->hasAttr(RematDialect::policyAttrName) &&
                 !scatter->hasAttr(RematDialect::policyAttrName) &&
                 sum.isDpsInput(&use) &&
                 findAddition(sum, use.getOperandNumber()) &&
                 !llvm::any_of(sum.getDpsInputs(), isCallersSum)
             ? sum
             : linalg::GenericOp();
}

/// What `sum` makes of its inputs but for one, which it adds to them.
static Value makeWithout(linalg::GenericOp sum, unsigned number) {
  Operation *addition = findAddition(sum, number);
  Value term = sum.getMatchingBlockArgument(sum.getDpsInputOperand(number));
  Value others = addition->getOperand(addition->getOperand(0) == term ? 1 : 0);
  addition->replaceAllUsesWith(ValueRange(others));
  addition->erase();
  SmallVector<Value> inputs(sum.getDpsInputs());
  SmallVector<AffineMap> maps = sum.getIndexingMapsArray();
  auto argument =
      dyn_cast<BlockArgument>(sum.getBody()->getTerminator()->getOperand(0));
  if (argument && argument.getArgNumber() < inputs.size() &&
      maps[argument.getArgNumber()].isIdentity())
    return inputs[argument.getArgNumber()];
  inputs.erase(inputs.begin() + number);
  maps.erase(maps.begin() + number);
  OpBuilder builder(sum);
  auto rest = linalg::GenericOp::create(
      builder, sum.getLoc(), sum->getResultTypes(), inputs, sum.getDpsInits(),
      maps, sum.getIteratorTypesArray());
  rest->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
  rest.getRegion().takeBody(sum.getRegion());
  rest.getBody()->eraseArgument(number);
  return rest->getResult(0);
}

/// Lets `scatter` add to the other terms of `sum`, of which it is one.
static void rewrite(ScatterOp scatter, linalg::GenericOp sum) {
  unsigned mine = scatter->use_begin()->getOperandNumber();
  Value init = scatter.getInit();
  scatter->moveAfter(sum);
  copyBackward(sum, scatter);
  sum->replaceAllUsesWith(scatter->getResults());
  if (isZeroTensor(init)) {
    scatter.getInitMutable().assign(makeWithout(sum, mine));
    sum.erase();
    return;
  }
  sum->setOperand(mine, init);
  scatter.getInitMutable().assign(sum->getResult(0));
}

namespace {
struct ScatterIntoSums
    : public remat::impl::ScatterIntoSumsPassBase<ScatterIntoSums> {
  void runOnOperation() override {
    for (ScatterOp scatter : collectOps<ScatterOp>(getOperation()))
      while (linalg::GenericOp sum = findSum(scatter)) {
        rewrite(scatter, sum);
        ++numRewritten;
      }
  }
};
} // namespace
