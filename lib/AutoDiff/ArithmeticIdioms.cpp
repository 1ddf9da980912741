//===- ArithmeticIdioms.cpp - idioms that are arithmetic ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdiomMatchers.h"

#include <cmath>

#include "mlir/IR/Matchers.h"

#include "StructuredRule.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Functions with a value that is filled in
//===----------------------------------------------------------------------===//

/// Whether `select` takes `number` where a value equals 0, which is returned.
static Value matchAtZero(arith::SelectOp select, double number) {
  std::optional<idiom::Threshold> test =
      select ? idiom::matchThreshold(select) : std::nullopt;
  if (!test || test->predicate != arith::CmpFPredicate::OEQ ||
      test->number != 0.0 || idiom::getNumber(select.getTrueValue()) != number)
    return {};
  return test->value;
}

/// x log(y) or x log1p(y), and 0 where x = 0.
IdiomTerms idiom::matchXLogY(Operation *op) {
  arith::SelectOp choice = getChoice(op);
  Value x = matchAtZero(choice, 0.0);
  auto product =
      x ? choice.getFalseValue().getDefiningOp<arith::MulFOp>() : nullptr;
  if (!product)
    return {};
  unsigned side = product.getLhs() == x ? 1 : 0;
  Operation *log = product->getOperand(side).getDefiningOp();
  if (product->getOperand(1 - side) != x ||
      !isa_and_nonnull<math::LogOp, math::Log1pOp>(log))
    return {};
  Value y = log->getOperand(0);
  bool plusOne = isa<math::Log1pOp>(log);
  auto derivativeX = [=](const Expr &g) {
    Expr a = g.primal(x), b = g.primal(y);
    Expr logarithm = g.primal(log->getResult(0));
    Expr term = select(g == 0.0, 0.0, g * logarithm);
    Expr outside =
        b.compare(arith::CmpFPredicate::OLE, b.constant(plusOne ? -1.0 : 0.0));
    return select(both(a == 0.0, outside), 0.0, term);
  };
  auto derivativeY = [=](const Expr &g) {
    Expr a = g.primal(x), b = g.primal(y);
    return plusOne ? g * a / (b + 1.0) : g * a / b;
  };
  return {{x, derivativeX}, {y, derivativeY}};
}

/// sin(v) / v, and 1 where v = 0.
IdiomTerms idiom::matchSinc(Operation *op) {
  arith::SelectOp choice = getChoice(op);
  Value x = matchAtZero(choice, 1.0);
  auto quotient =
      x ? choice.getFalseValue().getDefiningOp<arith::DivFOp>() : nullptr;
  auto sine =
      quotient ? quotient.getLhs().getDefiningOp<math::SinOp>() : nullptr;
  if (!sine || quotient.getRhs() != x || sine.getOperand() != x)
    return {};
  return {{x, [=](const Expr &g) {
             Expr v = g.primal(x);
             Expr square = v * v, slope = (v * cos(v) - sin(v)) / square;
             // The square of a tiny number is 0.
             return select(square == 0.0, 0.0, g * slope);
           }}};
}

//===----------------------------------------------------------------------===//
// Logarithms of sums
//===----------------------------------------------------------------------===//

namespace {
/// log(1 + exp(x)) or log2(1 + exp2(x)).
struct LogOfSum {
  Value exponent;
  bool isBinary;
};
} // namespace

static std::optional<LogOfSum> matchLogOfSum(Value value) {
  if (auto log = value.getDefiningOp<math::Log1pOp>()) {
    auto exp = log.getOperand().getDefiningOp<math::ExpOp>();
    return exp ? std::optional(LogOfSum{exp.getOperand(), false})
               : std::nullopt;
  }
  auto log = value.getDefiningOp<math::Log2Op>();
  auto sum = log ? log.getOperand().getDefiningOp<arith::AddFOp>() : nullptr;
  if (!sum || idiom::getNumber(sum.getRhs()) != 1.0)
    return std::nullopt;
  if (auto exp = sum.getLhs().getDefiningOp<math::Exp2Op>())
    return LogOfSum{exp.getOperand(), true};
  auto power = sum.getLhs().getDefiningOp<math::PowFOp>();
  if (!power || idiom::getNumber(power.getLhs()) != 2.0)
    return std::nullopt;
  return LogOfSum{power.getRhs(), true};
}

/// log(exp(a) + exp(b)) as max(a, b) + log1p(exp(-|a - b|)), or the maximum
/// where it is infinite; or the same to base 2.
IdiomTerms idiom::matchLogAddExp(Operation *op) {
  arith::SelectOp select = getChoice(op);
  std::optional<Threshold> test =
      select ? matchThreshold(select) : std::nullopt;
  auto magnitude =
      test ? test->value.getDefiningOp<math::AbsFOp>() : math::AbsFOp();
  if (!magnitude || test->predicate != arith::CmpFPredicate::OEQ ||
      !std::isinf(test->number) ||
      magnitude.getOperand() != select.getTrueValue())
    return {};
  Value maximum = select.getTrueValue();
  auto sum = select.getFalseValue().getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != maximum && sum.getRhs() != maximum))
    return {};
  Value rest = sum.getLhs() == maximum ? sum.getRhs() : sum.getLhs();
  std::optional<LogOfSum> log = matchLogOfSum(rest);
  auto neg = log ? log->exponent.getDefiningOp<arith::NegFOp>() : nullptr;
  auto abs = neg ? neg.getOperand().getDefiningOp<math::AbsFOp>() : nullptr;
  auto sub = abs ? abs.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  Operation *choice = maximum.getDefiningOp();
  if (!sub || !isa_and_nonnull<arith::SelectOp, arith::MaximumFOp>(choice) ||
      getCombinerKind(choice) != ReductionKind::Maximum)
    return {};
  Value a = sub.getLhs(), b = sub.getRhs();
  OperandRange chosen = choice->getOperands().take_back(2);
  if (!llvm::is_contained(chosen, a) || !llvm::is_contained(chosen, b))
    return {};
  auto derivative = [isBinary = log->isBinary](Value self, Value other) {
    return [=](const Expr &g) {
      Expr difference = g.primal(other) - g.primal(self);
      Expr power = isBinary ? pow(difference.constant(2.0), difference)
                            : exp(difference);
      return g / (1.0 + power);
    };
  };
  return {{a, derivative(a, b)}, {b, derivative(b, a)}};
}

