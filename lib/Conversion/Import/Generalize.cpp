//===- Generalize.cpp - named operations to linalg.generic ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion and differentiation know one elementwise operation: linalg.generic.
//
//===----------------------------------------------------------------------===//

#include "PartialResults.h"
#include "ReversedLoops.h"

#include "mlir/Interfaces/TilingInterface.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/SimplifyGeneric.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTGENERALIZEPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether later passes want `op` under its name.
static bool staysNamed(linalg::LinalgOp op) {
  return isa<linalg::GenericOp, linalg::ContractOp, linalg::FillOp>(
             op.getOperation()) ||
         op->getName().stripDialect().starts_with("pooling_");
}

/// Whether `op` is taken apart here. One that stays whole is taken apart in its
/// kernel, but in the body of another it is a scalar computation as any.
static bool isAggregate(Operation *op) {
  return isa<linalg::AggregatedOpInterface>(op) &&
         (!isa<KernelOpInterface>(op) ||
          op->getParentOfType<linalg::LinalgOp>());
}

namespace {
struct ImportGeneralize
    : public remat::impl::ImportGeneralizePassBase<ImportGeneralize> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::LinalgOp>(op) || isAggregate(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
        if (!staysNamed(linalgOp))
          (void)linalg::generalizeNamedOp(rewriter, linalgOp);
        continue;
      }
      FailureOr<SmallVector<Value>> results =
          cast<linalg::AggregatedOpInterface>(op).decomposeOperation(rewriter);
      if (succeeded(results))
        rewriter.replaceOp(op, *results);
    }
    for (linalg::GenericOp generic :
         collectOps<linalg::GenericOp>(getOperation())) {
      marks.beginRewrite(generic);
      FailureOr<linalg::GenericOp> whole =
          import::writeWholeResults(rewriter, generic);
      if (failed(whole))
        return signalPassFailure();
      import::turnReversedLoops(rewriter, *whole);
      normalizeInits(rewriter, *whole);
    }
  }
};
} // namespace
