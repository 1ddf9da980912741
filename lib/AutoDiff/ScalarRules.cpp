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

#include "mlir/IR/Matchers.h"

#include "Expr.h"
#include "Idioms.h"
#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

/// Emits the term that belongs to one operand: what the cotangent of the
/// result contributes to that of the operand, or the tangent of the operand
/// to that of the result. Both are the partial derivative times something.
template <typename Formula>
void contribute(Operation *op, unsigned number, ReverseContext &context,
                Formula formula) {
  Value operand = op->getOperand(number);
  Value cotangent = context.cotangent(op->getResult(0));
  if (context.isActive(operand) && cotangent)
    context.accumulate(operand,
                       formula(Expr(context, cotangent), operand.getType()));
}
template <typename Formula>
void contribute(Operation *op, unsigned number, ForwardContext &context,
                Formula formula) {
  Value result = op->getResult(0);
  if (Value tangent = context.tangent(op->getOperand(number)))
    context.addTangent(result,
                       formula(Expr(context, tangent), result.getType()));
}

/// The same for the values of a function that ends in `op`. Returns whether
/// there is one.
bool contributeIdiom(Operation *op, ReverseContext &context) {
  SmallVector<IdiomTerm> terms = matchIdiom(op, context);
  Value cotangent = context.cotangent(op->getResult(0));
  for (const IdiomTerm &term : terms)
    if (context.isActive(term.leaf) && cotangent)
      context.accumulate(term.leaf, term.derivative(Expr(context, cotangent)));
  return !terms.empty();
}
bool contributeIdiom(Operation *op, ForwardContext &context) {
  SmallVector<IdiomTerm> terms = matchIdiom(op, context);
  for (const IdiomTerm &term : terms)
    if (Value tangent = context.tangent(term.leaf))
      context.addTangent(op->getResult(0),
                         term.derivative(Expr(context, tangent)));
  return !terms.empty();
}

Expr operandExpr(Operation *op, unsigned number, DerivativeContext &context) {
  return Expr::forward(context, op->getOperand(number));
}
Expr resultExpr(Operation *op, DerivativeContext &context) {
  return Expr::forward(context, op->getResult(0));
}

/// A rule of which `derive(op, context)` emits the terms in either direction.
template <typename Rule, typename Op>
struct ScalarModel : DifferentiableOpInterface::ExternalModel<Rule, Op> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Rule::derive(op, context);
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    Rule::derive(op, context);
    return success();
  }
};

/// Rules of one operand, two and three. In a formula, `to` is the type of what
/// it makes.
#define REMAT_SCALAR_RULE_HEAD(Name, Op)                                       \
  struct Name : ScalarModel<Name, Op> {                                        \
    template <typename Context>                                                \
    static void derive(Operation *op, Context &context) {                      \
      [[maybe_unused]] Expr y = resultExpr(op, context);
#define REMAT_SCALAR_RULE_TAIL                                                 \
  }                                                                            \
  }                                                                            \
  ;
#define REMAT_TERM(number, formula)                                            \
  contribute(op, number, context,                                              \
             [&](const Expr &g, [[maybe_unused]] Type to) -> Expr {            \
               return formula;                                                 \
             });
#define UNARY(Name, Op, dx)                                                    \
  REMAT_SCALAR_RULE_HEAD(Name, Op)                                             \
  [[maybe_unused]] Expr x = operandExpr(op, 0, context);                       \
  REMAT_TERM(0, dx)                                                            \
  REMAT_SCALAR_RULE_TAIL
#define BINARY(Name, Op, da, db)                                               \
  REMAT_SCALAR_RULE_HEAD(Name, Op)                                             \
  [[maybe_unused]] Expr a = operandExpr(op, 0, context);                       \
  [[maybe_unused]] Expr b = operandExpr(op, 1, context);                       \
  REMAT_TERM(0, da)                                                            \
  REMAT_TERM(1, db)                                                            \
  REMAT_SCALAR_RULE_TAIL
