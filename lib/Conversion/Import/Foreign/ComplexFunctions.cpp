//===- ComplexFunctions.cpp - hyperbolic functions and inverse ones -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialect `complex` lacks is computed from the parts of a number. The
// inverse sine and cosine are those of T. Hull, T. Fairgrieve and P. Tang,
// "Implementing the complex arcsine and arccosine functions using exception
// handling", ACM TOMS 23 (1997), without the exceptions: beyond the root of the
// largest number, logarithms of the size take their place. The other inverse
// functions are these and the inverse hyperbolic tangent, with parts exchanged.
//
//===----------------------------------------------------------------------===//

#include "ComplexFunctions.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
using Predicate = arith::CmpFPredicate;

/// A real scalar.
struct Real {
  ImplicitLocOpBuilder *b;
  Value value;

  Real with(Value other) const { return {b, other}; }
  Real constant(double number) const {
    return with(createConstant(*b, b->getLoc(), value.getType(), number));
  }
  template <typename Op>
  Real of() const {
    return with(Op::create(*b, value));
  }
  template <typename Op>
  Real of(const Real &other) const {
    return with(Op::create(*b, value, other.value));
  }
  Value is(Predicate predicate, const Real &other) const {
    return arith::CmpFOp::create(*b, predicate, value, other.value);
  }
  Value is(Predicate predicate, double other) const {
    return is(predicate, constant(other));
  }
  /// This where `condition` holds.
  Real where(Value condition, const Real &other) const {
    return with(
        arith::SelectOp::create(*b, condition, value, other.value).getResult());
  }
  Real signedLike(const Real &other) const {
    return of<math::CopySignOp>(other);
  }
  /// This number, or its negative where `other` is below 0, and not -0.
  Real negatedBelow(const Real &other) const {
    Real negative = with(arith::NegFOp::create(*b, value));
    return negative.where(other.is(Predicate::OLT, 0), *this);
  }
};

Real operator+(const Real &x, const Real &y) { return x.of<arith::AddFOp>(y); }
Real operator-(const Real &x, const Real &y) { return x.of<arith::SubFOp>(y); }
Real operator*(const Real &x, const Real &y) { return x.of<arith::MulFOp>(y); }
Real operator/(const Real &x, const Real &y) { return x.of<arith::DivFOp>(y); }
Real operator+(const Real &x, double y) { return x + x.constant(y); }
Real operator-(const Real &x, double y) { return x - x.constant(y); }
Real operator*(double x, const Real &y) { return y.constant(x) * y; }
Real operator-(double x, const Real &y) { return y.constant(x) - y; }
Real operator-(const Real &x) { return x.of<arith::NegFOp>(); }
Real sqrt(const Real &x) { return x.of<math::SqrtOp>(); }
Real log1p(const Real &x) { return x.of<math::Log1pOp>(); }
Real log(const Real &x) { return x.of<math::LogOp>(); }
Real atan2(const Real &y, const Real &x) { return y.of<math::Atan2Op>(x); }
Real abs(const Real &x) { return x.of<math::AbsFOp>(); }

/// The parts of a number, and their sizes.
struct Parts {
  Real re, im, x, y;

  Real hypot(const Real &u, const Real &v) const {
    Type type = ComplexType::get(u.value.getType());
    Value number = complex::CreateOp::create(*u.b, type, u.value, v.value);
    return u.with(complex::AbsOp::create(*u.b, number));
  }
  Real least() const { return x.of<arith::MinimumFOp>(y); }
  Real most() const { return x.of<arith::MaximumFOp>(y); }
  /// Whether the square of the size may be too large for the type.
  Value isLarge() const {
    bool isDouble = x.value.getType().isF64();
    return most().is(Predicate::OGT, isDouble ? 0x1p508 : 0x1p60);
  }
  /// The quotient of the smaller and the larger size.
  Real ratio() const {
    double infinity = std::numeric_limits<double>::infinity();
    Value isInfinite = least().is(Predicate::OEQ, infinity);
    Real quotient = least() / most();
    return x.constant(1).where(isInfinite, quotient);
  }
  /// As a multiple of i.
  Parts turned() const { return {im, re, y, x}; }
};

