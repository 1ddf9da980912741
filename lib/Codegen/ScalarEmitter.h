//===- ScalarEmitter.h - arithmetic of which functions are made -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_SCALAREMITTER_H
#define REMAT_LIB_CODEGEN_SCALAREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace remat::codegen {

/// Emits scalars of one type, f32 or f64, without branches.
class ScalarEmitter {
protected:
  using Value = mlir::Value;

  ScalarEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::FloatType type)
      : b(loc, builder), type(type) {}

  Value number(double number) {
    return mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, number));
  }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return mlir::math::FmaOp::create(b, x, y, z);
  }
  Value size(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  Value withSign(Value x, Value sign) {
    return mlir::math::CopySignOp::create(b, x, sign);
  }

  Value select(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }
  /// Comparisons are false for nan.
  Value isMore(Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OGT, x,
                                       y);
  }
  Value isMore(Value x, double limit) { return isMore(x, number(limit)); }
  Value isLess(Value x, double limit) { return isMore(number(limit), x); }
  Value isEqual(Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OEQ, x,
                                       y);
  }
  Value isEqual(Value x, double y) { return isEqual(x, number(y)); }
  /// Of -0, too.
  Value hasSign(Value x) { return isLess(withSign(number(1), x), 0); }
  /// The bound where x is beyond it; nan stays nan.
  Value atMost(Value x, double limit) {
    return select(isMore(x, limit), number(limit), x);
  }
  Value atLeast(Value x, double limit) {
    return select(isLess(x, limit), number(limit), x);
  }

  /// c[0] + c[1] x + c[2] x^2 + ..., in pairs, then pairs of pairs and so on
  /// (G. Estrin): it is sooner there than by Horner's scheme.
  Value evaluate(llvm::ArrayRef<double> c, Value x) {
    llvm::SmallVector<Value> sums;
    for (double coefficient : c)
      sums.push_back(number(coefficient));
    for (; sums.size() > 1; x = mul(x, x)) {
      for (size_t i = 0; i < sums.size(); i += 2)
        sums[i / 2] =
            i + 1 < sums.size() ? fma(sums[i + 1], x, sums[i]) : sums[i];
      sums.resize((sums.size() + 1) / 2);
    }
    return sums.front();
  }

  /// Integers: constants, bits of numbers, and what is done to them.
  Value word(uint64_t bits) {
    mlir::Type word = getWordType();
    return mlir::arith::ConstantOp::create(
        b, b.getIntegerAttr(
               word, llvm::SignExtend64(bits, word.getIntOrFloatBitWidth())));
  }
  Value toBits(Value x) {
    return mlir::arith::BitcastOp::create(b, getWordType(), x);
  }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }
  template <typename Op>
  Value apply(Value x, Value y) {
    return Op::create(b, x, y);
  }

  mlir::ImplicitLocOpBuilder b;
  mlir::FloatType type;

private:
  mlir::Type getWordType() { return b.getIntegerType(type.getWidth()); }
};

/// Emits f64, with the powers of two that numbers are made of.
class DoubleEmitter : protected ScalarEmitter {
protected:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  DoubleEmitter(mlir::OpBuilder &builder, mlir::Location loc)
      : ScalarEmitter(builder, loc, builder.getF64Type()) {}

  /// The integer that is closest to `x` is in the lowest bits of the sum, which
  /// is that much more than `integerZero`.
  Value roundInto(Value x) { return add(x, number(integerZero)); }
  Value takeFrom(Value sum) { return sub(sum, number(integerZero)); }
  /// Two to the power of the integer in `sum`, from -1022 to 1023.
  Value powerOfTwo(Value sum) {
    using namespace mlir::arith;
    return fromBits(
        apply<AddIOp>(apply<ShLIOp>(toBits(sum), word(52)), word(oneBits)));
  }

  /// A number is m 2^e with m between the roots of 1/2 and of 2.
  struct Scaled {
    Value m, e;
  };
  /// Of a positive number that is normal.
  Scaled split(Value x) {
    using namespace mlir::arith;
    constexpr uint64_t rootOfHalfBits = 0x3fe6a09e667f3bcd;
    Value bits = toBits(x);
    // e + 1023, which no sign gets in the way of.
    Value exponent = apply<ShRUIOp>(
        apply<AddIOp>(bits, word(oneBits - rootOfHalfBits)), word(52));
    Value scale =
        apply<SubIOp>(apply<ShLIOp>(exponent, word(52)), word(oneBits));
    // As the lowest bits of 2^52 it is that much more.
    Value sum = fromBits(apply<OrIOp>(exponent, toBits(number(0x1p52))));
    return {fromBits(apply<SubIOp>(bits, scale)),
            sub(sum, number(0x1p52 + 1023))};
  }

  Value widen(Value x) { return mlir::arith::ExtFOp::create(b, type, x); }
  Value narrow(Value x, mlir::Type to) {
    return mlir::arith::TruncFOp::create(b, to, x);
  }

private:
  static constexpr double integerZero = 0x1.8p52;
  static constexpr uint64_t oneBits = 0x3ff0000000000000;
};

/// What a member function of an emitter makes of the operands of `op`.
template <typename Emitter, typename... Operands>
mlir::Value emitBy(mlir::Value (Emitter::*emit)(Operands...),
                   mlir::Operation *op, mlir::OpBuilder &builder) {
  Emitter emitter(builder, op->getLoc());
  if constexpr (sizeof...(Operands) == 1)
    return (emitter.*emit)(op->getOperand(0));
  else
    return (emitter.*emit)(op->getOperand(0), op->getOperand(1));
}

/// A pattern that replaces an `Op` of f32, or of f64, by that.
template <typename Op, auto emit, unsigned width = 32>
mlir::LogicalResult expandFunction(Op op, mlir::PatternRewriter &rewriter) {
  static_assert(width == 32 || width == 64);
  if (width == 32 ? !op.getType().isF32() : !op.getType().isF64())
    return mlir::failure();
  rewriter.replaceOp(op, emitBy(emit, op, rewriter));
  return mlir::success();
}

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_SCALAREMITTER_H
