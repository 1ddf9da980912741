//===- Conversions.cpp - elements of another type -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pointwise.h"

#include "mlir/Dialect/Complex/IR/Complex.h"

#include "remat/Utils/Builders.h"

#include <cmath>

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

//===----------------------------------------------------------------------===//
// Values
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
// Bits
//===----------------------------------------------------------------------===//

static Value castBits(OpBuilder &builder, Location loc, Value value,
                      Type element) {
  Type type = withElements(value.getType(), element);
  return value.getType() == type
             ? value
             : arith::BitcastOp::create(builder, loc, type, value).getResult();
}

/// The parts of each integer, in a last dimension that `value` lacks. The low
/// bits come first.
static Value splitBits(OpBuilder &builder, Location loc, Value value,
                       RankedTensorType type) {
  Type from = getElementTypeOrSelf(value.getType()), to = type.getElementType();
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  int64_t last = type.getRank() - 1;
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value part = linalg::IndexOp::create(nested, loc, last);
    part = arith::IndexCastOp::create(nested, loc, from, part);
    Value by = arith::MulIOp::create(
        nested, loc, part,
        createInteger(nested, loc, from, to.getIntOrFloatBitWidth()));
    Value low = arith::ShRUIOp::create(nested, loc, args[0], by);
    linalg::YieldOp::create(
        nested, loc, arith::TruncIOp::create(nested, loc, to, low).getResult());
  };
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), to);
  return createGeneric(builder, loc, value, empty, {all.dropResult(last), all},
                       type.getRank(), 0, body)
      .getResult(0);
}

/// Integers whose parts are in the last dimension of `value`, which `type`
/// lacks: the inverse of `splitBits`.
static Value joinBits(OpBuilder &builder, Location loc, Value value,
                      RankedTensorType type) {
  Type from = getElementTypeOrSelf(value.getType()), to = type.getElementType();
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank() + 1);
  int64_t last = type.getRank();
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value part = linalg::IndexOp::create(nested, loc, last);
    part = arith::IndexCastOp::create(nested, loc, to, part);
    Value by = arith::MulIOp::create(
        nested, loc, part,
        createInteger(nested, loc, to, from.getIntOrFloatBitWidth()));
    Value wide = arith::ExtUIOp::create(nested, loc, to, args[0]);
    Value high = arith::ShLIOp::create(nested, loc, wide, by);
    linalg::YieldOp::create(
        nested, loc,
        arith::OrIOp::create(nested, loc, args[1], high).getResult());
  };
  return createGeneric(builder, loc, value, createZeros(builder, loc, type),
                       {all, all.dropResult(last)}, type.getRank(), 1, body)
      .getResult(0);
}

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
  value = castBits(builder, loc, value, builder.getIntegerType(fromWidth));
  auto bits = cast<RankedTensorType>(
      cast<RankedTensorType>(result).clone(builder.getIntegerType(toWidth)));
  Value made = toWidth < fromWidth ? splitBits(builder, loc, value, bits)
                                   : joinBits(builder, loc, value, bits);
  return lowering.set(op, castBits(builder, loc, made, to));
}

void foreign::addConversions(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering, int operands) {
    table[("stablehlo." + name).str()] = {lowering, operands, 1, 0,
                                          KnownOp::Scalars};
  };
  add("convert", lowerPointwise<buildConversion>, 1);
  add("bitcast_convert", lowerBitcast, 1);
}
