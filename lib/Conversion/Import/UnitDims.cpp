//===- UnitDims.cpp - dimensions of size one ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns do the work; what they leave is made uniform here.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "remat/Utils/Structured.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTUNITDIMSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The loops that can be dropped if they have one iteration. Linalg takes the
/// size of a loop from a dimension that the loop alone indexes, so a window
/// that is moved by such a loop must not be left to index a larger dimension
/// alone.
static SmallVector<unsigned> getLoopsToDrop(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = getLoopSizes(op);
  llvm::SmallBitVector dropped(sizes.size(), true);
  DenseMap<AffineExpr, AffineExpr> zeros;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (size == 1)
      zeros[getAffineDimExpr(loop, op.getContext())] =
          getAffineConstantExpr(0, op.getContext());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    ArrayRef<int64_t> shape = op.getShape(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto rest = dyn_cast<AffineDimExpr>(expr.replace(zeros));
      if (rest && rest != expr && sizes[rest.getPosition()] != shape[dim])
        for (unsigned loop : llvm::to_vector(dropped.set_bits()))
          if (expr.isFunctionOfDim(loop))
            dropped.reset(loop);
    }
  }
  return llvm::to_vector_of<unsigned>(dropped.set_bits());
}

/// Whether there may be anything to drop; soon answered.
static bool hasUnitDims(linalg::GenericOp op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && llvm::is_contained(shaped.getShape(), 1);
  });
}

namespace {
struct ImportUnitDims
    : public remat::impl::ImportUnitDimsPassBase<ImportUnitDims> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    SmallVector<linalg::GenericOp> generics =
        collectOps<linalg::GenericOp>(getOperation());
    linalg::ControlDropUnitDims options;
    options.controlFn = [](Operation *op) {
      return getLoopsToDrop(cast<linalg::GenericOp>(op));
    };
    for (linalg::GenericOp generic : generics) {
      if (!hasUnitDims(generic))
        continue;
      rewriter.setInsertionPoint(generic);
      FailureOr<linalg::DropUnitDimsResult> result =
          linalg::dropUnitDims(rewriter, generic, options);
      if (failed(result))
        continue;
      result->resultOp->setDiscardableAttrs(
          generic->getDiscardableAttrDictionary());
      rewriter.replaceOp(generic, result->replacements);
      if (auto dropped =
              dyn_cast<linalg::GenericOp>(result->resultOp.getOperation()))
        normalizeInits(rewriter, dropped);
    }
    // A view of a new tensor is a new tensor.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    (void)applyPatternsGreedily(
        getOperation(), std::move(patterns),
        GreedyRewriteConfig()
            .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
            .setMaxIterations(1)
            .setListener(&marks));
  }
};
} // namespace
