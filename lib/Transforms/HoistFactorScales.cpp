//===- HoistFactorScales.cpp - scales of factors behind products ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HoistFactorScales.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

namespace {

/// A factor that is a narrow tensor, widened and multiplied by constants.
struct ScaledFactor {
  /// Views and operations that transpose, from the narrow tensor on, the last
  /// one first.
  SmallVector<Operation *> path;
  Value narrow;
  APFloat scale = APFloat(1.0f);
};

} // namespace

static bool isF32(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType().isF32();
}

static bool isReshape(Operation *op) {
  return isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

/// Whether nobody asked for something about what `op` makes.
static bool isFree(Operation *op) {
  return !op->hasAttr(RematDialect::policyAttrName);
}

/// An elementwise operation with one result, which does not read what was there
/// before; null if `op` is none.
static linalg::GenericOp getElementwise(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 ||
      generic.getNumReductionLoops() != 0 || !isFree(generic) ||
      generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)) ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return {};
  return generic;
}

/// The number by which `mul` multiplies `value`, if it is a constant.
static std::optional<APFloat> getConstantFactor(arith::MulFOp mul,
                                                Value value) {
  FloatAttr constant;
  Value other = mul.getLhs() == value ? mul.getRhs() : mul.getLhs();
  if (other == value || !matchPattern(other, m_Constant(&constant)) ||
      !mul.getType().isF32() || !constant.getValue().isFinite())
    return std::nullopt;
  return constant.getValue();
}

/// Finds what `value` is made of, if that is narrower.
static std::optional<ScaledFactor> findScaled(Value value) {
  ScaledFactor found;
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (isReshape(op)) {
      found.path.push_back(op);
      value = op->getOperand(0);
      continue;
    }
    if (auto transpose = dyn_cast_or_null<linalg::TransposeOp>(op);
        transpose && isFree(op)) {
      found.path.push_back(op);
      value = transpose.getInput();
      continue;
    }
    linalg::GenericOp generic = getElementwise(op);
    if (!generic || generic.getNumDpsInputs() != 1 ||
        !generic.getIndexingMapsArray().front().isPermutation())
      return std::nullopt;
    if (!generic.getIndexingMapsArray().front().isIdentity())
      found.path.push_back(generic);
    // The body is done backwards, from what it yields to its argument.
    Value inner = generic.getBody()->getTerminator()->getOperand(0);
    bool isWidened = false;
    while (inner != generic.getBody()->getArgument(0)) {
      if (auto widening = inner.getDefiningOp<arith::ExtFOp>()) {
        inner = widening.getIn();
        isWidened = true;
        break;
      }
      auto mul = inner.getDefiningOp<arith::MulFOp>();
      if (!mul)
        return std::nullopt;
      Value factor = mul.getLhs();
      std::optional<APFloat> scale = getConstantFactor(mul, factor);
      if (!scale) {
        factor = mul.getRhs();
        scale = getConstantFactor(mul, factor);
      }
      if (!scale)
        return std::nullopt;
      found.scale.multiply(*scale, APFloat::rmNearestTiesToEven);
      inner = factor;
    }
    if (inner != generic.getBody()->getArgument(0))
      return std::nullopt;
    value = generic.getDpsInputs()[0];
    if (!isWidened)
      continue;
    found.narrow = value;
    if (!found.scale.isNormal())
      return std::nullopt;
    return found;
  }
}

