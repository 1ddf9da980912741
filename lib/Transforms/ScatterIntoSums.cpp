//===- ScatterIntoSums.cpp - scatters that add to what is there -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a table that is looked up and multiplied with is the sum of a
// scatter and a product, and in a loop also of what earlier iterations have
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

/// The sum that alone reads what `scatter` makes, or null. Terms in a narrow
/// type are added up first: each addition to something large would round.
static linalg::GenericOp findSum(ScatterOp scatter) {
  if (scatter.getMaximum() || scatter->getNumResults() != 1 ||
      !scatter->hasOneUse() || !isMemoryEffectFree(scatter))
    return nullptr;
  Type element = getElementTypeOrSelf(scatter.getInit().getType());
  auto sum = dyn_cast<linalg::GenericOp>(*scatter->user_begin());
  bool isWide = element.isF32() || element.isF64() || isa<IntegerType>(element);
  return sum && isWide && sum->getBlock() == scatter->getBlock() &&
                 sum->getResultTypes() == scatter->getResultTypes() &&
                 !sum->hasAttr(RematDialect::policyAttrName) &&
                 !scatter->hasAttr(RematDialect::policyAttrName) &&
                 isElementwiseSum(sum) &&
                 !llvm::any_of(sum.getDpsInputs(), isCallersSum)
             ? sum
             : linalg::GenericOp();
}

/// Lets `scatter` add to the other terms of `sum`, of which it is one.
static void rewrite(ScatterOp scatter, linalg::GenericOp sum) {
  unsigned mine = sum.getDpsInputs()[0] == scatter->getResult(0) ? 0 : 1;
  Value init = scatter.getInit(), others = sum.getDpsInputs()[1 - mine];
  scatter->moveAfter(sum);
  copyBackward(sum, scatter);
  sum->replaceAllUsesWith(scatter->getResults());
  if (isZeroTensor(init)) {
    scatter.getInitMutable().assign(others);
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
