//===- TensorRules.cpp - derivatives of tensor operations -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that move elements. Each goes back by the one that moves them
// the other way, and forwards by itself.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"

#include "Emit.h"
#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

/// A rule that is a function of the operation and the cotangent of its only
/// result, which is not zero.
template <typename OpT,
          LogicalResult (*emit)(OpT op, Value cotangent, ReverseContext &)>
struct Model : DerivativeRule<Model<OpT, emit>, OpT> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Value cotangent = context.cotangent(op->getResult(0));
    return cotangent ? emit(cast<OpT>(op), cotangent, context) : success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    emitLinearJVP(op, context);
    return success();
  }
};

RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

LogicalResult vjpExpandShape(tensor::ExpandShapeOp op, Value cotangent,
                             ReverseContext &context) {
  context.accumulate(op.getSrc(), tensor::CollapseShapeOp::create(
                                      context.getBuilder(), context.getLoc(),
                                      op.getSrcType(), cotangent,
                                      op.getReassociationIndices()));
  return success();
}

LogicalResult vjpCollapseShape(tensor::CollapseShapeOp op, Value cotangent,
                               ReverseContext &context) {
  context.accumulate(op.getSrc(), tensor::ExpandShapeOp::create(
                                      context.getBuilder(), context.getLoc(),
                                      op.getSrcType(), cotangent,
                                      op.getReassociationIndices()));
  return success();
}

LogicalResult vjpCast(tensor::CastOp op, Value cotangent,
                      ReverseContext &context) {
  context.accumulate(op.getSource(), tensor::CastOp::create(
                                         context.getBuilder(), context.getLoc(),
                                         op.getSource().getType(), cotangent));
  return success();
}

/// The offsets, sizes or strides of a slice in the backward computation.
SmallVector<OpFoldResult> primals(DerivativeContext &context,
                                  ArrayRef<OpFoldResult> values) {
  SmallVector<OpFoldResult> results;
  for (OpFoldResult value : values) {
    if (auto dynamic = dyn_cast<Value>(value))
      value = context.primal(dynamic);
    results.push_back(value);
  }
  return results;
}

template <typename Op>
bool isStaticSlice(Op op) {
  return op.getOffsets().empty() && op.getSizes().empty() &&
         op.getStrides().empty();
}

LogicalResult vjpExtractSlice(tensor::ExtractSliceOp op, Value cotangent,
                              ReverseContext &context) {
  if (op.getType().getNumElements() == 0)
    return success();
  if (isStaticSlice(op)) {
    context.accumulateSlice(op.getSource(), cotangent, op.getStaticOffsets(),
                            op.getStaticSizes(), op.getStaticStrides());
    return success();
  }
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Value zeros = createZeros(builder, loc, op.getSourceType());
  context.accumulate(
      op.getSource(),
      tensor::InsertSliceOp::create(builder, loc, cotangent, zeros,
                                    primals(context, op.getMixedOffsets()),
                                    primals(context, op.getMixedSizes()),
                                    primals(context, op.getMixedStrides())));
  return success();
}

LogicalResult vjpInsertSlice(tensor::InsertSliceOp op, Value cotangent,
                             ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  if (op.getSourceType().getNumElements() == 0) {
    context.accumulate(op.getDest(), cotangent);
    return success();
  }
  SmallVector<OpFoldResult> offsets = primals(context, op.getMixedOffsets());
  SmallVector<OpFoldResult> sizes = primals(context, op.getMixedSizes());
  SmallVector<OpFoldResult> strides = primals(context, op.getMixedStrides());
  if (context.isActive(op.getSource()))
    context.accumulate(op.getSource(), tensor::ExtractSliceOp::create(
                                           builder, loc, op.getSourceType(),
                                           cotangent, offsets, sizes, strides));
  if (context.isActive(op.getDest())) {
    Value zeros = createZeros(builder, loc, op.getSourceType());
    context.accumulate(op.getDest(), tensor::InsertSliceOp::create(
                                         builder, loc, zeros, cotangent,
                                         offsets, sizes, strides));
  }
  return success();
}

LogicalResult vjpConcat(tensor::ConcatOp op, Value cotangent,
                        ReverseContext &context) {
  int64_t dim = op.getDim();
  SmallVector<int64_t> offsets(typeOf(cotangent).getRank(), 0);
  SmallVector<int64_t> strides(offsets.size(), 1);
  for (Value input : op.getInputs()) {
    RankedTensorType type = typeOf(input);
    if (context.isActive(input))
      context.accumulate(input,
                         createExtractSlice(context.getBuilder(),
                                            context.getLoc(), cotangent, type,
                                            offsets, type.getShape(), strides));
    offsets[dim] += type.getDimSize(dim);
  }
  return success();
}

/// The value that is written around the source, if it is the same everywhere.
Value getPadding(tensor::PadOp op) {
  Value value = cast<tensor::YieldOp>(op.getBody()->getTerminator()).getValue();
  return value.getParentRegion() == &op.getRegion() ? Value() : value;
}

/// Refuses padding that the region computes from an active value.
LogicalResult checkPadding(tensor::PadOp op, const Activity &activity) {
  bool active = false;
  op.getBody()->walk([&](Operation *inner) {
    active |= llvm::any_of(inner->getOperands(), [&](Value value) {
      return value.getParentRegion() != &op.getRegion() &&
             activity.isActive(value);
    });
  });
  if (active && !getPadding(op))
    return op.emitOpError("has no derivative rule: expected the padding to "
                          "be one value from outside of the region");
  return success();
}

