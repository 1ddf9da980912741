//===- DerivativeRules.h - derivative rules as formulas ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rules of elementwise operations are written with, for the dialects
// of this project and for others. A rule is one formula for each operand, and
// the formula serves both modes: it is the partial derivative times `g`, where
// `g` is the cotangent of the result in reverse mode and the tangent of the
// operand in forward mode. For an operation y = exp(-x^2) of another dialect:
//
//   struct GaussianRule : remat::UnaryRule<GaussianRule, my::GaussianOp> {
//     static remat::Expr dx(const remat::Expr &g, const remat::Expr &x,
//                           const remat::Expr &y) {
//       return g * (-2.0 * x * y);
//     }
//   };
//
//   registry.addExtension(+[](MLIRContext *context, my::MyDialect *) {
//     remat::attachRules<GaussianRule, OtherRule>(context);
//   });
//
// The operations may be on scalars or on tensors. The same rule is applied to
// an operation of a function and to one in the body of a structured operation.
// A rule that is no formula derives from `DerivativeRule` and has the methods
// of DifferentiableOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_DERIVATIVERULES_H
#define REMAT_AUTODIFF_DERIVATIVERULES_H

#include "remat/AutoDiff/Expr.h"

namespace remat {

/// The base of all rules: `Rule` gives the operation `OpT` the interface.
template <typename Rule, typename OpT>
struct DerivativeRule : DifferentiableOpInterface::ExternalModel<Rule, OpT> {
  using Op = OpT;
};

/// Gives each operation that one of `Rules` is for its rule. The operations
/// must be registered, so call this from an extension of their dialect.
template <typename... Rules>
void attachRules(mlir::MLIRContext *context) {
  (Rules::Op::template attachInterface<Rules>(*context), ...);
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

template <typename Formula>
inline constexpr bool isZeroFormula =
    std::is_null_pointer_v<std::invoke_result_t<Formula, const Expr &>>;

/// Emits the term that belongs to one operand of `op`: what the cotangent of
/// the result contributes to that of the operand, or the tangent of the
/// operand to that of the result. `formula` maps `g` to the partial derivative
/// times `g` and is called only where the term is wanted. One that returns a
/// std::nullptr_t says that no derivative passes to this operand.
template <typename Formula>
void contribute(mlir::Operation *op, unsigned number, ReverseContext &context,
                Formula formula) {
  if constexpr (!isZeroFormula<Formula>) {
    mlir::Value operand = op->getOperand(number);
    mlir::Value cotangent = context.cotangent(op->getResult(0));
    if (context.isActive(operand) && cotangent)
      context.accumulate(operand, formula(Expr(context, cotangent)));
  }
}
template <typename Formula>
void contribute(mlir::Operation *op, unsigned number, ForwardContext &context,
                Formula formula) {
  if constexpr (!isZeroFormula<Formula>)
    if (mlir::Value tangent = context.tangent(op->getOperand(number)))
      context.addTangent(op->getResult(0), formula(Expr(context, tangent)));
}

/// A rule of which `Rule::derive(op, context)`, a template of the context,
/// emits the terms in either mode. The formulas below are such rules; use it
/// for what has more operands, or terms that depend on attributes.
template <typename Rule, typename OpT>
struct ElementwiseRule : DerivativeRule<Rule, OpT> {
  llvm::LogicalResult emitVJP(mlir::Operation *op,
                              ReverseContext &context) const {
    Rule::derive(op, context);
    return mlir::success();
  }
  llvm::LogicalResult emitJVP(mlir::Operation *op,
                              ForwardContext &context) const {
    Rule::derive(op, context);
    return mlir::success();
  }
};

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// An operation of one operand: `Rule::dx(g, x, y)`, where y is the result.
/// What a formula does not use is not kept for the backward computation.
template <typename Rule, typename OpT>
struct UnaryRule : ElementwiseRule<Rule, OpT> {
  template <typename Context>
  static void derive(mlir::Operation *op, Context &context) {
    Expr y = Expr::forward(context, op->getResult(0));
    Expr x = Expr::forward(context, op->getOperand(0));
    contribute(op, 0, context,
               [&](const Expr &g) { return Rule::dx(g, x, y); });
  }
};

/// An operation of two operands: `Rule::da(g, a, b, y)` and `Rule::db`.
template <typename Rule, typename OpT>
struct BinaryRule : ElementwiseRule<Rule, OpT> {
  template <typename Context>
  static void derive(mlir::Operation *op, Context &context) {
    Expr y = Expr::forward(context, op->getResult(0));
    Expr a = Expr::forward(context, op->getOperand(0));
    Expr b = Expr::forward(context, op->getOperand(1));
    contribute(op, 0, context,
               [&](const Expr &g) { return Rule::da(g, a, b, y); });
    contribute(op, 1, context,
               [&](const Expr &g) { return Rule::db(g, a, b, y); });
  }
};

/// An operation of three operands: `Rule::da(g, a, b, c, y)`, `Rule::db` and
/// `Rule::dc`.
template <typename Rule, typename OpT>
struct TernaryRule : ElementwiseRule<Rule, OpT> {
  template <typename Context>
  static void derive(mlir::Operation *op, Context &context) {
    Expr y = Expr::forward(context, op->getResult(0));
    Expr a = Expr::forward(context, op->getOperand(0));
    Expr b = Expr::forward(context, op->getOperand(1));
    Expr c = Expr::forward(context, op->getOperand(2));
    contribute(op, 0, context,
               [&](const Expr &g) { return Rule::da(g, a, b, c, y); });
    contribute(op, 1, context,
               [&](const Expr &g) { return Rule::db(g, a, b, c, y); });
    contribute(op, 2, context,
               [&](const Expr &g) { return Rule::dc(g, a, b, c, y); });
  }
};

/// An operation that is constant wherever it has a derivative (rounding, a
/// stopped gradient): no derivative passes through it.
template <typename OpT>
struct ConstantRule : DerivativeRule<ConstantRule<OpT>, OpT> {
  bool blocksDerivative(mlir::Operation *) const { return true; }
  llvm::LogicalResult emitVJP(mlir::Operation *, ReverseContext &) const {
    return mlir::success();
  }
  llvm::LogicalResult emitJVP(mlir::Operation *, ForwardContext &) const {
    return mlir::success();
  }
};

} // namespace remat

#endif // REMAT_AUTODIFF_DERIVATIVERULES_H
