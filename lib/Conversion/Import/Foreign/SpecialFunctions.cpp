//===- SpecialFunctions.cpp - the functions of CHLO -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialect `math` lacks is computed by approximations: the inverse of
// erf by those of Giles (2010), log-gamma and digamma by those of Lanczos
// (1964), and log-gamma near its zeros by polynomials. Their derivatives are
// the exact functions' and not those of the approximation.
//
//===----------------------------------------------------------------------===//

#include "ComplexFunctions.h"
#include "Pointwise.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// Arithmetic on values of one type, scalars or tensors.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Value number(double value) {
    return createConstant(builder, loc, type, value);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  template <typename Op>
  Value of(Value a) {
    return Op::create(builder, loc, a);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// A polynomial, the highest coefficient first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = add(mul(sum, x), number(coefficient));
    return sum;
  }

  /// `value`, of which the derivative by `x` is `slope`.
  Value withSlope(Value x, Value value, Value slope) {
    return createWithRule(builder, loc, x, value,
                          [&](Value change) { return mul(change, slope); });
  }

  Value inverseErf(Value x);
  Value inverseErfSlope(Value y);
  Value logGamma(Value x);
  Value logGammaNear(Value x);
  Value digamma(Value x);
  Value trigamma(Value x);

private:
  Value inverseErf32(Value w);
  Value inverseErf64(Value w);
  Value isBelowHalf(Value x) {
    return compare(arith::CmpFPredicate::OLT, x, number(0.5));
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};
} // namespace

//===----------------------------------------------------------------------===//
// The inverse of erf
//===----------------------------------------------------------------------===//

static constexpr double erfInv32Low[] = {
    2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
    -4.39150654e-06, 0.00021858087,  -0.00125372503,
    -0.00417768164,  0.246640727,    1.50140941};
static constexpr double erfInv32High[] = {
    -0.000200214257, 0.000100950558, 0.00134934322,
    -0.00367342844,  0.00573950773,  -0.0076224613,
    0.00943887047,   1.00167406,     2.83297682};
static constexpr double erfInv64Low[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,
    1.2858480715256400167e-18,  1.115787767802518096e-17,
    -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12,
    -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09,
    -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512,
    -0.0060336708714301490533,  0.24015818242558961693,
    1.6536545626831027356};
static constexpr double erfInv64Middle[] = {
    2.2137376921775787049e-09,  9.0756561938885390979e-08,
    -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06,  -4.013867526981545969e-06,
    2.9234449089955446044e-06,  1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05,
    2.4031110387097893999e-05,  -0.0003550375203628474796,
    0.00095328937973738049703,  -0.0016882755560235047313,
    0.0024914420961078508066,   -0.0037512085075692412107,
    0.005370914553590063617,    1.0052589676941592334,
    3.0838856104922207635};
static constexpr double erfInv64High[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10,
    1.5076572693500548083e-09,  -3.7894654401267369937e-09,
    7.6157012080783393804e-09,  -1.4960026627149240478e-08,
    2.9147953450901080826e-08,  -6.7711997758452339498e-08,
    2.2900482228026654717e-07,  -9.9298272942317002539e-07,
    4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347,
    -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221};

Value Formula::inverseErf32(Value w) {
  Value low = polynomial(sub(w, number(2.5)), erfInv32Low);
  Value high = polynomial(sub(of<math::SqrtOp>(w), number(3)), erfInv32High);
  return select(compare(arith::CmpFPredicate::OLT, w, number(5)), low, high);
}

Value Formula::inverseErf64(Value w) {
  Value root = of<math::SqrtOp>(w);
  Value low = polynomial(sub(w, number(3.125)), erfInv64Low);
  Value middle = polynomial(sub(root, number(3.25)), erfInv64Middle);
  Value high = polynomial(sub(root, number(5)), erfInv64High);
  Value large =
      select(compare(arith::CmpFPredicate::OLT, w, number(16)), middle, high);
  return select(compare(arith::CmpFPredicate::OLT, w, number(6.25)), low,
                large);
}

