//===- Epilogues.cpp - what a library makes of a product ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GELU is written in many ways. So it is recognized by what it computes: both
// the argument of its tanh and the whole are polynomials, of the input and of
// the input and the tanh, whose coefficients are compared.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Epilogues.h"

#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

namespace {

/// A polynomial in x, of at most the third degree, and in t, of the first.
struct Polynomial {
  static constexpr unsigned numPowers = 4;
  /// Of x^i and of x^i t.
  std::array<std::array<double, 2>, numPowers> terms = {};

  /// Whether each coefficient is the wanted one but for the rounding of
  /// constants to f32.
  bool isNear(const Polynomial &wanted) const {
    constexpr double tolerance = 1e-6;
    for (unsigned i = 0; i < numPowers; ++i)
      for (unsigned j = 0; j < 2; ++j)
        if (std::abs(terms[i][j] - wanted.terms[i][j]) >
            tolerance * std::abs(wanted.terms[i][j]))
          return false;
    return true;
  }
};

/// Reads a scalar expression as a polynomial in `input` and in the tanh of a
/// GELU of it.
class GeluReader {
public:
  explicit GeluReader(Value input) : input(input) {}

  bool isGelu(Value value) {
    std::optional<Polynomial> read = evaluate(value, /*depth=*/0);
    Polynomial wanted;
    wanted.terms[1] = {0.5, 0.5};
    return read && read->isNear(wanted);
  }

private:
  std::optional<Polynomial> evaluate(Value value, unsigned depth);
  static std::optional<Polynomial> multiply(const Polynomial &a,
                                            const Polynomial &b);

  Value input;
};

} // namespace

std::optional<Polynomial> GeluReader::multiply(const Polynomial &a,
                                               const Polynomial &b) {
  Polynomial product;
  for (unsigned i = 0; i < 2 * Polynomial::numPowers; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      double factor = a.terms[i / 2][i % 2] * b.terms[j][0];
      double other = a.terms[i / 2][i % 2] * b.terms[j][1];
      bool isTooHigh = i / 2 + j >= Polynomial::numPowers;
      if ((isTooHigh && (factor != 0 || other != 0)) ||
          (i % 2 == 1 && other != 0))
        return std::nullopt;
      if (isTooHigh)
        continue;
      product.terms[i / 2 + j][i % 2] += factor;
      if (i % 2 == 0)
        product.terms[i / 2 + j][1] += other;
    }
  return product;
}

/// The number that `value` is, rounded as its casts say.
static std::optional<double> getConstant(Value value) {
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

std::optional<Polynomial> GeluReader::evaluate(Value value, unsigned depth) {
  // More than any way to write it takes.
  constexpr unsigned maxDepth = 16;
  Polynomial result;
  if (value == input) {
    result.terms[1][0] = 1;
    return result;
  }
  if (std::optional<double> number = getConstant(value)) {
    result.terms[0][0] = *number;
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == maxDepth || op->getNumOperands() > 2 ||
      op->getNumRegions() != 0)
    return std::nullopt;
  SmallVector<Polynomial, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Polynomial> read = evaluate(operand, depth + 1);
    if (!read)
      return std::nullopt;
    operands.push_back(*read);
  }
  if (isa<arith::MulFOp>(op))
    return multiply(operands[0], operands[1]);
  if (isa<arith::AddFOp>(op)) {
    result = operands[0];
    for (unsigned i = 0; i < Polynomial::numPowers; ++i)
      for (unsigned j = 0; j < 2; ++j)
        result.terms[i][j] += operands[1].terms[i][j];
    return result;
  }
  if (isa<math::TanhOp>(op)) {
    Polynomial wanted;
    double scale = std::sqrt(2 / M_PI);
    wanted.terms[1][0] = scale;
    wanted.terms[3][0] = scale * 0.044715;
    if (!operands[0].isNear(wanted))
      return std::nullopt;
    result.terms[0][1] = 1;
    return result;
  }
  // A cube as a power.
  std::optional<double> exponent;
  if (isa<math::PowFOp>(op))
    exponent = getConstant(op->getOperand(1));
  if (!exponent || *exponent != 3)
    return std::nullopt;
  std::optional<Polynomial> square = multiply(operands[0], operands[0]);
  return square ? multiply(*square, operands[0]) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool remat::isRelu(Operation *op, Value value) {
  if (isa<arith::MaximumFOp>(op))
    return (op->getOperand(0) == value &&
            matchPattern(op->getOperand(1), m_AnyZeroFloat())) ||
           (op->getOperand(1) == value &&
            matchPattern(op->getOperand(0), m_AnyZeroFloat()));
  auto select = dyn_cast<arith::SelectOp>(op);
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  return compare && select.getTrueValue() == value &&
         matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
         compare.getLhs() == value &&
         matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
         (compare.getPredicate() == arith::CmpFPredicate::UGT ||
          compare.getPredicate() == arith::CmpFPredicate::UGE);
}

/// The sum in f32 of an element of the product and one of the bias, which is
/// all that the body makes of both.
static Value matchSum(BlockArgument product, BlockArgument bias) {
  if (!product.hasOneUse() || !bias.hasOneUse())
    return {};
  auto sum = dyn_cast<arith::AddFOp>(*product.user_begin());
  Value added = bias;
  if (auto wider = dyn_cast<arith::ExtFOp>(*bias.user_begin())) {
    if (!wider->hasOneUse())
      return {};
    added = wider.getResult();
  }
  return sum && sum.getType().isF32() && *added.user_begin() == sum ? sum
                                                                    : Value();
}

static std::optional<Activation> matchActivation(Value value, Value sum) {
  if (value == sum)
    return Activation::None;
  Operation *op = value.getDefiningOp();
  if (op && isRelu(op, sum))
    return Activation::Relu;
  if (GeluReader(sum).isGelu(value))
    return Activation::Gelu;
  return std::nullopt;
}

/// What the body yields, before it is rounded to the type of the results.
static Value getUnrounded(linalg::GenericOp op, unsigned number) {
  Value value = op.getBody()->getTerminator()->getOperand(number);
  if (value.getType().isF32())
    return value;
  auto rounded = value.getDefiningOp<arith::TruncFOp>();
  return rounded && rounded.getIn().getType().isF32() ? rounded.getIn()
                                                      : Value();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether dimensions of `factor` are those of the rows, in their order and
/// next to each other, and that of a sum.
static bool hasRows(AffineMap factor, ArrayRef<AffineExpr> rows) {
  ArrayRef<AffineExpr> dims = factor.getResults();
  return dims.size() == rows.size() + 1 &&
         (dims.drop_back() == rows || dims.drop_front() == rows);
}

/// Whether the contraction is a product without a batch, in f32, from zeros,
/// whose last dimension is of one factor and all others of the other.
static bool isProduct(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op) || op->getNumOperands() != 3 ||
      op->getNumResults() != 1 || !isContractionBody(*op.getBlock()) ||
      !startsFromZeros(op))
    return false;
  for (Type type : op->getOperandTypes())
    if (!cast<ShapedType>(type).hasStaticShape() ||
        cast<ShapedType>(type).getNumElements() == 0)
      return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps[2].getNumResults() < 2 || op.getNumReductionLoops() != 1 ||
      !cast<ShapedType>(op->getResult(0).getType()).getElementType().isF32())
    return false;
  AffineExpr last = maps[2].getResults().back();
  ArrayRef<AffineExpr> rows = maps[2].getResults().drop_back();
  for (unsigned number : {0, 1}) {
    ArrayRef<AffineExpr> columns = maps[1 - number].getResults();
    if (hasRows(maps[number], rows) && columns.size() == 2 &&
        llvm::is_contained(columns, last) &&
        !llvm::is_contained(maps[number].getResults(), last) &&
        llvm::none_of(rows, [&](AffineExpr row) {
          return llvm::is_contained(columns, row);
        }))
      return true;
  }
  return false;
}

