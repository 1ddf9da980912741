//===- ScalarRules.cpp - derivatives of arith and math --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line per operation. A formula is a partial derivative times `g`: the
// cotangent of the result in reverse mode, the tangent of the operand in
// forward mode. `y` is the result, `x` or `a`, `b`, `c` are the operands.
// Where a derivative does not exist the value is PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

#define REMAT_FORMULA(name, formula, ...)                                      \
  static auto name(const Expr &g, __VA_ARGS__) { return formula; }
#define UNARY(Name, OpT, dx_)                                                  \
  struct Name : UnaryRule<Name, OpT> {                                         \
    REMAT_FORMULA(dx, dx_, const Expr &x, const Expr &y)                       \
  };
#define BINARY(Name, OpT, da_, db_)                                            \
  struct Name : BinaryRule<Name, OpT> {                                        \
    REMAT_FORMULA(da, da_, const Expr &a, const Expr &b, const Expr &y)        \
    REMAT_FORMULA(db, db_, const Expr &a, const Expr &b, const Expr &y)        \
  };
#define TERNARY(Name, OpT, da_, db_, dc_)                                      \
  struct Name : TernaryRule<Name, OpT> {                                       \
    REMAT_FORMULA(da, da_, const Expr &a, const Expr &b, const Expr &c,        \
                  const Expr &y)                                               \
    REMAT_FORMULA(db, db_, const Expr &a, const Expr &b, const Expr &c,        \
                  const Expr &y)                                               \
    REMAT_FORMULA(dc, dc_, const Expr &a, const Expr &b, const Expr &c,        \
                  const Expr &y)                                               \
  };

/// The formula of an operand that no derivative passes to.
constexpr std::nullptr_t none = nullptr;

constexpr double ln2 = 0.693147180559945309417;
constexpr double ln10 = 2.302585092994045684018;
constexpr double twoOverSqrtPi = 1.128379167095512573896;

/// `sign` with value 0 at 0, and of what is not a number.
Expr sign(const Expr &x) {
  Expr isSigned = x.compare(arith::CmpFPredicate::ONE, x.constant(0.0));
  return select(isSigned, copysign(x.constant(1.0), x), 0.0);
}

/// What a maximum and a minimum pass to `operand`: a tie is split in half, a
/// nan goes to both.
Expr passLarger(const Expr &g, const Expr &operand, const Expr &other) {
  return select(operand < other, 0.0, select(operand == other, 0.5 * g, g));
}
Expr passSmaller(const Expr &g, const Expr &operand, const Expr &other) {
  return select(operand > other, 0.0, select(operand == other, 0.5 * g, g));
}

/// The same where the result is a number if one operand is: it goes to the
/// operand that the result equals.
Expr passEqual(const Expr &g, const Expr &operand, const Expr &other,
               const Expr &y) {
  return select(operand == other, 0.5 * g, select(operand == y, g, 0.0));
}

