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
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/ScatterRows.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {
#define GEN_PASS_DEF_ROUNDSCATTERSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The operation that rounds what `scatter` makes and is alone to read it, or
/// null.
static linalg::GenericOp findRounding(ScatterOp scatter) {
  Value sums = scatter.getResult();
  if (!sums || !sums.hasOneUse() || isTagged(sums) ||
      scatter->hasAttr(RematDialect::policyAttrName) ||
      !isZeroTensor(scatter.getInit()))
    return nullptr;
  auto rounding = dyn_cast<linalg::GenericOp>(*sums.user_begin());
  if (!rounding || rounding->getBlock() != scatter->getBlock() ||
      rounding->hasAttr(RematDialect::policyAttrName) ||
      rounding.getNumDpsInputs() != 1 || rounding.getNumDpsInits() != 1 ||
      rounding.getDpsInputs()[0] != sums ||
      rounding.getNumReductionLoops() != 0 ||
      !llvm::all_of(rounding.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block &body = *rounding.getBody();
  auto truncation =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  return truncation && truncation.getIn() == body.getArgument(0)
             ? rounding
             : linalg::GenericOp();
}

static void rewrite(ScatterOp scatter, linalg::GenericOp rounding) {
  OpBuilder builder(rounding);
  auto type = cast<RankedTensorType>(rounding->getResult(0).getType());
  Value zeros = createZeros(builder, scatter.getLoc(), type);
  auto rounded = ScatterOp::create(
      builder, scatter.getLoc(), TypeRange(type), scatter.getInputs(), zeros,
      scatter.getIndexingMaps(), scatter.getSizes());
  rounded->setDiscardableAttrs(scatter->getDiscardableAttrDictionary());
  copyBackward(rounding, rounded);
  rounded.getBody().takeBody(scatter.getBody());
  rounding->replaceAllUsesWith(rounded->getResults());
  rounding->erase();
  scatter->erase();
}

namespace {
struct RoundScatters
    : public remat::impl::RoundScattersPassBase<RoundScatters> {
  void runOnOperation() override {
    if (!roundsScatters(getOperation()))
      return;
    SmallVector<ScatterOp> scatters;
    getOperation().walk([&](ScatterOp op) { scatters.push_back(op); });
    for (ScatterOp scatter : scatters)
      if (linalg::GenericOp rounding = findRounding(scatter);
          rounding && findScatterRows(scatter))
        rewrite(scatter, rounding);
  }
};
} // namespace
