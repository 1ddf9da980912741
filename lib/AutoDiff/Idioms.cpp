//===- Idioms.cpp - functions that exporters write out --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

using Terms = SmallVector<IdiomTerm>;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// The number that `value` always is, through conversions.
static std::optional<double> getNumber(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  FloatAttr attr;
  if (matchPattern(value, m_Constant(&attr)))
    return attr.getValueAsDouble();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

/// `value` before it was made wider.
static Value beforeWidening(Value value) {
  while (auto ext = value.getDefiningOp<arith::ExtFOp>())
    value = ext.getIn();
  return value;
}

/// The comparison with a number that chooses the values of `select`.
namespace {
struct Threshold {
  arith::CmpFPredicate predicate;
  Value value;
  double number;
};
} // namespace

static std::optional<Threshold> matchThreshold(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  std::optional<double> number =
      compare ? getNumber(compare.getRhs()) : std::nullopt;
  if (!number)
    return std::nullopt;
  return Threshold{compare.getPredicate(), beforeWidening(compare.getLhs()),
                   *number};
}

/// `value` / `factors` = the value that is returned: factors that are numbers
/// are taken off.
static Value takeFactors(Value value, double &factors) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::MulFOp, arith::DivFOp>(op))
      break;
    bool isProduct = isa<arith::MulFOp>(op);
    unsigned side = isProduct && getNumber(op->getOperand(0)) ? 0 : 1;
    std::optional<double> number = getNumber(op->getOperand(side));
    if (!number)
      break;
    factors = isProduct ? factors * *number : factors / *number;
    value = op->getOperand(1 - side);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// x log(y) or x log1p(y), and 0 where x = 0.
static Terms matchXLogY(arith::SelectOp select, DerivativeContext &context) {
  std::optional<Threshold> test = matchThreshold(select);
  if (!test || test->predicate != arith::CmpFPredicate::OEQ ||
      test->number != 0.0 || getNumber(select.getTrueValue()) != 0.0)
    return {};
  auto product = select.getFalseValue().getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  unsigned side = product.getLhs() == test->value ? 1 : 0;
  Operation *log = product->getOperand(side).getDefiningOp();
  if (product->getOperand(1 - side) != test->value ||
      !isa_and_nonnull<math::LogOp, math::Log1pOp>(log))
    return {};
  Value x = test->value, y = log->getOperand(0);
  bool plusOne = isa<math::Log1pOp>(log);
  auto derivativeX = [=, &context](const Expr &g) {
    Expr a = Expr::forward(context, x), b = Expr::forward(context, y);
    Expr logarithm = Expr::forward(context, log->getResult(0));
    Expr term = ::remat::select(g == 0.0, 0.0, g * logarithm);
    Expr outside =
        b.compare(arith::CmpFPredicate::OLE, b.constant(plusOne ? -1.0 : 0.0));
    return ::remat::select(both(a == 0.0, outside), 0.0, term);
  };
  auto derivativeY = [=, &context](const Expr &g) {
    Expr a = Expr::forward(context, x), b = Expr::forward(context, y);
    return plusOne ? g * a / (b + 1.0) : g * a / b;
  };
  return {{x, derivativeX}, {y, derivativeY}};
}

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
  if (!sum || getNumber(sum.getRhs()) != 1.0)
    return std::nullopt;
  if (auto exp = sum.getLhs().getDefiningOp<math::Exp2Op>())
    return LogOfSum{exp.getOperand(), true};
  auto power = sum.getLhs().getDefiningOp<math::PowFOp>();
  if (!power || getNumber(power.getLhs()) != 2.0)
    return std::nullopt;
  return LogOfSum{power.getRhs(), true};
}

/// log(exp(a) + exp(b)) as max(a, b) + log1p(exp(-|a - b|)), or the maximum
/// where it is infinite; or the same to base 2.
static Terms matchLogAddExp(arith::SelectOp select,
                            DerivativeContext &context) {
  std::optional<Threshold> test = matchThreshold(select);
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
  if (!sub || !isa_and_nonnull<arith::SelectOp, arith::MaximumFOp>(choice))
    return {};
  Value a = sub.getLhs(), b = sub.getRhs();
  OperandRange chosen = choice->getOperands().take_back(2);
  if (!llvm::is_contained(chosen, a) || !llvm::is_contained(chosen, b))
    return {};
  auto derivative = [&context, isBinary = log->isBinary](Value self,
                                                         Value other) {
    return [=, &context](const Expr &g) {
      Expr difference =
          Expr::forward(context, other) - Expr::forward(context, self);
      Expr power = isBinary ? ::remat::pow(difference.constant(2.0), difference)
                            : ::remat::exp(difference);
      return g / (1.0 + power);
    };
  };
  return {{a, derivative(a, b)}, {b, derivative(b, a)}};
}

