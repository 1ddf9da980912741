//===- TrigonometricExpansions.cpp - sin, cos and tan of f32 --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size of the argument is k pi/2 + r with an integer k and r in
// [-pi/4, pi/4], and the results are sin(r) or cos(r), with a sign, by the
// lowest bits of k, or their quotient. There are no branches, so that loops are
// vectorized.
//
// Up to 2^16, k is the closest integer to a product with 2/pi, and r is what is
// left of three products with parts of pi/2, of which the first is exact
// (W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980).
// Beyond, 2/pi is multiplied as an integer of as many bits as matter (M. Payne
// and R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 18,
// 1983). The polynomials were fit by iterated least squares (Lawson's weights)
// of the relative error, which is below 5e-9.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

namespace {
/// k, of which the lowest two bits count, and r as the sum of two numbers.
struct Reduced {
  Value quadrant;   // i32
  Value rest, tail; // f32
};

/// Arithmetic of f64, which large arguments need.
class WideEmitter : codegen::ScalarEmitter {
public:
  WideEmitter(OpBuilder &builder, Location loc)
      : ScalarEmitter(builder, loc, builder.getF64Type()) {}

  Reduced reduce(Value bits);

private:
  Value toNumber(Value fraction);
};

class TrigonometricEmitter : codegen::ScalarEmitter {
public:
  TrigonometricEmitter(OpBuilder &builder, Location loc)
      : ScalarEmitter(builder, loc, builder.getF32Type()) {}

  template <typename Op>
  Value expand(Value x);

private:
  Reduced reduce(Value a);
};
} // namespace

/// The integer, which has a sign.
Value WideEmitter::toNumber(Value integer) {
  // An integer of 32 bits in the place of a mantissa is that much more than
  // 2^52. AVX2 converts no integers of 64 bits.
  Value high = fromBits(apply<arith::XOrIOp>(
      apply<arith::ShRUIOp>(integer, word(32)), word(0x4330000080000000)));
  Value low = fromBits(
      apply<arith::OrIOp>(apply<arith::AndIOp>(integer, word(0xffffffff)),
                          word(0x4330000000000000)));
  return fma(sub(high, number(0x1p52 + 0x1p31)), number(0x1p32),
             sub(low, number(0x1p52)));
}

/// Of an f32 with these bits, at least 2^16, which is m 2^e with an integer m
/// of 24 bits. In turns, m times the fraction of 2^e / (2 pi).
Reduced WideEmitter::reduce(Value bits) {
  // 2^-16 times 2/pi, the highest bits first.
  static constexpr uint64_t twoOverPi[] = {
      0x0000a2f9836e4e44, 0x1529fc2757d1f534, 0xddc0db6295993c43,
      0x9041fe5163abdebb};
  bits = arith::ExtUIOp::create(b, b.getI64Type(), bits);
  Value mantissa = apply<arith::OrIOp>(
      apply<arith::AndIOp>(bits, word(0x7fffff)), word(0x800000));
  // The first bit of 2/pi that counts: that of a quarter of a turn of 2^e.
  Value first = apply<arith::SubIOp>(apply<arith::ShRUIOp>(bits, word(23)),
                                     word(150 + 2 - 16));
  Value shift = apply<arith::AndIOp>(first, word(63));
  Value backShift = apply<arith::SubIOp>(word(63), shift);
  Value isSecond =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, first, word(64));
  auto getWord = [&](unsigned i) {
    return select(isSecond, word(twoOverPi[i + 1]), word(twoOverPi[i]));
  };
  auto getBits = [&](Value high, Value low) -> Value {
    Value tail =
        apply<arith::ShRUIOp>(apply<arith::ShRUIOp>(low, word(1)), backShift);
    return apply<arith::OrIOp>(apply<arith::ShLIOp>(high, shift), tail);
  };
  Value middle = getWord(1);
  Value high = getBits(getWord(0), middle), low = getBits(middle, getWord(2));
  Value carry = apply<arith::ShRUIOp>(
      apply<arith::MulIOp>(mantissa, apply<arith::ShRUIOp>(low, word(32))),
      word(32));
  Value turns =
      apply<arith::AddIOp>(apply<arith::MulIOp>(mantissa, high), carry);
  // The closest of the four quarters, and what is left.
  Value k = apply<arith::ShRUIOp>(
      apply<arith::AddIOp>(turns, word(uint64_t(1) << 61)), word(62));
  Value rest = apply<arith::SubIOp>(turns, apply<arith::ShLIOp>(k, word(62)));
  constexpr double halfPi = 1.57079632679489661923;
  rest = mul(toNumber(rest), number(halfPi * 0x1p-62));
  auto narrow = [&](Value x) -> Value {
    return arith::TruncFOp::create(b, b.getF32Type(), x);
  };
  Value narrowRest = narrow(rest);
  Value tail = sub(rest, arith::ExtFOp::create(b, type, narrowRest));
  return {arith::TruncIOp::create(b, b.getI32Type(), k), narrowRest,
          narrow(tail)};
}

