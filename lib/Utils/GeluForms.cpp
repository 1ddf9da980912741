//===- GeluForms.cpp - whether scalars are a GELU or its gradient ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GELU is written in many ways, and its derivative in more. So they are
// recognized by what they compute: the argument of the tanh and the whole are
// polynomials, of the input, of the tanh and of the gradient that is passed on,
// whose coefficients are compared.
//
//===----------------------------------------------------------------------===//

#include "GeluForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

#include <array>
#include <cmath>
#include <optional>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

namespace {

/// A polynomial in the input x, of at most the third degree, in the tanh t, of
/// the second, and in the gradient g, of the first.
class Polynomial {
public:
  static Polynomial makeConstant(double number) {
    Polynomial result;
    result.at(0, 0, 0) = number;
    return result;
  }

  double &at(unsigned x, unsigned t, unsigned g) {
    return terms[(x * numTanhs + t) * numGradients + g];
  }

  /// Whether each coefficient is the wanted one but for the rounding of
  /// constants to f32.
  bool isNear(const Polynomial &wanted) const {
    constexpr double tolerance = 1e-6;
    for (auto [term, other] : llvm::zip(terms, wanted.terms))
      if (std::abs(term - other) > tolerance * std::abs(other))
        return false;
    return true;
  }

  /// The number that it is, if it is one.
  std::optional<double> getConstant() const {
    for (double term : ArrayRef(terms).drop_front())
      if (term != 0)
        return std::nullopt;
    return terms[0];
  }

  Polynomial scale(double factor) const {
    Polynomial result = *this;
    for (double &term : result.terms)
      term *= factor;
    return result;
  }

  Polynomial add(const Polynomial &other) const {
    Polynomial result = *this;
    for (auto [term, added] : llvm::zip(result.terms, other.terms))
      term += added;
    return result;
  }

  /// Nothing if that is of a higher degree.
  std::optional<Polynomial> multiply(const Polynomial &other) const;

private:
  static constexpr unsigned numInputs = 4, numTanhs = 3, numGradients = 2;
  static constexpr unsigned numTerms = numInputs * numTanhs * numGradients;

  std::array<double, numTerms> terms = {};
};

} // namespace

std::optional<Polynomial> Polynomial::multiply(const Polynomial &other) const {
  Polynomial product;
  for (unsigned i = 0; i < numTerms; ++i)
    for (unsigned j = 0; j < numTerms; ++j) {
      if (terms[i] == 0 || other.terms[j] == 0)
        continue;
      unsigned g = i % numGradients + j % numGradients;
      unsigned t = i / numGradients % numTanhs + j / numGradients % numTanhs;
      unsigned x = i / numGradients / numTanhs + j / numGradients / numTanhs;
      if (g >= numGradients || t >= numTanhs || x >= numInputs)
        return std::nullopt;
      product.at(x, t, g) += terms[i] * other.terms[j];
    }
  return product;
}

//===----------------------------------------------------------------------===//
// What scalars are
//===----------------------------------------------------------------------===//

/// The argument of the tanh.
static Polynomial getTanhArgument() {
  Polynomial argument;
  double scale = std::sqrt(2 / M_PI);
  argument.at(1, 0, 0) = scale;
  argument.at(3, 0, 0) = scale * 0.044715;
  return argument;
}

namespace {
/// Reads a scalar expression as a polynomial.
class PolynomialReader {
public:
  PolynomialReader(Value input, Value gradient)
      : input(input), gradient(gradient) {}

  /// Nothing if `value` is none, or its tanh is not that of a GELU.
  std::optional<Polynomial> read(Value value, unsigned depth = 0);

private:
  std::optional<Polynomial> compute(Value value, unsigned depth);
  std::optional<Polynomial> combine(Operation *op,
                                    ArrayRef<Polynomial> operands);

  Value input, gradient;
  /// What values are that have been read: a derivative reads many repeatedly.
  DenseMap<Value, std::optional<Polynomial>> known;
};
} // namespace

