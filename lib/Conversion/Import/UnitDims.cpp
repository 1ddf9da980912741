//===- UnitDims.cpp - dimensions of size one ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns do the work; what they leave is made uniform here.
//
//===----------------------------------------------------------------------===//

#include "Utils.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTUNITDIMSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct ImportUnitDims
    : public remat::impl::ImportUnitDimsPassBase<ImportUnitDims> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk(
        [&](linalg::GenericOp generic) { generics.push_back(generic); });
    linalg::ControlDropUnitDims options;
    for (linalg::GenericOp generic : generics) {
      rewriter.setInsertionPoint(generic);
      FailureOr<linalg::DropUnitDimsResult> result =
          linalg::dropUnitDims(rewriter, generic, options);
      if (failed(result))
        continue;
      rewriter.replaceOp(generic, result->replacements);
      if (auto dropped =
              dyn_cast<linalg::GenericOp>(result->resultOp.getOperation()))
        import::normalizeInits(rewriter, dropped);
    }
    // A view of a new tensor is a new tensor.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    (void)applyPatternsGreedily(
        getOperation(), std::move(patterns),
        GreedyRewriteConfig().setRegionSimplificationLevel(
            GreedySimplifyRegionLevel::Disabled));
  }
};
} // namespace