#define TERNARY(Name, Op, da, db, dc)                                          \
  REMAT_SCALAR_RULE_HEAD(Name, Op)                                             \
  [[maybe_unused]] Expr a = operandExpr(op, 0, context);                       \
  [[maybe_unused]] Expr b = operandExpr(op, 1, context);                       \
  [[maybe_unused]] Expr c = operandExpr(op, 2, context);                       \
  REMAT_TERM(0, da)                                                            \
  REMAT_TERM(1, db)                                                            \
  REMAT_TERM(2, dc)                                                            \
  REMAT_SCALAR_RULE_TAIL

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

/// The value of type `type` that `g` converts to.
Expr convert(const Expr &g, Type type) {
  DerivativeContext &context = g.getContext();
  OpBuilder &builder = context.getBuilder();
  unsigned from = getElementTypeOrSelf(g.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (from < to)
    return {context,
            arith::ExtFOp::create(builder, context.getLoc(), type, g.get())};
  return {context,
          arith::TruncFOp::create(builder, context.getLoc(), type, g.get())};
}

UNARY(NegF, arith::NegFOp, -g)
BINARY(AddF, arith::AddFOp, g, g)
BINARY(RemF, arith::RemFOp, g, -g *trunc(a / b))
BINARY(MaximumF, arith::MaximumFOp, passLarger(g, a, b), passLarger(g, b, a))
BINARY(MinimumF, arith::MinimumFOp, passSmaller(g, a, b), passSmaller(g, b, a))
BINARY(MaxNumF, arith::MaxNumFOp, passEqual(g, a, b, y), passEqual(g, b, a, y))
BINARY(MinNumF, arith::MinNumFOp, passEqual(g, a, b, y), passEqual(g, b, a, y))
UNARY(ExtF, arith::ExtFOp, convert(g, to))
UNARY(TruncF, arith::TruncFOp, convert(g, to))

UNARY(Exp2, math::Exp2Op, g * y * ln2)
UNARY(ExpM1, math::ExpM1Op, g *(y + 1.0))
UNARY(Log2, math::Log2Op, g / (x * ln2))
UNARY(Log10, math::Log10Op, g / (x * ln10))
UNARY(Log1p, math::Log1pOp, g / (x + 1.0))
UNARY(Sqrt, math::SqrtOp, g / (2.0 * y))
UNARY(Rsqrt, math::RsqrtOp, -0.5 * g * (y * y * y))
UNARY(Cbrt, math::CbrtOp, g / (3.0 * y * y))
UNARY(Sin, math::SinOp, g *cos(x))
UNARY(Cos, math::CosOp, -g *sin(x))
UNARY(Tan, math::TanOp, g * (1.0 + y * y))
UNARY(Asin, math::AsinOp, g *rsqrt(1.0 - x * x))
UNARY(Acos, math::AcosOp, -g *rsqrt(1.0 - x * x))
UNARY(Atan, math::AtanOp, g / (1.0 + x * x))
UNARY(Sinh, math::SinhOp, g *cosh(x))
UNARY(Cosh, math::CoshOp, g *sinh(x))
UNARY(Tanh, math::TanhOp, g * (1.0 - y * y))
UNARY(Asinh, math::AsinhOp, g *rsqrt(x *x + 1.0))
UNARY(Acosh, math::AcoshOp, g *rsqrt(x *x - 1.0))
UNARY(Atanh, math::AtanhOp, g / (1.0 - x * x))
UNARY(Erf, math::ErfOp, g *(twoOverSqrtPi *exp(-(x *x))))
UNARY(Erfc, math::ErfcOp, -g *(twoOverSqrtPi *exp(-(x *x))))
UNARY(AbsF, math::AbsFOp, g *sign(x))
TERNARY(Fma, math::FmaOp, g *b, g *a, g)
TERNARY(ClampF, math::ClampFOp, select(both(a >= b, c >= a), g, 0.0),
        select(b > a, g, 0.0), select(a > c, g, 0.0))

#undef REMAT_SCALAR_RULE_HEAD
#undef REMAT_SCALAR_RULE_TAIL
#undef REMAT_TERM
#undef UNARY
#undef BINARY
#undef TERNARY

/// A difference, or a logsigmoid.
struct SubF : ScalarModel<SubF, arith::SubFOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    contribute(op, 0, context, [](const Expr &g, Type) -> Expr { return g; });
    contribute(op, 1, context, [](const Expr &g, Type) -> Expr { return -g; });
  }
};

