//===- Arithmetic.cpp - operations element by element ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of arith and math work on scalars and on tensors, so one builder
// makes both. On tensors they are left to be folded: counters of loops are
// tensors of rank 0, and places of slices are computed from them. Those of the
// dialect `complex` know scalars only.
//
// Where XLA defines what an integer operation gives and LLVM does not, as for a
// division by 0, the operands are replaced first.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "Pointwise.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

LogicalResult foreign::lowerPointwise(Operation *op, Lowering &lowering,
                                      PointwiseBody body) {
  SmallVector<Value> operands = lowering.get(op->getOperands());
  Type type = lowering.getType(op->getResult(0));
  for (auto [number, operand] : llvm::enumerate(operands))
    if (operand.getType() != operands[0].getType())
      return op->emitOpError("has an operand ")
             << number << " of type " << op->getOperand(number).getType()
             << ", expected that of the first, " << op->getOperand(0).getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (failed(checkShape(op, getForeignType(op->getOperand(0)).getShape())))
      return failure();
  Pointwise point{lowering.builder, op->getLoc(), op, operands, type};
  auto holdsComplex = [](Value value) {
    return isa<ComplexType>(getElementTypeOrSelf(value.getType()));
  };
  bool onScalars =
      lowering.isScalar() || !(llvm::any_of(operands, holdsComplex) ||
                               isa<ComplexType>(getElementTypeOrSelf(type)));
  if (onScalars) {
    Value result = body(point);
    return result ? lowering.set(op, result) : failure();
  }
  bool failed = false;
  auto tensor = cast<RankedTensorType>(type);
  Value result = createElementwise(
      lowering.builder, op->getLoc(), operands, tensor,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Pointwise inner{nested, loc, op, args, tensor.getElementType()};
        Value scalar = body(inner);
        failed = !scalar;
        return scalar ? scalar : createZeroConstant(nested, loc, inner.type);
      });
  return failed ? failure() : lowering.set(op, result);
}

bool Pointwise::isFloat() const {
  return isa<FloatType>(getElementTypeOrSelf(args[0].getType()));
}
bool Pointwise::isComplex() const {
  return isa<ComplexType>(getElementTypeOrSelf(args[0].getType()));
}
bool Pointwise::isBool() const {
  return getElementTypeOrSelf(args[0].getType()).isInteger(1);
}
bool Pointwise::isInteger() const {
  return isa<IntegerType>(getElementTypeOrSelf(args[0].getType()));
}
bool Pointwise::isUnsigned() const {
  return foreign::isUnsigned(op->getOperand(0));
}
unsigned Pointwise::getWidth() const {
  return getElementTypeOrSelf(args[0].getType()).getIntOrFloatBitWidth();
}
Value Pointwise::number(double value) const {
  return createConstant(builder, loc, args[0].getType(), value);
}
Value Pointwise::integer(int64_t value) const {
  return createInteger(builder, loc, args[0].getType(), value);
}
Value Pointwise::compare(arith::CmpIPredicate predicate, Value a,
                         Value b) const {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}
