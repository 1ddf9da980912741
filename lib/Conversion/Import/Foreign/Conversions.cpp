//===- Conversions.cpp - comparisons, choices and conversions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pointwise.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Integers in the order of floating-point numbers: -nan, -inf, ..., -0, 0,
/// ..., inf, nan.
static Value buildOrdered(Pointwise &p, Value value) {
  unsigned width = p.getWidth();
  Type bits = withElements(value.getType(), p.builder.getIntegerType(width));
  Value pattern = arith::BitcastOp::create(p.builder, p.loc, bits, value);
  Value zero = createInteger(p.builder, p.loc, bits, 0);
  Value isNegative = p.compare(arith::CmpIPredicate::slt, pattern, zero);
  Value flipped = p.make<arith::XOrIOp>(
      pattern,
      createInteger(p.builder, p.loc, bits, APInt::getSignedMaxValue(width)));
  return p.select(isNegative, flipped, pattern);
}

static Value compareIntegers(Pointwise &p, Value a, Value b, bool isUnsigned) {
  using Predicate = arith::CmpIPredicate;
  StringRef direction = getEnum(p.op, "comparison_direction");
  auto predicate = llvm::StringSwitch<std::optional<Predicate>>(direction)
                       .Case("EQ", Predicate::eq)
                       .Case("NE", Predicate::ne)
                       .Case("LT", isUnsigned ? Predicate::ult : Predicate::slt)
                       .Case("LE", isUnsigned ? Predicate::ule : Predicate::sle)
                       .Case("GT", isUnsigned ? Predicate::ugt : Predicate::sgt)
                       .Case("GE", isUnsigned ? Predicate::uge : Predicate::sge)
                       .Default(std::nullopt);
  if (!predicate) {
    p.op->emitOpError("has an unknown comparison_direction ")
        << getAttr(p.op, "comparison_direction");
    return {};
  }
  return p.compare(*predicate, a, b);
}

static Value compareFloats(Pointwise &p, Value a, Value b) {
  using Predicate = arith::CmpFPredicate;
  if (getEnum(p.op, "compare_type") == "TOTALORDER")
    return compareIntegers(p, buildOrdered(p, a), buildOrdered(p, b), false);
  auto predicate = llvm::StringSwitch<std::optional<Predicate>>(
                       getEnum(p.op, "comparison_direction"))
                       .Case("EQ", Predicate::OEQ)
                       .Case("NE", Predicate::UNE)
                       .Case("LT", Predicate::OLT)
                       .Case("LE", Predicate::OLE)
                       .Case("GT", Predicate::OGT)
                       .Case("GE", Predicate::OGE)
                       .Default(std::nullopt);
  if (!predicate) {
    p.op->emitOpError("has an unknown comparison_direction ")
        << getAttr(p.op, "comparison_direction");
    return {};
  }
  return p.compare(*predicate, a, b);
}

static Value buildComparison(Pointwise &p) {
  Value a = p.args[0], b = p.args[1];
  if (p.isComplex()) {
    StringRef direction = getEnum(p.op, "comparison_direction");
    if (direction == "EQ")
      return p.make<complex::EqualOp>(a, b);
    if (direction == "NE")
      return p.make<complex::NotEqualOp>(a, b);
    return p.refuse();
  }
  return p.isFloat() ? compareFloats(p, a, b)
                     : compareIntegers(p, a, b, p.isUnsigned());
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// An operand of rank 0 stands for a tensor of its elements.
static Value spread(Lowering &lowering, Operation *op, Value operand,
                    Type type) {
  Value value = lowering.get(operand);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor ||
      cast<RankedTensorType>(value.getType()).getRank() == tensor.getRank())
    return value;
  Value scalar = lowering.getScalar(operand);
  return createFilled(lowering.builder, op->getLoc(),
                      cast<RankedTensorType>(tensor.clone(scalar.getType())),
                      scalar);
}

