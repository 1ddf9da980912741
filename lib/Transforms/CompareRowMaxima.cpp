//===- CompareRowMaxima.cpp - whether all of a row is minus infinity ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax that allows for rows without any score asks of each element whether
// it is minus infinity, and takes the conjunction over the row. It also takes
// the maximum, which answers the question: it is minus infinity if all elements
// are, and NaN if any element is. Then one number of each row is compared
// instead of all elements.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_COMPAREROWMAXIMAPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// A reduction of one tensor by an operation that takes the former value and,
/// last, an element or what is computed of it.
struct RowReduction {
  linalg::GenericOp op;
  Value input;
  /// What is combined with the former value, in the body.
  Value term;
  Operation *combiner;
  /// For each dimension of the result, the dimension of the input.
  SmallVector<unsigned> dims;
};

} // namespace

static std::optional<RowReduction> matchReduction(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op->getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumReductionLoops() == 0)
    return std::nullopt;
  AffineMap inputMap = op.getIndexingMapsArray()[0],
            resultMap = op.getIndexingMapsArray()[1];
  if (!inputMap.isPermutation() || !resultMap.isProjectedPermutation())
    return std::nullopt;
  Block &body = *op.getBody();
  Value old = body.getArgument(1);
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !old.hasOneUse() ||
      !llvm::is_contained(combiner->getOperands(), old))
    return std::nullopt;
  RowReduction row{op,
                   op.getDpsInputs()[0],
                   combiner->getOperand(combiner->getOperand(0) == old ? 1 : 0),
                   combiner,
                   {}};
  // The loops that the result does not have are those that are reduced.
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  if (resultMap.getNumResults() + op.getNumReductionLoops() != loops.size())
    return std::nullopt;
  for (AffineExpr loop : resultMap.getResults()) {
    if (loops[cast<AffineDimExpr>(loop).getPosition()] !=
        utils::IteratorType::parallel)
      return std::nullopt;
    row.dims.push_back(*inputMap.getResultPosition(loop));
  }
  return row;
}

static bool isMinusInfinity(Attribute attribute) {
  auto number = dyn_cast_or_null<FloatAttr>(attribute);
  return number && number.getValue().isInfinity() &&
         number.getValue().isNegative();
}

/// Whether `row` is the conjunction over comparisons with minus infinity.
static bool asksForMinusInfinity(RowReduction &row) {
  auto init = dyn_cast_or_null<IntegerAttr>(
      getSplatConstant(row.op.getDpsInits().front()));
  auto compare = row.term.getDefiningOp<arith::CmpFOp>();
  if (!isa<arith::AndIOp>(row.combiner) || !init ||
      !init.getType().isInteger(1) || init.getValue().isZero() || !compare ||
      compare.getPredicate() != arith::CmpFPredicate::OEQ)
    return false;
  for (unsigned i : {0, 1}) {
    Attribute constant;
    Value value = compare->getOperand(i);
    if (!matchPattern(compare->getOperand(1 - i), m_Constant(&constant)) ||
        !isMinusInfinity(constant))
      continue;
    // A wider type has the same infinities.
    if (auto widening = value.getDefiningOp<arith::ExtFOp>())
      value = widening.getIn();
    if (value == row.op.getBody()->getArgument(0))
      return true;
  }
  return false;
}

/// Whether `row` is the maximum of elements. It has to be NaN if any is.
static bool isMaximum(RowReduction &row) {
  return isa<arith::MaximumFOp>(row.combiner) &&
         row.term == row.op.getBody()->getArgument(0) &&
         isMinusInfinity(getSplatConstant(row.op.getDpsInits().front()));
}

/// The first maximum of the same rows that is there, or is so in time for all
/// that reads `row`.
static std::optional<RowReduction> findMaximum(RowReduction &row) {
  Block *block = row.op->getBlock();
  std::optional<RowReduction> found;
  for (Operation *user : row.input.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (!op || op->getBlock() != block ||
        getBackwardLevel(op) > getBackwardLevel(row.op))
      continue;
    std::optional<RowReduction> maximum = matchReduction(op);
    if (!maximum || !isMaximum(*maximum) ||
        maximum->dims.size() != row.dims.size() ||
        !std::is_permutation(row.dims.begin(), row.dims.end(),
                             maximum->dims.begin()))
      continue;
    bool isInTime = llvm::all_of(row.op->getUsers(), [&](Operation *reader) {
      Operation *ancestor = block->findAncestorOpInBlock(*reader);
      return ancestor && op->isBeforeInBlock(ancestor);
    });
    if (isInTime && (!found || op->isBeforeInBlock(found->op)))
      found = maximum;
  }
  return found;
}

static void rewrite(RewriterBase &rewriter, RowReduction &row,
                    RowReduction &maximum) {
  linalg::GenericOp op = row.op;
  rewriter.setInsertionPoint(
      op->isBeforeInBlock(maximum.op) ? maximum.op->getNextNode() : op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<unsigned> places;
  for (unsigned dim : maximum.dims)
    places.push_back(llvm::find(row.dims, dim) - row.dims.begin());
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> exprs;
  for (unsigned place : places)
    exprs.push_back(getAffineDimExpr(place, context));
  Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps{AffineMap::get(type.getRank(), 0, exprs, context),
                              rewriter.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto compared = linalg::GenericOp::create(
      rewriter, op.getLoc(), TypeRange(type),
      ValueRange(maximum.op->getResult(0)), ValueRange(empty), maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(op.getBody()->getArgument(0), arguments[0]);
        for (Operation &inner : op.getBody()->without_terminator())
          if (&inner != row.combiner)
            builder.clone(inner, mapping);
        linalg::YieldOp::create(builder, loc, mapping.lookup(row.term));
      });
  compared->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  copyBackward(op, empty.getDefiningOp());
  rewriter.replaceOp(op, compared);
}

namespace {
struct CompareRowMaxima
    : public remat::impl::CompareRowMaximaPassBase<CompareRowMaxima> {
  void runOnOperation() override {
    SmallVector<RowReduction> rows;
    getOperation().walk([&](linalg::GenericOp op) {
      std::optional<RowReduction> row = matchReduction(op);
      if (row && asksForMinusInfinity(*row))
        rows.push_back(*row);
    });
    IRRewriter rewriter(&getContext());
    for (RowReduction &row : rows)
      if (std::optional<RowReduction> maximum = findMaximum(row)) {
        rewrite(rewriter, row, *maximum);
        ++numRewritten;
      }
  }
};
} // namespace
