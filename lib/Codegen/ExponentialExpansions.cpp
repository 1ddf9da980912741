//===- ExponentialExpansions.cpp - exp, exp2 and erf of f32 ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are in the innermost loops of attention and of GELUs. exp and erf take
// fewer instructions here than upstream's, with errors that are no larger, and
// exp2 has no polynomial upstream.
//
// exp(x) is (1 + r + r^2 P(r)) 2^n with the integer n that is closest to
// x / log(2), but at most 127, and r = x - n log(2). A large number is added to
// the quotient, so that n is in the lowest bits of the sum, and the power of
// two is these bits in the place of an exponent. log(2) is in two parts, of
// which n times the first is exact (W. Cody and W. Waite, "Software Manual for
// the Elementary Functions", 1980). P has degree 5 and is fit for r up to
// 0.694. exp2(x) is the same with the n that is closest to x and with
// r = (x - n) log(2).
//
// erf(x) is x P(x^2) / Q(x^2) for |x| <= 4.1, with polynomials of degree 5. It
// is above 1 before rounding from where erf(x) rounds to 1, and bounded there.
//
// The coefficients were fit by iterated least squares (Lawson's weights) of the
// relative error; those of erf were then changed in their last bits by a
// search.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

/// The coefficients of a polynomial of degree 5, the constant first.
using Coefficients = float[6];

static constexpr Coefficients expRest = {4.9999994e-01f, 1.66667e-01f,
                                         4.1668072e-02f, 8.32677e-03f,
                                         1.3838591e-03f, 2.3255181e-04f};
static constexpr Coefficients erfNumerator = {1.1283792f,     1.8612938e-01f,
                                              5.2191857e-02f, 3.584565e-03f,
                                              2.8126274e-04f, 2.0889545e-06f};
static constexpr Coefficients erfDenominator = {
    1.0f,           4.9828655e-01f, 1.12349026e-01f,
    1.4606406e-02f, 1.1194675e-03f, 3.8304883e-05f};

/// 2^23 + 2^22, to which an integer is added exactly, and the bias of
/// exponents: so the lowest bits of a sum are those of an exponent.
static constexpr float exponentZero = 0x1.8p23f + 127;

namespace {
class ExponentialEmitter : codegen::ScalarEmitter {
public:
  ExponentialEmitter(OpBuilder &builder, Location loc)
      : ScalarEmitter(builder, loc, builder.getF32Type()) {}

  Value exp(Value x);
  Value exp2(Value x);
  Value erf(Value x);

private:
  Value evaluate(const Coefficients &c, Value x, Value square);
  Value scaledExp(Value r, Value sum);
};
} // namespace

/// c[0] + c[1] x + ... + c[5] x^5, in pairs: the sums are half as deep as those
/// of Horner's scheme, and so is what rounding adds up to.
Value ExponentialEmitter::evaluate(const Coefficients &c, Value x,
                                   Value square) {
  auto evaluatePair = [&](unsigned i) {
    return fma(number(c[i + 1]), x, number(c[i]));
  };
  Value sum = fma(evaluatePair(4), square, evaluatePair(2));
  return fma(sum, square, evaluatePair(0));
}

/// exp(r) times the power of two whose exponent is in the lowest bits of `sum`.
Value ExponentialEmitter::scaledExp(Value r, Value sum) {
  Value square = mul(r, r);
  Value rest = fma(evaluate(expRest, r, square), square, r);
  Type word = b.getI32Type();
  Value power = arith::ShLIOp::create(
      b, arith::BitcastOp::create(b, word, sum),
      arith::ConstantOp::create(b, b.getI32IntegerAttr(23)));
  power = arith::BitcastOp::create(b, b.getF32Type(), power);
  return fma(rest, power, power);
}

Value ExponentialEmitter::exp(Value x) {
  // The power of two is 0 for what is smaller, and infinite results are those
  // of the polynomial.
  x = atLeast(x, -87.8f);
  Value sum = fma(x, number(0x1.715476p0f), number(exponentZero));
  sum = atMost(sum, exponentZero + 127);
  Value n = add(sum, number(-exponentZero));
  Value r = fma(n, number(-0x1.63p-1f), x);
  return scaledExp(fma(n, number(0x1.bd0106p-13f), r), sum);
}

Value ExponentialEmitter::exp2(Value x) {
  x = atLeast(x, -127);
  Value sum = add(x, number(exponentZero));
  sum = atMost(sum, exponentZero + 127);
  Value r = sub(x, add(sum, number(-exponentZero)));
  return scaledExp(mul(r, number(0x1.62e43p-1f)), sum);
}

Value ExponentialEmitter::erf(Value x) {
  x = atLeast(atMost(x, 4.1f), -4.1f);
  Value square = mul(x, x), fourth = mul(square, square);
  Value quotient =
      arith::DivFOp::create(b, mul(x, evaluate(erfNumerator, square, fourth)),
                            evaluate(erfDenominator, square, fourth));
  return atLeast(atMost(quotient, 1), -1);
}

void codegen::populateExponentialExpansionPatterns(
    RewritePatternSet &patterns) {
  // Before upstream's.
  patterns.add(codegen::expandFunction<math::ExpOp, &ExponentialEmitter::exp>,
               /*benefit=*/2);
  patterns.add(codegen::expandFunction<math::Exp2Op, &ExponentialEmitter::exp2>,
               /*benefit=*/2);
  patterns.add(codegen::expandFunction<math::ErfOp, &ExponentialEmitter::erf>,
               /*benefit=*/2);
}