/// Refuses an operand that has neither the shape of the result nor rank 0.
static LogicalResult checkSpread(Operation *op, unsigned number) {
  RankedTensorType type = getForeignType(op->getOperand(number)),
                   result = getForeignType(op->getResult(0));
  if (type.getRank() == 0 || type.getShape() == result.getShape())
    return success();
  return op->emitOpError("has an operand ")
         << number << " of type " << type << ", expected rank 0 or the shape "
         << "of " << result;
}

/// Refuses operands that have other elements than the result, or, if they are
/// not `spread`, another type.
static LogicalResult checkSame(Operation *op, Lowering &lowering,
                               ArrayRef<unsigned> numbers, bool spread) {
  RankedTensorType result = lowering.getTensorType(op->getResult(0));
  for (unsigned number : numbers) {
    RankedTensorType type = lowering.getTensorType(op->getOperand(number));
    if (spread ? type.getElementType() != result.getElementType()
               : type != result)
      return op->emitOpError("has an operand ")
             << number << " of type " << type << ", expected that of the "
             << "result, " << result;
  }
  return success();
}

static LogicalResult lowerSelect(Operation *op, Lowering &lowering) {
  if (failed(checkSame(op, lowering, {1, 2}, /*spread=*/false)) ||
      failed(checkSpread(op, 0)))
    return failure();
  if (!getForeignType(op->getOperand(0)).getElementType().isInteger(1))
    return op->emitOpError("has a condition of type ")
           << op->getOperand(0).getType() << ", expected elements of type i1";
  SmallVector<Value> operands = lowering.get(op->getOperands());
  Type type = lowering.getType(op->getResult(0));
  // A condition of rank 0 chooses between whole tensors.
  Value condition = operands[0];
  if (auto tensor = dyn_cast<RankedTensorType>(condition.getType());
      tensor && tensor.getRank() != cast<RankedTensorType>(type).getRank())
    condition = lowering.getScalar(op->getOperand(0));
  if (isa<ComplexType>(getElementTypeOrSelf(type)) && !lowering.isScalar() &&
      isa<RankedTensorType>(condition.getType())) {
    Value chosen = createElementwise(
        lowering.builder, op->getLoc(), {condition, operands[1], operands[2]},
        cast<RankedTensorType>(type),
        [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          return arith::SelectOp::create(nested, loc, args[0], args[1],
                                         args[2]);
        });
    return lowering.set(op, chosen);
  }
  if (!isa<RankedTensorType>(condition.getType()) && !lowering.isScalar())
    condition = spread(lowering, op, op->getOperand(0), type);
  return lowering.set(op, arith::SelectOp::create(lowering.builder,
                                                  op->getLoc(), condition,
                                                  operands[1], operands[2])
                              .getResult());
}

/// Whether an element of a bound may be nan: it is not in a constant without.
static bool mayBeNan(Lowering &lowering, Value bound) {
  DenseElementsAttr constant = lowering.findConstant(bound);
  return !constant || !isa<FloatType>(constant.getElementType()) ||
         llvm::any_of(constant.getValues<APFloat>(),
                      [](const APFloat &number) { return number.isNaN(); });
}

/// Real parts are compared, as XLA does it. `args` are the bounds around the
/// number.
static Value clampComplex(OpBuilder &builder, Location loc, ValueRange args) {
  auto isLessOrEqual = [&](Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE,
                                 complex::ReOp::create(builder, loc, a),
                                 complex::ReOp::create(builder, loc, b));
  };
  Value isBelow = isLessOrEqual(args[1], args[0]);
  Value value =
      arith::SelectOp::create(builder, loc, isBelow, args[0], args[1]);
  return arith::SelectOp::create(builder, loc, isLessOrEqual(value, args[2]),
                                 value, args[2]);
}