/// An elu: x where x > 0, else a multiple of expm1 of a multiple of x; or a
/// softplus: of x where v > number, else of log1p(exp(v)). The derivative at
/// the threshold is that of the second piece, its own derivative is 0 there.
static Terms matchSmoothStep(arith::SelectOp select,
                             DerivativeContext &context) {
  std::optional<Threshold> test = matchThreshold(select);
  if (!test || test->predicate != arith::CmpFPredicate::OGT)
    return {};
  double factor = 1, inner = 1, line = 1;
  Value piece = takeFactors(select.getFalseValue(), factor);
  Value exponent;
  if (auto expm1 = piece.getDefiningOp<math::ExpM1Op>())
    exponent = expm1.getOperand();
  auto log = piece.getDefiningOp<math::Log1pOp>();
  bool isSoftplus = log && !exponent;
  if (isSoftplus)
    if (auto exp = log.getOperand().getDefiningOp<math::ExpOp>())
      exponent = exp.getOperand();
  if (!exponent)
    return {};
  Value x = takeFactors(exponent, inner);
  if (takeFactors(test->value, line) != x ||
      takeFactors(select.getTrueValue(), line) != x ||
      (isSoftplus ? exponent != test->value : test->number != 0.0))
    return {};
  double number = isSoftplus ? test->number : 0.0;
  Value condition = select.getCondition();
  auto derivativeLine = [=, &context](const Expr &g) {
    return ::remat::select(Expr::forward(context, condition), g, 0.0);
  };
  auto derivativePiece = [=, &context](const Expr &g) {
    Expr v = Expr::forward(context, exponent);
    Expr threshold = v.constant(number);
    Expr flat = ::remat::select(v == threshold, threshold, v);
    Expr slope =
        isSoftplus ? 1.0 / (1.0 + ::remat::exp(-flat)) : ::remat::exp(flat);
    return ::remat::select(Expr::forward(context, condition), 0.0,
                           (factor * g) * slope);
  };
  return {{select.getTrueValue(), derivativeLine}, {exponent, derivativePiece}};
}

/// `factor` times the square of `x`, of which the second derivative at 0 is not
/// that of the square of a magnitude.
static Terms getSquare(Value x, double factor, DerivativeContext &context) {
  return {{x, [=, &context](const Expr &g) {
             return g * (2.0 * factor * Expr::forward(context, x));
           }}};
}

/// The square of |x|, with factors that are numbers, as a product.
static Terms matchSquareOfAbs(arith::MulFOp product,
                              DerivativeContext &context) {
  double factor = 1;
  auto left =
      takeFactors(product.getLhs(), factor).getDefiningOp<math::AbsFOp>();
  auto right =
      takeFactors(product.getRhs(), factor).getDefiningOp<math::AbsFOp>();
  if (!left || !right || left.getOperand() != right.getOperand())
    return {};
  return getSquare(left.getOperand(), factor, context);
}

/// The square of |x| as a power.
static Terms matchSquareOfAbs(Operation *power, DerivativeContext &context) {
  auto abs = power->getOperand(0).getDefiningOp<math::AbsFOp>();
  Value exponent = power->getOperand(1);
  IntegerAttr integer;
  bool isTwo = matchPattern(exponent, m_Constant(&integer))
                   ? integer.getValue() == 2
                   : getNumber(exponent) == 2.0;
  if (!abs || !isTwo)
    return {};
  return getSquare(abs.getOperand(), 1, context);
}

/// sin(v) / v, and 1 where v = 0.
static Terms matchSinc(arith::SelectOp select, DerivativeContext &context) {
  std::optional<Threshold> test = matchThreshold(select);
  auto quotient = select.getFalseValue().getDefiningOp<arith::DivFOp>();
  if (!test || !quotient || test->predicate != arith::CmpFPredicate::OEQ ||
      test->number != 0.0 || getNumber(select.getTrueValue()) != 1.0)
    return {};
  auto sine = quotient.getLhs().getDefiningOp<math::SinOp>();
  Value x = quotient.getRhs();
  if (!sine || sine.getOperand() != x || test->value != x)
    return {};
  return {{x, [=, &context](const Expr &g) {
             Expr v = Expr::forward(context, x);
             Expr slope = (v * cos(v) - sin(v)) / (v * v);
             return ::remat::select(v == 0.0, 0.0, g * slope);
           }}};
}