Value Pointwise::compare(arith::CmpFPredicate predicate, Value a,
                         Value b) const {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value Pointwise::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value Pointwise::refuse() const {
  op->emitOpError("is not supported for elements of type ")
      << getElementTypeOrSelf(op->getOperand(0).getType());
  return {};
}

//===----------------------------------------------------------------------===//
// Operations of two operands
//===----------------------------------------------------------------------===//

namespace {
/// An operation that is one of another dialect for each kind of elements.
template <typename FloatOp, typename SignedOp, typename UnsignedOp,
          typename BoolOp, typename ComplexOp>
Value buildBinary(Pointwise &p) {
  if (p.isFloat())
    return p.make<FloatOp>(p.args[0], p.args[1]);
  if (p.isBool())
    return p.make<BoolOp>(p.args[0], p.args[1]);
  if (p.isComplex()) {
    if constexpr (std::is_void_v<ComplexOp>)
      return p.refuse();
    else
      return p.make<ComplexOp>(p.args[0], p.args[1]);
  }
  return p.isUnsigned() ? p.make<UnsignedOp>(p.args[0], p.args[1])
                        : p.make<SignedOp>(p.args[0], p.args[1]);
}

/// The same function of the bits whatever they mean.
template <typename Op>
Value buildBits(Pointwise &p) {
  if (!p.isInteger())
    return p.refuse();
  return p.make<Op>(p.args[0], p.args[1]);
}
} // namespace

/// x / 0 is -1, all bits set; the smallest number divided by -1 is itself.
static Value buildDivision(Pointwise &p) {
  Value a = p.args[0], b = p.args[1];
  if (p.isFloat())
    return p.make<arith::DivFOp>(a, b);
  if (p.isComplex())
    return p.make<complex::DivOp>(a, b);
  Value isZero = p.compare(arith::CmpIPredicate::eq, b, p.integer(0));
  Value one = p.integer(1), ones = p.integer(-1);
  if (p.isUnsigned()) {
    Value quotient = p.make<arith::DivUIOp>(a, p.select(isZero, one, b));
    return p.select(isZero, ones, quotient);
  }
  Value isOnes = p.compare(arith::CmpIPredicate::eq, b, ones);
  Value safe = p.select(isZero, one, p.select(isOnes, one, b));
  Value quotient = p.make<arith::DivSIOp>(a, safe);
  Value negated = p.make<arith::SubIOp>(p.integer(0), a);
  return p.select(isZero, ones, p.select(isOnes, negated, quotient));
}

/// The rest of x divided by 0 is x.
static Value buildRemainder(Pointwise &p) {
  Value a = p.args[0], b = p.args[1];
  if (p.isFloat())
    return p.make<arith::RemFOp>(a, b);
  if (p.isComplex())
    return p.refuse();
  Value isZero = p.compare(arith::CmpIPredicate::eq, b, p.integer(0));
  Value one = p.integer(1);
  if (p.isUnsigned()) {
    Value rest = p.make<arith::RemUIOp>(a, p.select(isZero, one, b));
    return p.select(isZero, a, rest);
  }
  Value isOnes = p.compare(arith::CmpIPredicate::eq, b, p.integer(-1));
  Value safe = p.select(isZero, one, p.select(isOnes, one, b));
  return p.select(isZero, a, p.make<arith::RemSIOp>(a, safe));
}

/// A power of integers by squaring; one with a negative exponent is 0, but for
/// the powers of 1 and -1.
static Value buildPower(Pointwise &p) {
  Value base = p.args[0], exponent = p.args[1];
  if (p.isFloat())
    return p.make<math::PowFOp>(base, exponent);
  if (p.isComplex())
    return p.make<complex::PowOp>(base, exponent);
  Value one = p.integer(1), zero = p.integer(0), result = one, square = base;
  for (unsigned bit = 0; bit < p.getWidth(); ++bit) {
    Value mask = createInteger(p.builder, p.loc, base.getType(),
                               APInt::getOneBitSet(p.getWidth(), bit));
    Value isSet = p.compare(arith::CmpIPredicate::ne,
                            p.make<arith::AndIOp>(exponent, mask), zero);
    result = p.select(isSet, p.make<arith::MulIOp>(result, square), result);
    square = p.make<arith::MulIOp>(square, square);
  }
  if (p.isUnsigned())
    return result;
  Value isOdd = p.compare(arith::CmpIPredicate::ne,
                          p.make<arith::AndIOp>(exponent, one), zero);
  Value minusOne = p.integer(-1);
  Value ofMinusOne = p.select(isOdd, minusOne, one);
  Value inverse =
      p.select(p.compare(arith::CmpIPredicate::eq, base, one), one,
               p.select(p.compare(arith::CmpIPredicate::eq, base, minusOne),
                        ofMinusOne, zero));
  Value isNegative = p.compare(arith::CmpIPredicate::slt, exponent, zero);
  return p.select(isNegative, inverse, result);
}

/// Shifting by the width or more leaves zeros, or copies of the sign.
template <typename Op>
static Value buildShift(Pointwise &p) {
  if (!p.isInteger())
    return p.refuse();
  Value a = p.args[0], by = p.args[1];
  Value fits =
      p.compare(arith::CmpIPredicate::ult, by, p.integer(p.getWidth()));
  if (std::is_same_v<Op, arith::ShRSIOp>)
    return p.make<Op>(a, p.select(fits, by, p.integer(p.getWidth() - 1)));
  Value shifted = p.make<Op>(a, p.select(fits, by, p.integer(0)));
  return p.select(fits, shifted, p.integer(0));
}

static Value buildAtan2(Pointwise &p) {
  if (p.isComplex())
    return p.make<complex::Atan2Op>(p.args[0], p.args[1]);
  if (!p.isFloat())
    return p.refuse();
  return p.make<math::Atan2Op>(p.args[0], p.args[1]);
}

//===----------------------------------------------------------------------===//
// Operations of one operand
//===----------------------------------------------------------------------===//

namespace {
template <typename Op>
Value buildOfInteger(Pointwise &p) {
  if (!p.isInteger())
    return p.refuse();
  return p.make<Op>(p.args[0]);
}
} // namespace

static Value buildAbs(Pointwise &p) {
  Value a = p.args[0];
  if (p.isFloat())
    return p.make<math::AbsFOp>(a);
  if (p.isComplex())
    return p.make<complex::AbsOp>(a);
  if (p.isUnsigned())
    return a;
  Value isNegative = p.compare(arith::CmpIPredicate::slt, a, p.integer(0));
  return p.select(isNegative, p.make<arith::SubIOp>(p.integer(0), a), a);
}

static Value buildNegation(Pointwise &p) {
  if (p.isFloat())
    return p.make<arith::NegFOp>(p.args[0]);
  if (p.isComplex())
    return p.make<complex::NegOp>(p.args[0]);
  return p.make<arith::SubIOp>(p.integer(0), p.args[0]);
}

static Value buildNot(Pointwise &p) {
  if (!p.isInteger())
    return p.refuse();
  return p.make<arith::XOrIOp>(p.args[0], p.integer(-1));
}

/// The sign of a zero is that zero and of nan nan; its derivative is 0.
static Value buildSign(Pointwise &p) {
  Value a = p.args[0];
  if (p.isComplex())
    return p.make<complex::SignOp>(a);
  if (!p.isFloat()) {
    Value isZero = p.compare(arith::CmpIPredicate::eq, a, p.integer(0));
    Value sign = p.integer(1);
    if (!p.isUnsigned())
      sign = p.select(p.compare(arith::CmpIPredicate::slt, a, p.integer(0)),
                      p.integer(-1), sign);
    return p.select(isZero, p.integer(0), sign);
  }
  Value isZero = p.compare(arith::CmpFPredicate::OEQ, a, p.number(0));
  Value magnitude = p.select(isZero, p.number(0), p.number(1));
  Value sign = p.make<math::CopySignOp>(magnitude, a);
  return p.select(p.compare(arith::CmpFPredicate::UNO, a, a), a, sign);
}

static Value buildLogistic(Pointwise &p) {
  Value a = p.args[0];
  if (p.isComplex()) {
    Value one = complex::CreateOp::create(
        p.builder, p.loc, a.getType(),
        createConstant(p.builder, p.loc,
                       cast<ComplexType>(a.getType()).getElementType(), 1),
        createConstant(p.builder, p.loc,
                       cast<ComplexType>(a.getType()).getElementType(), 0));
    Value power = p.make<complex::ExpOp>(p.make<complex::NegOp>(a));
    return p.make<complex::DivOp>(one, p.make<complex::AddOp>(one, power));
  }
  if (!p.isFloat())
    return p.refuse();
  Value power = p.make<math::ExpOp>(p.make<arith::NegFOp>(a));
  return p.make<arith::DivFOp>(p.number(1),
                               p.make<arith::AddFOp>(power, p.number(1)));
}

static Value buildIsFinite(Pointwise &p) {
  if (!p.isFloat())
    return p.refuse();
  Value infinity = p.number(std::numeric_limits<double>::infinity());
  return p.compare(arith::CmpFPredicate::OLT, p.make<math::AbsFOp>(p.args[0]),
                   infinity);
}

/// The real and imaginary parts, also of real numbers.
static Value buildReal(Pointwise &p) {
  return p.isComplex() ? p.make<complex::ReOp>(p.args[0]) : p.args[0];
}
static Value buildImag(Pointwise &p) {
  if (!p.isComplex() && !p.isFloat())
    return p.refuse();
  return p.isComplex() ? p.make<complex::ImOp>(p.args[0]) : p.number(0);
}
static Value buildComplex(Pointwise &p) {
  auto type = dyn_cast<ComplexType>(p.type);
  if (!type || type.getElementType() != p.args[0].getType())
    return p.refuse();
  return complex::CreateOp::create(p.builder, p.loc, p.type, p.args[0],
                                   p.args[1]);
}

void foreign::addArithmetic(LoweringTable &table) {
  using namespace arith;
  // By the number of operands.
  auto addAs = [&](StringRef name, OpLowering lowering, int operands) {
    table[("stablehlo." + name).str()] = {lowering, operands, 1, 0,
                                          KnownOp::Scalars};
  };
  auto add = [&](StringRef name, OpLowering lowering) {
    addAs(name, lowering, 1);
  };
  auto addBinary = [&](StringRef name, OpLowering lowering) {
    addAs(name, lowering, 2);
  };
  addBinary("add",
            lowerPointwise<
                buildBinary<AddFOp, AddIOp, AddIOp, OrIOp, complex::AddOp>>);
  addBinary("subtract",
            lowerPointwise<
                buildBinary<SubFOp, SubIOp, SubIOp, XOrIOp, complex::SubOp>>);
  addBinary("multiply",
            lowerPointwise<
                buildBinary<MulFOp, MulIOp, MulIOp, AndIOp, complex::MulOp>>);
  addBinary(
      "maximum",
      lowerPointwise<buildBinary<MaximumFOp, MaxSIOp, MaxUIOp, OrIOp, void>>);
  addBinary(
      "minimum",
      lowerPointwise<buildBinary<MinimumFOp, MinSIOp, MinUIOp, AndIOp, void>>);
  addBinary("divide", lowerPointwise<buildDivision>);
  addBinary("remainder", lowerPointwise<buildRemainder>);
  addBinary("power", lowerPointwise<buildPower>);
  addBinary("atan2", lowerPointwise<buildAtan2>);
  addBinary("and", lowerPointwise<buildBits<AndIOp>>);
  addBinary("or", lowerPointwise<buildBits<OrIOp>>);
  addBinary("xor", lowerPointwise<buildBits<XOrIOp>>);
  addBinary("shift_left", lowerPointwise<buildShift<ShLIOp>>);
  addBinary("shift_right_arithmetic", lowerPointwise<buildShift<ShRSIOp>>);
  addBinary("shift_right_logical", lowerPointwise<buildShift<ShRUIOp>>);
  add("abs", lowerPointwise<buildAbs>);
  add("negate", lowerPointwise<buildNegation>);
  add("not", lowerPointwise<buildNot>);
  add("sign", lowerPointwise<buildSign>);
  add("logistic", lowerPointwise<buildLogistic>);
  add("is_finite", lowerPointwise<buildIsFinite>);
  add("real", lowerPointwise<buildReal>);
  add("imag", lowerPointwise<buildImag>);
  addBinary("complex", lowerPointwise<buildComplex>);
  add("ceil", lowerPointwise<buildUnary<math::CeilOp>>);
  add("floor", lowerPointwise<buildUnary<math::FloorOp>>);
  add("round_nearest_afz", lowerPointwise<buildUnary<math::RoundOp>>);
  add("round_nearest_even", lowerPointwise<buildUnary<math::RoundEvenOp>>);
  add("cbrt", lowerPointwise<buildUnary<math::CbrtOp>>);
  add("cosine", lowerPointwise<buildUnary<math::CosOp, complex::CosOp>>);
  add("sine", lowerPointwise<buildUnary<math::SinOp, complex::SinOp>>);
  add("tan", lowerPointwise<buildUnary<math::TanOp, complex::TanOp>>);
  add("tanh", lowerPointwise<buildUnary<math::TanhOp, complex::TanhOp>>);
  add("exponential", lowerPointwise<buildUnary<math::ExpOp, complex::ExpOp>>);
  add("exponential_minus_one",
      lowerPointwise<buildUnary<math::ExpM1Op, complex::Expm1Op>>);
  add("log", lowerPointwise<buildUnary<math::LogOp, complex::LogOp>>);
  add("log_plus_one",
      lowerPointwise<buildUnary<math::Log1pOp, complex::Log1pOp>>);
  add("rsqrt", lowerPointwise<buildUnary<math::RsqrtOp, complex::RsqrtOp>>);
  add("sqrt", lowerPointwise<buildUnary<math::SqrtOp, complex::SqrtOp>>);
  add("popcnt", lowerPointwise<buildOfInteger<math::CtPopOp>>);
  add("count_leading_zeros",
      lowerPointwise<buildOfInteger<math::CountLeadingZerosOp>>);
}