/// The narrow tensor as the factor is arranged.
static Value arrange(RewriterBase &rewriter, const ScaledFactor &factor) {
  Value value = factor.narrow;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  for (Operation *op : llvm::reverse(factor.path)) {
    rewriter.setInsertionPoint(op);
    auto type =
        cast<RankedTensorType>(op->getResult(0).getType()).clone(element);
    Operation *copy;
    if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
      Value empty = tensor::EmptyOp::create(rewriter, op->getLoc(),
                                            type.getShape(), element);
      copyBackward(op, empty.getDefiningOp());
      copy = linalg::TransposeOp::create(rewriter, op->getLoc(), value, empty,
                                         transpose.getPermutation());
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      Value empty = tensor::EmptyOp::create(rewriter, op->getLoc(),
                                            type.getShape(), element);
      copyBackward(op, empty.getDefiningOp());
      copy = linalg::GenericOp::create(
          rewriter, op->getLoc(), TypeRange{type}, ValueRange{value},
          ValueRange{empty}, generic.getIndexingMapsArray(),
          generic.getIteratorTypesArray(),
          [](OpBuilder &builder, Location loc, ValueRange inner) {
            linalg::YieldOp::create(builder, loc, inner.front());
          });
    } else {
      copy = rewriter.clone(*op);
      copy->setOperand(0, value);
      copy->getResult(0).setType(type);
    }
    copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    value = copy->getResult(0);
  }
  return value;
}

/// An elementwise operation on `input`, as part of what `like` is part of.
static Value createElementwiseLike(RewriterBase &rewriter, Operation *like,
                                   Value input, Type element, ScalarBody body) {
  Value made = createElementwise(
      rewriter, like->getLoc(), input,
      cast<RankedTensorType>(input.getType()).clone(element), body);
  auto generic = made.getDefiningOp<linalg::GenericOp>();
  copyBackward(like, generic);
  if (Operation *empty = generic.getDpsInits()[0].getDefiningOp())
    copyBackward(like, empty);
  return made;
}

static linalg::ContractOp hoistConstants(RewriterBase &rewriter,
                                         linalg::ContractOp op) {
  APFloat scale(1.0f);
  for (unsigned i = 0; i < 2; ++i) {
    Value factor = op.getInputs()[i];
    if (!isF32(factor))
      continue;
    std::optional<ScaledFactor> found = findScaled(factor);
    if (!found)
      continue;
    // Both together may be too large or too small for a number.
    APFloat both = scale;
    both.multiply(found->scale, APFloat::rmNearestTiesToEven);
    if (!both.isNormal())
      continue;
    scale = both;
    Value narrow = arrange(rewriter, *found);
    rewriter.setInsertionPoint(op);
    Value wide = createElementwiseLike(
        rewriter, op, narrow, rewriter.getF32Type(),
        [](OpBuilder &builder, Location loc, ValueRange inputs) -> Value {
          return arith::ExtFOp::create(builder, loc, builder.getF32Type(),
                                       inputs[0]);
        });
    rewriter.modifyOpInPlace(op,
                             [&] { op.getInputsMutable()[i].assign(wide); });
  }
  if (scale.isExactlyValue(1.0))
    return op;
  rewriter.setInsertionPointAfter(op);
  Value scaled = createElementwiseLike(
      rewriter, op, op->getResult(0), rewriter.getF32Type(),
      [&](OpBuilder &builder, Location loc, ValueRange inputs) -> Value {
        Value number = arith::ConstantOp::create(
            builder, loc, builder.getFloatAttr(builder.getF32Type(), scale));
        return arith::MulFOp::create(builder, loc, inputs[0], number);
      });
  rewriter.replaceAllUsesExcept(op->getResult(0), scaled,
                                scaled.getDefiningOp());
  return op;
}

