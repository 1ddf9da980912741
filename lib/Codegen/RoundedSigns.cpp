//===- RoundedSigns.cpp - what is above zero before rounding --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a ReLU in 16 bits asks whether
//
//     max(round(x), 0) > 0,
//
// where x is often made again for nothing but that. The maximum changes no
// answer, and neither does rounding, but for numbers next to zero: those up to
// half of the smallest of the narrow type are rounded to zero, the half itself
// as zero is even. So x is compared with that half. A NaN stays NaN in
// both, so that its comparison has the same result.
//
//===----------------------------------------------------------------------===//

#include "RoundedSigns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

/// Whether a number is compared for being above another, or for not being so.
static bool isAbove(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return true;
  default:
    return false;
  }
}

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat());
}

namespace {
/// A number and the limit, zero or above, that it is compared with.
struct Comparison {
  Value number;
  llvm::APFloat limit;
};
} // namespace

/// The greatest number of `wide` that is rounded to zero in `narrow`: half of
/// the smallest number that is not, if `wide` has that.
static std::optional<llvm::APFloat> getLimit(FloatType wide, FloatType narrow) {
  bool isInexact = false;
  llvm::APFloat smallest =
      llvm::APFloat::getSmallest(narrow.getFloatSemantics());
  smallest.convert(wide.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &isInexact);
  llvm::APFloat half = smallest;
  if (isInexact ||
      half.multiply(llvm::APFloat(half.getSemantics(), "0.5"),
                    llvm::APFloat::rmNearestTiesToEven) != llvm::APFloat::opOK)
    return std::nullopt;
  return half;
}

/// What `number` is made of, with a limit for that, or nothing.
static std::optional<Comparison> lookThrough(const Comparison &from) {
  Operation *maker = from.number.getDefiningOp();
  if (auto maximum = dyn_cast_or_null<arith::MaximumFOp>(maker))
    if (isZero(maximum.getRhs()))
      return Comparison{maximum.getLhs(), from.limit};
  if (auto widening = dyn_cast_or_null<arith::ExtFOp>(maker)) {
    auto narrow = dyn_cast<FloatType>(widening.getIn().getType());
    if (!narrow)
      return std::nullopt;
    // A number of the narrow type is above a limit below all of these if it is
    // above zero.
    bool isInexact = false;
    llvm::APFloat smallest =
        llvm::APFloat::getSmallest(narrow.getFloatSemantics());
    smallest.convert(from.limit.getSemantics(),
                     llvm::APFloat::rmNearestTiesToEven, &isInexact);
    if (isInexact || from.limit.compare(smallest) != llvm::APFloat::cmpLessThan)
      return std::nullopt;
    return Comparison{widening.getIn(),
                      llvm::APFloat::getZero(narrow.getFloatSemantics())};
  }
  auto rounding = dyn_cast_or_null<arith::TruncFOp>(maker);
  if (!rounding || !from.limit.isZero() ||
      rounding.getRoundingmode().value_or(
          arith::RoundingMode::to_nearest_even) !=
          arith::RoundingMode::to_nearest_even)
    return std::nullopt;
  auto wide = dyn_cast<FloatType>(rounding.getIn().getType());
  auto narrow = dyn_cast<FloatType>(rounding.getType());
  if (!wide || !narrow)
    return std::nullopt;
  if (std::optional<llvm::APFloat> limit = getLimit(wide, narrow))
    return Comparison{rounding.getIn(), *limit};
  return std::nullopt;
}

static void rewrite(arith::CmpFOp op) {
  if (!isAbove(op.getPredicate()) || !isZero(op.getRhs()) ||
      !isa<FloatType>(op.getLhs().getType()))
    return;
  auto type = cast<FloatType>(op.getLhs().getType());
  Comparison last{op.getLhs(),
                  llvm::APFloat::getZero(type.getFloatSemantics())};
  // A number that is only widened is as easily compared as it is.
  Comparison best = last;
  while (std::optional<Comparison> next = lookThrough(last)) {
    if (!isa<arith::ExtFOp>(last.number.getDefiningOp()))
      best = *next;
    last = *next;
  }
  if (best.number == op.getLhs())
    return;
  OpBuilder builder(op);
  Value limit = arith::ConstantOp::create(
      builder, op.getLoc(),
      builder.getFloatAttr(best.number.getType(), best.limit));
  op.getLhsMutable().assign(best.number);
  op.getRhsMutable().assign(limit);
}

void remat::codegen::compareBeforeRounding(func::FuncOp kernel) {
  kernel.walk([](arith::CmpFOp op) { rewrite(op); });
}
