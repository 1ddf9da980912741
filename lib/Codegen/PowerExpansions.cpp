//===- PowerExpansions.cpp - powers, cube roots, log10 of f32 -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// |x|^y is 2^(y log2|x|) in f64, where all numbers of f32 are normal and the
// product keeps enough digits for results that are rounded to the closest f32
// but for one in thousands.
//
// |x| is m 2^e with m between sqrt(1/2) and sqrt(2), and log2(m) is s P(s^2)
// with s = (m - 1) / (m + 1). 2^t is Q(r) 2^n with the integer n that is
// closest to t, which a large number that is added leaves in the lowest bits,
// and r = t - n. P and Q were fit by iterated least squares (Lawson's weights)
// of the relative error, which is below 2^-45 and 2^-40.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

namespace {
/// Emits f64 scalars, of which operands and results are rounded to f32.
class PowerEmitter : codegen::DoubleEmitter {
public:
  PowerEmitter(OpBuilder &builder, Location loc)
      : DoubleEmitter(builder, loc) {}

  Value pow(Value base, Value exponent);
  Value cbrt(Value x);
  Value log10(Value x);

private:
  Value narrow(Value x) { return DoubleEmitter::narrow(x, b.getF32Type()); }
  Value isInteger(Value x) { return isEqual(math::TruncOp::create(b, x), x); }
  Value log2(Value a);
  Value exp2(Value t);
};
} // namespace

/// Of what is not negative.
Value PowerEmitter::log2(Value a) {
  auto [m, e] = split(a);
  Value s = div(sub(m, number(1)), add(m, number(1)));
  Value log =
      evaluate({2.8853900817778504, 0.9617966941128288, 0.5770779424825977,
                0.4122092423116097, 0.3199060634339677, 0.2828953547080107},
               mul(s, s));
  log = select(isMore(a, 0), fma(s, log, e), number(-infinity));
  // Infinity and nan are their own logarithms.
  return select(isLess(a, infinity), log, a);
}

Value PowerEmitter::exp2(Value t) {
  // Beyond, results in f32 are 0 and infinite.
  t = atLeast(atMost(t, 160), -160);
  Value sum = roundInto(t);
  Value rest = evaluate(
      {0.9999999999997624, 0.6931471805465144, 0.24022650698880266,
       0.055504109393415504, 0.009618128542880341, 0.0013333452062233263,
       0.00015403851738556885, 1.5309737439576226e-05, 1.3175859506506585e-06},
      sub(t, takeFrom(sum)));
  return mul(rest, powerOfTwo(sum));
}

/// With the results of IEEE 754 where one of the two is 0, 1, infinite, nan or
/// negative.
Value PowerEmitter::pow(Value base, Value exponent) {
  Value x = widen(base), y = widen(exponent), a = size(x);
  Value power = exp2(mul(y, log2(a)));
  Value isOne = apply<arith::OrIOp>(isEqual(x, 1), isEqual(y, 0));
  Value isUnit =
      apply<arith::AndIOp>(isEqual(a, 1), isEqual(size(y), infinity));
  power = select(apply<arith::OrIOp>(isOne, isUnit), number(1), power);

  Value isWhole = isInteger(y), isEven = isInteger(mul(y, number(0.5)));
  // A negative number has powers with integers only.
  Value negative = select(isEven, power, arith::NegFOp::create(b, power));
  Value hasNone =
      select(apply<arith::AndIOp>(isMore(a, 0), isLess(a, infinity)),
             number(std::numeric_limits<double>::quiet_NaN()), power);
  return narrow(select(hasSign(x), select(isWhole, negative, hasNone), power));
}

/// Of a size; the sign is that of `x`.
Value PowerEmitter::cbrt(Value x) {
  Value wide = widen(x);
  Value root = exp2(mul(log2(size(wide)), number(1.0 / 3)));
  return narrow(withSign(root, wide));
}

Value PowerEmitter::log10(Value x) {
  Value wide = widen(x);
  Value log = mul(log2(size(wide)), number(0.30102999566398120));
  return narrow(select(isLess(wide, 0),
                       number(std::numeric_limits<double>::quiet_NaN()), log));
}

void codegen::populatePowerExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add(codegen::expandFunction<math::PowFOp, &PowerEmitter::pow>);
  patterns.add(codegen::expandFunction<math::CbrtOp, &PowerEmitter::cbrt>);
  patterns.add(codegen::expandFunction<math::Log10Op, &PowerEmitter::log10>);
}
