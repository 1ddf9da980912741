//===- Choices.cpp - comparisons and choices ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pointwise.h"

#include "mlir/Dialect/Complex/IR/Complex.h"

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

static Value refuseDirection(Pointwise &p) {
  p.op->emitOpError("has an unknown comparison_direction ")
      << getAttr(p.op, "comparison_direction");
  return {};
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
  if (!predicate)
    return refuseDirection(p);
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
  if (!predicate)
    return refuseDirection(p);
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

void foreign::addChoices(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering, int operands) {
    table[("stablehlo." + name).str()] = {lowering, operands, 1, 0,
                                          KnownOp::Scalars};
  };
  add("compare", lowerPointwise<buildComparison>, 2);
  add("select", lowerSelect, 3);
  add("clamp", lowerClamp, 3);
}
