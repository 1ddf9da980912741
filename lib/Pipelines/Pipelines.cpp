//===- Pipelines.cpp - named pipelines, one for each level ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/Passes.h"
#include "remat/Codegen/KernelBufferization.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Target/AllTargets.h"
#include "remat/Target/Passes.h"
#include "remat/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

/// Canonical form, so that what follows sees equal things as equal.
static void addCleanup(OpPassManager &pm) {
  // By now all shapes are static, and asking for them takes half of the time.
  std::string disabled = "(anonymous namespace)::InferStaticShapeOfOperands";
  // There is one block: nothing to simplify about it but operations. What
  // changes is visited again at once, so a second look at all finds nothing.
  pm.addPass(createCanonicalizerPass(
      GreedyRewriteConfig()
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
          .setMaxIterations(1),
      {disabled}));
  pm.addPass(createCSEPass());
}

namespace {
/// What of this dialect is only for differentiation goes away afterwards. Most
/// programs have nothing of it.
struct LowerDerivativeOps
    : PassWrapper<LowerDerivativeOps, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerDerivativeOps)

  StringRef getArgument() const override {
    return "remat-lower-derivative-ops";
  }
  StringRef getDescription() const override {
    return "Check mutation, lower rules and pack, if there is any of it";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    makePasses().getDependentDialects(registry);
  }
  void runOnOperation() override {
    WalkResult found = getOperation()->walk([](Operation *op) {
      // Attributes of a tag may be marks of mutation.
      auto tag = dyn_cast<TagOp>(op);
      bool isMore = tag && (tag.getCodec() ||
                            !tag->getDiscardableAttrDictionary().empty());
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
    addCleanup(pm);
    return pm;
  }
};
} // namespace

void remat::buildJointPipeline(OpPassManager &pm, StringRef function,
                               ArrayRef<DifferentiateOptions> derivatives) {
  pm.addPass(createLowerCheckpointsPass());
  pm.addNestedPass<func::FuncOp>(createLowerRandomPass());
  if (!derivatives.empty())
    pm.addNestedPass<func::FuncOp>(createStopSoftmaxMaxGradientPass());
  for (const DifferentiateOptions &derivative : derivatives) {
    DifferentiatePassOptions options;
    options.function = function.str();
    options.mode = derivative.mode;
    options.wrt.assign(derivative.wrt.begin(), derivative.wrt.end());
    options.result = derivative.result;
    options.results.assign(derivative.results.begin(),
                           derivative.results.end());
    pm.addPass(createDifferentiatePass(options));
    addCleanup(pm);
  }
  if (derivatives.empty())
    addCleanup(pm);
  pm.addPass(std::make_unique<LowerDerivativeOps>());
  pm.addNestedPass<func::FuncOp>(createNarrowContractionOperandsPass());
  pm.addNestedPass<func::FuncOp>(createScatterToOneHotPass());
  pm.addNestedPass<func::FuncOp>(createSinkIntoGathersPass());
  pm.addNestedPass<func::FuncOp>(createRecomputeCheapPass());
  pm.addNestedPass<func::FuncOp>(createChooseLayoutsPass());
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  pm.addNestedPass<func::FuncOp>(createFuseSiblingReductionsPass());
  addCleanup(pm);
}

void remat::buildJointPipeline(OpPassManager &pm,
                               const JointPipelineOptions &options) {
  SmallVector<DifferentiateOptions> derivatives;
  DifferentiateOptions derivative;
  derivative.mode = options.cotangents ? DifferentiateOptions::Reverse
                                       : DifferentiateOptions::Gradient;
  derivative.wrt.assign(options.wrt.begin(), options.wrt.end());
  derivative.result = options.result;
  if (options.differentiate)
    derivatives.push_back(derivative);
  derivative.mode = DifferentiateOptions::Forward;
  if (options.tangents)
    derivatives.push_back(derivative);
  buildJointPipeline(pm, options.function, derivatives);
}

