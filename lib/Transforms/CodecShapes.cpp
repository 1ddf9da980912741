//===- CodecShapes.cpp - static shapes for generic functions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which types an argument of dynamic shape may have, and patterns by which the
// operations of a function become static when its arguments are.
//
//===----------------------------------------------------------------------===//

#include "CodecFunctions.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace remat;

bool remat::mayHaveType(Type pattern, RankedTensorType type) {
  if (auto unranked = dyn_cast<UnrankedTensorType>(pattern))
    return unranked.getElementType() == type.getElementType();
  auto ranked = dyn_cast<RankedTensorType>(pattern);
  if (!ranked || ranked.getElementType() != type.getElementType() ||
      ranked.getEncoding() != type.getEncoding() ||
      ranked.getRank() != type.getRank())
    return false;
  return llvm::all_of(llvm::zip(ranked.getShape(), type.getShape()),
                      [](auto sizes) {
                        auto [wanted, given] = sizes;
                        return ShapedType::isDynamic(wanted) || wanted == given;
                      });
}

bool remat::takesElementsInOrder(Type pattern, RankedTensorType type) {
  auto ranked = dyn_cast<RankedTensorType>(pattern);
  return ranked && ranked.getRank() == 1 && ranked.isDynamicDim(0) &&
         !ranked.getEncoding() && !type.getEncoding() &&
         ranked.getElementType() == type.getElementType();
}

/// The value of static shape that `value` is but for a cast, or `value`.
static Value skipCasts(Value value) {
  Value known = value;
  while (auto cast = known.getDefiningOp<tensor::CastOp>()) {
    known = cast.getSource();
    if (cast.getSource().getType().hasStaticShape())
      return known;
  }
  return value;
}

namespace {
/// An elementwise operation has the shape of any of its operands.
struct RefineElementwise : RewritePattern {
  explicit RefineElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) ||
        llvm::none_of(op->getResultTypes(), isDynamic))
      return failure();
    RankedTensorType shape;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(skipCasts(operand));
      auto type = dyn_cast<RankedTensorType>(operands.back().getType());
      if (type && type.hasStaticShape())
        shape = type;
    }
    if (!shape)
      return failure();
    for (Value &operand : operands)
      if (isDynamic(operand.getType())) {
        auto type = cast<TensorType>(operand.getType());
        Type refined = shape.clone(type.getElementType());
        if (!tensor::CastOp::areCastCompatible(type, refined))
          return failure();
        operand =
            tensor::CastOp::create(rewriter, op->getLoc(), refined, operand);
      }
    Operation *refined = rewriter.clone(*op);
    refined->setOperands(operands);
    SmallVector<Value> results;
    for (OpResult result : refined->getResults()) {
      auto type = cast<TensorType>(result.getType());
      result.setType(shape.clone(type.getElementType()));
      results.push_back(
          tensor::CastOp::create(rewriter, op->getLoc(), type, result));
    }
    rewriter.replaceOp(op, results);
    return success();
  }

  static bool isDynamic(Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && !tensor.hasStaticShape();
  }
};

/// A splat with constant sizes.
struct RefineSplat : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (op.getDynamicSizes().empty())
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    auto size = op.getDynamicSizes().begin();
    for (int64_t &extent : shape) {
      if (!ShapedType::isDynamic(extent))
        continue;
      std::optional<int64_t> known = getConstantIntValue(*size++);
      if (!known || *known < 0)
        return failure();
      extent = *known;
    }
    Value refined = tensor::SplatOp::create(rewriter, op.getLoc(),
                                            op.getInput(), type.clone(shape));
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, type, refined);
    return success();
  }
};
} // namespace

FrozenRewritePatternSet remat::getShapePatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, context);
  patterns.add<RefineElementwise, RefineSplat>(context);
  return FrozenRewritePatternSet(std::move(patterns));
}