/// Of what is at most 2^16.
Reduced TrigonometricEmitter::reduce(Value a) {
  // The integer is in the lowest bits of the sum.
  Value zero = number(0x1.8p23), sum = fma(a, number(0x1.45f306p-1), zero);
  Value k = sub(sum, zero);
  // Where less is left than 1, it has no more bits than a number has.
  Value first = fma(k, number(-0x1.921fb6p0), a);
  Value part = number(0x1.777a5cp-25), second = mul(k, part);
  Value rest = add(first, second);
  // What rounding took from the sum (D. Knuth) and from the product.
  Value added = sub(rest, first);
  Value tail = add(sub(first, sub(rest, added)), sub(second, added));
  Value ofProduct = fma(k, part, sub(number(0), second));
  tail = add(tail, fma(k, number(0x1.ee59dap-50), ofProduct));
  return {toBits(sum), rest, tail};
}

/// Sine, cosine or tangent of `x`.
template <typename Op>
Value TrigonometricEmitter::expand(Value x) {
  constexpr bool isCosine = std::is_same_v<Op, math::CosOp>;
  constexpr bool isTangent = std::is_same_v<Op, math::TanOp>;
  Value a = size(x), isSmall = isLess(a, 0x1p16);
  Reduced few = reduce(a);
  Reduced many = WideEmitter(b, b.getLoc()).reduce(toBits(a));
  Value k = select(isSmall, few.quadrant, many.quadrant);
  Value r = select(isSmall, few.rest, many.rest);
  Value tail = select(isSmall, few.tail, many.tail);
  Value square = mul(r, r), half = mul(square, number(0.5));
  Value one = number(1), most = sub(one, half);
  Value cubic =
      mul(mul(r, square),
          evaluate({-0.16666654, 0.0083320634, -0.00019502135}, square));
  Value sine = add(r, fma(tail, most, cubic));
  Value fourth =
      fma(mul(square, square),
          evaluate({0.041666643, -0.0013887185, 2.4418128e-05}, square),
          sub(sub(one, most), half));
  Value cosine = add(most, sub(fourth, mul(r, tail)));
  Value isOdd = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, apply<arith::AndIOp>(k, word(1)), word(0));
  Value result =
      isCosine ? select(isOdd, sine, cosine) : select(isOdd, cosine, sine);
  if constexpr (isTangent)
    result = div(result, select(isOdd, sine, cosine));
  // Bit 1 of the quadrant is the sign of sin(|x|), bit 0 that of tan(|x|).
  Value sign =
      apply<arith::ShLIOp>(isCosine ? apply<arith::AddIOp>(k, word(1)) : k,
                           word(isTangent ? 31 : 30));
  if constexpr (!isCosine)
    sign = apply<arith::XOrIOp>(sign, toBits(x));
  sign = apply<arith::AndIOp>(sign, word(0x80000000));
  result = fromBits(apply<arith::XOrIOp>(toBits(result), sign));
  // Of nan and of what is infinite it is nan.
  return select(isLess(a, std::numeric_limits<double>::infinity()), result,
                number(std::numeric_limits<double>::quiet_NaN()));
}

void codegen::populateTrigonometricExpansionPatterns(
    RewritePatternSet &patterns) {
  patterns.add(
      codegen::expandFunction<math::SinOp,
                              &TrigonometricEmitter::expand<math::SinOp>>);
  patterns.add(
      codegen::expandFunction<math::CosOp,
                              &TrigonometricEmitter::expand<math::CosOp>>);
  patterns.add(
      codegen::expandFunction<math::TanOp,
                              &TrigonometricEmitter::expand<math::TanOp>>);
}
