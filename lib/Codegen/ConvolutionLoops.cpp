//===- ConvolutionLoops.cpp - convolutions as structured operations -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no library carries a convolution out, it is one sum of products. The
// loops are those of the result and the filter, or of the result and the
// output; the third factor is read where it has an element, and counts as zero
// elsewhere. Features are split into groups by reshapes.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionLoops.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {

/// The loops: batch, group, features of input and output within the group, and
/// spatial positions of input, output and filter.
struct Loops {
  explicit Loops(unsigned rank) : rank(rank) {}
  unsigned batch = 0, group = 1, in = 2, out = 3;
  unsigned position(unsigned i) const { return 4 + i; }
  unsigned filter(unsigned i) const { return 4 + rank + i; }
  unsigned count() const { return 4 + 2 * rank; }
  unsigned rank;
};

/// A factor with a dimension of its own for the groups.
struct Factor {
  RankedTensorType type;
  /// For each dimension, which loop it is; an input's positions that are not
  /// the result's have none.
  SmallVector<unsigned> loops;
  SmallVector<ReassociationIndices> reshape;
};

class Expander {
public:
  Expander(ConvOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()),
        loops(op.getSpatialRank()) {}
  void run();

private:
  Factor describe(RankedTensorType type, ArrayRef<int64_t> layout,
                  unsigned feature, ArrayRef<unsigned> logical);
  Value split(Value value, const Factor &factor);
  Value emitPosition(unsigned dim, int64_t extent, Value &isInside);
  Value emitBody(OpBuilder &builder, ValueRange args);
  Value convert(Value value);

  ConvOp op;
  RewriterBase &rewriter;
  Location loc;
  Loops loops;
  Type sumType;
  /// What is read at computed positions.
  Factor sparse;
  Value sparseValue;
  /// The loops of the op, by number in `loops`.
  DenseMap<unsigned, unsigned> numbers;
};

} // namespace

/// `logical` says which loop each logical dimension is; the one at `feature`
/// has the groups in it, which become a dimension before it.
Factor Expander::describe(RankedTensorType type, ArrayRef<int64_t> layout,
                          unsigned feature, ArrayRef<unsigned> logical) {
  SmallVector<unsigned> order(layout.size());
  for (auto [number, dim] : llvm::enumerate(layout))
    order[dim] = number;
  Factor factor;
  SmallVector<int64_t> shape;
  for (auto [dim, number] : llvm::enumerate(order)) {
    int64_t size = type.getDimSize(dim);
    ReassociationIndices parts;
    if (number == feature) {
      parts.push_back(shape.size());
      shape.push_back(op.getGroups());
      factor.loops.push_back(loops.group);
      size /= op.getGroups();
    }
    parts.push_back(shape.size());
    shape.push_back(size);
    factor.loops.push_back(logical[number]);
    factor.reshape.push_back(parts);
  }
  factor.type = RankedTensorType::get(shape, type.getElementType());
  return factor;
}

Value Expander::split(Value value, const Factor &factor) {
  return tensor::ExpandShapeOp::create(rewriter, loc, factor.type, value,
                                       factor.reshape);
}

/// The position of spatial dimension `dim` in the factor that is read there,
/// and whether it has one.
Value Expander::emitPosition(unsigned dim, int64_t extent, Value &isInside) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  auto index = [&](unsigned loop) -> Value {
    return linalg::IndexOp::create(rewriter, loc, numbers.lookup(loop));
  };
  auto require = [&](Value condition) {
    isInside = isInside
                   ? arith::AndIOp::create(rewriter, loc, isInside, condition)
                   : condition;
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    return arith::CmpIOp::create(rewriter, loc, predicate, lhs, constant(rhs));
  };
  Value stride = constant(op.getStrides()[dim]);
  Value reach = arith::MulIOp::create(rewriter, loc, index(loops.filter(dim)),
                                      constant(op.getDilations()[dim]));
  Value padding = constant(op.getPadding()[2 * dim]);
  Value position = index(loops.position(dim));
  if (op.getKind() == ConvKind::InputGrad) {
    // Which output has this input under this element of the filter.
    position = arith::AddIOp::create(rewriter, loc, position, padding);
    position = arith::SubIOp::create(rewriter, loc, position, reach);
    require(compare(arith::CmpIPredicate::sge, position, 0));
    Value rest = arith::RemSIOp::create(rewriter, loc, position, stride);
    require(compare(arith::CmpIPredicate::eq, rest, 0));
    position = arith::DivSIOp::create(rewriter, loc, position, stride);
  } else {
    position = arith::MulIOp::create(rewriter, loc, position, stride);
    position = arith::AddIOp::create(rewriter, loc, position, reach);
    position = arith::SubIOp::create(rewriter, loc, position, padding);
    require(compare(arith::CmpIPredicate::sge, position, 0));
  }
  require(compare(arith::CmpIPredicate::slt, position, extent));
  return position;
}

Value Expander::convert(Value value) {
  if (value.getType() == sumType)
    return value;
  if (isa<FloatType>(sumType))
    return cast<FloatType>(value.getType()).getWidth() >
                   cast<FloatType>(sumType).getWidth()
               ? Value(arith::TruncFOp::create(rewriter, loc, sumType, value))
               : Value(arith::ExtFOp::create(rewriter, loc, sumType, value));
  return value.getType().getIntOrFloatBitWidth() >
                 sumType.getIntOrFloatBitWidth()
             ? Value(arith::TruncIOp::create(rewriter, loc, sumType, value))
             : Value(arith::ExtSIOp::create(rewriter, loc, sumType, value));
}

