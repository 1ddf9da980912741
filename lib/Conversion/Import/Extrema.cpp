//===- Extrema.cpp - maxima whose place is asked for ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write a maximum or minimum along a dimension as a reduction with
// two results, the extremum and its index. Clean-up drops an index that is not
// used, so such reductions are marked before.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Extrema.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTEXTREMAPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `value` is an index that is chosen where an element compares with
/// `accumulator`, so that the first extremum is kept.
static bool choosesIndex(Value value, Value accumulator) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || !isa<IntegerType, IndexType>(select.getType()) ||
      compare.getRhs() != accumulator ||
      !isa<BlockArgument>(select.getFalseValue()))
    return false;
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return true;
  default:
    return false;
  }
}

/// Whether `op` is an extremum whose index is used.
static bool isIndexedExtremum(linalg::GenericOp op) {
  if (op->getNumResults() != 2 || op.getNumReductionLoops() == 0)
    return false;
  ValueRange yielded = op.getBody()->getTerminator()->getOperands();
  for (unsigned number : {0, 1}) {
    Value accumulator = op.getRegionOutputArgs()[number];
    Operation *combiner = yielded[number].getDefiningOp();
    if (isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                        arith::MinNumFOp>(combiner) &&
        llvm::is_contained(combiner->getOperands(), accumulator) &&
        choosesIndex(yielded[1 - number], accumulator))
      return !op->getResult(1 - number).use_empty();
  }
  return false;
}

namespace {
struct ImportExtrema
    : public remat::impl::ImportExtremaPassBase<ImportExtrema> {
  void runOnOperation() override {
    getOperation().walk([&](linalg::GenericOp op) {
      if (isIndexedExtremum(op))
        op->setAttr(firstExtremumAttrName, UnitAttr::get(&getContext()));
    });
  }
};
} // namespace
