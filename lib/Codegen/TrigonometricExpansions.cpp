//===- TrigonometricExpansions.cpp - sin and cos of f32 -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The argument is x = k pi/2 + r with an integer k and r in [-pi/4, pi/4], and
// the results are sin(r) or cos(r), with a sign, by the lowest bits of k. All
// of it is in f64 without branches, so that loops are vectorized.
//
// Up to 2^28, k and r come from a product with 2/pi and a subtraction in two
// parts, of which the first is exact. Beyond, 2/pi is multiplied as an integer
// of as many bits as matter (M. Payne and R. Hanek, "Radian reduction for
// trigonometric functions", SIGNUM 18, 1983). The polynomials and the parts of
// pi/2 are those of FreeBSD's k_sinf.c, k_cosf.c and e_rem_pio2f.c.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace remat;

namespace {
/// k, of which the lowest two bits count, and r.
struct Reduced {
  Value quadrant; // i32
  Value rest;     // f64
};

/// Emits scalars in one type after the other.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value wide(double number) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(number));
  }
  Value word(uint64_t bits) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getI64Type(), static_cast<int64_t>(bits)));
  }
  template <typename Op>
  Value apply(Value lhs, Value rhs) {
    return Op::create(b, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value isLess(Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, lhs, rhs);
  }
  Value polynomial(Value x, ArrayRef<double> coefficients);

  Reduced reduceSmall(Value x);
  Reduced reduceLarge(Value x);
  Value expand(Value x, bool isSine);

private:
  ImplicitLocOpBuilder b;
};
} // namespace

/// The lowest coefficient comes first.
Value Emitter::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = wide(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = apply<arith::AddFOp>(apply<arith::MulFOp>(sum, x), wide(coefficient));
  return sum;
}

/// Of an f64 x, at most 2^28 in size.
Reduced Emitter::reduceSmall(Value x) {
  constexpr double twoOverPi = 6.36619772367581382433e-01;
  // The first has 25 bits, so that k times it is exact.
  constexpr double halfPi1 = 1.57079631090164184570e+00;
  constexpr double halfPi2 = 1.58932547735281966916e-08;
  Value k =
      math::RoundEvenOp::create(b, apply<arith::MulFOp>(x, wide(twoOverPi)));
  Value rest = apply<arith::SubFOp>(
      apply<arith::SubFOp>(x, apply<arith::MulFOp>(k, wide(halfPi1))),
      apply<arith::MulFOp>(k, wide(halfPi2)));
  return {arith::FPToSIOp::create(b, b.getI32Type(), k), rest};
}

/// Of an f32 x, at least 2^28 in size, which is m 2^e with an integer m of 24
/// bits. In turns, m times the fraction of 2^e / (2 pi).
Reduced Emitter::reduceLarge(Value x) {
  // 2/pi, the highest bits first.
  static constexpr uint64_t twoOverPi[] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561};
  Value bits = arith::ExtUIOp::create(
      b, b.getI64Type(), arith::BitcastOp::create(b, b.getI32Type(), x));
  Value exponent =
      apply<arith::AndIOp>(apply<arith::ShRUIOp>(bits, word(23)), word(0xff));
  Value mantissa = apply<arith::OrIOp>(
      apply<arith::AndIOp>(bits, word(0x7fffff)), word(0x800000));
  // The first bit of 2/pi that counts: that of a quarter of a turn of 2^e.
  Value first = apply<arith::SubIOp>(exponent, word(150 + 2));
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
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                            apply<arith::ShRUIOp>(bits, word(31)), word(0));
  turns = select(isNegative, apply<arith::SubIOp>(word(0), turns), turns);
  Value quarters = apply<arith::MulFOp>(
      arith::SIToFPOp::create(b, b.getF64Type(), turns), wide(0x1p-62));
  Value k = math::RoundEvenOp::create(b, quarters);
  constexpr double halfPi = 1.57079632679489661923;
  Value rest =
      apply<arith::MulFOp>(apply<arith::SubFOp>(quarters, k), wide(halfPi));
  return {arith::FPToSIOp::create(b, b.getI32Type(), k), rest};
}

/// The sine or the cosine of the f32 `x`.
Value Emitter::expand(Value x, bool isSine) {
  Value size = math::AbsFOp::create(b, x);
  auto narrow = [&](float number) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(number));
  };
  Value isSmall = isLess(size, narrow(0x1p28f));
  // Conversions of what is not selected stay in range, too.
  Value bounded =
      arith::ExtFOp::create(b, b.getF64Type(), select(isSmall, x, narrow(0)));
  Reduced few = reduceSmall(bounded), many = reduceLarge(x);
  Value k = select(isSmall, few.quadrant, many.quadrant);
  Value r = select(isSmall, few.rest, many.rest);
  Value square = apply<arith::MulFOp>(r, r);
  Value sine = apply<arith::MulFOp>(
      r,
      polynomial(square,
                 {1.0, -0.166666666416265235595, 0.0083333293858894631756,
                  -0.000198393348360966317347, 0.0000027183114939898219064}));
  Value cosine = polynomial(
      square, {1.0, -0.499999997251031003120, 0.0416666233237390631894,
               -0.00138867637746099294692, 0.0000243904487962774090654});
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  auto hasBit = [&](Value value, int32_t bit) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 apply<arith::AndIOp>(value, number(bit)),
                                 number(0));
  };
  Value isOdd = hasBit(k, 1);
  Value result =
      isSine ? select(isOdd, cosine, sine) : select(isOdd, sine, cosine);
  Value signs = isSine ? k : apply<arith::AddIOp>(k, number(1));
  result = select(hasBit(signs, 2), arith::NegFOp::create(b, result), result);
  result = arith::TruncFOp::create(b, b.getF32Type(), result);
  // So -0 stays what it is.
  if (isSine)
    result = select(isLess(size, narrow(0x1p-12f)), x, result);
  // Of nan and of what is infinite it is nan.
  Value isFinite = isLess(size, narrow(std::numeric_limits<float>::infinity()));
  return select(isFinite, result,
                narrow(std::numeric_limits<float>::quiet_NaN()));
}

template <typename Op>
static LogicalResult expandTrigonometric(Op op, PatternRewriter &rewriter) {
  if (!op.getType().isF32())
    return failure();
  rewriter.replaceOp(
      op, Emitter(rewriter, op.getLoc())
              .expand(op.getOperand(), std::is_same_v<Op, math::SinOp>));
  return success();
}

void codegen::populateTrigonometricExpansionPatterns(
    RewritePatternSet &patterns) {
  patterns.add(expandTrigonometric<math::SinOp>);
  patterns.add(expandTrigonometric<math::CosOp>);
}
