//===- Gathers.cpp - bounds of gather indices -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters guard gathers by assertions, or not at all. An assertion is an
// effect: it would pin the gather to its place. `remat.check_index` says the
// same as a value.
//
//===----------------------------------------------------------------------===//

#include "Intervals.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTGATHERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using import::Interval;

/// The integer that `value` is a cast of.
static Value lookThroughIndexCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::ExtSIOp, CheckIndexOp>(op))
      break;
    // A narrower integer is not the same integer.
    if (!value.getType().isIndex() &&
        value.getType().getIntOrFloatBitWidth() < 64 &&
        isa<arith::IndexCastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Puts checks on the indices of `extract`; `bounds` collects, for every
/// integer that is used as an index, the smallest dimension it indexes.
static void checkIndices(tensor::ExtractOp extract,
                         DenseMap<Value, int64_t> &bounds) {
  OpBuilder builder(extract);
  ArrayRef<int64_t> shape = extract.getTensor().getType().getShape();
  for (auto [dim, operand] : llvm::enumerate(extract.getIndicesMutable())) {
    Value index = operand.get();
    auto [it, isNew] =
        bounds.try_emplace(lookThroughIndexCasts(index), shape[dim]);
    it->second = std::min(it->second, shape[dim]);
    if (import::getInterval(index).isWithin({0, shape[dim] - 1}))
      continue;
    Value bound =
        arith::ConstantIndexOp::create(builder, extract.getLoc(), shape[dim]);
    operand.set(CheckIndexOp::create(builder, extract.getLoc(), index, bound));
  }
}

/// Whether `condition` holds for all integers within `bounds`.
static bool isImplied(Value condition, const DenseMap<Value, int64_t> &bounds) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return isImplied(both.getLhs(), bounds) && isImplied(both.getRhs(), bounds);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  IntegerAttr constant;
  if (!compare || !matchPattern(compare.getRhs(), m_Constant(&constant)))
    return false;
  auto bound = bounds.find(lookThroughIndexCasts(compare.getLhs()));
  if (bound == bounds.end())
    return false;
  Interval known{0, bound->second - 1};
  int64_t value = constant.getValue().getSExtValue();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sge:
    return known.low >= value;
  case arith::CmpIPredicate::sgt:
    return known.low > value;
  case arith::CmpIPredicate::slt:
    return known.high < value;
  case arith::CmpIPredicate::sle:
    return known.high <= value;
  default:
    return false;
  }
}

namespace {
struct ImportGathers
    : public remat::impl::ImportGathersPassBase<ImportGathers> {
  void runOnOperation() override {
    getOperation().walk([](linalg::LinalgOp op) {
      Block *body = op.getBlock();
      if (!body)
        return;
      DenseMap<Value, int64_t> bounds;
      for (auto extract : llvm::to_vector(body->getOps<tensor::ExtractOp>()))
        checkIndices(extract, bounds);
      for (auto assertion :
           llvm::make_early_inc_range(body->getOps<cf::AssertOp>()))
        if (isImplied(assertion.getArg(), bounds))
          assertion.erase();
    });
  }
};
} // namespace
