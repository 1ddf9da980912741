//===- Intervals.cpp - which values an integer can have -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic over the few operations that index computations of
// exporters are made of. Upstream's integer range analysis does not know the
// bounds of `linalg.index`.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Intervals.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

/// Expressions deeper than this are taken to be unbounded.
static constexpr unsigned maxDepth = 16;

static Interval getInterval(Value value, unsigned depth);

static Interval add(Interval a, Interval b) {
  Interval sum;
  if (llvm::AddOverflow(a.low, b.low, sum.low) ||
      llvm::AddOverflow(a.high, b.high, sum.high))
    return Interval::getAll();
  return sum;
}

static Interval subtract(Interval a, Interval b) {
  Interval difference;
  if (llvm::SubOverflow(a.low, b.high, difference.low) ||
      llvm::SubOverflow(a.high, b.low, difference.high))
    return Interval::getAll();
  return difference;
}

static Interval multiply(Interval a, Interval b) {
  Interval product{INT64_MAX, INT64_MIN};
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t corner;
      if (llvm::MulOverflow(x, y, corner))
        return Interval::getAll();
      product.low = std::min(product.low, corner);
      product.high = std::max(product.high, corner);
    }
  return product;
}

static Interval getUnion(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// The quotient of integers that are not negative; rounding does not matter.
static Interval divide(Interval a, Interval b) {
  if (a.low < 0 || b.low <= 0)
    return Interval::getAll();
  return {a.low / b.high, a.high / b.low};
}

/// The remainder by a positive divisor.
static Interval remainder(Interval a, Interval b, bool isUnsigned) {
  if (b.low <= 0)
    return Interval::getAll();
  if (a.low >= 0)
    return {0, std::min(a.high, b.high - 1)};
  return {isUnsigned ? 0 : 1 - b.high, b.high - 1};
}

static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// What is left of an interval in a type that may be too narrow for it.
static Interval castTo(Type type, Interval interval) {
  type = getElementTypeOrSelf(type);
  if (!type.isIntOrIndex())
    return Interval::getAll();
  unsigned width = getWidth(type);
  if (width >= 64)
    return interval;
  Interval range{llvm::minIntN(width), llvm::maxIntN(width)};
  return interval.isWithin(range) ? interval : range;
}

/// The arguments of some bodies are the coordinates of a point, or elements of
/// what the operation reads.
static Interval getArgumentInterval(BlockArgument argument, unsigned depth) {
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto structured = dyn_cast_or_null<linalg::LinalgOp>(owner)) {
    OpOperand *operand = structured.getMatchingOpOperand(argument);
    return structured.isDpsInput(operand)
               ? getInterval(operand->get(), depth + 1)
               : Interval::getAll();
  }
  unsigned number = argument.getArgNumber();
  int64_t size = ShapedType::kDynamic;
  if (auto scatter = dyn_cast_or_null<ScatterOp>(owner);
      scatter && number < scatter.getNumLoops())
    size = scatter.getSizes()[number];
  else if (auto pad = dyn_cast_or_null<tensor::PadOp>(owner))
    size = pad.getResultType().getDimSize(number);
  else
    return Interval::getAll();
  return {0, ShapedType::isDynamic(size) ? INT64_MAX : size - 1};
}

static Interval getInterval(Value value, unsigned depth) {
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant)) &&
      constant.getValue().getSignificantBits() <= 64) {
    int64_t number = constant.getValue().getSExtValue();
    return {number, number};
  }
  DenseIntElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
      elements.getSplatValue<APInt>().getSignificantBits() <= 64) {
    int64_t number = elements.getSplatValue<APInt>().getSExtValue();
    return {number, number};
  }
  if (depth == maxDepth)
    return Interval::getAll();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgumentInterval(argument, depth);
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned number) {
    return getInterval(op->getOperand(number), depth + 1);
  };
  Interval interval =
      llvm::TypeSwitch<Operation *, Interval>(op)
          .Case([&](linalg::IndexOp index) {
            auto owner = op->getParentOfType<linalg::LinalgOp>();
            int64_t size = owner.getStaticLoopRanges()[index.getDim()];
            return ShapedType::isDynamic(size) ? Interval{0, INT64_MAX}
                                               : Interval{0, size - 1};
          })
          .Case([&](CheckIndexOp) {
            Interval bound = operand(1);
            return bound.low == INT64_MIN ? Interval::getAll()
                                          : Interval{0, bound.high - 1};
          })
          .Case<arith::IndexCastUIOp, arith::ExtUIOp>([&](Operation *cast) {
            Type from = getElementTypeOrSelf(cast->getOperand(0));
            Interval all = Interval::getAll();
            if (unsigned width = getWidth(from); width < 64)
              all = {0, static_cast<int64_t>(llvm::maxUIntN(width))};
            Interval known = operand(0);
            return known.low >= 0 ? known : all;
          })
          .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp,
                tensor::ExtractOp>([&](Operation *) { return operand(0); })
          .Case([&](tensor::FromElementsOp made) {
            return made.getElements().size() == 1 ? operand(0)
                                                  : Interval::getAll();
          })
          .Case([&](linalg::GenericOp made) {
            unsigned number = cast<OpResult>(value).getResultNumber();
            // What is reduced is made of more than what comes last.
            return made.getNumReductionLoops() == 0
                       ? getInterval(
                             made.getBody()->getTerminator()->getOperand(
                                 number),
                             depth + 1)
                       : Interval::getAll();
          })
          .Case([&](arith::AddIOp) { return add(operand(0), operand(1)); })
          .Case([&](arith::SubIOp) { return subtract(operand(0), operand(1)); })
          .Case([&](arith::MulIOp) { return multiply(operand(0), operand(1)); })
          .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(
              [&](Operation *) { return divide(operand(0), operand(1)); })
          .Case([&](arith::RemSIOp) {
            return remainder(operand(0), operand(1), /*isUnsigned=*/false);
          })
          .Case([&](arith::RemUIOp) {
            return remainder(operand(0), operand(1), /*isUnsigned=*/true);
          })
          .Case([&](arith::MinSIOp) {
            Interval a = operand(0), b = operand(1);
            return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
          })
          .Case([&](arith::MinUIOp) {
            Interval a = operand(0), b = operand(1);
            if (a.low < 0 || b.low < 0)
              return b.low >= 0   ? Interval{0, b.high}
                     : a.low >= 0 ? Interval{0, a.high}
                                  : Interval::getAll();
            return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
          })
          .Case([&](arith::MaxSIOp) {
            Interval a = operand(0), b = operand(1);
            return Interval{std::max(a.low, b.low), std::max(a.high, b.high)};
          })
          .Case(
              [&](arith::SelectOp) { return getUnion(operand(1), operand(2)); })
          .Default([](Operation *) { return Interval::getAll(); });
  // Narrow integers wrap around.
  return castTo(value.getType(), interval);
}

Interval remat::getInterval(Value value) { return ::getInterval(value, 0); }
