//===- Gathers.cpp - bounds of gather indices -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters guard gathers by assertions, or not at all. An assertion is an
// effect: it would pin the gather to its place. `remat.check_index` says the
// same as a value. Places that a scatter adds to are checked likewise.
//
// Indexing maps select elements without a check when the step runs, so one that
// leaves a tensor is refused.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/IndexBounds.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Intervals.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTGATHERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

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

/// Notes that `index` is used within `size`, and puts a check on it unless it
/// is known to be. `bounds` collects, for every integer that is used as an
/// index, the smallest dimension it indexes.
static void checkIndex(Operation *user, OpOperand &operand, int64_t size,
                       DenseMap<Value, int64_t> &bounds) {
  Value index = operand.get();
  auto [it, isNew] = bounds.try_emplace(lookThroughIndexCasts(index), size);
  it->second = std::min(it->second, size);
  if (getInterval(index).isWithin({0, size - 1}))
    return;
  OpBuilder builder(user);
  Value bound = arith::ConstantIndexOp::create(builder, user->getLoc(), size);
  operand.set(CheckIndexOp::create(builder, user->getLoc(), index, bound));
}

static void checkIndices(tensor::ExtractOp extract,
                         DenseMap<Value, int64_t> &bounds) {
  ArrayRef<int64_t> shape = extract.getTensor().getType().getShape();
  for (auto [dim, operand] : llvm::enumerate(extract.getIndicesMutable()))
    checkIndex(extract, operand, shape[dim], bounds);
}

/// Checks the places that a scatter adds to.
static void checkPlaces(ScatterOp scatter, DenseMap<Value, int64_t> &bounds) {
  Operation *yield = scatter.getBody().front().getTerminator();
  auto type = cast<ShapedType>(scatter.getInit().getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    checkIndex(yield, yield->getOpOperand(dim), size, bounds);
}

/// The body of a padding is computed at all points of the result and not only
/// at those that are padded: at the others `index` becomes 0.
static void maskIndices(tensor::PadOp pad, tensor::ExtractOp extract) {
  OpBuilder builder(extract);
  Location loc = extract.getLoc();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value inside;
  for (auto [dim, point] : llvm::enumerate(pad.getBody()->getArguments())) {
    Value low = getValueOrCreateConstantIndexOp(builder, loc,
                                                pad.getMixedLowPad()[dim]);
    Value end = arith::AddIOp::create(
        builder, loc, low, constant(pad.getSourceType().getDimSize(dim)));
    Value behind = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::sge, point, low);
    Value before = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::slt, point, end);
    Value both = arith::AndIOp::create(builder, loc, behind, before);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, both) : both;
  }
  for (auto [dim, operand] : llvm::enumerate(extract.getIndicesMutable()))
    if (!getInterval(operand.get())
             .isWithin({0, extract.getTensor().getType().getDimSize(dim) - 1}))
      operand.set(arith::SelectOp::create(builder, loc, inside, constant(0),
                                          operand.get()));
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
    WalkResult result = getOperation().walk([](Operation *op) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        return WalkResult(checkMaps(linalgOp));
      if (auto pad = dyn_cast<tensor::PadOp>(op))
        for (auto extract : pad.getBody()->getOps<tensor::ExtractOp>())
          maskIndices(pad, extract);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      if (isa<linalg::LinalgOp, ScatterOp, tensor::PadOp>(op) &&
          op->getNumRegions() == 1 && !op->getRegion(0).empty())
        checkBody(op);
    });
  }

private:
  static LogicalResult checkMaps(linalg::LinalgOp op) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    for (OpOperand &operand : op->getOpOperands())
      if (auto type = dyn_cast<ShapedType>(operand.get().getType()))
        if (failed(verifyIndexingMap(
                op, "operand " + Twine(operand.getOperandNumber()),
                op.getMatchingIndexingMap(&operand), type.getShape(), sizes)))
          return failure();
    return success();
  }

  static void checkBody(Operation *op) {
    Block &body = op->getRegion(0).front();
    DenseMap<Value, int64_t> bounds;
    for (auto extract : llvm::to_vector(body.getOps<tensor::ExtractOp>()))
      checkIndices(extract, bounds);
    if (auto scatter = dyn_cast<ScatterOp>(op))
      checkPlaces(scatter, bounds);
    for (auto assertion :
         llvm::make_early_inc_range(body.getOps<cf::AssertOp>()))
      if (isImplied(assertion.getArg(), bounds))
        assertion.erase();
  }
};
} // namespace
