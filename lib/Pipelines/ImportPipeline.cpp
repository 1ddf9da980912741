//===- ImportPipeline.cpp - from an exporter's module to L0 ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cleanup.h"
#include "FunctionImport.h"

#include "remat/AutoDiff/Passes.h"
#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Transforms/Passes.h"

#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace remat;

/// Operations that a loop may unroll to if it cannot stay one: a scan of a JAX
/// program over a few hundred steps.
static constexpr int64_t maxUnrolled = 32768;

void remat::buildFunctionImport(OpPassManager &func, int64_t unrollLimit) {
  func.addPass(createImportOrdersPass());
  func.addPass(createImportPadsPass());
  func.addPass(createImportExtremaPass());
  func.addPass(createImportTosaPass());
  func.addPass(createImportScattersPass());
  ImportLoopsPassOptions loops;
  loops.limit = std::max(maxUnrolled, unrollLimit);
  func.addPass(createImportLoopsPass(loops));
  func.addPass(createImportConstantsPass());
  func.addPass(createGeneralizeElementwisePass());
  func.addPass(createImportCleanUpPass());
  func.addPass(createImportConcatsPass());
  func.addPass(createImportContractionsPass());
  func.addPass(createImportConvolutionsPass());
  func.addPass(createImportGeneralizePass());
  // Named operations have bodies now.
  func.addPass(createImportComplexPass());
  func.addPass(createImportSlicesPass());
  func.addPass(createImportScalarsPass());
  func.addPass(createImportGathersPass());
  func.addPass(createImportUnitDimsPass());
  func.addPass(createImportCleanUpPass());
  func.addPass(createImportContractionsPass());
  func.addPass(createImportPartSumsPass());
  FuseElementwisePassOptions fusion;
  fusion.keepNarrow = true;
  func.addPass(createFuseElementwisePass(fusion));
  addCleanup(func);
  func.addPass(createImportVerifyPass());
}

void remat::addKeepLoops(OpPassManager &pm, const StepOptions &options) {
  // Links of a chain may be iterations.
  if (options.sequential.segments > 0)
    return;
  KeepLoopsPassOptions loops;
  loops.limit = options.unrollLimit;
  loops.maxTripCount = options.maxTripCount;
  loops.policies = !options.policies.empty();
  pm.addPass(createKeepLoopsPass(loops));
}

void remat::buildImportPipeline(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createImportSizesPass());
  pm.addPass(createImportForeignPass());
  pm.addPass(createImportControlFlowPass());
  // What operations of other dialects take in between.
  pm.addPass(createImportSizesPass());
  pm.addPass(createImportComplexPass());
  // Before constants are folded.
  if (options.widen)
    pm.addNestedPass<func::FuncOp>(createWidenFloatsPass());
  // Calls are links of the chain, so it is cut before they are inlined.
  if (options.sequential.segments > 0) {
    SequentialOptions sequential = options.sequential;
    sequential.function = options.function;
    pm.addPass(createCheckpointSequentialPass(sequential));
  }
  // A rule is a function's own. What is inlined is no function any more.
  pm.addPass(createAttachRulesPass());
  pm.addPass(createImportCallsPass());
  pm.addNestedPass<func::FuncOp>(createCarryRandomStatePass());
  pm.addPass(createImportRandomStatePass());
  pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  ImportEntryPassOptions entry;
  entry.function = options.function;
  pm.addPass(createImportEntryPass(entry));
  pm.addPass(createImportCodecsPass());
  pm.addNestedPass<func::FuncOp>(createImportTagsPass());
  // Names are tags now, and operations still what the program calls them.
  if (const PolicyOptions &given = options.policies; !given.empty()) {
    ApplyPoliciesPassOptions policies;
    policies.policy = given.policy;
    llvm::append_range(policies.names, given.names);
    llvm::append_range(policies.offloadNames, given.offloadNames);
    llvm::append_range(policies.saveOps, given.saveOps);
    llvm::append_range(policies.recomputeOps, given.recomputeOps);
    llvm::append_range(policies.offloadOps, given.offloadOps);
    pm.addPass(createApplyPoliciesPass(policies));
  }
  // A loop that is a scatter is no loop.
  pm.addNestedPass<func::FuncOp>(createImportScattersPass());
  addKeepLoops(pm, options);
  buildFunctionImport(pm.nest<func::FuncOp>(), options.unrollLimit);
}

LogicalResult remat::importSignatures(ModuleOp module) {
  auto hasMemRef = [](FunctionOpInterface function) {
    return llvm::any_of(function.getArgumentTypes(),
                        llvm::IsaPred<BaseMemRefType>);
  };
  PassManager pm(module.getContext());
  pm.addPass(createImportSizesPass());
  if (hasForeign(module))
    pm.addPass(createImportForeignPass());
  if (!module.getOps<ml_program::GlobalOp>().empty() ||
      llvm::any_of(module.getOps<FunctionOpInterface>(), hasMemRef)) {
    pm.addPass(createAttachRulesPass());
    pm.addPass(createImportCallsPass());
    pm.addNestedPass<func::FuncOp>(createCarryRandomStatePass());
    pm.addPass(createImportRandomStatePass());
    pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  }
  return pm.run(module);
}
