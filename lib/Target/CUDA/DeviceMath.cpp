//===- DeviceMath.cpp - functions of f32 by instructions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that is bound by memory has room for some 25 instructions for each
// element of 4 bytes on an H100. Polynomials alone take more.
//
//===----------------------------------------------------------------------===//

#include "DeviceMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace {
/// Emits arithmetic of f32.
struct Emitter {
  OpBuilder &builder;
  Location loc;

  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  }
  Value call(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(),
                                         builder.getStringAttr(name), operands)
        ->getResult(0);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  /// 2^x, whose error is 2^-22 of it, for results that are normal.
  Value power(Value x) { return call("llvm.nvvm.ex2.approx.ftz.f32", x); }
};
} // namespace

/// exp(x) = 2^n 2^f, where n is the largest integer below x / log(2). The power
/// of n is made of its bits: those that a large number has which it is added
/// to.
static LogicalResult expandExp(math::ExpOp op, PatternRewriter &rewriter) {
  if (!op.getType().isF32())
    return failure();
  Location loc = op.getLoc();
  Emitter emit{rewriter, loc};
  // 0 below the first of these, infinite above the second.
  Value x = arith::MaximumFOp::create(rewriter, loc, op.getOperand(),
                                      emit.constant(-88.0f));
  x = arith::MinimumFOp::create(rewriter, loc, x, emit.constant(89.0f));
  Value scale = emit.constant(0x1.715476p+0f);
  // 3 * 2^22, where floats are integers, and the bias of an exponent.
  const float large = 12582912.0f + 127.0f;
  Value shifted =
      emit.call("llvm.nvvm.fma.rm.f", {x, scale, emit.constant(large)});
  Value minus =
      arith::SubFOp::create(rewriter, loc, emit.constant(large), shifted);
  Value fraction = emit.fma(x, scale, minus);
  // What `scale` is too small by.
  fraction = emit.fma(x, emit.constant(0x1.4ae0cp-26f), fraction);
  Type word = rewriter.getI32Type();
  Value bits = arith::BitcastOp::create(rewriter, loc, word, shifted);
  bits = arith::ShLIOp::create(
      rewriter, loc, bits,
      arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(23)));
  Value whole =
      arith::BitcastOp::create(rewriter, loc, rewriter.getF32Type(), bits);
  rewriter.replaceOp(op, emit.mul(emit.power(fraction), whole));
  return success();
}

/// tanh(x) = 1 - 2 / (exp(2 |x|) + 1) with the sign of x, and near 0, where
/// that has few digits, x + x^3 p(x^2) with the polynomial of degree 4 whose
/// largest relative error is the least (3e-9).
static LogicalResult expandTanh(math::TanhOp op, PatternRewriter &rewriter) {
  if (!op.getType().isF32())
    return failure();
  Location loc = op.getLoc();
  Emitter emit{rewriter, loc};
  Value x = op.getOperand();
  Value size = math::AbsFOp::create(rewriter, loc, x);
  // 2 / log(2).
  Value power = emit.power(emit.mul(size, emit.constant(0x1.715476p+1f)));
  Value part = emit.call("llvm.nvvm.rcp.approx.ftz.f",
                         emit.add(power, emit.constant(1.0f)));
  Value large = emit.fma(part, emit.constant(-2.0f), emit.constant(1.0f));
  Value square = emit.mul(x, x);
  Value sum = emit.constant(-0x1.825808p-8f);
  for (float coefficient :
       {0x1.54b892p-6f, -0x1.b898dcp-5f, 0x1.1109aep-3f, -0x1.55553ep-2f})
    sum = emit.fma(sum, square, emit.constant(coefficient));
  Value small = emit.fma(sum, emit.mul(x, square), x);
  Value isSmall = arith::CmpFOp::create(
      rewriter, loc, arith::CmpFPredicate::OLT, size, emit.constant(0.6f));
  Value tanh = arith::SelectOp::create(rewriter, loc, isSmall, small, large);
  // That of zeros, too.
  rewriter.replaceOpWithNewOp<math::CopySignOp>(op, tanh, x);
  return success();
}

void remat::cuda::populateDeviceMathPatterns(RewritePatternSet &patterns) {
  // Before what is for all machines.
  patterns.add(expandExp, /*benefit=*/10);
  patterns.add(expandTanh, /*benefit=*/10);
}