/// As JAX differentiates it: at a bound, the derivative is 0.
static LogicalResult lowerClamp(Operation *op, Lowering &lowering) {
  if (failed(checkSame(op, lowering, {1}, /*spread=*/false)) ||
      failed(checkSame(op, lowering, {0, 2}, /*spread=*/true)) ||
      failed(checkSpread(op, 0)) || failed(checkSpread(op, 2)))
    return failure();
  Type type = lowering.getType(op->getResult(0));
  Value low = spread(lowering, op, op->getOperand(0), type);
  Value value = lowering.get(op->getOperand(1));
  Value high = spread(lowering, op, op->getOperand(2), type);
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Type element = getElementTypeOrSelf(type);
  if (isa<ComplexType>(element)) {
    SmallVector<Value> operands = {low, value, high};
    if (lowering.isScalar())
      return lowering.set(op, clampComplex(builder, loc, operands));
    return lowering.set(op, createElementwise(builder, loc, operands,
                                              cast<RankedTensorType>(type),
                                              clampComplex));
  }
  auto replace = [&](bool isLow, Value bound) {
    Value beyond;
    if (isa<FloatType>(element)) {
      beyond = arith::CmpFOp::create(builder, loc,
                                     isLow ? arith::CmpFPredicate::OGT
                                           : arith::CmpFPredicate::OLT,
                                     bound, value);
      // A bound that is nan is the result.
      if (mayBeNan(lowering, op->getOperand(isLow ? 0 : 2)))
        beyond = arith::OrIOp::create(
            builder, loc, beyond,
            arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                  bound, bound));
    } else {
      bool isUnsigned = foreign::isUnsigned(op->getOperand(1));
      using Predicate = arith::CmpIPredicate;
      Predicate more = isUnsigned ? Predicate::ugt : Predicate::sgt,
                less = isUnsigned ? Predicate::ult : Predicate::slt;
      beyond = arith::CmpIOp::create(builder, loc, isLow ? more : less, bound,
                                     value);
    }
    value = arith::SelectOp::create(builder, loc, beyond, bound, value);
  };
  replace(true, low);
  replace(false, high);
  return lowering.set(op, value);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {
/// Converts between elements of any kind, scalars or tensors.
class Converter {
public:
  Converter(OpBuilder &builder, Location loc, bool isUnsigned, bool toUnsigned)
      : builder(builder), loc(loc), isUnsigned(isUnsigned),
        toUnsigned(toUnsigned) {}

  Value convert(Value value, Type type);

private:
  Value fromFloat(Value value, Type type);
  Value toInteger(Value value, Type type);
  Value fromInteger(Value value, Type type);

  OpBuilder &builder;
  Location loc;
  bool isUnsigned, toUnsigned;
};
} // namespace