LogicalResult vjpPad(tensor::PadOp op, Value cotangent,
                     ReverseContext &context) {
  if (!op.getLow().empty() || !op.getHigh().empty())
    return op.emitOpError(
        "has no derivative rule: expected static amounts of padding");
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  RankedTensorType type = op.getSourceType();
  ArrayRef<int64_t> offsets = op.getStaticLow();
  SmallVector<int64_t> strides(offsets.size(), 1);
  Value inside = createExtractSlice(builder, loc, cotangent, type, offsets,
                                    type.getShape(), strides);
  context.accumulate(op.getSource(), inside);

  if (failed(checkPadding(op, context)))
    return failure();
  Value padding = getPadding(op);
  if (!padding || !context.isActive(padding))
    return success();
  // The cotangents outside of the source: those inside are overwritten.
  Value zeros = createZeros(builder, loc, type);
  Value around = createInsertSlice(builder, loc, zeros, cotangent, offsets,
                                   type.getShape(), strides);
  context.accumulate(
      padding,
      tensor::ExtractOp::create(builder, loc, createTotal(builder, loc, around),
                                ValueRange()));
  return success();
}

SmallVector<Value> primals(DerivativeContext &context, ValueRange values) {
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(context.primal(value));
  return results;
}

LogicalResult vjpExtract(tensor::ExtractOp op, Value cotangent,
                         ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Value zeros = createZeros(builder, context.getLoc(), typeOf(op.getTensor()));
  context.accumulate(
      op.getTensor(),
      tensor::InsertOp::create(builder, context.getLoc(), cotangent, zeros,
                               primals(context, op.getIndices())));
  return success();
}

LogicalResult vjpInsert(tensor::InsertOp op, Value cotangent,
                        ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  SmallVector<Value> indices = primals(context, op.getIndices());
  if (context.isActive(op.getScalar()))
    context.accumulate(op.getScalar(), tensor::ExtractOp::create(
                                           builder, loc, cotangent, indices));
  if (context.isActive(op.getDest())) {
    Value zero = createZeroConstant(builder, loc, op.getScalar().getType());
    context.accumulate(
        op.getDest(),
        tensor::InsertOp::create(builder, loc, zero, cotangent, indices));
  }
  return success();
}

LogicalResult vjpFromElements(tensor::FromElementsOp op, Value cotangent,
                              ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  ArrayRef<int64_t> shape = typeOf(op.getResult()).getShape();
  for (auto [number, element] : llvm::enumerate(op.getElements())) {
    if (!context.isActive(element))
      continue;
    SmallVector<Value> indices(shape.size());
    int64_t rest = number;
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      indices[dim] =
          arith::ConstantIndexOp::create(builder, loc, rest % shape[dim]);
      rest /= shape[dim];
    }
    context.accumulate(
        element, tensor::ExtractOp::create(builder, loc, cotangent, indices));
  }
  return success();
}

LogicalResult vjpSplat(tensor::SplatOp op, Value cotangent,
                       ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Value total = createTotal(builder, context.getLoc(), cotangent);
  context.accumulate(op.getInput(),
                     tensor::ExtractOp::create(builder, context.getLoc(), total,
                                               ValueRange()));
  return success();
}

/// The tangent is padded by that of the padding.
struct PadModel : DerivativeRule<PadModel, tensor::PadOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Value cotangent = context.cotangent(op->getResult(0));
    return cotangent ? vjpPad(cast<tensor::PadOp>(op), cotangent, context)
                     : success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto pad = cast<tensor::PadOp>(op);
    if (failed(checkPadding(pad, context)))
      return failure();
    OpBuilder &builder = context.getBuilder();
    Value padding = getPadding(pad);
    Value value = padding ? context.tangentOrZero(padding)
                          : createZeroConstant(builder, context.getLoc(),
                                               pad.getType().getElementType());
    context.addTangent(
        pad.getResult(),
        tensor::PadOp::create(builder, context.getLoc(), pad.getType(),
                              context.tangentOrZero(pad.getSource()),
                              primals(context, pad.getMixedLowPad()),
                              primals(context, pad.getMixedHighPad()), value));
    return success();
  }
};

} // namespace

void remat::emitLinearJVP(Operation *op, ForwardContext &context) {
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value tangent = context.tangentOrZero(operand);
    mapping.map(operand, tangent ? tangent : context.primal(operand));
  }
  Operation *clone = context.getBuilder().clone(*op, mapping);
  clone->setLoc(context.getLoc());
  for (auto [result, tangent] :
       llvm::zip(op->getResults(), clone->getResults()))
    context.addTangent(result, tangent);
}

void remat::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachRules<Model<tensor::ExpandShapeOp, vjpExpandShape>,
                Model<tensor::CollapseShapeOp, vjpCollapseShape>,
                Model<tensor::CastOp, vjpCast>,
                Model<tensor::ExtractSliceOp, vjpExtractSlice>,
                Model<tensor::InsertSliceOp, vjpInsertSlice>,
                Model<tensor::ConcatOp, vjpConcat>, PadModel,
                Model<tensor::ExtractOp, vjpExtract>,
                Model<tensor::InsertOp, vjpInsert>,
                Model<tensor::FromElementsOp, vjpFromElements>,
                Model<tensor::SplatOp, vjpSplat>>(context);
  });
}
