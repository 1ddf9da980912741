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
#include "FunctionImport.h"

#include "remat/AutoDiff/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

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
    makeModulePasses("", true).getDependentDialects(registry);
    OpPassManager cleanup(ModuleOp::getOperationName());
    addCleanup(cleanup, getDisabledCanonicalizations());
    cleanup.getDependentDialects(registry);
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
                  cleanup(ModuleOp::getOperationName());
    addCleanup(cleanup, getDisabledCanonicalizations());
    for (Operation *op : functions)
      if (failed(runPipeline(functionPasses, op)))
        return signalPassFailure();
    // From the inside out: a region around a derivative is about what it is
    // expanded to.
    size_t left = countDerivatives();
    for (bool innermost = true; left != 0;) {
      OpPassManager modulePasses = makeModulePasses(earlyStop, innermost);
      if (failed(runPipeline(modulePasses, module)))
        return signalPassFailure();
      size_t before = left;
      left = countDerivatives();
      // Those of functions that call themselves are refused; those of other
      // modules are none of the program.
      if (left == before && !innermost)
        break;
      innermost = left < before;
    }
    if (failed(runPipeline(cleanup, module)))
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
  size_t countDerivatives() {
    size_t number = 0;
    getOperation().walk(
        [&](Operation *op) { number += isa<VJPOp, JVPOp>(op); });
    return number;
  }
  static OpPassManager makeModulePasses(StringRef earlyStop, bool innermost) {
    OpPassManager pm(ModuleOp::getOperationName());
    LowerCheckpointsPassOptions checkpoints;
    checkpoints.differentiated = true;
    checkpoints.earlyStop = earlyStop.str();
    pm.addPass(createLowerCheckpointsPass(checkpoints));
    ExpandDerivativesPassOptions derivatives;
    derivatives.innermost = innermost;
    pm.addPass(createExpandDerivativesPass(derivatives));
    return pm;
  }
};

struct LowerDerivativeOps
    : remat::impl::LowerDerivativeOpsPassBase<LowerDerivativeOps> {
  void getDependentDialects(DialectRegistry &registry) const override {
    for (const OpPassManager &passes : {makeFirstPasses(), makeCodecPasses(),
                                        makeFunctionPasses(), makeLastPasses()})
      passes.getDependentDialects(registry);
  }
  void runOnOperation() override {
    WalkResult found = getOperation()->walk([](Operation *op) {
      auto tag = dyn_cast<TagOp>(op);
      bool isMore = tag && (tag.getCodec() || tag.getForReaders() ||
                            tag.getWholeRegion() || tag.isMutationMark());
      return isMore || isa<CustomRuleOp, GradientHookOp>(op) ||
                     (isa<ModuleOp>(op) && op->getParentOp())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (found.wasInterrupted() && failed(lower()))
      signalPassFailure();
  }

  LogicalResult lower() {
    OpPassManager first = makeFirstPasses(), codecs = makeCodecPasses(),
                  each = makeFunctionPasses(), last = makeLastPasses();
    if (failed(runPipeline(first, getOperation())))
      return failure();
    llvm::SmallPtrSet<Operation *, 8> imported;
    for (auto function : getOperation().getOps<func::FuncOp>())
      imported.insert(function);
    if (failed(runPipeline(codecs, getOperation())))
      return failure();
    // Functions of codecs that have been made for types.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!imported.contains(function) && failed(runPipeline(each, function)))
        return failure();
    return runPipeline(last, getOperation());
  }

  static OpPassManager makeFirstPasses() {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addNestedPass<func::FuncOp>(createCheckMutationPass());
    pm.addNestedPass<func::FuncOp>(createLowerRulesPass());
    return pm;
  }
  static OpPassManager makeCodecPasses() {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createSpecializeCodecsPass());
    return pm;
  }
  static OpPassManager makeFunctionPasses() {
    OpPassManager pm(func::FuncOp::getOperationName());
    buildFunctionImport(pm);
    return pm;
  }
  static OpPassManager makeLastPasses() {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createPackSavedPass());
    pm.addNestedPass<func::FuncOp>(createDemandRegionsPass());
    addCleanup(pm, getDisabledCanonicalizations());
    return pm;
  }
};
} // namespace