/// Which operand a body scales by the others: divides, or replaces by zeros.
/// Null if it does anything else with it.
static BlockArgument findScaledArgument(linalg::GenericOp op) {
  Block &body = *op.getBody();
  auto getArgument = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body &&
                   argument.getArgNumber() < op.getNumDpsInputs()
               ? argument
               : BlockArgument();
  };
  // Zeros stay zeros.
  auto isZero = [&](Value value) {
    if (BlockArgument argument = getArgument(value))
      return isZeroTensor(op.getDpsInputs()[argument.getArgNumber()]);
    return matchPattern(value, m_AnyZeroFloat());
  };
  Value value = body.getTerminator()->getOperand(0);
  for (;;) {
    Operation *inner = value.getDefiningOp();
    if (!inner || inner->getBlock() != &body || !value.hasOneUse() ||
        !value.getType().isF32())
      break;
    Value other;
    if (auto div = dyn_cast<arith::DivFOp>(inner)) {
      other = div.getRhs();
      value = div.getLhs();
    } else if (auto select = dyn_cast<arith::SelectOp>(inner)) {
      if (!isZero(select.getTrueValue()) && !isZero(select.getFalseValue()))
        return {};
      other = select.getCondition();
      value = isZero(select.getTrueValue()) ? select.getFalseValue()
                                            : select.getTrueValue();
    } else {
      return {};
    }
    if (!getArgument(other) && other.getParentBlock() == &body)
      return {};
  }
  BlockArgument argument = getArgument(value);
  return argument && argument.hasOneUse() ? argument : BlockArgument();
}

namespace {
/// An operation that scales the rows of a factor by what does not depend on the
/// index that is added up.
struct ScaledRows {
  linalg::GenericOp scale;
  /// The number of its input that is scaled.
  unsigned main;
  /// Which of its dimensions the factor has as one; empty if all as they are.
  SmallVector<ReassociationIndices> groups;
};
} // namespace

static std::optional<ScaledRows> findScaledRows(linalg::ContractOp op,
                                                unsigned number) {
  Value value = op.getInputs()[number];
  SmallVector<tensor::CollapseShapeOp> views;
  while (auto view = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    views.push_back(view);
    value = view.getSrc();
  }
  linalg::GenericOp scale = getElementwise(value.getDefiningOp());
  if (!scale || views.size() > 1)
    return std::nullopt;
  BlockArgument argument = findScaledArgument(scale);
  if (!argument || argument.getArgNumber() >= scale.getNumDpsInputs())
    return std::nullopt;
  unsigned main = argument.getArgNumber();
  SmallVector<AffineMap> maps = scale.getIndexingMapsArray();
  if (!maps[main].isIdentity() || !isF32(scale.getDpsInputs()[main]))
    return std::nullopt;
  AffineMap factorMap = op.getIndexingMapsArray()[number],
            resultMap = op.getIndexingMapsArray()[2];
  if (!factorMap.isProjectedPermutation() ||
      !resultMap.isProjectedPermutation())
    return std::nullopt;
  // The last dimension of the factor is added up, and the others are those of
  // the result in the same order.
  unsigned rank = factorMap.getNumResults();
  unsigned summed = rank;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!resultMap.getResultPosition(factorMap.getResult(dim))) {
      if (summed != rank)
        return std::nullopt;
      summed = dim;
    }
  if (summed != rank - 1 || resultMap.getNumResults() != rank)
    return std::nullopt;
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    if (factorMap.getResult(dim) != resultMap.getResult(dim))
      return std::nullopt;
  SmallVector<ReassociationIndices> groups;
  if (!views.empty()) {
    groups = views.front().getReassociationIndices();
    if (groups.back().size() != 1)
      return std::nullopt;
  }
  unsigned last = maps[main].getNumDims() - 1;
  // The others do not depend on it.
  for (auto [place, map] : llvm::enumerate(maps)) {
    if (place == main || place + 1 == maps.size())
      continue;
    if (map.isFunctionOfDim(last) && !isZeroTensor(scale.getDpsInputs()[place]))
      return std::nullopt;
  }
  if (llvm::any_of(*scale.getBody(), [](Operation &inner) {
        return isa<linalg::IndexOp>(inner);
      }))
    return std::nullopt;
  return ScaledRows{scale, main, std::move(groups)};
}

