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

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCLEANUPPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

FrozenRewritePatternSet
import::getCanonicalizationPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
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
