//===- ReassociatedSum.cpp - a sum in the shorter order -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The new sum has a loop for each part of an index, so that all that it reads
// is reshaped to have a dimension for each of them.
//
//===----------------------------------------------------------------------===//

#include "ReassociatedSum.h"

#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

namespace {

class SumRewriter {
public:
  SumRewriter(RewriterBase &rewriter, const ReassociatedSum &sum)
      : rewriter(rewriter), sum(sum), op(sum.op), type(sum.type),
        parts(sum.parts), scale(sum.scale) {}

  void run();

private:
  struct Shapes {
    SmallVector<int64_t> whole, split;
    /// Which dimensions of the tensor each one of `whole` is, and which of
    /// `split`.
    SmallVector<ReassociationIndices> ones, groups;
  };
  Shapes getShapes(ArrayRef<int64_t> shape, ArrayRef<PartedIndex> dims);
  Value arrange(const Access &element, SmallVectorImpl<IndexPart> &dims);
  AffineMap getMap(ArrayRef<IndexPart> dims);
  Value createSum();
  Value createScaled(Value value);
  Value mark(Value value) {
    copyBackward(op, value.getDefiningOp());
    return value;
  }

  RewriterBase &rewriter;
  const ReassociatedSum &sum;
  linalg::GenericOp op;
  FloatType type;
  const IndexParts &parts;
  const ElementProduct &scale;
  /// The loops that are there.
  SmallVector<IndexPart> order;
};

} // namespace

/// What the dimensions of a tensor of `shape` are without those of size 1, and
/// with one for each part.
SumRewriter::Shapes SumRewriter::getShapes(ArrayRef<int64_t> shape,
                                           ArrayRef<PartedIndex> dims) {
  Shapes shapes;
  // Dimensions of size 1 are merged with the one behind them, the last ones
  // with the one before.
  ReassociationIndices ones;
  for (auto [dim, index] : llvm::enumerate(dims)) {
    ones.push_back(dim);
    PartedIndex resolved = parts.resolve(index);
    if (resolved.empty())
      continue;
    shapes.ones.push_back(std::exchange(ones, {}));
    shapes.whole.push_back(shape[dim]);
    ReassociationIndices &group = shapes.groups.emplace_back();
    for (IndexPart part : resolved) {
      group.push_back(shapes.split.size());
      shapes.split.push_back(parts.getSize(part));
    }
  }
  if (!shapes.ones.empty())
    shapes.ones.back().append(ones);
  return shapes;
}

/// The tensor of `element` with a dimension for each part of its indices, which
/// are left in `dims`.
Value SumRewriter::arrange(const Access &element,
                           SmallVectorImpl<IndexPart> &dims) {
  auto from = cast<RankedTensorType>(element.value.getType());
  Shapes shapes = getShapes(from.getShape(), element.dims);
  for (const PartedIndex &index : element.dims)
    dims.append(parts.resolve(index));
  Value value = element.value;
  if (shapes.whole.size() != element.dims.size())
    value = mark(tensor::CollapseShapeOp::create(
        rewriter, op.getLoc(), from.clone(shapes.whole), value, shapes.ones));
  if (shapes.split.size() != shapes.whole.size())
    value = mark(tensor::ExpandShapeOp::create(
        rewriter, op.getLoc(), from.clone(shapes.split), value, shapes.groups));
  return value;
}

AffineMap SumRewriter::getMap(ArrayRef<IndexPart> dims) {
  SmallVector<AffineExpr> exprs;
  for (IndexPart part : dims)
    exprs.push_back(getAffineDimExpr(llvm::find(order, part) - order.begin(),
                                     op.getContext()));
  return AffineMap::get(order.size(), 0, exprs, op.getContext());
}

/// A number in the type of the sum.
static Value convert(OpBuilder &builder, Location loc, Value number,
                     FloatType type) {
  if (number.getType() == type)
    return number;
  if (number.getType().getIntOrFloatBitWidth() > type.getWidth())
    return arith::TruncFOp::create(builder, loc, type, number);
  return arith::ExtFOp::create(builder, loc, type, number);
}

