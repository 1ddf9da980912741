//===- ComplexRules.cpp - derivatives of complex numbers ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A complex number is a pair of real ones, and its cotangent is the pair of
// their cotangents, as in PyTorch. So a function with the complex derivative
// f' sends a tangent t to f' t and a cotangent g to conj(f') g. What has no
// complex derivative (conj, abs, angle, sign) has a rule of its own.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Complex/IR/Complex.h"

#include "Emit.h"
#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

/// A complex value of a derivative formula. A forward value is asked for when
/// it is first used.
class Complex {
public:
  Complex(DerivativeContext &context, Value value, bool pending = false)
      : context(&context), value(value), pending(pending) {}

  Value get() const {
    if (pending)
      value = context->primal(value);
    pending = false;
    return value;
  }
  template <typename Op, typename... Others>
  Complex apply(const Others &...others) const {
    SmallVector<Value> operands = {get(), others.get()...};
    return {*context, Op::create(context->getBuilder(), context->getLoc(),
                                 value.getType(), operands)};
  }
  Complex applied(Value (*create)(OpBuilder &, Location, Value)) const {
    return {*context, create(context->getBuilder(), context->getLoc(), get())};
  }
  /// A number of the type of this one.
  Complex constant(double number) const {
    OpBuilder &builder = context->getBuilder();
    Type element = cast<ComplexType>(value.getType()).getElementType();
    Value re = createFloatConstant(builder, context->getLoc(), element, number);
    return fromParts(re,
                     createZeroConstant(builder, context->getLoc(), element));
  }
  Complex fromParts(Value re, Value im) const {
    return {*context,
            complex::CreateOp::create(context->getBuilder(), context->getLoc(),
                                      value.getType(), re, im)};
  }
  Expr part(unsigned number) const {
    OpBuilder &builder = context->getBuilder();
    Value whole = get();
    if (number == 0)
      return {*context,
              complex::ReOp::create(builder, context->getLoc(), whole)};
    return {*context, complex::ImOp::create(builder, context->getLoc(), whole)};
  }
  /// The magnitude.
  Expr abs() const {
    Value whole = get();
    return {*context, complex::AbsOp::create(context->getBuilder(),
                                             context->getLoc(), whole)};
  }
  /// This number times a real one.
  Complex scale(const Expr &factor) const {
    return fromParts(part(0) * factor, part(1) * factor);
  }

private:
  DerivativeContext *context;
  mutable Value value;
  mutable bool pending;
};

#define REMAT_COMPLEX_OPERATOR(symbol, Op)                                     \
  Complex operator symbol(const Complex &a, const Complex &b) {                \
    return a.apply<Op>(b);                                                     \
  }
REMAT_COMPLEX_OPERATOR(+, complex::AddOp)
REMAT_COMPLEX_OPERATOR(-, complex::SubOp)
REMAT_COMPLEX_OPERATOR(*, complex::MulOp)
REMAT_COMPLEX_OPERATOR(/, complex::DivOp)
#undef REMAT_COMPLEX_OPERATOR
Complex operator-(const Complex &a) { return a.apply<complex::NegOp>(); }
Complex conj(const Complex &a) { return a.apply<complex::ConjOp>(); }
Complex log(const Complex &a) { return a.applied(createComplexLog); }
Complex sin(const Complex &a) { return a.apply<complex::SinOp>(); }
Complex cos(const Complex &a) { return a.apply<complex::CosOp>(); }

Complex operand(Operation *op, unsigned number, DerivativeContext &context) {
  return {context, op->getOperand(number), /*pending=*/true};
}

Expr isZero(const Complex &a) {
  return both(a.part(0) == 0.0, a.part(1) == 0.0);
}

/// `a`, or 0 where `condition`.
Complex zeroWhere(const Expr &condition, const Complex &a) {
  DerivativeContext &context = condition.getContext();
  Value zero = a.constant(0).get(), value = a.get();
  return {context,
          arith::SelectOp::create(context.getBuilder(), context.getLoc(),
                                  condition, zero, value)};
}

