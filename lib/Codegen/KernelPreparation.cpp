//===- KernelPreparation.cpp - kernels ready for bufferization ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites a kernel on tensors into the forms that the loop emitter expects and
// that bufferize without copies: named structured ops become linalg.generic,
// fills of inits become an attribute of the op that they initialize, and pads
// and insertions become writes of disjoint slices.
//
//===----------------------------------------------------------------------===//

#include "RoundedSigns.h"
#include "WidenScatters.h"
#include "remat/Codegen/KernelBufferization.h"
#include "remat/Codegen/KernelContext.h"

#include "ConvolutionLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {

Value createEmpty(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType());
}

/// Keeps what task formation decided on an op that is replaced.
void copyRows(DictionaryAttr from, Operation *to) {
  for (StringRef name : {StringRef(rowsAttrName), StringRef(blockAttrName),
                         StringRef(factorAttrName)})
    if (Attribute attr = from.get(name))
      to->setAttr(name, attr);
}

/// A dense constant of one value becomes a fill, tensor.splat too.
struct SplatToFill : RewritePattern {
  explicit SplatToFill(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value scalar;
    if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
      scalar = splat.getInput();
    } else {
      DenseElementsAttr elements;
      if (!isa<arith::ConstantOp>(op) ||
          !matchPattern(op, m_Constant(&elements)) || !elements.isSplat())
        return failure();
      rewriter.setInsertionPoint(op);
      scalar = createScalarConstant(rewriter, op->getLoc(),
                                    elements.getElementType(),
                                    elements.getSplatValue<Attribute>());
    }
    Value empty = createEmpty(rewriter, op->getLoc(), op->getResult(0));
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, scalar, empty);
    return success();
  }
};

/// Every structured op but fill and copy becomes a linalg.generic.
struct Generalize : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::GenericOp, linalg::FillOp, linalg::CopyOp>(op))
      return failure();
    DictionaryAttr attrs = op->getDiscardableAttrDictionary();
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (succeeded(generic))
      copyRows(attrs, *generic);
    return generic;
  }
};

/// The constant that `init` is filled with, or null. Complex numbers, which no
/// typed attribute holds, stay fills.
TypedAttr getFillConstant(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  Attribute constant;
  if (!fill || !matchPattern(fill.value(), m_Constant(&constant)))
    return {};
  return dyn_cast<TypedAttr>(constant);
}

/// Replaces inits that are filled with a constant, or whose contents the op
/// ignores, by empty tensors. An elementwise op reads other inits as inputs.
struct DetachInits : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    unsigned numInits = op.getNumDpsInits();
    SmallVector<Attribute> inits(numInits, rewriter.getUnitAttr());
    if (auto old = op->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName))
      inits.assign(old.begin(), old.end());
    bool changed = false;
    for (unsigned number = 0; number < numInits; ++number) {
      OpOperand *init = op.getDpsInitOperand(number);
      if (init->get().getDefiningOp<tensor::EmptyOp>())
        continue;
      if (op.payloadUsesValueFromOperand(init)) {
        Attribute constant = getFillConstant(init->get());
        if (!constant)
          continue;
        inits[number] = constant;
      }
      Value empty = createEmpty(rewriter, op.getLoc(), init->get());
      rewriter.modifyOpInPlace(op, [&] { init->set(empty); });
      changed = true;
    }
    if (changed)
      rewriter.modifyOpInPlace(op, [&] {
        op->setAttr(RematDialect::initsAttrName, rewriter.getArrayAttr(inits));
      });
    return success(changed);
  }
};

