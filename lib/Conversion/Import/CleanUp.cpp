//===- CleanUp.cpp - canonical form of both phases ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-import-clean-up`.
//
//===----------------------------------------------------------------------===//

#include "CleanUp.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCLEANUPPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// An operation over no element gives what it begins with. Without this, a body
/// that is folded to a constant would no longer read it.
struct SkipEmptyLoops : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() ||
        !llvm::is_contained(op.getStaticLoopRanges(), 0))
      return failure();
    rewriter.replaceOp(op, op.getDpsInits());
    return success();
  }
};

/// Any value is one that a program leaves open. Passes take what folds to an
/// attribute for numbers, and a poison is none.
struct DefinePoison : OpRewritePattern<ub::PoisonOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ub::PoisonOp op,
                                PatternRewriter &rewriter) const override {
    auto shaped = dyn_cast<RankedTensorType>(op.getType());
    Type element = getElementTypeOrSelf(op.getType());
    if (!isa<FloatType, IntegerType, IndexType, ComplexType>(element) ||
        (isa<ShapedType>(op.getType()) &&
         (!shaped || !shaped.hasStaticShape())))
      return failure();
    rewriter.replaceOp(op,
                       createZeroConstant(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};
} // namespace

FrozenRewritePatternSet
import::getCanonicalizationPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
  patterns.add<SkipEmptyLoops, DefinePoison>(context);
  return std::move(patterns);
}

void import::canonicalize(Operation *root,
                          const FrozenRewritePatternSet &patterns,
                          GreedyRewriteConfig config) {
  BackwardMarkListener marks;
  config.setListener(&marks);
  // Not to converge is no error: the form is then as far as it got.
  (void)applyPatternsGreedily(root, patterns, config);
}

/// Gives slices without some of their dimensions of size one all of them, and a
/// reshape, where upstream would drop others once offsets are constants: of
/// 1x6x1, the first or the last for 1x6.
static void spellOutSlices(Operation *root) {
  IRRewriter rewriter(root->getContext());
  auto isOther = [](RankedTensorType full, RankedTensorType reduced) {
    SmallVector<int64_t> kept;
    int64_t dropped = full.getRank() - reduced.getRank();
    for (int64_t size : full.getShape())
      if (size != 1 || dropped-- <= 0)
        kept.push_back(size);
    return ArrayRef(kept) != reduced.getShape();
  };
  auto replace = [&](Operation *op, Value first, Value second) {
    for (Value made : {first, second})
      setBackwardLevel(made.getDefiningOp(), getBackwardLevel(op));
    rewriter.replaceOp(op, second);
  };
  root->walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      RankedTensorType full = tensor::ExtractSliceOp::inferResultType(
          slice.getSourceType(), slice.getMixedSizes());
      auto groups = getReassociationIndicesForReshape(full, slice.getType());
      if (!full.hasStaticShape() ||
          full.getRank() == slice.getType().getRank() || !groups ||
          !isOther(full, slice.getType()))
        return;
      Value whole = tensor::ExtractSliceOp::create(
          rewriter, loc, full, slice.getSource(), slice.getMixedOffsets(),
          slice.getMixedSizes(), slice.getMixedStrides());
      replace(op, whole,
              tensor::CollapseShapeOp::create(rewriter, loc, slice.getType(),
                                              whole, *groups));
    } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
      RankedTensorType full = tensor::ExtractSliceOp::inferResultType(
          slice.getDestType(), slice.getMixedSizes());
      RankedTensorType source = slice.getSourceType();
      auto groups = getReassociationIndicesForReshape(full, source);
      if (!full.hasStaticShape() || full.getRank() == source.getRank() ||
          !groups || !isOther(full, source))
        return;
      Value whole = tensor::ExpandShapeOp::create(rewriter, loc, full,
                                                  slice.getSource(), *groups);
      replace(op, whole,
              tensor::InsertSliceOp::create(
                  rewriter, loc, whole, slice.getDest(),
                  slice.getMixedOffsets(), slice.getMixedSizes(),
                  slice.getMixedStrides()));
    }
  });
}

namespace {
/// Keeps marks from telling equal operations apart while they are merged.
class SetAside : public RewriterBase::Listener {
public:
  explicit SetAside(Operation *root) {
    root->walk([&](Operation *op) {
      unsigned level = getBackwardLevel(op);
      if (level == 0)
        return;
      marked[op] = level;
      setBackwardLevel(op, 0);
    });
  }
  ~SetAside() override {
    for (auto [op, level] : marked)
      setBackwardLevel(op, level);
  }

  void notifyOperationErased(Operation *op) override { marked.erase(op); }

private:
  llvm::DenseMap<Operation *, unsigned> marked;
};

struct ImportCleanUp
    : public remat::impl::ImportCleanUpPassBase<ImportCleanUp> {
  LogicalResult initialize(MLIRContext *context) override {
    patterns = import::getCanonicalizationPatterns(context);
    return success();
  }

  void runOnOperation() override {
    // Scalar operations that have gone into bodies are of no phase any more.
    normalizeBackward(getOperation());
    spellOutSlices(getOperation());
    // There is one block: nothing to simplify about it but operations. What
    // changes is visited again at once, so a second look at all finds nothing.
    import::canonicalize(
        getOperation(), patterns,
        GreedyRewriteConfig()
            .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
            .setMaxIterations(1));
    SetAside marks(getOperation());
    IRRewriter rewriter(&getContext(), &marks);
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