Value Formula::inverseErf(Value x) {
  Value w = of<arith::NegFOp>(of<math::Log1pOp>(of<arith::NegFOp>(mul(x, x))));
  bool isDouble = getElementTypeOrSelf(type).isF64();
  Value y = mul(isDouble ? inverseErf64(w) : inverseErf32(w), x);
  Value isEnd =
      compare(arith::CmpFPredicate::OEQ, of<math::AbsFOp>(x), number(1));
  return select(isEnd, mul(x, number(std::numeric_limits<double>::infinity())),
                y);
}

/// The derivative, of what the function is.
Value Formula::inverseErfSlope(Value y) {
  return mul(number(0.5 / llvm::numbers::inv_sqrtpi),
             of<math::ExpOp>(mul(y, y)));
}

//===----------------------------------------------------------------------===//
// The gamma function
//===----------------------------------------------------------------------===//

static constexpr double lanczosBase = 0.99999999999980993227684700473478;
static constexpr double lanczosG = 7;
static constexpr double lanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

/// Between 1/2 and 5/2, the function over (x - 1) (x - 2) as a polynomial in
/// x - 3/2, within 4e-9 and 2e-16: fits at Chebyshev's points.
static constexpr double logGammaNear32[] = {
    -0.00023847282400671037, 0.00037323864742690722,  0.00048779824960359993,
    -0.00075960958922531865, -0.00082758966332451496, 0.0012993449674610818,
    -1.0854345081677728e-5,  4.5039203166146054e-5,   -0.0013215978627083682,
    0.0021681314066854124,   -0.0031802688089761845,  0.0053968455691048005,
    -0.0094287982627331878,  0.016802052144928569,    -0.031308366848093285,
    0.062911212891968781,    -0.14595989666098034,    0.4831289517055615};
static constexpr double logGammaNear64[] = {
    1.2754010270104641e-6,   -1.9549266807209633e-6, -8.1617826537873e-6,
    1.2505689137752972e-5,   2.5468415487061783e-5,  -3.9020203210583628e-5,
    -4.8299041563935778e-5,  7.3985347061162964e-5,  6.3602407547556983e-5,
    -9.7435967477837246e-5,  -5.7736948101746029e-5, 8.8403918205723852e-5,
    4.3094724568013411e-5,   -6.6096048192962176e-5, -1.3780718719489141e-5,
    2.084110604231923e-5,    2.4518627473589873e-5,  -3.8330901123389405e-5,
    3.9594279012592487e-5,   -6.2970788302347952e-5, 0.00010606810607618148,
    -0.00016957500997639368, 0.00027121310006487086, -0.00043789710923121763,
    0.00071152850316995984,  -0.001164424038012034,  0.0019229157536596238,
    -0.0032120734850952758,  0.0054464578581902399,  -0.0094256224693578726,
    0.016797098630961431,    -0.031308487500665746,  0.062911401074566046,
    -0.14595989591430778,    0.48312895054098089};

/// Near its zeros 1 and 2, with them as factors.
Value Formula::logGammaNear(Value x) {
  bool isDouble = getElementTypeOrSelf(type).isF64();
  ArrayRef<double> coefficients = logGammaNear32;
  if (isDouble)
    coefficients = logGammaNear64;
  Value quotient = polynomial(sub(x, number(1.5)), coefficients);
  return mul(mul(sub(x, number(1)), sub(x, number(2))), quotient);
}

