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

static LogicalResult lowerSelect(Operation *op, Lowering &lowering) {
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

/// As JAX differentiates it: at a bound, the derivative is 0.
static LogicalResult lowerClamp(Operation *op, Lowering &lowering) {
  Type type = lowering.getType(op->getResult(0));
  Value low = spread(lowering, op, op->getOperand(0), type);
  Value value = lowering.get(op->getOperand(1));
  Value high = spread(lowering, op, op->getOperand(2), type);
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Type element = getElementTypeOrSelf(type);
  if (isa<ComplexType>(element))
    return op->emitOpError("is not supported for elements of type ") << element;
  auto replace = [&](bool isLow, Value bound) {
    Value beyond;
    if (isa<FloatType>(element)) {
      beyond = arith::CmpFOp::create(builder, loc,
                                     isLow ? arith::CmpFPredicate::OGT
                                           : arith::CmpFPredicate::OLT,
                                     bound, value);
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
  if (fromComplex)
    return convert(complex::ReOp::create(builder, loc, value), type);
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

/// Rounds to fewer digits, by the type that has them.
static Value buildReducedPrecision(Pointwise &p) {
  int64_t exponent = getInteger(p.op, "exponent_bits", 0),
          mantissa = getInteger(p.op, "mantissa_bits", 0);
  auto type = cast<FloatType>(getElementTypeOrSelf(p.type));
  const llvm::fltSemantics &own = type.getFloatSemantics();
  FloatType narrow;
  for (FloatType known :
       {FloatType(p.builder.getF16Type()), FloatType(p.builder.getBF16Type()),
        FloatType(p.builder.getF32Type()), FloatType(type)}) {
    const llvm::fltSemantics &semantics = known.getFloatSemantics();
    unsigned digits = llvm::APFloat::semanticsPrecision(semantics) - 1;
    if (digits == mantissa && known.getWidth() - 1 - digits == exponent)
      narrow = known;
  }
  if (!narrow || narrow.getWidth() > type.getWidth()) {
    p.op->emitOpError("to ") << exponent << " exponent and " << mantissa
                             << " mantissa bits is not supported, expected "
                                "those of f16, bf16 or f32";
    return {};
  }
  if (&narrow.getFloatSemantics() == &own)
    return p.args[0];
  Value rounded = createConverted(p.builder, p.loc, p.args[0], narrow, false);
  return createConverted(p.builder, p.loc, rounded, type, false);
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
  if (isa<ComplexType>(from) || isa<ComplexType>(to))
    return op->emitOpError("is not supported for elements of type ")
           << (isa<ComplexType>(from) ? from : to);
  unsigned fromWidth = from.getIntOrFloatBitWidth(),
           toWidth = to.getIntOrFloatBitWidth();
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
  table["stablehlo.compare"] = lower<buildComparison>;
  table["stablehlo.select"] = lowerSelect;
  table["stablehlo.clamp"] = lowerClamp;
  table["stablehlo.convert"] = lower<buildConversion>;
  table["stablehlo.reduce_precision"] = lower<buildReducedPrecision>;
  table["stablehlo.bitcast_convert"] = lowerBitcast;
}
