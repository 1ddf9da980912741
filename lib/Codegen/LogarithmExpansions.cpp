//===- LogarithmExpansions.cpp - log and exp of small arguments -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace remat;

static Value createNumber(ImplicitLocOpBuilder &b, Type type, double number) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
}

static Value createIsEqual(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lhs, rhs);
}

/// With u = 1 + x as it is rounded, log(u) x / (u - 1): what rounding takes
/// from both is made up for (W. Kahan; N. Higham, "Accuracy and Stability of
/// Numerical Algorithms", problem 1.5).
static LogicalResult expandLog1p(math::Log1pOp op, PatternRewriter &rewriter) {
  Type type = op.getType();
  if (!type.isF64())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value x = op.getOperand(), one = createNumber(b, type, 1);
  Value u = arith::AddFOp::create(b, x, one);
  Value log = math::LogOp::create(b, u);
  Value rest = arith::SubFOp::create(b, u, one);
  Value result =
      arith::MulFOp::create(b, log, arith::DivFOp::create(b, x, rest));
  // The quotient is none for 0 and for infinity.
  result = arith::SelectOp::create(b, createIsEqual(b, u, log), log, result);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, createIsEqual(b, u, one), x,
                                               result);
  return success();
}

/// With u = exp(x) as it is rounded, (u - 1) x / log(u), likewise.
static LogicalResult expandExpM1(math::ExpM1Op op, PatternRewriter &rewriter) {
  Type type = op.getType();
  if (!type.isF64())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value x = op.getOperand(), one = createNumber(b, type, 1);
  Value u = math::ExpOp::create(b, x);
  Value rest = arith::SubFOp::create(b, u, one);
  Value log = math::LogOp::create(b, u);
  Value result =
      arith::MulFOp::create(b, rest, arith::DivFOp::create(b, x, log));
  // Far from 0 the difference is exact enough, and log(u) may be infinite.
  Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                      math::AbsFOp::create(b, x), one);
  result = arith::SelectOp::create(b, isFar, rest, result);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, createIsEqual(b, u, one), x,
                                               result);
  return success();
}

void codegen::populateSmallArgumentExpansionPatterns(
    RewritePatternSet &patterns) {
  patterns.add(expandLog1p);
  patterns.add(expandExpM1);
}

void codegen::scaleSubnormalLogarithms(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<math::LogOp, math::Log2Op>(op) ||
        !op->getResult(0).getType().isF32())
      return;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value x = op->getOperand(0);
    Type type = x.getType();
    constexpr double exponent = 25;
    Value isSubnormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                              createNumber(b, type, 0x1p-126));
    // Whatever is not positive keeps its result.
    Value scaled = arith::MulFOp::create(b, x, createNumber(b, type, 0x1p25));
    op->setOperand(0, arith::SelectOp::create(b, isSubnormal, scaled, x));
    b.setInsertionPointAfter(op);
    double unit = isa<math::LogOp>(op) ? 0.69314718055994530942 : 1;
    Value offset = arith::SelectOp::create(
        b, isSubnormal, createNumber(b, type, exponent * unit),
        createNumber(b, type, 0));
    auto result = arith::SubFOp::create(b, op->getResult(0), offset);
    op->getResult(0).replaceAllUsesExcept(result, result);
  });
}

void codegen::extendLogarithmsNearZero(Operation *root) {
  root->walk([](complex::Log1pOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    b.setInsertionPointAfter(op);
    // Of a small 1 + z, the real part is exact.
    Value re = complex::ReOp::create(b, op.getComplex());
    Type type = re.getType();
    Value zero = createNumber(b, type, 0);
    Value x = math::AbsFOp::create(
        b, arith::AddFOp::create(b, re, createNumber(b, type, 1)));
    Value y =
        math::AbsFOp::create(b, complex::ImOp::create(b, op.getComplex()));
    Value most = arith::MaximumFOp::create(b, x, y);
    Value ratio =
        arith::DivFOp::create(b, arith::MinimumFOp::create(b, x, y), most);
    ratio =
        arith::SelectOp::create(b, createIsEqual(b, most, zero), zero, ratio);
    Value rest =
        math::Log1pOp::create(b, arith::MulFOp::create(b, ratio, ratio));
    Value size = arith::AddFOp::create(
        b, math::LogOp::create(b, most),
        arith::MulFOp::create(b, createNumber(b, type, 0.5), rest));
    Value isNear = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, most,
                                         createNumber(b, type, 0.5));
    auto own = complex::ReOp::create(b, op.getResult());
    auto angle = complex::ImOp::create(b, op.getResult());
    auto result = complex::CreateOp::create(
        b, op.getType(), arith::SelectOp::create(b, isNear, size, own), angle);
    op.getResult().replaceUsesWithIf(result, [&](OpOperand &use) {
      return use.getOwner() != own && use.getOwner() != angle;
    });
  });
}
