//===- Passes.cpp - the pass that differentiates --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/EntryFunction.h"

namespace remat {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "remat/AutoDiff/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct RematDifferentiatePass
    : remat::impl::DifferentiatePassBase<RematDifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    auto target = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!target) {
      getOperation().emitError("has no function '") << function << "'";
      return signalPassFailure();
    }
    warnOfDerivatives(target);
    DifferentiateOptions options;
    options.wrt = llvm::to_vector(llvm::iterator_range(wrt));
    options.mode = mode;
    options.result = result;
    options.results = llvm::to_vector(llvm::iterator_range(results));
    options.tags = llvm::to_vector(llvm::iterator_range(tags));
    options.accumulate = accumulate;
    options.idioms = idioms;
    options.markGradients = markGradients;
    DifferentiateStatistics statistics;
    if (failed(differentiate(target, options, &statistics)))
      return signalPassFailure();
    numIdioms += statistics.numIdioms;
    differentiateAlternatives(target, options);
  }

private:
  /// The file of a joint function reads like that of a forward one.
  static void warnOfDerivatives(func::FuncOp target) {
    bool isJoint = !target.isExternal() &&
                   target->hasAttr(RematDialect::readBytesAttrName) &&
                   llvm::any_of(target.front(), [](Operation &op) {
                     return op.hasAttr(RematDialect::backwardAttrName);
                   });
    if (isJoint)
      emitWarning(target.getLoc())
          << "function '" << target.getName()
          << "' has its backward computation already, which is differentiated "
             "as well; compile it as it is by 'differentiate=false' "
             "('--no-gradients')";
  }

  /// Without a derivative, an alternative is none, nor are those behind it.
  void differentiateAlternatives(func::FuncOp target,
                                 const DifferentiateOptions &options) {
    // Warnings are those of the function.
    ScopedDiagnosticHandler quiet(&getContext(),
                                  [](Diagnostic &) { return success(); });
    FunctionOpInterface last = target;
    bool hasFailed = false;
    for (FunctionOpInterface other : findAlternatives(target)) {
      if (!hasFailed &&
          succeeded(differentiate(cast<func::FuncOp>(other.getOperation()),
                                  options))) {
        last = other;
        continue;
      }
      if (!hasFailed)
        last->removeAttr(RematDialect::alternativeAttrName);
      hasFailed = true;
      other->erase();
    }
  }
};
} // namespace