/// An elementwise op that reads an init which another op computed reads it as
/// an input instead: the buffer of the result need not hold it first.
struct InitToInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumReductionLoops() != 0)
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!op.payloadUsesValueFromOperand(&init) ||
          init.get().getDefiningOp<tensor::EmptyOp>() ||
          getFillConstant(init.get()))
        continue;
      unsigned numInputs = op.getNumDpsInputs();
      BlockArgument element = op.getMatchingBlockArgument(&init);
      SmallVector<Value> inputs(op.getInputs());
      inputs.push_back(init.get());
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      maps.insert(maps.begin() + numInputs, op.getMatchingIndexingMap(&init));
      SmallVector<Value> outputs(op.getOutputs());
      outputs[init.getOperandNumber() - numInputs] =
          createEmpty(rewriter, op.getLoc(), init.get());
      auto generic = linalg::GenericOp::create(
          rewriter, op.getLoc(), op.getResultTypes(), inputs, outputs, maps,
          op.getIteratorTypesArray());
      if (Attribute inits = op->getAttr(RematDialect::initsAttrName))
        generic->setAttr(RematDialect::initsAttrName, inits);
      copyRows(op->getDiscardableAttrDictionary(), generic);
      rewriter.inlineRegionBefore(op.getRegion(), generic.getRegion(),
                                  generic.getRegion().end());
      Block &body = generic.getRegion().front();
      Value input =
          body.insertArgument(numInputs, element.getType(), element.getLoc());
      rewriter.replaceAllUsesWith(element, input);
      rewriter.replaceOp(op, generic.getResults());
      return success();
    }
    return failure();
  }
};

/// A scatter into what must be kept as it is adds to a copy of it, which goes
/// straight to the result.
struct CopyScatterInit : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<BlockArgument>(op.getInit()))
      return failure();
    Value empty = createEmpty(rewriter, op.getLoc(), op.getInit());
    Value copy =
        linalg::CopyOp::create(rewriter, op.getLoc(), op.getInit(), empty)
            .getResult(0);
    rewriter.modifyOpInPlace(op, [&] { op.getInitMutable().assign(copy); });
    return success();
  }
};

/// The init of a scatter that is filled with a constant.
struct DetachScatterInit : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    Attribute constant = getFillConstant(op.getInit());
    if (!constant)
      return failure();
    Value empty = createEmpty(rewriter, op.getLoc(), op.getInit());
    rewriter.modifyOpInPlace(op, [&] {
      op.getInitMutable().assign(empty);
      op->setAttr(RematDialect::initsAttrName,
                  rewriter.getArrayAttr({constant}));
    });
    return success();
  }
};

/// Inserts a box of `dest` into `into`, filled with `fill` or copied from
/// `dest`. Boxes without elements insert nothing.
Value insertBox(OpBuilder &builder, Location loc, Value into, Value dest,
                Value fill, ArrayRef<int64_t> offsets,
                ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return into;
  auto type = cast<RankedTensorType>(into.getType());
  SmallVector<OpFoldResult> offsetAttrs, sizeAttrs;
  for (auto [offset, size] : llvm::zip(offsets, sizes)) {
    offsetAttrs.push_back(builder.getIndexAttr(offset));
    sizeAttrs.push_back(builder.getIndexAttr(size));
  }
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  Value box;
  if (fill) {
    Value empty =
        tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
    box = linalg::FillOp::create(builder, loc, fill, empty).getResult(0);
  } else {
    box = tensor::ExtractSliceOp::create(builder, loc, dest, offsetAttrs,
                                         sizeAttrs, strides);
  }
  return tensor::InsertSliceOp::create(builder, loc, box, into, offsetAttrs,
                                       sizeAttrs, strides);
}

/// A tensor that is `source` in the box at `offsets` and elsewhere `fill`, or
/// the elements of `dest`. The rest is two slabs for each dimension, disjoint
/// from each other and from the box, so that all parts can run at once.
Value insertWithFrame(OpBuilder &builder, Location loc, Value source,
                      ArrayRef<int64_t> offsets, ArrayRef<int64_t> boxSizes,
                      Value dest, Value fill, RankedTensorType type) {
  Value result = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                         type.getElementType());
  SmallVector<int64_t> slabOffsets(type.getRank(), 0);
  SmallVector<int64_t> slabSizes(type.getShape());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t high = offsets[dim] + boxSizes[dim];
    slabOffsets[dim] = 0;
    slabSizes[dim] = offsets[dim];
    result =
        insertBox(builder, loc, result, dest, fill, slabOffsets, slabSizes);
    slabOffsets[dim] = high;
    slabSizes[dim] = type.getDimSize(dim) - high;
    result =
        insertBox(builder, loc, result, dest, fill, slabOffsets, slabSizes);
    slabOffsets[dim] = offsets[dim];
    slabSizes[dim] = boxSizes[dim];
  }
  if (llvm::is_contained(boxSizes, 0))
    return result;
  SmallVector<OpFoldResult> offsetAttrs, sizeAttrs;
  for (auto [offset, size] : llvm::zip(offsets, boxSizes)) {
    offsetAttrs.push_back(builder.getIndexAttr(offset));
    sizeAttrs.push_back(builder.getIndexAttr(size));
  }
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  return tensor::InsertSliceOp::create(builder, loc, source, result,
                                       offsetAttrs, sizeAttrs, strides);
}