/// What the inverse sine of x + iy in the first quadrant is made of: its
/// tangent is x / cosine, and its imaginary part is `height`.
struct ArcSine {
  Real cosine, height;
};
} // namespace

static ArcSine createArcSine(const Parts &z) {
  Real x = z.x, y = z.y;
  Real r = z.hypot(x + 1, y), s = z.hypot(x - 1, y);
  Real a = 0.5 * (r + s), square = y * y;
  Real outer = r + (x + 1);
  // Small differences without cancellation: of a - x and of a - 1, one may be
  // 0 in the type, and then its root has y as a factor.
  Value isInside = x.is(Predicate::OLE, 1.0), isBelow = x.is(Predicate::OLT, 1);
  Real one = x.constant(1);
  Real inner = s + (1.0 - x), beyond = s + (x - 1.0);
  Real cosineInside = sqrt((0.5 * (square / outer + inner)) * (a + x));
  Real cosineBeyond = y * sqrt((0.5 * (a + x)) * (one / outer + one / beyond));
  Real cosine = cosineInside.where(isInside, cosineBeyond);
  Real factor = 0.5 * (one / outer + one / inner);
  Real excessBelow = square * factor;
  Real rootBelow = y * sqrt(factor * (a + 1));
  Real excessAbove = 0.5 * (square / outer + beyond);
  Real rootAbove = sqrt(excessAbove * (a + 1));
  Real height = log1p(excessBelow + rootBelow)
                    .where(isBelow, log1p(excessAbove + rootAbove));
  // Of large numbers: the logarithm of twice the size.
  Value isLarge = z.isLarge();
  Real ratio = z.ratio();
  Real large = log(z.most()) + (0.5 * log1p(ratio * ratio) + M_LN2);
  return {y.where(isLarge, cosine), large.where(isLarge, height)};
}

/// On the branch cuts, -0 is as 0 in XLA.
static std::pair<Real, Real> createAsin(const Parts &z) {
  ArcSine arc = createArcSine(z);
  return {atan2(z.x, arc.cosine).negatedBelow(z.re),
          arc.height.negatedBelow(z.im)};
}

static std::pair<Real, Real> createAcos(const Parts &z) {
  ArcSine arc = createArcSine(z);
  return {atan2(arc.cosine, z.re), (-arc.height).negatedBelow(z.im)};
}

static std::pair<Real, Real> createAsinh(const Parts &z) {
  auto [im, re] = createAsin(z.turned());
  return {re, im};
}

static std::pair<Real, Real> createAcosh(const Parts &z) {
  ArcSine arc = createArcSine(z);
  return {arc.height, atan2(arc.cosine, z.re).negatedBelow(z.im)};
}

static std::pair<Real, Real> createAtanh(const Parts &z) {
  Real x = z.x, y = z.y, rest = 1.0 - x;
  Real near = z.hypot(rest, y), far = z.hypot(x + 1, y);
  // log(far / near), of what is close to 1 by the difference of the squares.
  Real excess = (4.0 * (x / near)) / near;
  Real re =
      (0.25 * log1p(excess))
          .where(excess.is(Predicate::OLT, 1), 0.5 * (log(far) - log(near)));
  Real im = 0.5 * atan2(2.0 * y, rest * (x + 1) - y * y);
  // Of large numbers: the reciprocal, and a right angle.
  Value isLarge = z.isLarge();
  double infinity = std::numeric_limits<double>::infinity();
  Real ratio = z.ratio(), most = z.most();
  Real small = ((x / most) / most) / (ratio * ratio + 1);
  small = x.constant(0).where(most.is(Predicate::OEQ, infinity), small);
  re = small.where(isLarge, re);
  im = x.constant(M_PI_2).where(isLarge, im);
  return {re.signedLike(z.re), im.signedLike(z.im)};
}

static std::pair<Real, Real> createAtan(const Parts &z) {
  auto [im, re] = createAtanh(z.turned());
  return {re, im};
}