/// The value of which `value` is the negative part, min(x, 0), as exporters
/// write it; null if it is something else.
static Value getWhole(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLT ||
      getNumber(compare.getLhs()) != 0.0 ||
      getNumber(select.getTrueValue()) != 0.0 ||
      select.getFalseValue() != compare.getRhs())
    return {};
  return compare.getRhs();
}

/// log(sigmoid(x)) as min(x, 0) - log1p(exp(-|x|)).
static Terms matchLogSigmoid(arith::SubFOp difference,
                             DerivativeContext &context) {
  auto log = difference.getRhs().getDefiningOp<math::Log1pOp>();
  auto exp = log ? log.getOperand().getDefiningOp<math::ExpOp>() : nullptr;
  auto neg = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
  auto abs = neg ? neg.getOperand().getDefiningOp<math::AbsFOp>() : nullptr;
  Value x = abs ? getWhole(difference.getLhs()) : Value();
  if (!x || abs.getOperand() != x)
    return {};
  return {{x, [=, &context](const Expr &g) {
             return g * (1.0 / (1.0 + ::remat::exp(Expr::forward(context, x))));
           }}};
}

/// exp(min(x, 0)), with factors, in an elu: as of an elu in one piece, the
/// second derivative at 0 is 0.
static Terms matchExpOfNegativePart(math::ExpOp exp,
                                    DerivativeContext &context) {
  double factor = 1;
  Value exponent = exp.getOperand();
  Value whole = getWhole(takeFactors(exponent, factor));
  if (!whole)
    return {};
  return {{exponent, [=, &context](const Expr &g) {
             Expr x = Expr::forward(context, whole);
             Expr v = Expr::forward(context, exponent);
             return g * ::remat::exp(::remat::select(x == 0.0, 0.0, v));
           }}};
}

/// 1 / (1 + exp(v)), of which the derivative is known where exp(v) is
/// infinite: a sigmoid, or what logsigmoid and softplus pass on.
static Terms matchSigmoid(arith::DivFOp quotient, DerivativeContext &context) {
  if (getNumber(quotient.getLhs()) != 1.0)
    return {};
  auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
  unsigned side = sum && getNumber(sum.getRhs()) == 1.0 ? 0 : 1;
  if (!sum || getNumber(sum.getOperand(1 - side)) != 1.0)
    return {};
  auto exp = sum.getOperand(side).getDefiningOp<math::ExpOp>();
  if (!exp)
    return {};
  Value result = quotient.getResult();
  return {{exp.getOperand(), [=, &context](const Expr &g) {
             Expr y = Expr::forward(context, result);
             return -g * ((1.0 - y) * y);
           }}};
}

/// log(x / (1 - x)), a number at most between 0 and 1.
static Terms matchLogit(math::LogOp log, DerivativeContext &context) {
  auto quotient = log.getOperand().getDefiningOp<arith::DivFOp>();
  auto rest = quotient ? quotient.getRhs().getDefiningOp<arith::SubFOp>()
                       : arith::SubFOp();
  if (!rest || getNumber(rest.getLhs()) != 1.0 ||
      rest.getRhs() != quotient.getLhs())
    return {};
  Value x = rest.getRhs();
  return {{x, [=, &context](const Expr &g) {
             Expr v = Expr::forward(context, x);
             Expr inside = both(v >= 0.0, v.compare(arith::CmpFPredicate::OLE,
                                                    v.constant(1.0)));
             return ::remat::select(inside, g / (v * (1.0 - v)),
                                    g.constant(NAN));
           }}};
}

SmallVector<IdiomTerm> remat::matchIdiom(Operation *op,
                                         DerivativeContext &context) {
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return matchSquareOfAbs(product, context);
  if (isa<math::PowFOp, math::FPowIOp>(op))
    return matchSquareOfAbs(op, context);
  if (auto difference = dyn_cast<arith::SubFOp>(op))
    return matchLogSigmoid(difference, context);
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return matchSigmoid(quotient, context);
  if (auto log = dyn_cast<math::LogOp>(op))
    return matchLogit(log, context);
  if (auto exp = dyn_cast<math::ExpOp>(op))
    return matchExpOfNegativePart(exp, context);
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || !isa<FloatType>(getElementTypeOrSelf(select.getType())))
    return {};
  for (auto match : {matchXLogY, matchLogAddExp, matchSmoothStep, matchSinc})
    if (Terms terms = match(select, context); !terms.empty())
      return terms;
  return {};
}