/// Whether results of this type and a bias of it fit the factors.
static bool hasTypes(linalg::LinalgOp product, Type result, Type bias) {
  Type lhs = getElementTypeOrSelf(product->getOperand(0).getType());
  Type rhs = getElementTypeOrSelf(product->getOperand(1).getType());
  if (lhs != rhs || bias != result)
    return false;
  bool isNarrow = lhs.isF16() || lhs.isBF16();
  return (isNarrow || lhs.isF32()) &&
         (result.isF32() || (isNarrow && result == lhs));
}

std::optional<Epilogue> remat::matchEpilogue(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumReductionLoops() != 0 ||
      op->getNumResults() < 1 || op->getNumResults() > 2 ||
      op->hasAttr(rowsAttrName) || !op.hasPureTensorSemantics() ||
      !isMemoryEffectFree(op))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [result, map] :
       llvm::zip(op->getResultTypes(), ArrayRef(maps).drop_front(2)))
    if (result != type || !map.isIdentity())
      return std::nullopt;
  for (BlockArgument init : op.getRegionOutputArgs())
    if (!init.use_empty())
      return std::nullopt;
  for (unsigned number : {0, 1}) {
    Value read = op.getDpsInputs()[number],
          bias = op.getDpsInputs()[1 - number];
    auto product = getViewRoot(read).getDefiningOp<linalg::LinalgOp>();
    if (!product || !maps[number].isIdentity() || !isProduct(product))
      continue;
    auto biasType = dyn_cast<RankedTensorType>(bias.getType());
    int64_t columns =
        cast<ShapedType>(product->getResult(0).getType()).getShape().back();
    if (!biasType || biasType.getRank() != 1 || type.getRank() < 2 ||
        maps[1 - number].getResults() != maps[2].getResults().take_back() ||
        biasType.getDimSize(0) != columns ||
        type.getShape().back() != columns ||
        !hasTypes(product, type.getElementType(), biasType.getElementType()))
      return std::nullopt;
    Value sum = matchSum(op.getBody()->getArgument(number),
                         op.getBody()->getArgument(1 - number));
    if (!sum)
      return std::nullopt;
    Value made = getUnrounded(op, 0);
    std::optional<Activation> activation;
    if (made)
      activation = matchActivation(made, sum);
    bool keepsSum = op->getNumResults() == 2;
    if (!activation || (keepsSum && (*activation != Activation::Gelu ||
                                     columns % keptRowElements != 0 ||
                                     getUnrounded(op, 1) != sum)))
      return std::nullopt;
    return Epilogue{product, bias, *activation, keepsSum};
  }
  return std::nullopt;
}