/// Scales the result of the contraction in the place of its factor.
static linalg::ContractOp hoistRows(RewriterBase &rewriter,
                                    linalg::ContractOp op, unsigned number,
                                    const ScaledRows &rows) {
  linalg::GenericOp scale = rows.scale;
  unsigned main = rows.main;
  ArrayRef<ReassociationIndices> groups = rows.groups;
  SmallVector<AffineMap> maps = scale.getIndexingMapsArray();
  unsigned innerRank = maps[main].getNumDims(), last = innerRank - 1;
  // The contraction reads what is before.
  rewriter.setInsertionPoint(op);
  Value before = scale.getDpsInputs()[main];
  if (!groups.empty())
    before = tensor::CollapseShapeOp::create(rewriter, op.getLoc(),
                                             op.getInputs()[number].getType(),
                                             before, groups);
  if (Operation *view = before.getDefiningOp(); view && !groups.empty())
    copyBackward(op, view);
  auto copy = cast<linalg::ContractOp>(rewriter.clone(*op));
  copy.getInputsMutable()[number].assign(before);
  // Its result is scaled.
  Value result = copy->getResult(0);
  auto resultType = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(scale->getResult(0).getType()).getShape());
  shape.back() = resultType.getShape().back();
  auto innerType = resultType.clone(shape);
  SmallVector<Operation *> made;
  if (!groups.empty()) {
    result = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), innerType,
                                           result, groups);
    made.push_back(result.getDefiningOp());
  }
  SmallVector<Value> inputs(scale.getDpsInputs());
  inputs[main] = result;
  Location loc = scale.getLoc();
  for (auto [place, input] : llvm::enumerate(inputs))
    if (place != main && isZeroTensor(input) &&
        maps[place].isFunctionOfDim(last)) {
      input =
          createZeros(rewriter, loc,
                      innerType.clone(getElementTypeOrSelf(input.getType())));
      maps[place] = rewriter.getMultiDimIdentityMap(innerRank);
      made.push_back(input.getDefiningOp());
    }
  Value empty = tensor::EmptyOp::create(rewriter, loc, innerType.getShape(),
                                        innerType.getElementType());
  made.push_back(empty.getDefiningOp());
  auto scaled = linalg::GenericOp::create(
      rewriter, loc, TypeRange{innerType}, inputs, ValueRange{empty},
      rewriter.getAffineMapArrayAttr(maps), scale.getIteratorTypesAttr(),
      /*doc=*/nullptr, /*library_call=*/nullptr);
  rewriter.cloneRegionBefore(scale.getRegion(), scaled.getRegion(),
                             scaled.getRegion().begin());
  made.push_back(scaled);
  result = scaled->getResult(0);
  if (!groups.empty()) {
    result = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), resultType,
                                             result, groups);
    made.push_back(result.getDefiningOp());
  }
  for (Operation *other : made)
    copyBackward(op, other);
  rewriter.replaceOp(op, result);
  return copy;
}

/// Whether a factor has elements of 16 bits, or is made of them.
static bool isNarrow(Value factor) {
  Type type = getElementTypeOrSelf(factor.getType());
  return type.isF16() || type.isBF16() || findWidening(factor) ||
         findScaled(factor);
}

linalg::ContractOp remat::hoistFactorScales(RewriterBase &rewriter,
                                            linalg::ContractOp op,
                                            bool ofWide) {
  bool isStatic = llvm::all_of(op->getOperandTypes(), [](Type type) {
    return cast<ShapedType>(type).hasStaticShape();
  });
  if (!isStatic || !isF32(op->getResult(0)) || !startsFromZeros(op) ||
      !isFree(op) || (!ofWide && !llvm::any_of(op.getInputs(), isNarrow)))
    return op;
  // Fewer elements are scaled.
  for (unsigned number = 0; number < 2; ++number)
    while (isF32(op.getInputs()[number]) &&
           cast<ShapedType>(op.getInputs()[number].getType()).getNumElements() >
               cast<ShapedType>(op->getResult(0).getType()).getNumElements()) {
      std::optional<ScaledRows> rows = findScaledRows(op, number);
      if (!rows)
        break;
      op = hoistRows(rewriter, op, number, *rows);
    }
  return hoistConstants(rewriter, op);
}