/// `a` over its magnitude, 0 at 0.
Complex direction(const Complex &a) { return a.apply<complex::SignOp>(); }

//===----------------------------------------------------------------------===//
// Functions with a complex derivative
//===----------------------------------------------------------------------===//

/// A rule of which `derive(op, number, context)` is the partial derivative.
template <typename Rule, typename OpT>
struct Holomorphic : DerivativeRule<Rule, OpT> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Value g = context.cotangent(op->getResult(0));
    for (unsigned i = 0, e = op->getNumOperands(); g && i < e; ++i)
      if (context.isActive(op->getOperand(i)))
        context.accumulate(
            op->getOperand(i),
            (conj(Rule::derive(op, i, context)) * Complex(context, g)).get());
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
      if (Value tangent = context.tangent(op->getOperand(i)))
        context.addTangent(
            op->getResult(0),
            (Rule::derive(op, i, context) * Complex(context, tangent)).get());
    return success();
  }
};

#define HOLOMORPHIC(Name, OpT, da, db)                                         \
  struct Name : Holomorphic<Name, OpT> {                                       \
    static Complex derive(Operation *op, unsigned number,                      \
                          DerivativeContext &context) {                        \
      [[maybe_unused]] Complex y(context, op->getResult(0), true);             \
      [[maybe_unused]] Complex a = operand(op, 0, context);                    \
      [[maybe_unused]] Complex b =                                             \
          operand(op, op->getNumOperands() - 1, context);                      \
      [[maybe_unused]] Complex one =                                           \
          Complex(context, op->getResult(0)).constant(1);                      \
      Complex two = Complex(context, op->getResult(0)).constant(2);            \
      (void)two;                                                               \
      return number == 0 ? (da) : (db);                                        \
    }                                                                          \
  };
// clang-format off
HOLOMORPHIC(Add, complex::AddOp, one, one)
HOLOMORPHIC(Sub, complex::SubOp, one, -one)
HOLOMORPHIC(Neg, complex::NegOp, -one, one)
HOLOMORPHIC(Mul, complex::MulOp, b, a)
HOLOMORPHIC(Div, complex::DivOp, one / b, -(y / b))
HOLOMORPHIC(Exp, complex::ExpOp, y, one)
HOLOMORPHIC(Expm1, complex::Expm1Op, y + one, one)
HOLOMORPHIC(Log, complex::LogOp, one / a, one)
HOLOMORPHIC(Log1p, complex::Log1pOp, one / (a + one), one)
HOLOMORPHIC(Sqrt, complex::SqrtOp, one / (two * y), one)
HOLOMORPHIC(Rsqrt, complex::RsqrtOp, -(y / (two * a)), one)
HOLOMORPHIC(Sin, complex::SinOp, cos(a), one)
HOLOMORPHIC(Cos, complex::CosOp, -sin(a), one)
HOLOMORPHIC(Tan, complex::TanOp, one + y * y, one)
HOLOMORPHIC(Tanh, complex::TanhOp, one - y * y, one)
HOLOMORPHIC(Pow, complex::PowOp,
            zeroWhere(isZero(b), b * a.apply<complex::PowOp>(b - one)),
            zeroWhere(both(isZero(a), b.part(0) >= 0.0), y * log(a)))
HOLOMORPHIC(Atan2, complex::Atan2Op,
            b / (a * a + b * b),
            -(a / (a * a + b * b)))
// clang-format on
#undef HOLOMORPHIC

//===----------------------------------------------------------------------===//
// Functions without
//===----------------------------------------------------------------------===//

/// A rule with the real-linear map `push` of tangents and its adjoint `pull`.
template <typename Rule, typename OpT>
struct RealLinear : DerivativeRule<Rule, OpT> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    if (Value g = context.cotangent(op->getResult(0)))
      context.accumulate(op->getOperand(0),
                         Rule::pull(operand(op, 0, context), g, context));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    if (Value tangent = context.tangent(op->getOperand(0)))
      context.addTangent(op->getResult(0),
                         Rule::push(operand(op, 0, context),
                                    Complex(context, tangent), context));
    return success();
  }
};