/// A quotient, or a sigmoid.
struct DivF : ScalarModel<DivF, arith::DivFOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    Expr b = operandExpr(op, 1, context), y = resultExpr(op, context);
    contribute(op, 0, context,
               [&](const Expr &g, Type) -> Expr { return g / b; });
    contribute(op, 1, context,
               [&](const Expr &g, Type) -> Expr { return -g * (y / b); });
  }
};

/// A logarithm, or a logit.
struct Log : ScalarModel<Log, math::LogOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
      return g / operandExpr(op, 0, context);
    });
  }
};

/// A power, or the square of a magnitude. The derivative by the exponent is
/// masked before it is multiplied, so that its own derivative is nan where that
/// of the logarithm is.
struct PowF : ScalarModel<PowF, math::PowFOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    Expr a = operandExpr(op, 0, context), b = operandExpr(op, 1, context);
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
      return select(b == 0.0, 0.0, g * (b * pow(a, b - 1.0)));
    });
    contribute(op, 1, context, [&](const Expr &g, Type) -> Expr {
      Expr y = resultExpr(op, context);
      return g * select(both(a == 0.0, b >= 0.0), 0.0, y * log(a));
    });
  }
};

/// An exponential, or that of the negative part of a number.
struct Exp : ScalarModel<Exp, math::ExpOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
      return g * resultExpr(op, context);
    });
  }
};

/// A product, or the square of a magnitude.
struct MulF : ScalarModel<MulF, arith::MulFOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    for (unsigned number : {0, 1})
      contribute(op, number, context, [&](const Expr &g, Type) -> Expr {
        return g * operandExpr(op, 1 - number, context);
      });
  }
};

/// The comparison by which `select` takes the larger or smaller of its values,
/// as PyTorch exports maximum, minimum and clamp. One that also selects
/// something else orders its operands (a step of a sort), or finds an index.
static arith::CmpFOp getOrder(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || !compare->hasOneUse())
    return {};
  Value a = compare.getLhs(), b = compare.getRhs();
  Value x = select.getTrueValue(), y = select.getFalseValue();
  bool takesOperands = (a == x && b == y) || (a == y && b == x);
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return takesOperands ? compare : arith::CmpFOp();
  default:
    return {};
  }
}

static bool isLess(arith::CmpFOp compare) {
  return compare.getPredicate() == arith::CmpFPredicate::OLT ||
         compare.getPredicate() == arith::CmpFPredicate::ULT;
}

/// The derivative goes to the chosen side. That of a maximum or minimum is
/// split in half where both are equal, or lost at a constant bound.
struct Select : ScalarModel<Select, arith::SelectOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    auto choice = cast<arith::SelectOp>(op);
    arith::CmpFOp order = getOrder(choice);
    bool boundFirst = order && matchPattern(order.getLhs(), m_Constant());
    bool isBound =
        boundFirst || (order && matchPattern(order.getRhs(), m_Constant()));
    // An elu is a sum of its positive and its negative part; the derivative at
    // 0 is that of the latter.
    if (boundFirst && isLess(order) &&
        matchPattern(order.getLhs(), m_AnyZeroFloat()))
      order = {};
    for (unsigned number : {1, 2})
      contribute(op, number, context, [&](const Expr &g, Type) -> Expr {
        Expr condition = operandExpr(op, 0, context);
        Expr chosen =
            number == 1 ? select(condition, g, 0.0) : select(condition, 0.0, g);
        // What is taken if it is beyond the bound is not at it.
        if (!order || (isBound && number == 1))
          return chosen;
        Expr tie = Expr::forward(context, order.getLhs()) ==
                   Expr::forward(context, order.getRhs());
        return isBound ? select(tie, 0.0, chosen)
                       : select(tie, 0.5 * g, chosen);
      });
  }
};

/// The derivative with respect to the sign is zero.
struct CopySign : ScalarModel<CopySign, math::CopySignOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
      Expr a = operandExpr(op, 0, context), b = operandExpr(op, 1, context);
      return g * (sign(a) * copysign(a.constant(1.0), b));
    });
  }
};

/// At the origin the gradient is zero, but there is no tangent.
struct Atan2 : ScalarModel<Atan2, math::Atan2Op> {
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
    Expr a = operandExpr(op, 0, context), b = operandExpr(op, 1, context);
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
      return scale(g, a, b, context) * b;
    });
    contribute(op, 1, context, [&](const Expr &g, Type) -> Expr {
      return -(scale(g, a, b, context) * a);
    });
  }
};