/// What is beyond the integers becomes the largest or smallest of them, and nan
/// becomes 0.
Value Converter::toInteger(Value value, Type type) {
  Type element = getElementTypeOrSelf(type), from = value.getType();
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  auto select = [&](Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  Value zero = createConstant(builder, loc, from, 0);
  if (element.isInteger(1))
    return compare(arith::CmpFPredicate::UNE, value, zero);
  unsigned width = element.getIntOrFloatBitWidth();
  APInt least = toUnsigned ? APInt(width, 0) : APInt::getSignedMinValue(width);
  APInt most =
      toUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // The least number and the one behind the largest are powers of two.
  double below = toUnsigned ? 0 : -std::ldexp(1.0, width - 1),
         above = std::ldexp(1.0, toUnsigned ? width : width - 1);
  Value low = createConstant(builder, loc, from, below),
        high = createConstant(builder, loc, from, above);
  Value isLow = compare(arith::CmpFPredicate::OLE, value, low);
  Value isHigh = compare(arith::CmpFPredicate::OGE, value, high);
  Value isNan = compare(arith::CmpFPredicate::UNO, value, value);
  Value safe =
      select(isLow, zero, select(isHigh, zero, select(isNan, zero, value)));
  Value number =
      toUnsigned
          ? arith::FPToUIOp::create(builder, loc, type, safe).getResult()
          : arith::FPToSIOp::create(builder, loc, type, safe).getResult();
  number = select(isLow, createInteger(builder, loc, type, least), number);
  return select(isHigh, createInteger(builder, loc, type, most), number);
}

Value Converter::fromFloat(Value value, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<IntegerType>(element))
    return toInteger(value, type);
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  auto to = cast<FloatType>(element);
  if (from == to)
    return value;
  if (to.getWidth() > from.getWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (to.getWidth() < from.getWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  // Neither of f16 and bf16 holds the other.
  Type wide = withElements(type, builder.getF32Type());
  return arith::TruncFOp::create(
      builder, loc, type, arith::ExtFOp::create(builder, loc, wide, value));
}

Value Converter::fromInteger(Value value, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return isUnsigned
               ? arith::UIToFPOp::create(builder, loc, type, value).getResult()
               : arith::SIToFPOp::create(builder, loc, type, value).getResult();
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  if (to == 1 && from != 1)
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, value,
        createInteger(builder, loc, value.getType(), 0));
  if (from == to)
    return value;
  if (to < from)
    return arith::TruncIOp::create(builder, loc, type, value);
  return isUnsigned
             ? arith::ExtUIOp::create(builder, loc, type, value).getResult()
             : arith::ExtSIOp::create(builder, loc, type, value).getResult();
}

Value Converter::convert(Value value, Type type) {
  Type from = getElementTypeOrSelf(value.getType());
  Type to = getElementTypeOrSelf(type);
  auto fromComplex = dyn_cast<ComplexType>(from);
  auto toComplex = dyn_cast<ComplexType>(to);
  if (fromComplex && toComplex) {
    Type part = toComplex.getElementType();
    Value real = complex::ReOp::create(builder, loc, value);
    Value imag = complex::ImOp::create(builder, loc, value);
    return complex::CreateOp::create(builder, loc, type, convert(real, part),
                                     convert(imag, part));
  }
  if (fromComplex) {
    Value real = convert(complex::ReOp::create(builder, loc, value), type);
    // A number is true if it is not 0.
    if (!to.isInteger(1))
      return real;
    Value imag = convert(complex::ImOp::create(builder, loc, value), type);
    return arith::OrIOp::create(builder, loc, real, imag);
  }
  if (toComplex) {
    Type part = toComplex.getElementType();
    return complex::CreateOp::create(builder, loc, type, convert(value, part),
                                     createConstant(builder, loc, part, 0));
  }
  return isa<FloatType>(from) ? fromFloat(value, type)
                              : fromInteger(value, type);
}

Value foreign::createConverted(OpBuilder &builder, Location loc, Value value,
                               Type element, bool isUnsigned) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  return Converter(builder, loc, isUnsigned, false)
      .convert(value, withElements(value.getType(), element));
}

static Value buildConversion(Pointwise &p) {
  return Converter(p.builder, p.loc, p.isUnsigned(),
                   isUnsigned(p.op->getResult(0)))
      .convert(p.args[0], p.type);
}

//===----------------------------------------------------------------------===//
// Reduced precision
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static Value castBits(OpBuilder &builder, Location loc, Value value,
                      Type element) {
  Type type = withElements(value.getType(), element);
  return value.getType() == type
             ? value
             : arith::BitcastOp::create(builder, loc, type, value).getResult();
}