/// The imaginary part of a real number is 0, also where the other factor is
/// infinite.
static std::pair<Real, Real> createSinh(const Parts &z) {
  Value isReal = z.im.is(Predicate::OEQ, 0);
  Real im = z.re.of<math::CoshOp>() * z.im.of<math::SinOp>();
  return {z.re.of<math::SinhOp>() * z.im.of<math::CosOp>(),
          z.im.where(isReal, im)};
}

static std::pair<Real, Real> createCosh(const Parts &z) {
  Value isReal = z.im.is(Predicate::OEQ, 0);
  Real im = z.re.of<math::SinhOp>() * z.im.of<math::SinOp>();
  Real zero = z.im.constant(1).signedLike(z.re) * z.im;
  return {z.re.of<math::CoshOp>() * z.im.of<math::CosOp>(),
          zero.where(isReal, im)};
}

Value foreign::createComplexFunction(ComplexFunction function,
                                     OpBuilder &builder, Location loc,
                                     Value value) {
  ImplicitLocOpBuilder b(loc, builder);
  Real re{&b, complex::ReOp::create(b, value)};
  Real im{&b, complex::ImOp::create(b, value)};
  Parts z{re, im, abs(re), abs(im)};
  auto create = [&]() -> std::pair<Real, Real> {
    switch (function) {
    case ComplexFunction::Acos:
      return createAcos(z);
    case ComplexFunction::Acosh:
      return createAcosh(z);
    case ComplexFunction::Asin:
      return createAsin(z);
    case ComplexFunction::Asinh:
      return createAsinh(z);
    case ComplexFunction::Atan:
      return createAtan(z);
    case ComplexFunction::Atanh:
      return createAtanh(z);
    case ComplexFunction::Cosh:
      return createCosh(z);
    case ComplexFunction::Sinh:
      return createSinh(z);
    }
    llvm_unreachable("no function");
  };
  auto [real, imaginary] = create();
  return complex::CreateOp::create(b, value.getType(), real.value,
                                   imaginary.value);
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

namespace {
/// A complex scalar.
struct Number {
  ImplicitLocOpBuilder *b;
  Value value;

  Number constant(double re, double im = 0) const {
    auto type = cast<ComplexType>(value.getType());
    auto part = [&](double number) {
      return createConstant(*b, b->getLoc(), type.getElementType(), number);
    };
    return {b, complex::CreateOp::create(*b, type, part(re), part(im))};
  }
  template <typename Op>
  Number of(const Number &other) const {
    return {b, Op::create(*b, value, other.value)};
  }
  Number root() const { return {b, complex::SqrtOp::create(*b, value)}; }
};
Number operator+(const Number &x, const Number &y) {
  return x.of<complex::AddOp>(y);
}
Number operator-(const Number &x, const Number &y) {
  return x.of<complex::SubOp>(y);
}
Number operator*(const Number &x, const Number &y) {
  return x.of<complex::MulOp>(y);
}
Number operator/(const Number &x, const Number &y) {
  return x.of<complex::DivOp>(y);
}
} // namespace

Value foreign::createComplexSlope(ComplexFunction function, OpBuilder &builder,
                                  Location loc, Value value) {
  ImplicitLocOpBuilder b(loc, builder);
  Number z{&b, value}, one = z.constant(1), turned = z.constant(0, 1) * z;
  // Roots of factors have the branches of the function.
  auto overRoots = [&](const Number &first, const Number &second) {
    return one / (first.root() * second.root());
  };
  switch (function) {
  case ComplexFunction::Acos:
    return (z.constant(0) - overRoots(one - z, one + z)).value;
  case ComplexFunction::Acosh:
    return overRoots(z - one, z + one).value;
  case ComplexFunction::Asin:
    return overRoots(one - z, one + z).value;
  case ComplexFunction::Asinh:
    return overRoots(one - turned, one + turned).value;
  case ComplexFunction::Atan:
    return (one / (one + z * z)).value;
  case ComplexFunction::Atanh:
    return (one / (one - z * z)).value;
  // By functions of a multiple of i that have derivatives of their own.
  case ComplexFunction::Sinh:
    return complex::CosOp::create(b, turned.value);
  case ComplexFunction::Cosh:
    return (z.constant(0, -1) *
            Number{&b, complex::SinOp::create(b, turned.value)})
        .value;
  }
  llvm_unreachable("no function");
}