/// The number that `value` is, rounded as its casts say.
static std::optional<double> getNumber(Value value) {
  SmallVector<FloatType> types;
  while (auto cast = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
      break;
    auto type = dyn_cast<FloatType>(value.getType());
    if (!type)
      return std::nullopt;
    types.push_back(type);
    value = cast->getOperand(0);
  }
  FloatAttr attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  APFloat number = attribute.getValue();
  bool losesInfo = false;
  for (FloatType type : llvm::reverse(types))
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

/// A whole power, of at most the third degree.
static std::optional<Polynomial> raise(const Polynomial &base,
                                       std::optional<double> exponent) {
  if (!exponent || (*exponent != 1 && *exponent != 2 && *exponent != 3))
    return std::nullopt;
  std::optional<Polynomial> power = base;
  for (double i = 1; i < *exponent && power; ++i)
    power = power->multiply(base);
  return power;
}

std::optional<Polynomial>
PolynomialReader::combine(Operation *op, ArrayRef<Polynomial> operands) {
  if (isa<arith::MulFOp>(op))
    return operands[0].multiply(operands[1]);
  if (isa<arith::AddFOp>(op))
    return operands[0].add(operands[1]);
  if (isa<arith::SubFOp>(op))
    return operands[0].add(operands[1].scale(-1));
  if (isa<arith::NegFOp>(op))
    return operands[0].scale(-1);
  if (isa<math::PowFOp>(op))
    return raise(operands[0], operands[1].getConstant());
  if (isa<arith::DivFOp>(op)) {
    std::optional<double> divisor = operands[1].getConstant();
    if (!divisor || *divisor == 0)
      return std::nullopt;
    return operands[0].scale(1 / *divisor);
  }
  if (!isa<math::TanhOp>(op) || !operands[0].isNear(getTanhArgument()))
    return std::nullopt;
  Polynomial tanh;
  tanh.at(0, 1, 0) = 1;
  return tanh;
}

std::optional<Polynomial> PolynomialReader::read(Value value, unsigned depth) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  std::optional<Polynomial> result = compute(value, depth);
  known[value] = result;
  return result;
}

std::optional<Polynomial> PolynomialReader::compute(Value value,
                                                    unsigned depth) {
  // More than any way to write it takes.
  constexpr unsigned maxDepth = 32;
  Polynomial result;
  if (value == input || value == gradient) {
    (value == input ? result.at(1, 0, 0) : result.at(0, 0, 1)) = 1;
    return result;
  }
  if (std::optional<double> number = getNumber(value))
    return Polynomial::makeConstant(*number);
  Operation *op = value.getDefiningOp();
  if (!op || depth == maxDepth || op->getNumOperands() > 2 ||
      op->getNumRegions() != 0)
    return std::nullopt;
  SmallVector<Polynomial, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Polynomial> one = read(operand, depth + 1);
    if (!one)
      return std::nullopt;
    operands.push_back(*one);
  }
  return combine(op, operands);
}

bool remat::isGelu(Value value, Value input) {
  std::optional<Polynomial> known =
      PolynomialReader(input, /*gradient=*/{}).read(value);
  Polynomial wanted;
  wanted.at(1, 0, 0) = wanted.at(1, 1, 0) = 0.5;
  return known && known->isNear(wanted);
}

/// The derivative of x (1 + t) / 2 is (1 + t) / 2 + x (1 - t^2) u' / 2, where u
/// is the argument of the tanh.
bool remat::isGeluGradient(Value value, Value input, Value gradient) {
  std::optional<Polynomial> known =
      PolynomialReader(input, gradient).read(value);
  Polynomial wanted, argument = getTanhArgument();
  wanted.at(0, 0, 1) = wanted.at(0, 1, 1) = 0.5;
  for (unsigned power : {1, 3}) {
    double slope = power * argument.at(power, 0, 0) / 2;
    wanted.at(power, 0, 1) = slope;
    wanted.at(power, 2, 1) = -slope;
  }
  return known && known->isNear(wanted);
}
