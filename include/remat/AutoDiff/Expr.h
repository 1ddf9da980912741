//===- Expr.h - arithmetic that reads as calculus ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Overloaded operators that emit arith and math operations. An expression may
// stand for a forward value, which is asked for at its first use only: what a
// formula does not mention is not needed by the backward computation. Numbers
// in formulas become constants of the type of the other operand. Operations
// without a name here are emitted by `apply`: `x.apply<math::TanhOp>()`.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_EXPR_H
#define REMAT_AUTODIFF_EXPR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"

namespace remat {

/// A splat of `value` of the floating-point scalar or tensor type `type`, or a
/// complex scalar.
inline mlir::Value createFloatConstant(mlir::OpBuilder &builder,
                                       mlir::Location loc, mlir::Type type,
                                       double value) {
  if (auto complexType = mlir::dyn_cast<mlir::ComplexType>(type)) {
    mlir::Attribute parts[] = {
        builder.getFloatAttr(complexType.getElementType(), value),
        builder.getFloatAttr(complexType.getElementType(), 0)};
    return mlir::complex::ConstantOp::create(builder, loc, type,
                                             builder.getArrayAttr(parts));
  }
  mlir::TypedAttr attr =
      builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type))
    attr = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(attr));
  return mlir::arith::ConstantOp::create(builder, loc, attr);
}

/// A floating-point value of a derivative formula.
class Expr {
public:
  /// An emitted value.
  Expr(DerivativeContext &context, mlir::Value value)
      : context(&context), value(value) {}

  /// A forward value that is asked for when it is first used.
  static Expr forward(DerivativeContext &context, mlir::Value value) {
    Expr expr(context, value);
    expr.pending = true;
    return expr;
  }

  /// The same for the formula that this expression is part of.
  Expr primal(mlir::Value other) const { return forward(*context, other); }

  /// The value, which is asked for now if it has not been.
  mlir::Value get() const {
    if (pending) {
      value = context->primal(value);
      pending = false;
    }
    return value;
  }
  operator mlir::Value() const { return get(); }
  mlir::Type getType() const { return value.getType(); }
  DerivativeContext &getContext() const { return *context; }

  /// A constant of the type of this expression.
  Expr constant(double number) const {
    return {*context,
            createFloatConstant(context->getBuilder(), context->getLoc(),
                                getType(), number)};
  }

  /// Emits `Op` on this and other expressions.
  template <typename Op, typename... Others>
  Expr apply(const Others &...others) const {
    mlir::OpBuilder &builder = context->getBuilder();
    mlir::SmallVector<mlir::Value> operands = {get(), others.get()...};
    return {*context, builder.createOrFold<Op>(context->getLoc(), operands)};
  }

  /// A condition, element by element.
  Expr compare(mlir::arith::CmpFPredicate predicate, const Expr &other) const {
    mlir::Value lhs = get(), rhs = other.get();
    return {*context, mlir::arith::CmpFOp::create(context->getBuilder(),
                                                  context->getLoc(), predicate,
                                                  lhs, rhs)};
  }

private:
  DerivativeContext *context;
  mutable mlir::Value value;
  mutable bool pending = false;
};

// Arithmetic, element by element. A number is a constant of the other's type.
#define REMAT_EXPR_OPERATOR(symbol, Op)                                        \
  inline Expr operator symbol(const Expr &a, const Expr &b) {                  \
    return a.apply<Op>(b);                                                     \
  }                                                                            \
  inline Expr operator symbol(double a, const Expr &b) {                       \
    return b.constant(a).apply<Op>(b);                                         \
  }                                                                            \
  inline Expr operator symbol(const Expr &a, double b) {                       \
    return a.apply<Op>(a.constant(b));                                         \
  }
REMAT_EXPR_OPERATOR(+, mlir::arith::AddFOp)
REMAT_EXPR_OPERATOR(-, mlir::arith::SubFOp)
REMAT_EXPR_OPERATOR(*, mlir::arith::MulFOp)
REMAT_EXPR_OPERATOR(/, mlir::arith::DivFOp)
#undef REMAT_EXPR_OPERATOR

inline Expr operator-(const Expr &a) { return a.apply<mlir::arith::NegFOp>(); }

// Conditions, element by element; with NaN, they are false.
#define REMAT_EXPR_COMPARISON(symbol, predicate)                               \
  inline Expr operator symbol(const Expr &a, const Expr &b) {                  \
    return a.compare(mlir::arith::CmpFPredicate::predicate, b);                \
  }                                                                            \
  inline Expr operator symbol(const Expr &a, double b) {                       \
    return a symbol a.constant(b);                                             \
  }
REMAT_EXPR_COMPARISON(==, OEQ)
REMAT_EXPR_COMPARISON(<, OLT)
REMAT_EXPR_COMPARISON(>, OGT)
REMAT_EXPR_COMPARISON(>=, OGE)
#undef REMAT_EXPR_COMPARISON

// Functions of one argument, element by element.
#define REMAT_EXPR_FUNCTION(name, Op)                                          \
  inline Expr name(const Expr &a) { return a.apply<Op>(); }
REMAT_EXPR_FUNCTION(exp, mlir::math::ExpOp)
REMAT_EXPR_FUNCTION(log, mlir::math::LogOp)
REMAT_EXPR_FUNCTION(sin, mlir::math::SinOp)
REMAT_EXPR_FUNCTION(cos, mlir::math::CosOp)
REMAT_EXPR_FUNCTION(sinh, mlir::math::SinhOp)
REMAT_EXPR_FUNCTION(cosh, mlir::math::CoshOp)
REMAT_EXPR_FUNCTION(rsqrt, mlir::math::RsqrtOp)
REMAT_EXPR_FUNCTION(trunc, mlir::math::TruncOp)
#undef REMAT_EXPR_FUNCTION

/// `a` to the power of `b`.
inline Expr pow(const Expr &a, const Expr &b) {
  return a.apply<mlir::math::PowFOp>(b);
}
/// The magnitude of `a` with the sign of `b`.
inline Expr copysign(const Expr &a, const Expr &b) {
  return a.apply<mlir::math::CopySignOp>(b);
}
/// The conjunction of two conditions.
inline Expr both(const Expr &a, const Expr &b) {
  return a.apply<mlir::arith::AndIOp>(b);
}
/// `a` where `condition` is true, `b` elsewhere.
inline Expr select(const Expr &condition, const Expr &a, const Expr &b) {
  return condition.apply<mlir::arith::SelectOp>(a, b);
}
inline Expr select(const Expr &condition, const Expr &a, double b) {
  return select(condition, a, a.constant(b));
}
inline Expr select(const Expr &condition, double a, const Expr &b) {
  return select(condition, b.constant(a), b);
}

} // namespace remat

#endif // REMAT_AUTODIFF_EXPR_H
