//===- ForeignRules.cpp - derivative rules of another project -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules for a dialect that is no part of remat, made of its public headers
// only: one formula for each operand, and one call that attaches all of them.
//
//===----------------------------------------------------------------------===//

#include "Foreign.h"

#include "remat/AutoDiff/DerivativeRules.h"

using namespace foreign;
using remat::Expr;

namespace {

struct GaussianRule : remat::UnaryRule<GaussianRule, GaussianOp> {
  static Expr dx(const Expr &g, const Expr &x, const Expr &y) {
    return g * (-2.0 * x * y);
  }
};

struct HypotRule : remat::BinaryRule<HypotRule, HypotOp> {
  static Expr da(const Expr &g, const Expr &a, const Expr &b, const Expr &y) {
    return g * (a / y);
  }
  static Expr db(const Expr &g, const Expr &a, const Expr &b, const Expr &y) {
    return g * (b / y);
  }
};

struct LerpRule : remat::TernaryRule<LerpRule, LerpOp> {
  static Expr da(const Expr &g, const Expr &a, const Expr &b, const Expr &c,
                 const Expr &y) {
    return g * (1.0 - c);
  }
  static Expr db(const Expr &g, const Expr &a, const Expr &b, const Expr &c,
                 const Expr &y) {
    return g * c;
  }
  static Expr dc(const Expr &g, const Expr &a, const Expr &b, const Expr &c,
                 const Expr &y) {
    return g * (b - a);
  }
};

} // namespace

void foreign::registerForeignRules(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, ForeignDialect *) {
    remat::attachRules<GaussianRule, HypotRule, LerpRule,
                       remat::ConstantRule<StepOp>>(context);
  });
}