struct DecomposePad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    auto type = op.getResultType();
    Value fill = op.getConstantPaddingValue();
    bool negative =
        llvm::any_of(op.getStaticLow(), [](int64_t x) { return x < 0; }) ||
        llvm::any_of(op.getStaticHigh(), [](int64_t x) { return x < 0; });
    if (!fill || negative || !type.hasStaticShape() ||
        !op.getSourceType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "not a static constant padding");
    if (Attribute constant; matchPattern(fill, m_Constant(&constant)))
      fill =
          createScalarConstant(rewriter, op.getLoc(), fill.getType(), constant);
    rewriter.replaceOp(op, insertWithFrame(rewriter, op.getLoc(),
                                           op.getSource(), op.getStaticLow(),
                                           op.getSourceType().getShape(),
                                           Value(), fill, type));
    return success();
  }
};

/// An insertion into a fill, or into a tensor that must be kept as it is.
struct DecomposeInsertSlice : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto fill = op.getDest().getDefiningOp<linalg::FillOp>();
    auto type = op.getResultType();
    if ((!fill && !isa<BlockArgument>(op.getDest())) || !type.hasStaticShape())
      return failure();
    if (!op.hasUnitStride()) {
      if (fill)
        return failure();
      // Strided: the copy stays, but goes straight to the result.
      Value empty = createEmpty(rewriter, op.getLoc(), op.getDest());
      Value copy =
          linalg::CopyOp::create(rewriter, op.getLoc(), op.getDest(), empty)
              .getResult(0);
      rewriter.modifyOpInPlace(op, [&] { op.getDestMutable().assign(copy); });
      return success();
    }
    if (llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic) ||
        llvm::any_of(op.getStaticSizes(), ShapedType::isDynamic))
      return failure();
    rewriter.replaceOp(
        op, insertWithFrame(rewriter, op.getLoc(), op.getSource(),
                            op.getStaticOffsets(), op.getStaticSizes(),
                            op.getDest(), fill ? fill.value() : Value(), type));
    return success();
  }
};

} // namespace

/// Takes operations of other dialects apart, and what is elementwise of their
/// parts becomes linalg.generic as it does on import.
static LogicalResult decomposeForeignOps(func::FuncOp kernel) {
  FailureOr<bool> any = decomposeKernelOps(kernel);
  if (failed(any) || !*any)
    return any;
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  return applyPatternsGreedily(kernel, std::move(patterns));
}

LogicalResult remat::codegen::prepareForBufferization(func::FuncOp kernel) {
  if (failed(decomposeForeignOps(kernel)))
    return failure();
  expandConvolutions(kernel);
  widenScatters(kernel);
  compareBeforeRounding(kernel);
  MLIRContext *context = kernel.getContext();
  RewritePatternSet patterns(context);
  patterns
      .add<SplatToFill, Generalize, DetachInits, InitToInput, CopyScatterInit,
           DetachScatterInit, DecomposePad, DecomposeInsertSlice>(context);
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  // Fills are shared constants to these patterns, so constants must not be
  // folded back into them.
  if (failed(applyPatternsGreedily(kernel, std::move(patterns),
                                   GreedyRewriteConfig().enableFolding(false))))
    return kernel.emitError("kernel '")
           << kernel.getName() << "' could not be prepared for bufferization";
  RewritePatternSet toDestinations(context);
  linalg::populateConvertToDestinationStylePatterns(toDestinations);
  if (failed(applyPatternsGreedily(kernel, std::move(toDestinations),
                                   GreedyRewriteConfig().enableFolding(false))))
    return kernel.emitError("kernel '")
           << kernel.getName() << "' could not be prepared for bufferization";
  return success();
}
