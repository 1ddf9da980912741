//===- Slices.cpp - slices at computed places -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice whose offsets are not constants is a gather; writing one is a choice
// between two tensors at each place. Offsets are checked. Writing an element
// is writing a slice of one.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTSLICESPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether a slice of static shape stands at a computed place.
template <typename Op>
static bool isAtComputedPlace(Op op) {
  return !op.getOffsets().empty() && op.getSizes().empty() &&
         op.getStrides().empty() && op.getSourceType().hasStaticShape() &&
         op.getType().hasStaticShape();
}

namespace {
/// The offsets of a slice, inside of a body.
class Offsets {
public:
  template <typename Op>
  Offsets(Op op, ArrayRef<int64_t> shape)
      : offsets(op.getMixedOffsets()), sizes(op.getStaticSizes()),
        strides(op.getStaticStrides()), shape(shape) {}

  /// The offset in dimension `dim`, which keeps the slice inside of `shape`.
  Value get(OpBuilder &builder, Location loc, unsigned dim) const {
    Value offset = getValueOrCreateConstantIndexOp(builder, loc, offsets[dim]);
    if (matchPattern(offset, m_Constant()))
      return offset;
    int64_t extent = (sizes[dim] - 1) * strides[dim];
    Value bound = arith::ConstantIndexOp::create(builder, loc,
                                                 shape[dim] - std::abs(extent));
    if (extent >= 0)
      return CheckIndexOp::create(builder, loc, offset, bound);
    // The last element is the one nearest to the begin of the tensor.
    Value distance = arith::ConstantIndexOp::create(builder, loc, -extent);
    Value last = arith::SubIOp::create(builder, loc, offset, distance);
    last = CheckIndexOp::create(builder, loc, last, bound);
    return arith::AddIOp::create(builder, loc, last, distance);
  }

private:
  SmallVector<OpFoldResult> offsets;
  ArrayRef<int64_t> sizes, strides, shape;
};
} // namespace

static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static void convertExtract(IRRewriter &rewriter, tensor::ExtractSliceOp op) {
  if (op.getType().getNumElements() == 0)
    return;
  rewriter.setInsertionPoint(op);
  Offsets offsets(op, op.getSourceType().getShape());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Value gathered = createElementwise(
      rewriter, op.getLoc(), {}, op.getType(),
      [&](OpBuilder &builder, Location loc, ValueRange) -> Value {
        SmallVector<Value> indices;
        unsigned position = 0;
        for (unsigned dim = 0; dim < dropped.size(); ++dim) {
          Value index = offsets.get(builder, loc, dim);
          if (!dropped[dim]) {
            Value step = linalg::IndexOp::create(builder, loc, position++);
            Value stride =
                createIndex(builder, loc, op.getStaticStrides()[dim]);
            step = arith::MulIOp::create(builder, loc, step, stride);
            index = arith::AddIOp::create(builder, loc, index, step);
          }
          indices.push_back(index);
        }
        return tensor::ExtractOp::create(builder, loc, op.getSource(), indices);
      });
  rewriter.replaceOp(op, gathered);
}

/// At each place of the result: the step of the slice that it is in each
/// dimension, and whether it is one in all of them.
static std::pair<SmallVector<Value>, Value> findSteps(OpBuilder &builder,
                                                      Location loc,
                                                      tensor::InsertSliceOp op,
                                                      const Offsets &offsets) {
  SmallVector<Value> steps;
  Value inside =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, a, b);
    inside = arith::AndIOp::create(builder, loc, inside, holds);
  };
  Value zero = createIndex(builder, loc, 0);
  for (auto [dim, size] : llvm::enumerate(op.getStaticSizes())) {
    Value place = linalg::IndexOp::create(builder, loc, dim);
    Value distance = arith::SubIOp::create(builder, loc, place,
                                           offsets.get(builder, loc, dim));
    // The stride of a single element means nothing, and may be 0.
    Value stride =
        createIndex(builder, loc, size == 1 ? 1 : op.getStaticStrides()[dim]);
    Value step = arith::DivSIOp::create(builder, loc, distance, stride);
    Value rest = arith::RemSIOp::create(builder, loc, distance, stride);
    require(arith::CmpIPredicate::sge, step, zero);
    require(arith::CmpIPredicate::slt, step, createIndex(builder, loc, size));
    require(arith::CmpIPredicate::eq, rest, zero);
    steps.push_back(step);
  }
  return {steps, inside};
}

static void convertInsert(IRRewriter &rewriter, tensor::InsertSliceOp op) {
  if (op.getSourceType().getNumElements() == 0)
    return rewriter.replaceOp(op, op.getDest());
  rewriter.setInsertionPoint(op);
  Offsets offsets(op, op.getDestType().getShape());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Value chosen = createElementwise(
      rewriter, op.getLoc(), op.getDest(), op.getType(),
      [&](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        auto [steps, inside] = findSteps(builder, loc, op, offsets);
        Value zero = createIndex(builder, loc, 0);
        SmallVector<Value> indices;
        for (auto [dim, step] : llvm::enumerate(steps))
          if (!dropped[dim])
            indices.push_back(
                arith::SelectOp::create(builder, loc, inside, step, zero));
        Value value =
            tensor::ExtractOp::create(builder, loc, op.getSource(), indices);
        return arith::SelectOp::create(builder, loc, inside, value, args[0]);
      });
  rewriter.replaceOp(op, chosen);
}