/// x ^ n for an integer n, or the square of a magnitude.
struct FPowI : ScalarModel<FPowI, math::FPowIOp> {
  template <typename Context>
  static void derive(Operation *op, Context &context) {
    if (contributeIdiom(op, context))
      return;
    auto power = cast<math::FPowIOp>(op);
    contribute(op, 0, context, [&](const Expr &g, Type) -> Expr {
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

/// Operations that are constant wherever they have a derivative.
template <typename Op>
struct Step : DifferentiableOpInterface::ExternalModel<Step<Op>, Op> {
  bool blocksDerivative(Operation *) const { return true; }
  LogicalResult emitVJP(Operation *, ReverseContext &) const {
    return success();
  }
  LogicalResult emitJVP(Operation *, ForwardContext &) const {
    return success();
  }
};

} // namespace

void remat::registerScalarRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::NegFOp::attachInterface<NegF>(*context);
    arith::AddFOp::attachInterface<AddF>(*context);
    arith::SubFOp::attachInterface<SubF>(*context);
    arith::MulFOp::attachInterface<MulF>(*context);
    arith::DivFOp::attachInterface<DivF>(*context);
    arith::RemFOp::attachInterface<RemF>(*context);
    arith::MaximumFOp::attachInterface<MaximumF>(*context);
    arith::MinimumFOp::attachInterface<MinimumF>(*context);
    arith::MaxNumFOp::attachInterface<MaxNumF>(*context);
    arith::MinNumFOp::attachInterface<MinNumF>(*context);
    arith::ExtFOp::attachInterface<ExtF>(*context);
    arith::TruncFOp::attachInterface<TruncF>(*context);
    arith::SelectOp::attachInterface<Select>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    math::ExpOp::attachInterface<Exp>(*context);
    math::Exp2Op::attachInterface<Exp2>(*context);
    math::ExpM1Op::attachInterface<ExpM1>(*context);
    math::LogOp::attachInterface<Log>(*context);
    math::Log2Op::attachInterface<Log2>(*context);
    math::Log10Op::attachInterface<Log10>(*context);
    math::Log1pOp::attachInterface<Log1p>(*context);
    math::SqrtOp::attachInterface<Sqrt>(*context);
    math::RsqrtOp::attachInterface<Rsqrt>(*context);
    math::CbrtOp::attachInterface<Cbrt>(*context);
    math::SinOp::attachInterface<Sin>(*context);
    math::CosOp::attachInterface<Cos>(*context);
    math::TanOp::attachInterface<Tan>(*context);
    math::AsinOp::attachInterface<Asin>(*context);
    math::AcosOp::attachInterface<Acos>(*context);
    math::AtanOp::attachInterface<Atan>(*context);
    math::SinhOp::attachInterface<Sinh>(*context);
    math::CoshOp::attachInterface<Cosh>(*context);
    math::TanhOp::attachInterface<Tanh>(*context);
    math::AsinhOp::attachInterface<Asinh>(*context);
    math::AcoshOp::attachInterface<Acosh>(*context);
    math::AtanhOp::attachInterface<Atanh>(*context);
    math::ErfOp::attachInterface<Erf>(*context);
    math::ErfcOp::attachInterface<Erfc>(*context);
    math::AbsFOp::attachInterface<AbsF>(*context);
    math::CopySignOp::attachInterface<CopySign>(*context);
    math::PowFOp::attachInterface<PowF>(*context);
    math::FPowIOp::attachInterface<FPowI>(*context);
    math::Atan2Op::attachInterface<Atan2>(*context);
    math::FmaOp::attachInterface<Fma>(*context);
    math::ClampFOp::attachInterface<ClampF>(*context);
    math::FloorOp::attachInterface<Step<math::FloorOp>>(*context);
    math::CeilOp::attachInterface<Step<math::CeilOp>>(*context);
    math::RoundOp::attachInterface<Step<math::RoundOp>>(*context);
    math::RoundEvenOp::attachInterface<Step<math::RoundEvenOp>>(*context);
    math::TruncOp::attachInterface<Step<math::TruncOp>>(*context);
  });
}