void remat::buildDerivativesPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  pm.addNestedPass<func::FuncOp>(createImportScattersPass());
  pm.addNestedPass<func::FuncOp>(createImportLoopsPass());
  LowerCheckpointsPassOptions checkpoints;
  checkpoints.differentiated = true;
  pm.addPass(createLowerCheckpointsPass(checkpoints));
  pm.addPass(createExpandDerivativesPass());
}

void remat::buildTasksPipeline(OpPassManager &pm,
                               const TasksPipelineOptions &options) {
  // Slices make a loss where its gradient is made, which is another call then.
  if (!options.separateBackward)
    pm.addNestedPass<func::FuncOp>(createSliceRowsPass());
  FormTasksPassOptions formTasks;
  formTasks.function = options.function;
  pm.addPass(createFormTasksPass(formTasks));
  pm.addPass(createOrderTasksPass());
  ChooseImplementationsPassOptions implementations;
  implementations.costs = options.costs;
  pm.addPass(createChooseImplementationsPass(implementations));
  AnnotateCostsPassOptions costs;
  costs.threads = options.threads;
  costs.costs = options.costs;
  pm.addPass(createAnnotateCostsPass(costs));
  if (options.separateBackward)
    pm.addPass(createSeparateBackwardPass());
}

void remat::buildPlanPipeline(OpPassManager &pm,
                              const PlanPipelineOptions &options) {
  PlanPassOptions plan;
  plan.budget = options.budget;
  plan.planner = options.planner;
  pm.addPass(createPlanPass(plan));
  pm.addPass(createSeparateCopiesPass());
  pm.addPass(createAssignBuffersPass());
  pm.addPass(createPlacePass());
}

void remat::buildRematPipeline(OpPassManager &pm,
                               const FullPipelineOptions &options) {
  buildDerivativesPipeline(pm);
  ImportPipelineOptions import;
  import.function = options.function;
  buildImportPipeline(pm, import);
  buildJointPipeline(pm, options);
  TasksPipelineOptions tasks;
  tasks.function = options.function;
  tasks.threads = options.threads;
  tasks.separateBackward = options.separateBackward;
  buildTasksPipeline(pm, tasks);
  PlanPipelineOptions plan;
  plan.budget = options.budget;
  plan.planner = options.planner;
  buildPlanPipeline(pm, plan);
}

void remat::registerRematDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerRematExtensions(registry);
}

void remat::registerRematExtensions(DialectRegistry &registry) {
  registry.insert<RematDialect>();
  registerAutoDiffModels(registry);
  codegen::registerKernelInterfaces(registry);
  registerAllTargets();
}

void remat::registerRematPasses() {
  registerRematImportPasses();
  registerRematAutoDiffPasses();
  registerRematTransformsPasses();
  registerRematDialectTransformsPasses();
  registerRematCostPasses();
  registerAllTargets();
  registerRematTargetPasses();
  registerAllTargetPasses();
  PassRegistration<LowerDerivativeOps>();
  PassPipelineRegistration<ImportPipelineOptions>(
      "remat-import-pipeline",
      "Bring what an exporter produced to the form that remat compiles",
      buildImportPipeline);
  PassPipelineRegistration<JointPipelineOptions>(
      "remat-joint-pipeline", "Differentiate and fuse (L0 to L1)",
      [](OpPassManager &pm, const JointPipelineOptions &options) {
        buildJointPipeline(pm, options);
      });
  PassPipelineRegistration<TasksPipelineOptions>(
      "remat-tasks-pipeline", "Form tasks and estimate their costs (L1 to L2)",
      buildTasksPipeline);
  PassPipelineRegistration<PlanPipelineOptions>(
      "remat-plan-pipeline", "Plan and place (L2 to L4)", buildPlanPipeline);
  PassPipelineRegistration<FullPipelineOptions>(
      "remat-pipeline", "From an exported model to a placed graph (L0 to L4)",
      buildRematPipeline);
}