/// Where x < 1/2, by the value at 1 - x.
Value Formula::logGamma(Value x) {
  double infinity = std::numeric_limits<double>::infinity();
  Value isLow = isBelowHalf(x);
  Value z = select(isLow, of<arith::NegFOp>(x), sub(x, number(1)));
  Value sum = number(lanczosBase);
  for (auto [i, coefficient] : llvm::enumerate(lanczos))
    sum = add(sum, div(number(coefficient), add(z, number(i + 1))));
  Value t = add(number(lanczosG + 0.5), z);
  Value logT = add(number(std::log(lanczosG + 0.5)),
                   of<math::Log1pOp>(div(z, number(lanczosG + 0.5))));
  Value y = add(add(number(0.5 * std::log(2 * llvm::numbers::pi)),
                    mul(sub(add(z, number(0.5)), div(t, logT)), logT)),
                of<math::LogOp>(sum));
  Value magnitude = of<math::AbsFOp>(x);
  Value part = sub(magnitude, of<math::FloorOp>(magnitude));
  Value folded = select(compare(arith::CmpFPredicate::OGT, part, number(0.5)),
                        sub(number(1), part), part);
  Value sine =
      of<math::LogOp>(of<math::SinOp>(mul(number(llvm::numbers::pi), folded)));
  Value isFinite = compare(arith::CmpFPredicate::OLT, of<math::AbsFOp>(sine),
                           number(infinity));
  Value reflected =
      select(isFinite, sub(sub(number(std::log(llvm::numbers::pi)), sine), y),
             of<arith::NegFOp>(sine));
  Value isInfinite =
      compare(arith::CmpFPredicate::OEQ, magnitude, number(infinity));
  Value isNear = compare(arith::CmpFPredicate::OLE,
                         of<math::AbsFOp>(sub(x, number(1.5))), number(1));
  y = select(isNear, logGammaNear(x), y);
  return select(isInfinite, number(infinity), select(isLow, reflected, y));
}

Value Formula::digamma(Value x) {
  Value isLow = isBelowHalf(x);
  Value z = select(isLow, of<arith::NegFOp>(x), sub(x, number(1)));
  Value slope = number(0), sum = number(lanczosBase);
  for (auto [i, coefficient] : llvm::enumerate(lanczos)) {
    Value at = add(z, number(i + 1));
    Value term = div(number(coefficient), at);
    slope = sub(slope, div(term, at));
    sum = add(sum, term);
  }
  Value t = add(number(lanczosG + 0.5), z);
  Value logT = add(number(std::log(lanczosG + 0.5)),
                   of<math::Log1pOp>(div(z, number(lanczosG + 0.5))));
  Value y = sub(add(logT, div(slope, sum)), div(number(lanczosG), t));
  // The cotangent has period 1.
  Value nearest = of<math::FloorOp>(add(x, number(0.5)));
  Value angle = mul(number(llvm::numbers::pi), sub(x, nearest));
  // Where it is not used it is finite, and so are its derivatives.
  Value sine = select(isLow, of<math::SinOp>(angle), number(1));
  Value cotangent =
      div(mul(number(llvm::numbers::pi), of<math::CosOp>(angle)), sine);
  Value result = select(isLow, sub(y, cotangent), y);
  Value isPole = arith::AndIOp::create(
      builder, loc, compare(arith::CmpFPredicate::OLE, x, number(0)),
      compare(arith::CmpFPredicate::OEQ, x, of<math::FloorOp>(x)));
  return select(isPole, number(std::numeric_limits<double>::quiet_NaN()),
                result);
}

/// The derivative of digamma: terms until x is large, and then a series.
Value Formula::trigamma(Value x) {
  Value isLow = isBelowHalf(x);
  Value at = select(isLow, sub(number(1), x), x), sum = number(0);
  for (unsigned i = 0; i < 10; ++i) {
    sum = add(sum, div(number(1), mul(at, at)));
    at = add(at, number(1));
  }
  Value inverse = div(number(1), at), square = mul(inverse, inverse);
  // The Bernoulli numbers.
  static constexpr double series[] = {7.0 / 6,   -691.0 / 2730, 5.0 / 66,
                                      -1.0 / 30, 1.0 / 42,      -1.0 / 30,
                                      1.0 / 6};
  Value tail = mul(polynomial(square, series), mul(square, inverse));
  sum = add(sum, add(add(inverse, mul(number(0.5), square)), tail));
  Value nearest = of<math::FloorOp>(add(x, number(0.5)));
  Value sine = of<math::SinOp>(mul(number(llvm::numbers::pi), sub(x, nearest)));
  sine = select(isLow, sine, number(1));
  Value reflected = sub(
      div(number(llvm::numbers::pi * llvm::numbers::pi), mul(sine, sine)), sum);
  return select(isLow, reflected, sum);
}

//===----------------------------------------------------------------------===//
// Functions with derivatives of their own
//===----------------------------------------------------------------------===//