/// sum + factor * (the other, or zero). Left of it is what is added to.
Value Expander::emitBody(OpBuilder &builder, ValueRange args) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(builder.getInsertionBlock(),
                             builder.getInsertionPoint());
  Value isInside;
  SmallVector<Value> positions(loops.rank);
  for (auto [dim, loop] : llvm::enumerate(sparse.loops))
    if (loop >= loops.position(0))
      positions[loop - loops.position(0)] = emitPosition(
          loop - loops.position(0), sparse.type.getDimSize(dim), isInside);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  SmallVector<Value> indices;
  for (unsigned loop : sparse.loops) {
    if (loop < loops.position(0)) {
      indices.push_back(
          linalg::IndexOp::create(rewriter, loc, numbers.lookup(loop)));
      continue;
    }
    indices.push_back(arith::SelectOp::create(
        rewriter, loc, isInside, positions[loop - loops.position(0)], zero));
  }
  Value element =
      convert(tensor::ExtractOp::create(rewriter, loc, sparseValue, indices));
  if (isInside)
    element =
        arith::SelectOp::create(rewriter, loc, isInside, element,
                                createZeroConstant(rewriter, loc, sumType));
  Value factor = convert(args[0]);
  Value product =
      isa<FloatType>(sumType)
          ? Value(arith::MulFOp::create(rewriter, loc, factor, element))
          : Value(arith::MulIOp::create(rewriter, loc, factor, element));
  return createSum(rewriter, loc, args[1], product);
}

void Expander::run() {
  rewriter.setInsertionPoint(op);
  SmallVector<unsigned> inputLoops{loops.batch, loops.in};
  SmallVector<unsigned> outputLoops{loops.batch, loops.out};
  SmallVector<unsigned> filterLoops{loops.out, loops.in};
  for (unsigned i = 0; i < loops.rank; ++i) {
    inputLoops.push_back(loops.position(i));
    outputLoops.push_back(loops.position(i));
    filterLoops.push_back(loops.filter(i));
  }
  Factor input =
      describe(op.getInputType(), op.getInputLayout(), 1, inputLoops);
  Factor filter =
      describe(op.getFilterType(), op.getFilterLayout(), 0, filterLoops);
  Factor output =
      describe(op.getOutputType(), op.getOutputLayout(), 1, outputLoops);
  bool isInputGrad = op.getKind() == ConvKind::InputGrad;
  bool isFilterGrad = op.getKind() == ConvKind::FilterGrad;
  // The operands are x and w, y and w, or x and y.
  const Factor &dense = isFilterGrad ? output : filter;
  const Factor &result = isInputGrad ? input : (isFilterGrad ? filter : output);
  sparse = isInputGrad ? output : input;
  auto resultType = cast<RankedTensorType>(op.getType());
  if (sparse.type.getNumElements() == 0 || dense.type.getNumElements() == 0) {
    rewriter.replaceOp(op, createZeros(rewriter, loc, resultType));
    return;
  }
  Type element = resultType.getElementType();
  auto isNarrow = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  };
  sumType = isNarrow(element) ? Type(rewriter.getF32Type()) : element;
  sparseValue = split(op.getLhs(), sparse);
  Value denseValue = split(op.getRhs(), dense);

  // The loops of the result first, then those that are summed over.
  SmallVector<utils::IteratorType> iterators;
  auto addLoops = [&](ArrayRef<unsigned> added, utils::IteratorType kind) {
    for (unsigned loop : added)
      if (numbers.try_emplace(loop, numbers.size()).second)
        iterators.push_back(kind);
  };
  addLoops(result.loops, utils::IteratorType::parallel);
  addLoops(dense.loops, utils::IteratorType::reduction);
  auto getMap = [&](const Factor &factor) {
    SmallVector<AffineExpr> dims;
    for (unsigned loop : factor.loops)
      dims.push_back(rewriter.getAffineDimExpr(numbers.lookup(loop)));
    return AffineMap::get(numbers.size(), 0, dims, rewriter.getContext());
  };
  auto sumTensor = RankedTensorType::get(result.type.getShape(), sumType);
  auto sum = linalg::GenericOp::create(
      rewriter, loc, sumTensor, denseValue,
      createZeros(rewriter, loc, sumTensor),
      ArrayRef<AffineMap>{getMap(dense), getMap(result)}, iterators,
      [&](OpBuilder &nested, Location, ValueRange args) {
        Value next = emitBody(nested, args);
        linalg::YieldOp::create(nested, loc, next);
      });
  Value value = sum.getResult(0);
  if (sumType != element)
    value = createElementwise(
        rewriter, loc, value, result.type,
        [&](OpBuilder &nested, Location, ValueRange args) -> Value {
          return arith::TruncFOp::create(nested, loc, element, args[0]);
        });
  rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, resultType, value,
                                                       result.reshape);
}

void remat::codegen::expandConvolutions(Operation *root) {
  IRRewriter rewriter(root->getContext());
  for (ConvOp op : collectOps<ConvOp>(root))
    Expander(op, rewriter).run();
}
