//===- DerivativePasses.cpp - what only differentiation needs -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the descriptions of `remat-expand-written-derivatives` and
// `remat-lower-derivative-ops`. Most programs have nothing for them to do, so
// both look before they run other passes.
//
//===----------------------------------------------------------------------===//

#include "Cleanup.h"

#include "remat/AutoDiff/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"

#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_EXPANDWRITTENDERIVATIVESPASS
#define GEN_PASS_DEF_LOWERDERIVATIVEOPSPASS
#include "remat/Pipelines/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct ExpandWrittenDerivatives
    : remat::impl::ExpandWrittenDerivativesPassBase<ExpandWrittenDerivatives> {
  using ExpandWrittenDerivativesPassBase::ExpandWrittenDerivativesPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    makeFunctionPasses().getDependentDialects(registry);
    makeModulePasses().getDependentDialects(registry);
  }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SetVector<Operation *> functions;
    module.walk([&](Operation *op) {
      StringRef callee;
      if (auto vjp = dyn_cast<VJPOp>(op))
        callee = vjp.getCallee();
      else if (auto jvp = dyn_cast<JVPOp>(op))
        callee = jvp.getCallee();
      if (auto found = module.lookupSymbol<func::FuncOp>(callee))
        functions.insert(found);
    });
    if (functions.empty())
      return;
    OpPassManager functionPasses = makeFunctionPasses(),
                  modulePasses = makeModulePasses();
    for (Operation *op : functions)
      if (failed(runPipeline(functionPasses, op)))
        return signalPassFailure();
    if (failed(runPipeline(modulePasses, module)))
      return signalPassFailure();
    // They have been copied to where they are named.
    Operation *kept = findEntry(module, function);
    for (Operation *op : functions)
      if (op != kept && SymbolTable::symbolKnownUseEmpty(op, module))
        op->erase();
  }

  static OpPassManager makeFunctionPasses() {
    OpPassManager pm(func::FuncOp::getOperationName());
    pm.addPass(createStopSoftmaxMaxGradientPass());
    return pm;
  }
  static OpPassManager makeModulePasses() {
    OpPassManager pm(ModuleOp::getOperationName());
    LowerCheckpointsPassOptions checkpoints;
    checkpoints.differentiated = true;
    pm.addPass(createLowerCheckpointsPass(checkpoints));
    pm.addPass(createExpandDerivativesPass());
    addCleanup(pm, getDisabledCanonicalizations());
    return pm;
  }
};

struct LowerDerivativeOps
    : remat::impl::LowerDerivativeOpsPassBase<LowerDerivativeOps> {
  void getDependentDialects(DialectRegistry &registry) const override {
    makePasses().getDependentDialects(registry);
  }
  void runOnOperation() override {
    WalkResult found = getOperation()->walk([](Operation *op) {
      auto tag = dyn_cast<TagOp>(op);
      bool isMore = tag && (tag.getCodec() || tag.getForReaders() ||
                            tag.isMutationMark());
      return isMore || isa<CustomRuleOp, GradientHookOp>(op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    OpPassManager passes = makePasses();
    if (found.wasInterrupted() && failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

  static OpPassManager makePasses() {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addNestedPass<func::FuncOp>(createCheckMutationPass());
    pm.addNestedPass<func::FuncOp>(createLowerRulesPass());
    pm.addPass(createPackSavedPass());
    addCleanup(pm, getDisabledCanonicalizations());
    return pm;
  }
};
} // namespace
