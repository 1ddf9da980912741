//===- ComplexExpansions.cpp - complex numbers by their parts -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream takes roots by size and angle. The cosine of the right angle as it
// is rounded is not 0, so that the root of a negative number gets a real part.
// Here a root is made of the sizes of the parts, as in C. So is the size of a
// number with an infinite part.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

using namespace mlir;
using namespace remat;

static Value createNumber(ImplicitLocOpBuilder &b, Type type, double number) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
}

/// The square root of `number` with a real part that is not negative and an
/// imaginary part of the sign that the one of `number` has.
static Value createRoot(ImplicitLocOpBuilder &b, Value number) {
  using Predicate = arith::CmpFPredicate;
  Value re = complex::ReOp::create(b, number);
  Value im = complex::ImOp::create(b, number);
  Type type = re.getType();
  auto constant = [&](double value) { return createNumber(b, type, value); };
  auto is = [&](Predicate predicate, Value value, double other) -> Value {
    return arith::CmpFOp::create(b, predicate, value, constant(other));
  };
  auto select = [&](Value condition, Value value, Value other) -> Value {
    return arith::SelectOp::create(b, condition, value, other);
  };
  auto multiply = [&](Value value, Value other) -> Value {
    return arith::MulFOp::create(b, value, other);
  };
  auto divide = [&](Value value, Value other) -> Value {
    return arith::DivFOp::create(b, value, other);
  };
  Value x = math::AbsFOp::create(b, re), y = math::AbsFOp::create(b, im);
  Value most = arith::MaximumFOp::create(b, x, y);
  // Large and small numbers are scaled by the square of a power of two, so that
  // no sum overflows and no quotient has less digits.
  bool isDouble = type.isF64();
  double large = isDouble ? 0x1p1000 : 0x1p120, down = 0x1p-4;
  double small = isDouble ? 0x1p-900 : 0x1p-90,
         up = isDouble ? 0x1p108 : 0x1p48;
  Value isLarge = is(Predicate::OGT, most, large);
  Value isSmall = is(Predicate::OLT, most, small);
  auto choose = [&](double ofLarge, double ofSmall) {
    return select(isLarge, constant(ofLarge),
                  select(isSmall, constant(ofSmall), constant(1)));
  };
  Value scale = choose(down, up),
        unscale = choose(0x1p2, isDouble ? 0x1p-54 : 0x1p-24);
  x = multiply(x, scale);
  y = multiply(y, scale);
  most = multiply(most, scale);
  Value isZero = is(Predicate::OEQ, most, 0);
  Value ratio = divide(arith::MinimumFOp::create(b, x, y), most);
  Value size = multiply(
      most,
      math::SqrtOp::create(
          b, arith::AddFOp::create(b, multiply(ratio, ratio), constant(1))));
  Value longer = math::SqrtOp::create(
      b, multiply(arith::AddFOp::create(b, x, size), constant(0.5)));
  Value shorter = divide(multiply(y, constant(0.5)), longer);
  longer = select(isZero, constant(0), multiply(longer, unscale));
  shorter = select(isZero, constant(0), multiply(shorter, unscale));
  // An infinite part makes an infinite root, whatever the other one is.
  double infinity = std::numeric_limits<double>::infinity();
  Value isInfiniteY = is(Predicate::OEQ, y, infinity);
  Value isInfinite =
      arith::OrIOp::create(b, is(Predicate::OEQ, x, infinity), isInfiniteY);
  longer = select(isInfinite, constant(infinity), longer);
  Value ofInfinite = divide(y, constant(infinity));
  shorter = select(isInfinite, ofInfinite, shorter);
  shorter = select(isInfiniteY, constant(infinity), shorter);
  Value isLeft = is(Predicate::OLT, re, 0);
  Value first = select(isLeft, shorter, longer);
  Value second = select(isLeft, longer, shorter);
  return complex::CreateOp::create(b, number.getType(), first,
                                   math::CopySignOp::create(b, second, im));
}

/// Upstream divides the parts by each other. An infinite part makes an infinite
/// size, whatever the other one is.
static void checkInfinite(complex::AbsOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op->getContext());
  b.setInsertionPointAfter(op);
  Value infinity =
      createNumber(b, op.getType(), std::numeric_limits<double>::infinity());
  auto isInfinite = [&](Value part) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                 math::AbsFOp::create(b, part), infinity);
  };
  Value re = complex::ReOp::create(b, op.getComplex());
  Value im = complex::ImOp::create(b, op.getComplex());
  Value either = arith::OrIOp::create(b, isInfinite(re), isInfinite(im));
  Value size = arith::SelectOp::create(b, either, infinity, op.getResult());
  op.getResult().replaceAllUsesExcept(size, size.getDefiningOp());
}

void codegen::expandComplex(Operation *root) {
  root->walk([](Operation *op) {
    if (auto size = dyn_cast<complex::AbsOp>(op))
      return checkInfinite(size);
    if (!isa<complex::SqrtOp, complex::RsqrtOp>(op))
      return;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value found = createRoot(b, op->getOperand(0));
    if (isa<complex::RsqrtOp>(op)) {
      Type part = cast<ComplexType>(found.getType()).getElementType();
      Value one = complex::CreateOp::create(b, found.getType(),
                                            createNumber(b, part, 1),
                                            createNumber(b, part, 0));
      found = complex::DivOp::create(b, one, found);
    }
    op->getResult(0).replaceAllUsesWith(found);
    op->erase();
  });
}