//===----------------------------------------------------------------------===//
// Squares
//===----------------------------------------------------------------------===//

/// The square of |x| as a product, with factors that are numbers, or as a
/// power. Its second derivative at 0 is that of the square of x.
IdiomTerms idiom::matchSquareOfMagnitude(Operation *op) {
  if (!isa<arith::MulFOp, math::PowFOp, math::FPowIOp>(op))
    return {};
  double factor = 1;
  Value base = op->getOperand(0), other = op->getOperand(1);
  math::AbsFOp abs;
  if (isa<arith::MulFOp>(op)) {
    abs = takeFactors(base, factor).getDefiningOp<math::AbsFOp>();
    auto right = takeFactors(other, factor).getDefiningOp<math::AbsFOp>();
    if (!right || !abs || right.getOperand() != abs.getOperand())
      return {};
  } else {
    abs = base.getDefiningOp<math::AbsFOp>();
    IntegerAttr integer;
    bool isTwo = matchPattern(other, m_Constant(&integer))
                     ? integer.getValue() == 2
                     : getNumber(other) == 2.0;
    if (!abs || !isTwo)
      return {};
  }
  Value x = abs.getOperand();
  return {{x, [=](const Expr &g) { return g * (2.0 * factor * g.primal(x)); }}};
}

//===----------------------------------------------------------------------===//
// Maximum, minimum and clamp
//===----------------------------------------------------------------------===//

/// The comparison by which `select` takes the larger or smaller of its values.
/// One that also selects something else orders its operands (a step of a
/// sort), or finds an index.
static arith::CmpFOp getOrder(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || !compare->hasOneUse())
    return {};
  Value a = compare.getLhs(), b = compare.getRhs();
  Value x = select.getTrueValue(), y = select.getFalseValue();
  bool takesOperands = (a == x && b == y) || (a == y && b == x);
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return takesOperands ? compare : arith::CmpFOp();
  default:
    return {};
  }
}

static bool isLess(arith::CmpFOp compare) {
  return compare.getPredicate() == arith::CmpFPredicate::OLT ||
         compare.getPredicate() == arith::CmpFPredicate::ULT;
}

/// What `select` passes to its first (`isFirst`) or second value by itself.
static Expr passChosen(arith::SelectOp select, bool isFirst, const Expr &g) {
  Expr condition = g.primal(select.getCondition());
  return isFirst ? ::remat::select(condition, g, 0.0)
                 : ::remat::select(condition, 0.0, g);
}

static Expr isTie(arith::CmpFOp order, const Expr &g) {
  return g.primal(order.getLhs()) == g.primal(order.getRhs());
}

/// A maximum or minimum of two values: each gets half of it where they are
/// equal.
IdiomTerms idiom::matchExtremum(Operation *op) {
  arith::SelectOp select = getChoice(op);
  arith::CmpFOp order = select ? getOrder(select) : nullptr;
  if (!order || matchPattern(order.getLhs(), m_Constant()) ||
      matchPattern(order.getRhs(), m_Constant()))
    return {};
  auto derivative = [=](bool isFirst) {
    return [=](const Expr &g) {
      Expr chosen = passChosen(select, isFirst, g), tie = isTie(order, g);
      return ::remat::select(tie, 0.5 * g, chosen);
    };
  };
  return {{select.getTrueValue(), derivative(true)},
          {select.getFalseValue(), derivative(false)}};
}

/// A maximum or minimum with a constant: what is taken if it is beyond the
/// bound is not at it, what is taken else has no derivative there. The
/// negative part of an elu that is written in two parts is a minimum of 0 and
/// x, in this order. As there the derivative of the elu at 0 is that of the
/// negative part, this minimum is no clamp.
IdiomTerms idiom::matchClamp(Operation *op) {
  arith::SelectOp select = getChoice(op);
  arith::CmpFOp order = select ? getOrder(select) : nullptr;
  if (!order)
    return {};
  bool boundFirst = matchPattern(order.getLhs(), m_Constant());
  if (!boundFirst && !matchPattern(order.getRhs(), m_Constant()))
    return {};
  if (boundFirst && isLess(order) &&
      matchPattern(order.getLhs(), m_AnyZeroFloat()))
    return {};
  auto derivativeFirst = [=](const Expr &g) {
    return passChosen(select, /*isFirst=*/true, g);
  };
  auto derivativeSecond = [=](const Expr &g) {
    Expr chosen = passChosen(select, /*isFirst=*/false, g);
    Expr tie = isTie(order, g);
    return ::remat::select(tie, 0.0, chosen);
  };
  return {{select.getTrueValue(), derivativeFirst},
          {select.getFalseValue(), derivativeSecond}};
}
