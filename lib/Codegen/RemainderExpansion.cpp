//===- RemainderExpansion.cpp - remainders of narrow floats ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For vectors, exactly. A remainder is what is left when multiples of the
// divisor are taken away that have the 53 highest bits of the quotient, several
// times, in f64. Both the multiple and what is left are exact there, since it
// has no lower bit than the divisor.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

namespace {
class RemainderEmitter : codegen::DoubleEmitter {
public:
  RemainderEmitter(OpBuilder &builder, Location loc)
      : DoubleEmitter(builder, loc) {}

  Value remainder(Value dividend, Value divisor);
};
} // namespace

/// It has the sign of the dividend.
Value RemainderEmitter::remainder(Value dividend, Value divisor) {
  Value x = widen(dividend), rest = size(x), y = size(widen(divisor));
  Value inverse = div(number(1), y);
  // The largest quotient is 2^277, and each step takes at least 51 of its bits.
  constexpr int numSteps = 6;
  for (int step = 0; step < numSteps; ++step) {
    Value quotient = math::TruncOp::create(b, mul(rest, inverse));
    rest = fma(arith::NegFOp::create(b, quotient), y, rest);
  }
  // Quotients may have been one off.
  rest = select(isLess(rest, 0), add(rest, y), rest);
  rest = select(isMore(y, rest), rest, sub(rest, y));
  // It is the dividend where the divisor is infinite, unless both are.
  Value whole = fma(size(x), number(0), size(x));
  rest =
      select(isEqual(y, std::numeric_limits<double>::infinity()), whole, rest);
  return narrow(withSign(rest, x), dividend.getType());
}

/// Of floats with fewer bits than f64.
static LogicalResult expandRemainder(arith::RemFOp op,
                                     PatternRewriter &rewriter) {
  auto type = dyn_cast<FloatType>(op.getType());
  if (!type || type.getWidth() >= 64)
    return failure();
  rewriter.replaceOp(
      op, codegen::emitBy(&RemainderEmitter::remainder, op, rewriter));
  return success();
}

void codegen::populateRemainderExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add(expandRemainder);
}