static void convertInsertElement(IRRewriter &rewriter, tensor::InsertOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getRank() == 0)
    return;
  rewriter.setInsertionPoint(op);
  auto scalarType = RankedTensorType::get({}, type.getElementType());
  Value element = tensor::FromElementsOp::create(
      rewriter, op.getLoc(), scalarType, ValueRange{op.getScalar()});
  SmallVector<OpFoldResult> ones(type.getRank(), rewriter.getIndexAttr(1));
  rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
      op, element, op.getDest(), getAsOpFoldResult(op.getIndices()), ones,
      ones);
}

static void convertSplat(IRRewriter &rewriter, tensor::SplatOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape())
    return;
  rewriter.setInsertionPoint(op);
  Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                        type.getElementType());
  rewriter.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
}

/// The body of a tensor.generate computes with the indices of its elements.
static void convertGenerate(IRRewriter &rewriter, tensor::GenerateOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape())
    return;
  rewriter.setInsertionPoint(op);
  Block &block = op.getBody().front();
  Value result = createElementwise(
      rewriter, op.getLoc(), {}, type,
      [&](OpBuilder &builder, Location loc, ValueRange) -> Value {
        IRMapping mapping;
        for (BlockArgument argument : block.getArguments())
          mapping.map(argument, linalg::IndexOp::create(
                                    builder, loc, argument.getArgNumber()));
        for (Operation &inner : block.without_terminator())
          builder.clone(inner, mapping);
        return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
      });
  rewriter.replaceOp(op, result);
}

/// Refuses strides over more than a tensor of `shape`, and offsets that are
/// known by now, as those of unrolled loops are, and take the slice out of it.
template <typename Op>
static LogicalResult checkOffsets(Op op, ArrayRef<int64_t> shape) {
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    std::optional<int64_t> known = getConstantIntValue(offset);
    int64_t size = op.getStaticSizes()[dim],
            stride = op.getStaticStrides()[dim];
    if (size == 0)
      continue;
    int64_t reach, last;
    if (llvm::MulOverflow(size - 1, stride, reach))
      return op.emitOpError("has stride ")
             << stride << " in dimension " << dim << ", of size " << shape[dim]
             << ", where its " << size << " elements leave the tensor";
    if (!known)
      continue;
    if (*known < 0 || *known >= shape[dim] ||
        llvm::AddOverflow(*known, reach, last) || last < 0 ||
        last >= shape[dim])
      return op.emitOpError("has offset ")
             << *known << " in dimension " << dim << ", of size " << shape[dim]
             << ", where its " << size << " elements leave the tensor";
  }
  return success();
}

/// A dimension in which all elements of a slice are one element of the tensor.
template <typename Op>
static std::optional<unsigned> findRepeatedDim(Op op) {
  for (auto [dim, stride] : llvm::enumerate(op.getStaticStrides()))
    if (stride == 0 && op.getStaticSizes()[dim] > 1)
      return dim;
  return std::nullopt;
}

namespace {
struct ImportSlices : public remat::impl::ImportSlicesPassBase<ImportSlices> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::LinalgOp>(op->getParentOp()))
        return;
      if (auto insert = dyn_cast<tensor::InsertOp>(op))
        convertInsertElement(rewriter, insert);
      else if (auto splat = dyn_cast<tensor::SplatOp>(op))
        convertSplat(rewriter, splat);
      else if (auto generate = dyn_cast<tensor::GenerateOp>(op))
        convertGenerate(rewriter, generate);
    });
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
        return WalkResult(convert(rewriter, extract));
      if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
        return WalkResult(convert(rewriter, insert));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  static LogicalResult convert(IRRewriter &rewriter,
                               tensor::ExtractSliceOp op) {
    // The derivative of elements that repeat is the sum of theirs, as that of a
    // gather is.
    if (!isAtComputedPlace(op) &&
        !(op.getOffsets().empty() && findRepeatedDim(op)))
      return success();
    if (failed(checkOffsets(op, op.getSourceType().getShape())))
      return failure();
    convertExtract(rewriter, op);
    return success();
  }
  static LogicalResult convert(IRRewriter &rewriter, tensor::InsertSliceOp op) {
    if (std::optional<unsigned> dim = findRepeatedDim(op))
      return op.emitOpError("has stride 0 in dimension ")
             << *dim << ", where its " << op.getStaticSizes()[*dim]
             << " elements would be written to one place, expected another one";
    if (!isAtComputedPlace(op))
      return success();
    if (failed(checkOffsets(op, op.getDestType().getShape())))
      return failure();
    convertInsert(rewriter, op);
    return success();
  }
};
} // namespace
