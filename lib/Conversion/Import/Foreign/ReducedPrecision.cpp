//===- ReducedPrecision.cpp - numbers rounded to fewer bits ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pointwise.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// Rounds numbers, scalars or tensors, to those that fewer bits can say.
class PrecisionReducer {
public:
  PrecisionReducer(OpBuilder &builder, Location loc, FloatType element,
                   int64_t exponent, int64_t mantissa)
      : builder(builder), loc(loc), element(element), exponent(exponent),
        mantissa(mantissa) {
    width = element.getWidth();
    ownMantissa =
        llvm::APFloat::semanticsPrecision(element.getFloatSemantics()) - 1;
    ownExponent = width - 1 - ownMantissa;
  }

  /// Whether all numbers stay what they are.
  bool isIdentity() const {
    return exponent >= ownExponent && mantissa >= ownMantissa;
  }
  /// Whether bf16 has just these bits; its smallest numbers are as small.
  bool isConversion() const {
    return element.isF32() && exponent == ownExponent && mantissa == 7;
  }
  Value reduce(Value value);

private:
  Value reduceBits(Value value);
  Value roundMantissa(Value bits);
  Value limitExponent(Value bits);
  Value pattern(Value like, const APInt &bits) {
    return createInteger(builder, loc, like.getType(), bits);
  }
  Value isAbove(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, a, b);
  }

  OpBuilder &builder;
  Location loc;
  FloatType element;
  int64_t exponent, mantissa, width, ownExponent, ownMantissa;
};
} // namespace

/// To the nearest, and of two to the even one. What becomes too long goes on in
/// the exponent.
Value PrecisionReducer::roundMantissa(Value bits) {
  int64_t cut = ownMantissa - mantissa;
  if (cut <= 0)
    return bits;
  APInt unit = APInt::getOneBitSet(width, cut);
  Value last = arith::ShRUIOp::create(builder, loc, bits,
                                      pattern(bits, APInt(width, cut)));
  last =
      arith::AndIOp::create(builder, loc, last, pattern(bits, APInt(width, 1)));
  Value half = pattern(bits, unit.lshr(1) - 1);
  bits = arith::AddIOp::create(builder, loc, bits,
                               arith::AddIOp::create(builder, loc, last, half));
  return arith::AndIOp::create(builder, loc, bits, pattern(bits, ~(unit - 1)));
}

/// What is too large becomes infinite, and what is too small 0.
Value PrecisionReducer::limitExponent(Value bits) {
  if (exponent >= ownExponent)
    return bits;
  APInt bias = APInt::getLowBitsSet(width, ownExponent - 1),
        narrowBias = APInt::getLowBitsSet(width, exponent - 1),
        all = APInt::getLowBitsSet(width, ownExponent).shl(ownMantissa);
  Value power = arith::AndIOp::create(builder, loc, bits, pattern(bits, all));
  Value isLarge =
      isAbove(power, pattern(bits, (bias + narrowBias).shl(ownMantissa)));
  Value isNormal =
      isAbove(power, pattern(bits, (bias - narrowBias).shl(ownMantissa)));
  Value zero = arith::AndIOp::create(builder, loc, bits,
                                     pattern(bits, APInt::getSignMask(width)));
  Value infinity = arith::OrIOp::create(builder, loc, zero, pattern(bits, all));
  bits = arith::SelectOp::create(builder, loc, isLarge, infinity, bits);
  return arith::SelectOp::create(builder, loc, isNormal, bits, zero);
}

Value PrecisionReducer::reduceBits(Value value) {
  Type type = withElements(value.getType(), builder.getIntegerType(width));
  Value bits = arith::BitcastOp::create(builder, loc, type, value);
  bits = limitExponent(roundMantissa(bits));
  Value reduced = arith::BitcastOp::create(builder, loc, value.getType(), bits);
  // Rounding may carry out of the bits that say nan.
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      value, value);
  return arith::SelectOp::create(builder, loc, isNan, value, reduced);
}

Value PrecisionReducer::reduce(Value value) {
  if (!isConversion())
    return reduceBits(value);
  Value rounded =
      createConverted(builder, loc, value, builder.getBF16Type(), false);
  return createConverted(builder, loc, rounded, element, false);
}

/// A derivative is rounded as the number itself is.
static LogicalResult lowerReducedPrecision(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Value value = lowering.get(op->getOperand(0));
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  int64_t exponent = getInteger(op, "exponent_bits", 0),
          mantissa = getInteger(op, "mantissa_bits", -1);
  if (!element.isF16() && !element.isBF16() && !element.isF32() &&
      !element.isF64())
    return op->emitOpError("is not supported for elements of type ") << element;
  if (exponent < 1 || mantissa < 0)
    return op->emitOpError("to ")
           << exponent << " exponent and " << mantissa
           << " mantissa bits is not supported, expected at least 1 and 0";
  PrecisionReducer reducer(builder, loc, cast<FloatType>(element), exponent,
                           mantissa);
  if (reducer.isIdentity())
    return lowering.set(op, value);
  Value result = reducer.reduce(value);
  if (lowering.isScalar() || reducer.isConversion())
    return lowering.set(op, result);
  return lowering.set(
      op, createWithRule(builder, loc, value, result, [&](Value slope) {
        // Bits have no derivative, which is one of second
        // order here.
        return createWithRule(builder, loc, slope, reducer.reduce(slope),
                              [](Value change) { return change; });
      }));
}

void foreign::addReducedPrecision(LoweringTable &table) {
  table["stablehlo.reduce_precision"] = {lowerReducedPrecision, 1, 1, 0,
                                         KnownOp::Scalars};
}
