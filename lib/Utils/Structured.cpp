//===- Structured.cpp - questions about structured operations -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Structured.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> remat::getLoopSizes(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes(maps.front().getNumDims(), ShapedType::kDynamic);
  for (auto [type, map] : llvm::zip(op->getOperandTypes(), maps)) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      continue;
    for (auto [size, expr] : llvm::zip(shaped.getShape(), map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && sizes[loop.getPosition()] == ShapedType::kDynamic)
        sizes[loop.getPosition()] = size;
  }
  return sizes;
}

int64_t remat::getBodySize(linalg::GenericOp op) {
  return llvm::range_size(op.getBody()->without_terminator());
}

bool remat::isCalledFunction(Operation *op) {
  if (isa<arith::RemFOp>(op))
    return op->getResult(0).getType().isF64();
  // Instructions, and polynomials.
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
      isa<math::AbsFOp, math::CeilOp, math::ClampFOp, math::CopySignOp,
          math::Exp2Op, math::ExpM1Op, math::ExpOp, math::FloorOp, math::FmaOp,
          math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp,
          math::Log1pOp, math::LogOp, math::RoundEvenOp, math::RsqrtOp,
          math::SqrtOp, math::TanhOp, math::TruncOp>(op))
    return false;
  return op->getResult(0).getType().isF64();
}

int64_t remat::getNumPoints(linalg::LinalgOp op) {
  int64_t points = 1;
  for (int64_t size : getLoopSizes(op)) {
    if (ShapedType::isDynamic(size))
      return size;
    points *= size;
  }
  return points;
}

bool remat::isSmall(Value value, int64_t points) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type ||
         (type.hasStaticShape() && type.getNumElements() * 8 <= points);
}

std::optional<LoopList>
remat::getLeadingLoops(AffineMap map, RankedTensorType type, int64_t rows) {
  LoopList loops;
  int64_t points = 1;
  for (auto [size, expr] : llvm::zip(type.getShape(), map.getResults())) {
    if (points == rows)
      break;
    points *= size;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    loops.push_back(dim.getPosition());
  }
  if (points != rows)
    return std::nullopt;
  return loops;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SetVector<Value> remat::getReadValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

TypedAttr remat::getSplatConstant(Value tensor) {
  // Views keep all elements.
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op))
      break;
    tensor = op->getOperand(0);
  }
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    Attribute value;
    if (!matchPattern(fill.value(), m_Constant(&value)))
      return {};
    return dyn_cast<TypedAttr>(value);
  }
  DenseElementsAttr elements;
  if (!matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

arith::ExtFOp remat::findWidening(Value value) {
  auto result = dyn_cast<OpResult>(getViewRoot(value));
  auto op = result ? dyn_cast<linalg::GenericOp>(result.getOwner())
                   : linalg::GenericOp();
  if (!op || op.getNumReductionLoops() != 0 ||
      op->hasAttr(RematDialect::policyAttrName) ||
      op.payloadUsesValueFromOperand(
          op.getDpsInitOperand(result.getResultNumber())))
    return {};
  return op.getBody()
      ->getTerminator()
      ->getOperand(result.getResultNumber())
      .getDefiningOp<arith::ExtFOp>();
}

bool remat::isRoundedInBody(Value element) {
  return llvm::all_of(element.getUsers(), [](Operation *user) {
    if (isa<arith::TruncFOp>(user))
      return cast<FloatType>(user->getResult(0).getType()).getWidth() <= 16;
    return user->getNumRegions() == 0 && user->getNumResults() != 0 &&
           llvm::all_of(user->getResults(), isRoundedInBody);
  });
}

bool remat::isZeroTensor(Value tensor) {
  TypedAttr value = getSplatConstant(tensor);
  if (auto real = dyn_cast_or_null<FloatAttr>(value))
    return real.getValue().isPosZero();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(value))
    return integer.getValue().isZero();
  return false;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Looks through conversions between floating-point types.
static Value skipFloatCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool remat::isContractionBody(Block &body) {
  Operation *terminator = body.getTerminator();
  if (body.getNumArguments() != 3 || terminator->getNumOperands() != 1)
    return false;
  BlockArgument accumulator = body.getArgument(2);
  auto sum = terminator->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return false;
  Value term = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = term.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  Value lhs = skipFloatCasts(product.getLhs());
  Value rhs = skipFloatCasts(product.getRhs());
  Value a = body.getArgument(0), b = body.getArgument(1);
  return (lhs == a && rhs == b) || (lhs == b && rhs == a);
}

std::optional<Permutation> remat::matchPermutation(Operation *op) {
  if (auto transpose = dyn_cast_or_null<linalg::TransposeOp>(op))
    return Permutation{transpose.getInput(),
                       llvm::to_vector(transpose.getPermutation())};
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1)
    return {};
  Block *body = generic.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  if (yield.getOperand(0) != body->getArgument(0) ||
      llvm::range_size(body->without_terminator()) != 0)
    return {};
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  if (!maps[0].isPermutation() || !maps[1].isPermutation())
    return {};
  // Result dimension i runs over loop maps[1](i), which indexes one dimension
  // of the input.
  AffineMap inputOfLoop = inversePermutation(maps[0]);
  SmallVector<int64_t> dims;
  for (unsigned i = 0, e = maps[1].getNumResults(); i < e; ++i)
    dims.push_back(inputOfLoop.getDimPosition(maps[1].getDimPosition(i)));
  return Permutation{generic.getDpsInputOperand(0)->get(), dims};
}

