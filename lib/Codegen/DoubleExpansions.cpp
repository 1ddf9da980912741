//===- DoubleExpansions.cpp - exp, exp2, log and tanh of f64 --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For vectors, to a unit in the last place. exp(x) is 2^n (1 + r + r^2 P(r))
// with the integer n that is closest to x / log(2) and r = x - n log(2), where
// log(2) is in two parts, of which n times the first is exact (W. Cody and
// W. Waite, "Software Manual for the Elementary Functions", 1980). P is the
// Taylor polynomial, whose rest is below 2^-57 for r up to log(2) / 2.
//
// log(x) is log(m) + e log(2) with x = m 2^e and m between sqrt(1/2) and
// sqrt(2). With f = m - 1 and s = f / (2 + f), log(m) is f - s (f - R(s^2)),
// whose polynomial and whose sums are those of FreeBSD's e_log.c.
//
// tanh(x) is t / (t + 2) with t = exp(2 x) - 1.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

/// Numbers of 32 bits and what is left.
static constexpr double log2High = 6.93147180369123816490e-01;
static constexpr double log2Low = 1.90821492927058770002e-10;

namespace {
class FunctionEmitter : codegen::DoubleEmitter {
public:
  FunctionEmitter(OpBuilder &builder, Location loc)
      : DoubleEmitter(builder, loc) {}

  Value exp(Value x);
  Value exp2(Value x);
  Value log(Value x);
  Value tanh(Value x);

private:
  Value reduce(Value n, Value x) {
    return fma(n, number(-log2Low), fma(n, number(-log2High), x));
  }
  Value expm1OfSmall(Value r);
  Value scale(Value x, Value n);
};
} // namespace

Value FunctionEmitter::expm1OfSmall(Value r) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 2; i <= 13; ++i)
    coefficients.push_back(1 / (factorial *= i));
  return fma(mul(r, r), evaluate(coefficients, r), r);
}

/// x 2^n in two steps, since the whole power may be none.
Value FunctionEmitter::scale(Value x, Value n) {
  Value half = roundInto(mul(n, number(0.5)));
  Value rest = roundInto(sub(n, takeFrom(half)));
  return mul(mul(x, powerOfTwo(half)), powerOfTwo(rest));
}

Value FunctionEmitter::exp(Value x) {
  // Beyond, results are 0 and infinite.
  x = atLeast(atMost(x, 710), -746);
  Value n = takeFrom(roundInto(mul(x, number(1.4426950408889634))));
  return scale(add(expm1OfSmall(reduce(n, x)), number(1)), n);
}

Value FunctionEmitter::exp2(Value x) {
  x = atLeast(atMost(x, 1025), -1076);
  Value n = takeFrom(roundInto(x));
  Value r = mul(sub(x, n), number(0.69314718055994531));
  return scale(add(expm1OfSmall(r), number(1)), n);
}

Value FunctionEmitter::tanh(Value x) {
  // Beyond, the result is 1.
  Value a = atMost(size(x), 20), twice = add(a, a);
  Value sum = roundInto(mul(twice, number(1.4426950408889634)));
  Value power = powerOfTwo(sum);
  Value t = fma(expm1OfSmall(reduce(takeFrom(sum), twice)), power,
                sub(power, number(1)));
  return withSign(div(t, add(t, number(2))), x);
}

Value FunctionEmitter::log(Value x) {
  Value isSubnormal = isLess(x, 0x1p-1022);
  auto [m, e] = split(mul(x, select(isSubnormal, number(0x1p54), number(1))));
  e = sub(e, select(isSubnormal, number(54), number(0)));
  Value f = sub(m, number(1)), s = div(f, add(f, number(2)));
  Value z = mul(s, s), half = mul(mul(f, f), number(0.5));
  Value rest =
      mul(z, evaluate({6.666666666666735130e-01, 3.999999999940941908e-01,
                       2.857142874366239149e-01, 2.222219843214978396e-01,
                       1.818357216161805012e-01, 1.531383769920937332e-01,
                       1.479819860511658591e-01},
                      z));
  Value small = fma(s, add(half, rest), mul(e, number(log2Low)));
  Value log = fma(e, number(log2High), sub(f, sub(half, small)));
  // Infinity and nan are their own logarithms, and 0 and less have none.
  Value none = select(isEqual(x, 0), number(-infinity),
                      number(std::numeric_limits<double>::quiet_NaN()));
  log = select(isLess(x, 0x1p-1074), none, log);
  return select(isLess(x, infinity), log, x);
}

void codegen::populateDoubleExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add(codegen::expandFunction<math::ExpOp, &FunctionEmitter::exp, 64>);
  patterns.add(
      codegen::expandFunction<math::Exp2Op, &FunctionEmitter::exp2, 64>);
  patterns.add(codegen::expandFunction<math::LogOp, &FunctionEmitter::log, 64>);
  patterns.add(
      codegen::expandFunction<math::TanhOp, &FunctionEmitter::tanh, 64>);
}
