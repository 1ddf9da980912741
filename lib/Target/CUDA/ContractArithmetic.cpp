//===- ContractArithmetic.cpp - products and sums at once -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// The value without zeros that are added to it. The sum would differ where the
/// value is a negative zero, of which nothing is left in another sum but for
/// the sign of a zero.
static Value dropZeros(Value value) {
  while (auto sum = value.getDefiningOp<arith::AddFOp>()) {
    if (matchPattern(sum.getRhs(), m_AnyZeroFloat()))
      value = sum.getLhs();
    else if (matchPattern(sum.getLhs(), m_AnyZeroFloat()))
      value = sum.getRhs();
    else
      break;
  }
  return value;
}

/// a + b, or a - b.
static void contract(Operation *op, bool isDifference) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value a = dropZeros(op->getOperand(0)), b = dropZeros(op->getOperand(1));
  auto negate = [&](Value value) -> Value {
    return isDifference ? Value(arith::NegFOp::create(builder, loc, value))
                        : value;
  };
  Value result;
  if (auto product = a.getDefiningOp<arith::MulFOp>())
    result = math::FmaOp::create(builder, loc, product.getLhs(),
                                 product.getRhs(), negate(b));
  else if (auto product = b.getDefiningOp<arith::MulFOp>())
    result = math::FmaOp::create(builder, loc, negate(product.getLhs()),
                                 product.getRhs(), a);
  if (!result) {
    op->setOperands({a, b});
    return;
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// `number`, a constant or one of two, times a factor; null if it is none, or
/// has no normal product.
static Value multiplyConstant(OpBuilder &builder, Location loc, Value number,
                              const APFloat &factor) {
  if (auto either = number.getDefiningOp<arith::SelectOp>()) {
    Value one = multiplyConstant(builder, loc, either.getTrueValue(), factor);
    Value other =
        multiplyConstant(builder, loc, either.getFalseValue(), factor);
    if (!one || !other)
      return {};
    return arith::SelectOp::create(builder, loc, either.getCondition(), one,
                                   other);
  }
  APFloat product(0.0f);
  if (!matchPattern(number, m_ConstantFloat(&product)))
    return {};
  product.multiply(factor, APFloat::rmNearestTiesToEven);
  if (!product.isNormal())
    return {};
  return arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(number.getType(), product));
}

/// a * b + c, where a is a product with a constant, and b a constant, or one of
/// two: these are multiplied with each other.
static void mergeFactors(math::FmaOp op) {
  Value a = dropZeros(op.getA());
  Value inner, factor;
  if (auto product = a.getDefiningOp<arith::MulFOp>()) {
    inner = product.getLhs();
    factor = product.getRhs();
  } else if (auto sum = a.getDefiningOp<math::FmaOp>();
             sum && matchPattern(sum.getC(), m_AnyZeroFloat())) {
    inner = sum.getA();
    factor = sum.getB();
  }
  APFloat first(0.0f);
  if (!inner || !matchPattern(factor, m_ConstantFloat(&first)))
    return;
  OpBuilder builder(op);
  if (Value both = multiplyConstant(builder, op.getLoc(), op.getB(), first))
    op->setOperands({inner, both, op.getC()});
}

void remat::cuda::contractArithmetic(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      APInt condition;
      if (matchPattern(select.getCondition(), m_ConstantInt(&condition))) {
        select.replaceAllUsesWith(condition.isZero() ? select.getFalseValue()
                                                     : select.getTrueValue());
        select.erase();
      }
    } else if (isa<arith::AddFOp, arith::SubFOp>(op) &&
               op.getResult(0).getType().isF32()) {
      contract(&op, isa<arith::SubFOp>(op));
    } else if (auto sum = dyn_cast<math::FmaOp>(op);
               sum && sum.getType().isF32()) {
      mergeFactors(sum);
    }
  }
}