/// Looks through one cast of a block argument. `castFn` is set if the cast is
/// of integers.
static BlockArgument lookThroughCast(Value value,
                                     std::optional<linalg::TypeFn> &castFn) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument;
  Operation *op = value.getDefiningOp();
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
           arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return {};
  if (isa<arith::ExtUIOp, arith::UIToFPOp>(op))
    castFn = linalg::TypeFn::cast_unsigned;
  else if (isa<arith::ExtSIOp, arith::SIToFPOp>(op))
    castFn = linalg::TypeFn::cast_signed;
  return dyn_cast<BlockArgument>(op->getOperand(0));
}

std::optional<ContractionBody>
remat::matchContractionBody(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return {};
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  Operation *add = yielded.getDefiningOp();
  bool isBool = yielded.getType().isInteger(1);
  if (!add || add->getBlock() != body ||
      !(isBool ? isa<arith::OrIOp>(add)
               : isa<arith::AddFOp, arith::AddIOp, complex::AddOp>(add)))
    return {};
  Value accumulator = body->getArgument(2);
  if (!llvm::is_contained(add->getOperands(), accumulator))
    return {};
  Value product = add->getOperand(add->getOperand(0) == accumulator ? 1 : 0);
  Operation *mul = product.getDefiningOp();
  if (!mul || mul->getBlock() != body ||
      !(isBool ? isa<arith::AndIOp>(mul)
               : isa<arith::MulFOp, arith::MulIOp, complex::MulOp>(mul)))
    return {};
  std::optional<linalg::TypeFn> lhsCast, rhsCast;
  BlockArgument lhs = lookThroughCast(mul->getOperand(0), lhsCast);
  BlockArgument rhs = lookThroughCast(mul->getOperand(1), rhsCast);
  if (!lhs || !rhs || lhs.getOwner() != body || rhs.getOwner() != body)
    return {};
  if (lhs.getArgNumber() + rhs.getArgNumber() != 1)
    return {};
  if (lhsCast && rhsCast && *lhsCast != *rhsCast)
    return {};
  // A product that is used twice, or anything else in the body, is not seen
  // here; the callers rebuild the operation from this description.
  unsigned numOps = llvm::range_size(body->without_terminator());
  unsigned numCasts = !isa<BlockArgument>(mul->getOperand(0)) +
                      !isa<BlockArgument>(mul->getOperand(1));
  if (numOps != 2 + numCasts)
    return {};
  return ContractionBody{lhsCast   ? *lhsCast
                         : rhsCast ? *rhsCast
                                   : linalg::TypeFn::cast_signed};
}

//===----------------------------------------------------------------------===//
// Contractions that are added to something
//===----------------------------------------------------------------------===//

bool remat::startsFromZeros(linalg::LinalgOp contraction) {
  TypedAttr value = getSplatConstant(contraction.getDpsInits().front());
  if (auto real = dyn_cast_or_null<FloatAttr>(value))
    return real.getValue().isZero();
  auto integer = dyn_cast_or_null<IntegerAttr>(value);
  return integer && integer.getValue().isZero();
}

std::optional<AddedContraction>
remat::matchAddedContraction(linalg::GenericOp sum) {
  if (sum.getNumDpsInputs() != 2 || sum->getNumResults() != 1 ||
      sum->hasAttr(rowsAttrName) ||
      !llvm::all_of(sum.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block *body = sum.getBody();
  if (body->getOperations().size() != 2 || !isa<arith::AddFOp>(body->front()) ||
      body->getTerminator()->getOperand(0) != body->front().getResult(0))
    return std::nullopt;
  Value lhs = body->front().getOperand(0), rhs = body->front().getOperand(1);
  if (lhs == rhs || lhs.getParentBlock() != body ||
      lhs == body->getArgument(2) || rhs.getParentBlock() != body ||
      rhs == body->getArgument(2))
    return std::nullopt;
  for (unsigned number : {0, 1}) {
    auto contraction =
        sum.getDpsInputs()[number].getDefiningOp<linalg::LinalgOp>();
    if (contraction && linalg::isaContractionOpInterface(contraction) &&
        contraction->getNumResults() == 1 && startsFromZeros(contraction) &&
        contraction->getResultTypes() == sum->getResultTypes())
      return AddedContraction{contraction, sum.getDpsInputs()[1 - number]};
  }
  return std::nullopt;
}