/// The low bits come first, in a last dimension that the wider type lacks.
static LogicalResult lowerBitcast(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Value value = lowering.get(op->getOperand(0));
  Type from = getElementTypeOrSelf(value.getType());
  Type result = lowering.getType(op->getResult(0));
  Type to = getElementTypeOrSelf(result);
  if (value.getType() == result)
    return lowering.set(op, value);
  if (isa<ComplexType>(from) || isa<ComplexType>(to))
    return op->emitOpError("is not supported for elements of type ")
           << (isa<ComplexType>(from) ? from : to);
  unsigned fromWidth = from.getIntOrFloatBitWidth(),
           toWidth = to.getIntOrFloatBitWidth();
  // The wider type has no dimension for the parts of an element.
  SmallVector<int64_t> wide(getForeignType(op->getOperand(0)).getShape()),
      narrow(getForeignType(op->getResult(0)).getShape());
  if (fromWidth < toWidth)
    std::swap(wide, narrow);
  unsigned large = std::max(fromWidth, toWidth),
           small = std::min(fromWidth, toWidth);
  if (large != small)
    wide.push_back(large / small);
  if (large % small != 0 || wide != narrow)
    return op->emitOpError("from ")
           << op->getOperand(0).getType() << " to "
           << op->getResult(0).getType() << " does not keep all bits";
  if (fromWidth == toWidth)
    return lowering.set(op, castBits(builder, loc, value, to));
  if (lowering.isScalar())
    return op->emitOpError("between widths is not supported in a body");
  IntegerType fromBits = builder.getIntegerType(fromWidth),
              toBits = builder.getIntegerType(toWidth);
  value = castBits(builder, loc, value, fromBits);
  auto type = cast<RankedTensorType>(result);
  auto bits = cast<RankedTensorType>(type.clone(toBits));
  bool splits = toWidth < fromWidth;
  int64_t rank = splits ? type.getRank() : type.getRank() + 1;
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  Value made;
  if (splits) {
    Value empty =
        tensor::EmptyOp::create(builder, loc, bits.getShape(), toBits);
    made = createGeneric(
               builder, loc, value, empty, {all.dropResult(rank - 1), all},
               rank, 0,
               [&](OpBuilder &nested, Location loc, ValueRange args) {
                 Value part = linalg::IndexOp::create(nested, loc, rank - 1);
                 part = arith::IndexCastOp::create(nested, loc, fromBits, part);
                 Value by = arith::MulIOp::create(
                     nested, loc, part,
                     createInteger(nested, loc, fromBits, toWidth));
                 Value low = arith::ShRUIOp::create(nested, loc, args[0], by);
                 linalg::YieldOp::create(
                     nested, loc,
                     arith::TruncIOp::create(nested, loc, toBits, low)
                         .getResult());
               })
               .getResult(0);
  } else {
    Value zeros = createZeros(builder, loc, bits);
    made =
        createGeneric(
            builder, loc, value, zeros, {all, all.dropResult(rank - 1)},
            rank - 1, 1,
            [&](OpBuilder &nested, Location loc, ValueRange args) {
              Value part = linalg::IndexOp::create(nested, loc, rank - 1);
              part = arith::IndexCastOp::create(nested, loc, toBits, part);
              Value by = arith::MulIOp::create(
                  nested, loc, part,
                  createInteger(nested, loc, toBits, fromWidth));
              Value wide = arith::ExtUIOp::create(nested, loc, toBits, args[0]);
              Value high = arith::ShLIOp::create(nested, loc, wide, by);
              linalg::YieldOp::create(
                  nested, loc,
                  arith::OrIOp::create(nested, loc, args[1], high).getResult());
            })
            .getResult(0);
  }
  return lowering.set(op, castBits(builder, loc, made, to));
}

template <PointwiseBody body>
static LogicalResult lower(Operation *op, Lowering &lowering) {
  return lowerPointwise(op, lowering, body);
}

void foreign::addConversions(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering, int operands) {
    table[("stablehlo." + name).str()] = {lowering, operands, 1, 0,
                                          KnownOp::Scalars};
  };
  add("compare", lower<buildComparison>, 2);
  add("select", lowerSelect, 3);
  add("clamp", lowerClamp, 3);
  add("convert", lower<buildConversion>, 1);
  add("reduce_precision", lowerReducedPrecision, 1);
  add("bitcast_convert", lowerBitcast, 1);
}
