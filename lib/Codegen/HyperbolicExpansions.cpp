//===- HyperbolicExpansions.cpp - hyperbolic functions of f32 -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By exponentials and logarithms, which vectors have, in the place of calls of
// the C library for each element. With a = |x| and h = exp(a) / 2,
//
//     cosh(x) = h + 1 / (4 h)            sinh(x) = +-(h - 1 / (4 h))
//     asinh(x) = +-log1p(a + a^2 / (1 + sqrt(a^2 + 1)))
//     acosh(x) = log1p(t + sqrt(t) sqrt(t + 2)) with t = x - 1
//     atanh(x) = +-log1p(2 a / (1 - a)) / 2
//
// sinh is its Taylor polynomial for a < 1, where the difference loses digits.
// What overflows in between is done without: h from exp(a / 2), and for large
// a, asinh and acosh are log(2 a).
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

namespace {
class HyperbolicEmitter : codegen::ScalarEmitter {
public:
  HyperbolicEmitter(OpBuilder &builder, Location loc)
      : ScalarEmitter(builder, loc, builder.getF32Type()) {}

  Value cosh(Value x) {
    Value h = halfExp(size(x));
    return add(h, div(number(0.25), h));
  }
  Value sinh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);

private:
  Value halfExp(Value a);
  Value logOrLog1p(Value large, Value small);
};
} // namespace

/// exp(a) / 2, which is infinite only where that is.
Value HyperbolicEmitter::halfExp(Value a) {
  Value isLarge = isMore(a, 88);
  Value root =
      math::ExpOp::create(b, mul(a, select(isLarge, number(0.5), number(1))));
  return mul(mul(root, number(0.5)), select(isLarge, root, number(1)));
}

Value HyperbolicEmitter::sinh(Value x) {
  Value a = size(x), h = halfExp(a);
  Value large = withSign(sub(h, div(number(0.25), h)), x);
  Value square = mul(x, x);
  Value sum = evaluate({1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880}, square);
  Value small = fma(mul(sum, square), x, x);
  // NaN is not more than 1, and the polynomial of it is NaN.
  return select(isMore(a, 1), large, small);
}

/// log(2 large) where `large` is that, and else log1p(small).
Value HyperbolicEmitter::logOrLog1p(Value large, Value small) {
  Value isLarge = isMore(large, 1e9f);
  Value log = math::Log1pOp::create(b, select(isLarge, large, small));
  return add(log, select(isLarge, number(0.69314718f), number(0)));
}

Value HyperbolicEmitter::asinh(Value x) {
  Value a = size(x), square = mul(a, a), one = number(1);
  Value rest = div(square, add(one, sqrt(add(square, one))));
  return withSign(logOrLog1p(a, add(a, rest)), x);
}

Value HyperbolicEmitter::acosh(Value x) {
  Value t = sub(x, number(1));
  // Two roots, since x < 1 has none.
  Value root = mul(sqrt(t), sqrt(add(t, number(2))));
  return logOrLog1p(x, add(t, root));
}

Value HyperbolicEmitter::atanh(Value x) {
  Value a = size(x);
  Value log = math::Log1pOp::create(b, div(add(a, a), sub(number(1), a)));
  return withSign(mul(log, number(0.5)), x);
}

void codegen::populateHyperbolicExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add(codegen::expandFunction<math::CoshOp, &HyperbolicEmitter::cosh>);
  patterns.add(codegen::expandFunction<math::SinhOp, &HyperbolicEmitter::sinh>);
  patterns.add(
      codegen::expandFunction<math::AsinhOp, &HyperbolicEmitter::asinh>);
  patterns.add(
      codegen::expandFunction<math::AcoshOp, &HyperbolicEmitter::acosh>);
  patterns.add(
      codegen::expandFunction<math::AtanhOp, &HyperbolicEmitter::atanh>);
}