/// Narrow numbers are computed with in f32.
static Type getWide(OpBuilder &builder, Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32
             ? withElements(type, builder.getF32Type())
             : type;
}

/// Builds `function` of the operand; on tensors, with the derivative that
/// `slope` builds of the operand and the value.
static LogicalResult
lowerWithSlope(Operation *op, Lowering &lowering,
               llvm::function_ref<Value(Formula &, Value)> function,
               llvm::function_ref<Value(Formula &, Value, Value)> slope) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Value x = lowering.get(op->getOperand(0));
  Type type = x.getType();
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  if (!element)
    return op->emitOpError("is not supported for elements of type ")
           << getElementTypeOrSelf(type);
  Type wide = getWide(builder, type);
  Value wideX =
      createConverted(builder, loc, x, getElementTypeOrSelf(wide), false);
  Formula formula(builder, loc, wide);
  Value value = function(formula, wideX);
  Value result = createConverted(builder, loc, value, element, false);
  if (lowering.isScalar())
    return lowering.set(op, result);
  // The rule multiplies by the slope in both modes.
  return lowering.set(
      op, createWithRule(builder, loc, x, result, [&](Value change) {
        Value factor = createConverted(
            builder, loc, slope(formula, wideX, value), element, false);
        return arith::MulFOp::create(builder, loc, change, factor).getResult();
      }));
}

static LogicalResult lowerInverseErf(Operation *op, Lowering &lowering) {
  return lowerWithSlope(
      op, lowering, [](Formula &f, Value x) { return f.inverseErf(x); },
      [](Formula &f, Value x, Value y) {
        return f.inverseErfSlope(f.withSlope(x, y, f.inverseErfSlope(y)));
      });
}
static LogicalResult lowerLogGamma(Operation *op, Lowering &lowering) {
  return lowerWithSlope(
      op, lowering, [](Formula &f, Value x) { return f.logGamma(x); },
      [](Formula &f, Value x, Value) {
        return f.withSlope(x, f.digamma(x), f.trigamma(x));
      });
}
static LogicalResult lowerDigamma(Operation *op, Lowering &lowering) {
  return lowerWithSlope(
      op, lowering, [](Formula &f, Value x) { return f.digamma(x); },
      [](Formula &f, Value x, Value) { return f.trigamma(x); });
}

//===----------------------------------------------------------------------===//
// Functions of the dialect math
//===----------------------------------------------------------------------===//

/// A function that the dialect `complex` has not: of tensors as a whole, with
/// its derivative.
template <typename FloatOp, ComplexFunction function>
static LogicalResult lowerHolomorphic(Operation *op, Lowering &lowering) {
  Value x = lowering.get(op->getOperand(0));
  auto element = dyn_cast<ComplexType>(getElementTypeOrSelf(x.getType()));
  if (!element)
    return lowerPointwise(op, lowering, buildUnary<FloatOp>);
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  if (lowering.isScalar())
    return lowering.set(op, createComplexFunction(function, builder, loc, x));
  auto type = cast<RankedTensorType>(x.getType());
  Value result = createElementwise(
      builder, loc, x, type,
      [](OpBuilder &nested, Location loc, ValueRange args) {
        return createComplexFunction(function, nested, loc, args[0]);
      });
  auto rule = [&](Value change, bool isReverse) {
    return createElementwise(
        builder, loc, {x, change}, type,
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value slope = createComplexSlope(function, nested, loc, args[0]);
          if (isReverse)
            slope = complex::ConjOp::create(nested, loc, slope);
          return complex::MulOp::create(nested, loc, slope, args[1]);
        });
  };
  return lowering.set(op,
                      createWithRules(
                          builder, loc, x, result,
                          [&](Value change) { return rule(change, true); },
                          [&](Value change) { return rule(change, false); }));
}

static Value buildSquare(Pointwise &p) {
  Value x = p.args[0];
  if (p.isFloat())
    return p.make<arith::MulFOp>(x, x);
  if (p.isComplex())
    return p.make<complex::MulOp>(x, x);
  return p.make<arith::MulIOp>(x, x);
}

