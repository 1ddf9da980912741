//===- ActivationIdioms.cpp - idioms that are activation functions --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdiomMatchers.h"

#include <cmath>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// A line up to a threshold
//===----------------------------------------------------------------------===//

/// The terms of `select`, which takes a line above a threshold and else
/// `factor` times a function of `exponent`, of which `slope` is the derivative.
/// At the threshold the derivative is that of the function, and its own
/// derivative is 0. Above it the function is not evaluated: it may be infinite.
static IdiomTerms getPieces(arith::SelectOp select, Value exponent,
                            double factor, double threshold,
                            Expr (*slope)(const Expr &v)) {
  Value condition = select.getCondition();
  auto derivativeLine = [=](const Expr &g) {
    return ::remat::select(g.primal(condition), g, 0.0);
  };
  auto derivativePiece = [=](const Expr &g) {
    Expr v = g.primal(exponent), limit = v.constant(threshold);
    Expr isLine = g.primal(condition);
    Expr flat = ::remat::select(v == limit, limit, v);
    Expr slopes = slope(::remat::select(isLine, limit, flat));
    return ::remat::select(isLine, 0.0, (factor * g) * slopes);
  };
  return {{select.getTrueValue(), derivativeLine}, {exponent, derivativePiece}};
}

/// Whether `select` takes a multiple of `x` where a multiple of `x` is larger
/// than a number.
static bool isLine(arith::SelectOp select, const idiom::Threshold &test,
                   Value x) {
  double factor = 1;
  return test.predicate == arith::CmpFPredicate::OGT &&
         idiom::takeFactors(test.value, factor) == x &&
         idiom::takeFactors(select.getTrueValue(), factor) == x;
}

/// x where x > 0, else a multiple of expm1 of a multiple of x.
IdiomTerms idiom::matchElu(Operation *op) {
  arith::SelectOp select = getChoice(op);
  std::optional<Threshold> test =
      select ? matchThreshold(select) : std::nullopt;
  if (!test || test->number != 0.0)
    return {};
  double factor = 1, inner = 1;
  auto expm1 = takeFactors(select.getFalseValue(), factor)
                   .getDefiningOp<math::ExpM1Op>();
  if (!expm1 || !isLine(select, *test, takeFactors(expm1.getOperand(), inner)))
    return {};
  return getPieces(select, expm1.getOperand(), factor, 0.0,
                   [](const Expr &v) { return exp(v); });
}

/// x where v > threshold for a multiple v of x, else a multiple of
/// log1p(exp(v)).
IdiomTerms idiom::matchSoftplus(Operation *op) {
  arith::SelectOp select = getChoice(op);
  std::optional<Threshold> test =
      select ? matchThreshold(select) : std::nullopt;
  if (!test)
    return {};
  double factor = 1, inner = 1;
  auto log = takeFactors(select.getFalseValue(), factor)
                 .getDefiningOp<math::Log1pOp>();
  auto exp = log ? log.getOperand().getDefiningOp<math::ExpOp>() : nullptr;
  if (!exp || exp.getOperand() != test->value ||
      !isLine(select, *test, takeFactors(exp.getOperand(), inner)))
    return {};
  return getPieces(
      select, exp.getOperand(), factor, test->number,
      [](const Expr &v) { return 1.0 / (1.0 + ::remat::exp(-v)); });
}

//===----------------------------------------------------------------------===//
// The negative part
//===----------------------------------------------------------------------===//

/// The value of which `value` is the negative part, min(x, 0), as exporters
/// write it; null if it is something else.
static Value getWhole(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLT ||
      idiom::getNumber(compare.getLhs()) != 0.0 ||
      idiom::getNumber(select.getTrueValue()) != 0.0 ||
      select.getFalseValue() != compare.getRhs())
    return {};
  return compare.getRhs();
}

/// exp(min(x, 0)), with factors, in an elu that is written as the sum of its
/// positive and its negative part: as of an elu in one piece, the second
/// derivative at 0 is 0.
IdiomTerms idiom::matchNegativeElu(Operation *op) {
  auto exp = dyn_cast<math::ExpOp>(op);
  if (!exp)
    return {};
  double factor = 1;
  Value exponent = exp.getOperand();
  Value whole = getWhole(takeFactors(exponent, factor));
  if (!whole)
    return {};
  return {{exponent, [=](const Expr &g) {
             Expr x = g.primal(whole), v = g.primal(exponent);
             return g * ::remat::exp(select(x == 0.0, 0.0, v));
           }}};
}

//===----------------------------------------------------------------------===//
// The logistic function
//===----------------------------------------------------------------------===//

/// log(sigmoid(x)) as min(x, 0) - log1p(exp(-|x|)), of which both parts have a
/// kink at 0.
IdiomTerms idiom::matchLogSigmoid(Operation *op) {
  auto difference = dyn_cast<arith::SubFOp>(op);
  auto log =
      difference ? difference.getRhs().getDefiningOp<math::Log1pOp>() : nullptr;
  auto exp = log ? log.getOperand().getDefiningOp<math::ExpOp>() : nullptr;
  auto neg = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
  auto abs = neg ? neg.getOperand().getDefiningOp<math::AbsFOp>() : nullptr;
  Value x = abs ? getWhole(difference.getLhs()) : Value();
  if (!x || abs.getOperand() != x)
    return {};
  return {{x, [=](const Expr &g) {
             return g * (1.0 / (1.0 + ::remat::exp(g.primal(x))));
           }}};
}

/// 1 / (1 + exp(v)), of which the derivative is known where exp(v) is
/// infinite: a sigmoid, or what logsigmoid and softplus pass on.
IdiomTerms idiom::matchSigmoid(Operation *op) {
  auto quotient = dyn_cast<arith::DivFOp>(op);
  if (!quotient || getNumber(quotient.getLhs()) != 1.0)
    return {};
  auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
  unsigned side = sum && getNumber(sum.getRhs()) == 1.0 ? 0 : 1;
  if (!sum || getNumber(sum.getOperand(1 - side)) != 1.0)
    return {};
  auto exp = sum.getOperand(side).getDefiningOp<math::ExpOp>();
  if (!exp)
    return {};
  Value result = quotient.getResult();
  return {{exp.getOperand(), [=](const Expr &g) {
             Expr y = g.primal(result);
             return -g * ((1.0 - y) * y);
           }}};
}

/// log(x / (1 - x)), a number at most between 0 and 1.
IdiomTerms idiom::matchLogit(Operation *op) {
  auto log = dyn_cast<math::LogOp>(op);
  auto quotient =
      log ? log.getOperand().getDefiningOp<arith::DivFOp>() : nullptr;
  auto rest =
      quotient ? quotient.getRhs().getDefiningOp<arith::SubFOp>() : nullptr;
  if (!rest || getNumber(rest.getLhs()) != 1.0 ||
      rest.getRhs() != quotient.getLhs())
    return {};
  Value x = rest.getRhs();
  return {{x, [=](const Expr &g) {
             Expr v = g.primal(x);
             Expr inside = both(v >= 0.0, v.compare(arith::CmpFPredicate::OLE,
                                                    v.constant(1.0)));
             return select(inside, g / (v * (1.0 - v)), g.constant(NAN));
           }}};
}