Value SumRewriter::createSum() {
  Location loc = op.getLoc();
  size_t rank = order.size();
  SmallVector<int64_t> shape;
  for (IndexPart part : order)
    shape.push_back(parts.getSize(part));
  // The loops of the sum, for as long as maps are made of them.
  order.append(parts.resolveAll(sum.inner).takeVector());
  SmallVector<IndexPart> firstDims, secondDims;
  Value first = arrange(sum.first, firstDims);
  Value second = arrange(sum.second, secondDims);
  AffineMap maps[] = {getMap(firstDims), getMap(secondDims),
                      getMap(ArrayRef(order).take_front(rank))};
  SmallVector<utils::IteratorType> kinds(order.size(),
                                         utils::IteratorType::reduction);
  std::fill_n(kinds.begin(), rank, utils::IteratorType::parallel);
  order.truncate(rank);
  Value zeros =
      mark(createZeros(rewriter, loc, RankedTensorType::get(shape, type)));
  mark(zeros.getDefiningOp<linalg::FillOp>().getOutputs().front());
  auto made = linalg::GenericOp::create(
      rewriter, loc, TypeRange(zeros.getType()), ValueRange{first, second},
      ValueRange(zeros), maps, kinds,
      [&](OpBuilder &builder, Location inside, ValueRange arguments) {
        Value product = arith::MulFOp::create(
            builder, inside, convert(builder, inside, arguments[0], type),
            convert(builder, inside, arguments[1], type));
        Value total =
            arith::AddFOp::create(builder, inside, arguments[2], product);
        linalg::YieldOp::create(builder, inside, total);
      });
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return made->getResult(0);
}

/// The sum with what is the same for all of its terms.
Value SumRewriter::createScaled(Value value) {
  if (!scale.isNegative && scale.constants.empty() && scale.factors.empty() &&
      scale.gates.empty())
    return value;
  Location loc = op.getLoc();
  SmallVector<Value> inputs{value};
  SmallVector<AffineMap> maps{getMap(order)};
  auto addInput = [&](const Access &element) {
    SmallVector<IndexPart> dims;
    inputs.push_back(arrange(element, dims));
    maps.push_back(getMap(dims));
  };
  for (const ElementProduct::Factor &factor : scale.factors)
    addInput(factor.element);
  for (const ElementProduct::Gate &gate : scale.gates)
    addInput(gate.condition);
  auto resultType = cast<RankedTensorType>(value.getType());
  Value empty =
      mark(tensor::EmptyOp::create(rewriter, loc, resultType.getShape(), type));
  maps.push_back(getMap(order));
  SmallVector<utils::IteratorType> kinds(order.size(),
                                         utils::IteratorType::parallel);
  auto scaled = linalg::GenericOp::create(
      rewriter, loc, TypeRange(resultType), inputs, ValueRange(empty), maps,
      kinds, [&](OpBuilder &builder, Location inside, ValueRange arguments) {
        Value result = arguments[0];
        auto apply = [&](Value factor, bool isDivisor) {
          if (isDivisor)
            result = arith::DivFOp::create(builder, inside, result, factor);
          else
            result = arith::MulFOp::create(builder, inside, result, factor);
        };
        if (scale.isNegative)
          result = arith::NegFOp::create(builder, inside, result);
        for (const ElementProduct::Constant &constant : scale.constants)
          apply(
              arith::ConstantOp::create(
                  builder, inside, builder.getFloatAttr(type, constant.value)),
              constant.isDivisor);
        for (auto [number, factor] : llvm::enumerate(scale.factors))
          apply(convert(builder, inside, arguments[1 + number], type),
                factor.isDivisor);
        for (auto [number, gate] : llvm::enumerate(scale.gates)) {
          Value condition = arguments[1 + scale.factors.size() + number];
          Value zero = createZeroConstant(builder, inside, type);
          result = arith::SelectOp::create(builder, inside, condition,
                                           gate.closesIf ? zero : result,
                                           gate.closesIf ? result : zero);
        }
        linalg::YieldOp::create(builder, inside, result);
      });
  return mark(scaled->getResult(0));
}

void SumRewriter::run() {
  rewriter.setInsertionPoint(op);
  AffineMap map = op.getIndexingMapsArray().back();
  SmallVector<PartedIndex> dims =
      getAccess(op->getResult(0), map, sum.loops)->dims;
  order = parts.resolveAll(dims).takeVector();
  Value value = createScaled(createSum());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  Shapes shapes = getShapes(to.getShape(), dims);
  if (shapes.split.size() != shapes.whole.size())
    value = mark(tensor::CollapseShapeOp::create(
        rewriter, op.getLoc(), to.clone(shapes.whole), value, shapes.groups));
  if (shapes.whole.size() != dims.size())
    value = mark(tensor::ExpandShapeOp::create(rewriter, op.getLoc(), to, value,
                                               shapes.ones));
  rewriter.replaceOp(op, value);
}

void remat::rewriteSum(RewriterBase &rewriter, const ReassociatedSum &sum) {
  SumRewriter(rewriter, sum).run();
}