static Value buildConjugate(Pointwise &p) {
  return p.isComplex() ? p.make<complex::ConjOp>(p.args[0]) : p.args[0];
}

/// Whether an element is infinite; `sign` is that of the infinity, or 0.
template <int sign>
static Value buildIsInfinite(Pointwise &p) {
  if (!p.isFloat())
    return p.refuse();
  Value x = sign == 0 ? p.make<math::AbsFOp>(p.args[0]) : p.args[0];
  double infinity = std::numeric_limits<double>::infinity();
  return p.compare(arith::CmpFPredicate::OEQ, x,
                   p.number(sign < 0 ? -infinity : infinity));
}

/// The next number in the direction of another: bits count up away from zero.
static Value buildNextAfter(Pointwise &p) {
  if (!p.isFloat())
    return p.refuse();
  Value x = p.args[0], y = p.args[1];
  unsigned width = p.getWidth();
  Type bits = withElements(x.getType(), p.builder.getIntegerType(width));
  auto integer = [&](const APInt &value) {
    return createInteger(p.builder, p.loc, bits, value);
  };
  Value pattern = arith::BitcastOp::create(p.builder, p.loc, bits, x);
  Value zero = p.number(0);
  Value isUp = p.compare(arith::CmpFPredicate::OLT, x, y);
  Value isNegative = p.compare(arith::CmpFPredicate::OLT, x, zero);
  // Away from zero if the direction is that of the sign.
  Value isAway = p.make<arith::XOrIOp>(isUp, isNegative);
  Value step = p.select(isAway, integer(APInt(width, 1)),
                        integer(APInt::getAllOnes(width)));
  Value moved = p.make<arith::AddIOp>(pattern, step);
  Value least = p.select(isUp, integer(APInt(width, 1)),
                         integer(APInt(width, 1) | APInt::getSignMask(width)));
  Value isZero = p.compare(arith::CmpFPredicate::OEQ, x, zero);
  moved = p.select(isZero, least, moved);
  Value result = arith::BitcastOp::create(p.builder, p.loc, x.getType(), moved);
  Value isSame = p.compare(arith::CmpFPredicate::OEQ, x, y);
  Value isNan = p.compare(arith::CmpFPredicate::UNO, x, y);
  return p.select(isNan, p.make<arith::AddFOp>(x, y),
                  p.select(isSame, y, result));
}

void foreign::addSpecialFunctions(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering) {
    table[("chlo." + name).str()] = {lowering, name == "next_after" ? 2 : 1, 1,
                                     0, KnownOp::Scalars};
  };
  add("acos", lowerHolomorphic<math::AcosOp, ComplexFunction::Acos>);
  add("acosh", lowerHolomorphic<math::AcoshOp, ComplexFunction::Acosh>);
  add("asin", lowerHolomorphic<math::AsinOp, ComplexFunction::Asin>);
  add("asinh", lowerHolomorphic<math::AsinhOp, ComplexFunction::Asinh>);
  add("atan", lowerHolomorphic<math::AtanOp, ComplexFunction::Atan>);
  add("atanh", lowerHolomorphic<math::AtanhOp, ComplexFunction::Atanh>);
  add("conj", lowerPointwise<buildConjugate>);
  add("cosh", lowerHolomorphic<math::CoshOp, ComplexFunction::Cosh>);
  add("digamma", lowerDigamma);
  add("erf", lowerPointwise<buildUnary<math::ErfOp>>);
  add("erf_inv", lowerInverseErf);
  add("erfc", lowerPointwise<buildUnary<math::ErfcOp>>);
  add("is_inf", lowerPointwise<buildIsInfinite<0>>);
  add("is_neg_inf", lowerPointwise<buildIsInfinite<-1>>);
  add("is_pos_inf", lowerPointwise<buildIsInfinite<1>>);
  add("lgamma", lowerLogGamma);
  add("next_after", lowerPointwise<buildNextAfter>);
  add("sinh", lowerHolomorphic<math::SinhOp, ComplexFunction::Sinh>);
  add("square", lowerPointwise<buildSquare>);
  add("tan", lowerPointwise<buildUnary<math::TanOp, complex::TanOp>>);
}