struct Conj : RealLinear<Conj, complex::ConjOp> {
  static Value pull(const Complex &, Value g, DerivativeContext &context) {
    return conj(Complex(context, g)).get();
  }
  static Value push(const Complex &, const Complex &t, DerivativeContext &) {
    return conj(t).get();
  }
};

struct Abs : RealLinear<Abs, complex::AbsOp> {
  static Value pull(const Complex &a, Value g, DerivativeContext &context) {
    return direction(a).scale(Expr(context, g)).get();
  }
  static Value push(const Complex &a, const Complex &t, DerivativeContext &) {
    return (conj(direction(a)) * t).part(0);
  }
};

/// At the origin the derivative is 0.
struct Angle : RealLinear<Angle, complex::AngleOp> {
  static Value pull(const Complex &a, Value g, DerivativeContext &context) {
    Expr scaled = scale(a, Expr(context, g));
    Complex s = direction(a);
    return a.fromParts(-(s.part(1) * scaled), s.part(0) * scaled).get();
  }
  static Value push(const Complex &a, const Complex &t, DerivativeContext &) {
    return scale(a, (conj(direction(a)) * t).part(1));
  }
  /// The square of the magnitude may overflow.
  static Expr scale(const Complex &a, const Expr &g) {
    Expr size = a.abs();
    return select(size == 0.0, 0.0, g / size);
  }
};

/// The component across `a`, over the magnitude of `a`: a symmetric map.
struct Sign : RealLinear<Sign, complex::SignOp> {
  static Value pull(const Complex &a, Value g, DerivativeContext &context) {
    return push(a, Complex(context, g), context);
  }
  static Value push(const Complex &a, const Complex &t, DerivativeContext &) {
    Complex s = direction(a);
    Expr size = a.abs();
    Complex across = t - s.scale((conj(s) * t).part(0));
    Expr inverse = select(size == 0.0, 0.0, 1.0 / size);
    return across.scale(inverse).get();
  }
};

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

struct Create : DerivativeRule<Create, complex::CreateOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    OpBuilder &builder = context.getBuilder();
    Location loc = context.getLoc();
    Value g = context.cotangent(op->getResult(0));
    if (g && context.isActive(op->getOperand(0)))
      context.accumulate(op->getOperand(0),
                         complex::ReOp::create(builder, loc, g));
    if (g && context.isActive(op->getOperand(1)))
      context.accumulate(op->getOperand(1),
                         complex::ImOp::create(builder, loc, g));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    Value re = context.tangentOrZero(op->getOperand(0));
    Value im = context.tangentOrZero(op->getOperand(1));
    Value result = op->getResult(0);
    context.addTangent(result, complex::CreateOp::create(
                                   context.getBuilder(), context.getLoc(),
                                   result.getType(), re, im));
    return success();
  }
};

/// Part 0 (real) or 1 (imaginary) of a complex number.
template <typename OpT, unsigned part>
struct Part : DerivativeRule<Part<OpT, part>, OpT> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Value g = context.cotangent(op->getResult(0));
    if (!g)
      return success();
    OpBuilder &builder = context.getBuilder();
    Location loc = context.getLoc();
    Value zero = createFloatConstant(builder, loc, g.getType(), 0.0);
    Value operand = op->getOperand(0);
    context.accumulate(
        operand,
        complex::CreateOp::create(builder, loc, operand.getType(),
                                  part == 0 ? g : zero, part == 0 ? zero : g));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    if (Value tangent = context.tangent(op->getOperand(0)))
      context.addTangent(
          op->getResult(0),
          OpT::create(context.getBuilder(), context.getLoc(), tangent));
    return success();
  }
};

} // namespace

void remat::registerComplexRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, complex::ComplexDialect *) {
    attachRules<Create, Part<complex::ReOp, 0>, Part<complex::ImOp, 1>, Add,
                Sub, Neg, Mul, Div, Exp, Expm1, Log, Log1p, Sqrt, Rsqrt, Sin,
                Cos, Tan, Tanh, Pow, Atan2, Conj, Abs, Angle, Sign>(context);
  });
}
