//===- NarrowContractionOperands.cpp - factors of one element type --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What widens its results as the last thing it does is split there. Fusion puts
// the widening into those who need it; a contraction reads what is before it,
// in half of the bytes.
//
//===----------------------------------------------------------------------===//

#include "HoistFactorScales.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_NARROWCONTRACTIONOPERANDSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static Type getElement(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// The type before widening that `value` has, by itself or by its maker; null
/// if it is not widened.
static Type getNarrowType(Value value) {
  arith::ExtFOp widening = findWidening(value);
  return widening ? widening.getIn().getType() : Type();
}

/// An elementwise conversion of `tensor`, as part of what `like` is part of.
static Value createWidening(RewriterBase &rewriter, Operation *like,
                            Value tensor, RankedTensorType type) {
  Location loc = like->getLoc();
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  auto op = linalg::GenericOp::create(
      rewriter, loc, TypeRange{type}, ValueRange{tensor}, ValueRange{empty},
      ArrayRef<AffineMap>{identity, identity}, loops,
      [&](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
        Value wide = arith::ExtFOp::create(builder, bodyLoc,
                                           type.getElementType(), arguments[0]);
        linalg::YieldOp::create(builder, bodyLoc, wide);
      });
  for (Operation *made : {empty.getDefiningOp(), op.getOperation()})
    copyBackward(like, made);
  return op.getResult(0);
}

/// Splits the widening of a result off its operation and returns the narrow
/// tensor.
static Value splitWidening(RewriterBase &rewriter, OpResult result) {
  auto op = cast<linalg::GenericOp>(result.getOwner());
  arith::ExtFOp widening = findWidening(result);
  unsigned number = result.getResultNumber();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // Nothing but a widening: its input.
  if (auto argument = dyn_cast<BlockArgument>(widening.getIn());
      argument && argument.getOwner() == op.getBody() &&
      argument.getArgNumber() < op.getNumDpsInputs() &&
      maps[argument.getArgNumber()] == maps[op.getNumDpsInputs() + number])
    return op.getDpsInputs()[argument.getArgNumber()];

  auto wide = cast<RankedTensorType>(result.getType());
  auto narrow = wide.clone(widening.getIn().getType());
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inits(op.getDpsInits());
  inits[number] =
      tensor::EmptyOp::create(rewriter, op.getLoc(), narrow.getShape(),
                              narrow.getElementType())
          .getResult();
  inits[number].getDefiningOp()->setDiscardableAttrs(
      op->getDiscardableAttrDictionary());
  SmallVector<Type> types(op->getResultTypes());
  types[number] = narrow;
  auto split = linalg::GenericOp::create(
      rewriter, op.getLoc(), types, op.getDpsInputs(), inits,
      op.getIndexingMapsAttr(), op.getIteratorTypesAttr(), op.getDocAttr(),
      op.getLibraryCallAttr());
  split->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(op.getRegion(), split.getRegion(),
                              split.getRegion().begin());
  Block &body = *split.getBody();
  body.getArgument(op.getNumDpsInputs() + number)
      .setType(narrow.getElementType());
  body.getTerminator()->setOperand(number, widening.getIn());
  if (widening->use_empty())
    rewriter.eraseOp(widening);
  rewriter.setInsertionPointAfter(split);
  SmallVector<Value> results(split.getResults());
  results[number] = createWidening(rewriter, split, results[number], wide);
  rewriter.replaceOp(op, results);
  return split.getResult(number);
}

/// `value` before it was widened.
static Value getNarrow(RewriterBase &rewriter, Value value) {
  Operation *view = value.getDefiningOp();
  if (!isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(view))
    return splitWidening(rewriter, cast<OpResult>(value));
  Value narrow = getNarrow(rewriter, view->getOperand(0));
  rewriter.setInsertionPoint(view);
  Operation *copy = rewriter.clone(*view);
  copy->setOperand(0, narrow);
  copy->getResult(0).setType(
      cast<RankedTensorType>(value.getType()).clone(getElement(narrow)));
  return copy->getResult(0);
}

static void matchFactors(RewriterBase &rewriter, linalg::ContractOp op) {
  Type types[2], narrow[2];
  for (unsigned i = 0; i < 2; ++i) {
    types[i] = getElement(op.getInputs()[i]);
    if (!isa<FloatType>(types[i]))
      return;
    narrow[i] = getNarrowType(op.getInputs()[i]);
  }
  auto setFactor = [&](unsigned i, Value value) {
    rewriter.modifyOpInPlace(op,
                             [&] { op.getInputsMutable()[i].assign(value); });
  };
  // Sums of narrow products are kept in f32.
  bool isSummedInF32 = getElement(op.getOutputs()[0]).isF32();
  bool isNarrow[2];
  for (unsigned i = 0; i < 2; ++i)
    isNarrow[i] = isSummedInF32 && narrow[i] &&
                  (narrow[i] == types[1 - i] || narrow[i] == narrow[1 - i]);
  unsigned widths[] = {types[0].getIntOrFloatBitWidth(),
                       types[1].getIntOrFloatBitWidth()};
  if (isNarrow[0] || isNarrow[1]) {
    // Either may be remade by what is done to the other.
    for (unsigned i = 0; i < 2; ++i)
      if (isNarrow[i])
        setFactor(i, getNarrow(rewriter, op.getInputs()[i]));
  } else if (widths[0] != widths[1]) {
    unsigned smaller = widths[0] < widths[1] ? 0 : 1;
    Value factor = op.getInputs()[smaller];
    auto type = cast<RankedTensorType>(factor.getType());
    rewriter.setInsertionPoint(op);
    setFactor(smaller, createWidening(rewriter, op, factor,
                                      type.clone(types[1 - smaller])));
  } else {
    return;
  }
  // The body is one of the factors' element types.
  NamedAttrList attributes(op->getAttrs());
  attributes.erase("operandSegmentSizes");
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<linalg::ContractOp>(
      op, op->getResultTypes(), op.getInputs(), op.getOutputs(),
      op.getIndexingMapsAttr(), attributes.getAttrs());
}

namespace {
struct MatchFactors
    : public remat::impl::NarrowContractionOperandsPassBase<MatchFactors> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::ContractOp> contractions =
        collectOps<linalg::ContractOp>(getOperation());
    // Where tiles are multiplied on tensor cores, they take f32 apart.
    bool ofWide = getTargetFacts(getOperation()).getEpilogues();
    for (linalg::ContractOp op : contractions)
      matchFactors(rewriter, hoistFactorScales(rewriter, op, ofWide));
  }
};
} // namespace
