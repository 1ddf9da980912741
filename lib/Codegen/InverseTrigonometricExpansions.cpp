//===- InverseTrigonometricExpansions.cpp - asin, acos, atan, atan2 -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of f32 scalars, for vectors. The angle of a point is that of the quotient of
// its smaller coordinate by the larger one, which is at most 1, or what it
// lacks of a right angle. With z = t^2,
//
//     atan(t) = t + t z P(z)  for t <= 1
//     asin(t) = t + t z Q(z)  for t <= 1/2
//     asin(t) = pi/2 - 2 asin(sqrt((1 - t) / 2))  for larger t
//
// The coefficients were fit by iterated least squares (Lawson's weights) of the
// relative error, which is below 2e-8.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace remat;

namespace {
class InverseTrigonometricEmitter : codegen::ScalarEmitter {
public:
  InverseTrigonometricEmitter(OpBuilder &builder, Location loc)
      : ScalarEmitter(builder, loc, builder.getF32Type()) {}

  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);

private:
  /// What `angle` lacks of half a turn. The last bits of pi are on their own.
  Value toHalfTurn(Value angle) {
    return add(sub(number(0x1.921fb6p1), angle), number(-0x1.777a5cp-24));
  }
  Value toRightAngle(Value angle) {
    return add(sub(number(0x1.921fb6p0), angle), number(-0x1.777a5cp-25));
  }
  /// t + t z (c[0] + c[1] z + ...)
  Value extend(Value t, Value z, ArrayRef<double> c) {
    return fma(mul(t, z), evaluate(c, z), t);
  }
  Value atanOfSmall(Value t) {
    return extend(t, mul(t, t),
                  {-0.33333153, 0.19993773, -0.14211056, 0.10666005,
                   -0.07552214, 0.04321186, -0.01636793, 0.00292069});
  }
  /// For a = |x| above 1/2, asin(sqrt((1 - a) / 2)), and else asin(a).
  Value asinOfSmall(Value x, Value a, Value isLarge);
};
} // namespace

Value InverseTrigonometricEmitter::asinOfSmall(Value x, Value a,
                                               Value isLarge) {
  Value half = mul(sub(number(1), a), number(0.5));
  Value z = select(isLarge, half, mul(x, x));
  // A negative half has no root, as it should be.
  return extend(select(isLarge, sqrt(half), a), z,
                {0.16666752, 0.07495297, 0.04547038, 0.02417951, 0.04216632});
}

Value InverseTrigonometricEmitter::asin(Value x) {
  Value a = size(x), isLarge = isMore(a, 0.5);
  Value angle = asinOfSmall(x, a, isLarge);
  return withSign(select(isLarge, toRightAngle(add(angle, angle)), angle), x);
}

Value InverseTrigonometricEmitter::acos(Value x) {
  Value a = size(x), isLarge = isMore(a, 0.5);
  Value angle = asinOfSmall(x, a, isLarge), twice = add(angle, angle);
  Value large = select(hasSign(x), toHalfTurn(twice), twice);
  return select(isLarge, large, toRightAngle(withSign(angle, x)));
}

Value InverseTrigonometricEmitter::atan(Value x) {
  Value a = size(x), one = number(1), isSteep = isMore(a, one);
  Value angle =
      atanOfSmall(div(select(isSteep, one, a), select(isSteep, a, one)));
  return withSign(select(isSteep, toRightAngle(angle), angle), x);
}

Value InverseTrigonometricEmitter::atan2(Value y, Value x) {
  Value height = size(y), width = size(x), isSteep = isMore(height, width);
  Value small = select(isSteep, width, height);
  Value large = select(isSteep, height, width);
  // Points that are 0, or infinite in both coordinates, have no quotient. If a
  // coordinate is NaN, so is the angle, whatever the other one is.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value ratio = select(isEqual(large, 0), small, div(small, large));
  Value both = select(isEqual(large, infinity), number(1), large);
  ratio = select(isEqual(small, infinity), both, ratio);
  Value angle = atanOfSmall(ratio);
  angle = select(isSteep, toRightAngle(angle), angle);
  return withSign(select(hasSign(x), toHalfTurn(angle), angle), y);
}

void codegen::populateInverseTrigonometricExpansionPatterns(
    RewritePatternSet &patterns) {
  patterns.add(codegen::expandFunction<math::AsinOp,
                                       &InverseTrigonometricEmitter::asin>);
  patterns.add(codegen::expandFunction<math::AcosOp,
                                       &InverseTrigonometricEmitter::acos>);
  patterns.add(codegen::expandFunction<math::AtanOp,
                                       &InverseTrigonometricEmitter::atan>);
  patterns.add(codegen::expandFunction<math::Atan2Op,
                                       &InverseTrigonometricEmitter::atan2>);
}
