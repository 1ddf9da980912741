//===- Pipeline.cpp - the import pipeline ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "remat/Conversion/Import/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_REGISTRATION
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

/// TOSA to linalg and tensor; other modules pass unchanged.
static void addTosaPasses(OpPassManager &pm) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(tosa::createTosaToLinalgNamed());
  func.addPass(tosa::createTosaToLinalg());
  func.addPass(createTosaToArithPass());
  func.addPass(createTosaToTensorPass());
}

static void addCleanUp(OpPassManager &pm) {
  // There is one block: nothing to simplify about it but operations.
  pm.addPass(createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(
          GreedySimplifyRegionLevel::Disabled)));
  pm.addPass(createCSEPass());
}

void remat::buildImportPipeline(OpPassManager &pm,
                                const ImportPipelineOptions &options) {
  // Inlining does not simplify: that would drop attributes that are tags.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createImportRandomStatePass());
  pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  ImportEntryPassOptions entry;
  entry.function = options.function;
  pm.addPass(createImportEntryPass(entry));
  pm.addNestedPass<func::FuncOp>(createImportTagsPass());
  addTosaPasses(pm);

  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createImportScattersPass());
  func.addPass(createImportLoopsPass());
  func.addPass(createImportConstantsPass());
  func.addPass(createConvertElementwiseToLinalgPass());
  addCleanUp(func);
  func.addPass(createImportConcatsPass());
  func.addPass(createImportProductsPass());
  func.addPass(createImportConvolutionsPass());
  func.addPass(createImportGeneralizePass());
  func.addPass(createImportSlicesPass());
  func.addPass(createImportScalarsPass());
  func.addPass(createImportGathersPass());
  func.addPass(createImportUnitDimsPass());
  addCleanUp(func);
  func.addPass(createImportProductsPass());
  func.addPass(createImportPhasesPass());
  if (options.fuse) {
    func.addPass(createFuseElementwisePass());
    addCleanUp(func);
  }
  func.addPass(createImportVerifyPass());
}

void remat::registerRematImportPasses() {
  registerRematImportGeneratedPasses();
  PassPipelineRegistration<ImportPipelineOptions>(
      "remat-import-pipeline",
      "Bring what an exporter produced to the form that remat compiles",
      buildImportPipeline);
}