/// `g` in the other one of the types of `x` and `y`.
Expr convert(const Expr &g, const Expr &x, const Expr &y) {
  DerivativeContext &context = g.getContext();
  OpBuilder &builder = context.getBuilder();
  Type type = g.getType() == x.getType() ? y.getType() : x.getType();
  unsigned from = getElementTypeOrSelf(g.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (from < to)
    return {context,
            arith::ExtFOp::create(builder, context.getLoc(), type, g.get())};
  return {context,
          arith::TruncFOp::create(builder, context.getLoc(), type, g.get())};
}

// clang-format off
UNARY(NegF, arith::NegFOp, -g)
BINARY(AddF, arith::AddFOp, g, g)
BINARY(SubF, arith::SubFOp, g, -g)
BINARY(MulF, arith::MulFOp, g * b, g * a)
BINARY(DivF, arith::DivFOp, g / b, -g * (y / b))
BINARY(RemF, arith::RemFOp, g, -g * trunc(a / b))
BINARY(MaximumF, arith::MaximumFOp, passLarger(g, a, b), passLarger(g, b, a))
BINARY(MinimumF, arith::MinimumFOp, passSmaller(g, a, b), passSmaller(g, b, a))
BINARY(MaxNumF, arith::MaxNumFOp, passEqual(g, a, b, y), passEqual(g, b, a, y))
BINARY(MinNumF, arith::MinNumFOp, passEqual(g, a, b, y), passEqual(g, b, a, y))
UNARY(ExtF, arith::ExtFOp, convert(g, x, y))
UNARY(TruncF, arith::TruncFOp, convert(g, x, y))
// Here a is the condition.
TERNARY(Select, arith::SelectOp, none, select(a, g, 0.0), select(a, 0.0, g))

UNARY(Exp, math::ExpOp, g * y)
UNARY(Exp2, math::Exp2Op, g * y * ln2)
UNARY(ExpM1, math::ExpM1Op, g * (y + 1.0))
UNARY(Log, math::LogOp, g / x)
UNARY(Log2, math::Log2Op, g / (x * ln2))
UNARY(Log10, math::Log10Op, g / (x * ln10))
UNARY(Log1p, math::Log1pOp, g / (x + 1.0))
UNARY(Sqrt, math::SqrtOp, g / (2.0 * y))
UNARY(Rsqrt, math::RsqrtOp, -0.5 * g * (y * y * y))
UNARY(Cbrt, math::CbrtOp, g / (3.0 * y * y))
UNARY(Sin, math::SinOp, g * cos(x))
UNARY(Cos, math::CosOp, -g * sin(x))
UNARY(Tan, math::TanOp, g * (1.0 + y * y))
UNARY(Asin, math::AsinOp, g * rsqrt(1.0 - x * x))
UNARY(Acos, math::AcosOp, -g * rsqrt(1.0 - x * x))
UNARY(Atan, math::AtanOp, g / (1.0 + x * x))
UNARY(Sinh, math::SinhOp, g * cosh(x))
UNARY(Cosh, math::CoshOp, g * sinh(x))
UNARY(Tanh, math::TanhOp, g * (1.0 - y * y))
UNARY(Asinh, math::AsinhOp, g * rsqrt(x * x + 1.0))
UNARY(Acosh, math::AcoshOp, g * rsqrt(x * x - 1.0))
UNARY(Atanh, math::AtanhOp, g / (1.0 - x * x))
UNARY(Erf, math::ErfOp, g * (twoOverSqrtPi * exp(-(x * x))))
UNARY(Erfc, math::ErfcOp, -g * (twoOverSqrtPi * exp(-(x * x))))
UNARY(AbsF, math::AbsFOp, g * sign(x))
BINARY(CopySign, math::CopySignOp,
       g * (sign(a) * copysign(a.constant(1.0), b)), none)
// The derivative by the exponent is masked before it is multiplied, so that its
// own derivative is nan where that of the logarithm is.
BINARY(PowF, math::PowFOp,
       select(b == 0.0, 0.0, g * (b * pow(a, b - 1.0))),
       g * select(both(a == 0.0, b >= 0.0), 0.0, y * log(a)))
TERNARY(Fma, math::FmaOp, g * b, g * a, g)
// If the lower bound is above the upper one, the result is the upper one.
TERNARY(ClampF, math::ClampFOp,
        select(both(a >= b, c >= a), g, 0.0),
        select(both(b > a, c >= b), g, 0.0),
        select(a > c, g, select(b > c, g, 0.0)))
// clang-format on

#undef REMAT_FORMULA
#undef UNARY
#undef BINARY
#undef TERNARY

/// At the origin the gradient is zero, but there is no tangent.
struct Atan2 : ElementwiseRule<Atan2, math::Atan2Op> {
  static Expr scale(const Expr &g, const Expr &a, const Expr &b,
                    ForwardContext &) {
    return g / (a * a + b * b);
  }
  static Expr scale(const Expr &g, const Expr &a, const Expr &b,
                    ReverseContext &) {
    Expr square = a * a + b * b;
    return select(square == 0.0, 0.0, g / square);
  }
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    Expr a = Expr::forward(context, op->getOperand(0));
    Expr b = Expr::forward(context, op->getOperand(1));
    contribute(op, 0, context,
               [&](const Expr &g) { return scale(g, a, b, context) * b; });
    contribute(op, 1, context,
               [&](const Expr &g) { return -(scale(g, a, b, context) * a); });
  }
};

/// x ^ n for an integer n.
struct FPowI : ElementwiseRule<FPowI, math::FPowIOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    auto power = cast<math::FPowIOp>(op);
    contribute(op, 0, context, [&](const Expr &g) -> Expr {
      OpBuilder &builder = context.getBuilder();
      Location loc = context.getLoc();
      Value x = context.primal(power.getLhs());
      Value n = context.primal(power.getRhs());
      auto integer = [&](int64_t value) -> Value {
        TypedAttr attr =
            builder.getIntegerAttr(getElementTypeOrSelf(n.getType()), value);
        if (auto shaped = dyn_cast<ShapedType>(n.getType()))
          attr = DenseElementsAttr::get(shaped, Attribute(attr));
        return arith::ConstantOp::create(builder, loc, attr);
      };
      Value less = builder.createOrFold<arith::SubIOp>(loc, n, integer(1));
      Value isZero = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, n, integer(0));
      Expr factor(context,
                  arith::SIToFPOp::create(builder, loc, x.getType(), n));
      Expr rest(context, math::FPowIOp::create(builder, loc, x, less));
      return select(Expr(context, isZero), 0.0, g * (factor * rest));
    });
  }
};

} // namespace

void remat::registerScalarRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachRules<NegF, AddF, SubF, MulF, DivF, RemF, MaximumF, MinimumF, MaxNumF,
                MinNumF, ExtF, TruncF, Select>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachRules<Exp, Exp2, ExpM1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Cbrt,
                Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh,
                Atanh, Erf, Erfc, AbsF, CopySign, PowF, FPowI, Atan2, Fma,
                ClampF, ConstantRule<math::FloorOp>, ConstantRule<math::CeilOp>,
                ConstantRule<math::RoundOp>, ConstantRule<math::RoundEvenOp>,
                ConstantRule<math::TruncOp>>(context);
  });
}
