//===- Pipelines.cpp - named pipelines, one for each level ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "FunctionImport.h"
#include "TransformScript.h"

#include "remat/AutoDiff/Passes.h"
#include "remat/Codegen/KernelBufferization.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Target/AllTargets.h"
#include "remat/Target/Passes.h"
#include "remat/Target/Target.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/TextOptions.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;

ArrayRef<StringRef> remat::getDisabledCanonicalizations() {
  // By now all shapes are static, and asking for them takes half of the time.
  static constexpr StringRef names[] = {
      "(anonymous namespace)::InferStaticShapeOfOperands"};
  return names;
}

/// Canonical form, so that what follows sees equal things as equal.
static void addCleanup(OpPassManager &pm) {
  SmallVector<std::string> disabled;
  for (StringRef name : getDisabledCanonicalizations())
    disabled.push_back(name.str());
  // There is one block: nothing to simplify about it but operations. What
  // changes is visited again at once, so a second look at all finds nothing.
  pm.addPass(createCanonicalizerPass(
      GreedyRewriteConfig()
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
          .setMaxIterations(1),
      disabled));
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

private:
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
    addCleanup(pm);
    return pm;
  }
};
} // namespace

namespace {
/// Derivatives that the program is written with are taken of what import made
/// of the functions, as those are that options ask for: regions hide the same
/// values then, and the plan is the same. Most programs have none.
struct ExpandWrittenDerivatives
    : PassWrapper<ExpandWrittenDerivatives, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandWrittenDerivatives)

  ExpandWrittenDerivatives(StringRef entry, StringRef earlyStop)
      : entry(entry), earlyStop(earlyStop) {}

  StringRef getArgument() const override {
    return "remat-expand-written-derivatives";
  }
  StringRef getDescription() const override {
    return "Expand remat.vjp and remat.jvp, if there are any";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    makeFunctionPasses().getDependentDialects(registry);
    makeModulePasses("").getDependentDialects(registry);
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
      if (auto function = module.lookupSymbol<func::FuncOp>(callee))
        functions.insert(function);
    });
    if (functions.empty())
      return;
    OpPassManager functionPasses = makeFunctionPasses(),
                  modulePasses = makeModulePasses(earlyStop);
    for (Operation *function : functions)
      if (failed(runPipeline(functionPasses, function)))
        return signalPassFailure();
    if (failed(runPipeline(modulePasses, module)))
      return signalPassFailure();
    // They have been copied to where they are named.
    Operation *kept = findEntry(module, entry);
    for (Operation *function : functions)
      if (function != kept &&
          SymbolTable::symbolKnownUseEmpty(function, module))
        function->erase();
  }

  static OpPassManager makeFunctionPasses() {
    OpPassManager pm(func::FuncOp::getOperationName());
    pm.addPass(createStopSoftmaxMaxGradientPass());
    return pm;
  }
  static OpPassManager makeModulePasses(StringRef earlyStop) {
    OpPassManager pm(ModuleOp::getOperationName());
    LowerCheckpointsPassOptions checkpoints;
    checkpoints.differentiated = true;
    checkpoints.earlyStop = earlyStop.str();
    pm.addPass(createLowerCheckpointsPass(checkpoints));
    pm.addPass(createExpandDerivativesPass());
    addCleanup(pm);
    return pm;
  }

  std::string entry, earlyStop;
};
} // namespace

/// A target that was asked for is in the IR from here on.
static void addTarget(OpPassManager &pm, const StepOptions &options) {
  SetTargetPassOptions target;
  target.target = options.target;
  if (!options.target.empty())
    pm.addPass(createSetTargetPass(target));
}

void remat::buildJointPipeline(OpPassManager &pm, const StepOptions &options) {
  addTarget(pm, options);
  std::string earlyStop =
      options.earlyStop ? FlagSyntax().print(*options.earlyStop) : "";
  pm.addPass(
      std::make_unique<ExpandWrittenDerivatives>(options.function, earlyStop));
  if (options.widen)
    pm.addNestedPass<func::FuncOp>(createWidenFloatsPass());
  LowerCheckpointsPassOptions checkpoints;
  checkpoints.earlyStop = earlyStop;
  pm.addPass(createLowerCheckpointsPass(checkpoints));
  pm.addNestedPass<func::FuncOp>(createLowerRandomPass());
  SmallVector<DifferentiateOptions, 2> derivatives = options.getDerivatives();
  if (!derivatives.empty())
    pm.addNestedPass<func::FuncOp>(createStopSoftmaxMaxGradientPass());
  for (const DifferentiateOptions &derivative : derivatives) {
    DifferentiatePassOptions pass;
    pass.function = options.function;
    pass.mode = derivative.mode;
    pass.wrt.assign(derivative.wrt.begin(), derivative.wrt.end());
    pass.result = derivative.result;
    pass.results.assign(derivative.results.begin(), derivative.results.end());
    pass.tags.assign(derivative.tags.begin(), derivative.tags.end());
    pass.accumulate = derivative.accumulate;
    pm.addPass(createDifferentiatePass(pass));
    addCleanup(pm);
  }
  if (derivatives.empty())
    addCleanup(pm);
  pm.addPass(std::make_unique<LowerDerivativeOps>());
  pm.addNestedPass<func::FuncOp>(createGeneralizeElementwisePass());
  pm.addNestedPass<func::FuncOp>(createNarrowContractionOperandsPass());
  pm.addNestedPass<func::FuncOp>(createScatterToOneHotPass());
  pm.addNestedPass<func::FuncOp>(createSinkIntoGathersPass());
  pm.addNestedPass<func::FuncOp>(createRecomputeCheapPass());
  pm.addNestedPass<func::FuncOp>(createChooseLayoutsPass());
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  pm.addNestedPass<func::FuncOp>(createFuseSiblingReductionsPass());
  addCleanup(pm);
}

void remat::buildTasksPipeline(OpPassManager &pm, const StepOptions &options) {
  addTarget(pm, options);
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

void remat::buildPlanPipeline(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createPlanPass(options.plan));
  buildPlacePipeline(pm, options.plan.lend);
}

void remat::buildPlacePipeline(OpPassManager &pm, bool lend) {
  pm.addPass(createSeparateCopiesPass());
  if (lend)
    pm.addPass(createAssignBuffersPass());
  pm.addPass(createPlacePass());
}

void remat::buildRematPipeline(OpPassManager &pm, const StepOptions &options,
                               StepLevel level) {
  addTransformScript(pm, options);
  // Random state may be read in loops, and links of a chain may be iterations.
  pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  pm.addNestedPass<func::FuncOp>(createImportScattersPass());
  pm.addNestedPass<func::FuncOp>(createImportLoopsPass());
  buildImportPipeline(pm, options);
  buildJointPipeline(pm, options);
  if (level >= StepLevel::Tasks)
    buildTasksPipeline(pm, options);
  if (level == StepLevel::Planned)
    pm.addPass(createPlanPass(options.plan));
  if (level >= StepLevel::Placed)
    buildPlanPipeline(pm, options);
  if (level < StepLevel::Code)
    return;
  // The table of options has refused names that are not known.
  llvm::Expected<const Target *> target =
      lookupTarget(options.target.empty() ? "cpu" : options.target);
  if (target)
    (*target)->addLowering(pm, {options.name, options.threads});
  else
    llvm::consumeError(target.takeError());
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
/// What the text of a pipeline asks for.
struct PipelineRequest {
  StepOptions step;
  StepLevel level = StepLevel::Placed;
};

struct LevelSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "joint|tasks|planned|placed|code"; }
  llvm::Error parse(StringRef text, StepLevel &level) const {
    SmallVector<StringRef> names;
    for (const StepLevelInfo &info : getStepLevels()) {
      if (info.name == text) {
        level = info.level;
        return llvm::Error::success();
      }
      names.push_back(info.name);
    }
    return makeUnknownNameError("level", text, names);
  }
  std::string print(StepLevel level) const {
    return getStepLevels()[size_t(level)].name.str();
  }
};

/// The options that some stages read, as MLIR parses and prints them.
class PipelineOptions : public mlir::detail::PassOptions {
public:
  explicit PipelineOptions(unsigned stages) {
    for (const StepOptionInfo &row : getStepOptionTable())
      if (row.stages & stages)
        rows.push_back(liftOption<PipelineRequest>(
            static_cast<const OptionInfo<StepOptions> &>(row),
            [](PipelineRequest &request) -> StepOptions & {
              return request.step;
            }));
    if ((stages & fullStages) == fullStages)
      rows.push_back(makeOption<PipelineRequest>(
          "emit",
          [](PipelineRequest &request) -> StepLevel & { return request.level; },
          LevelSyntax(), "Level to stop at"));
    for (const OptionInfo<PipelineRequest> &row : rows)
      texts.add(*this, row);
  }

  LogicalResult parse(StringRef text, PipelineRequest &request,
                      function_ref<LogicalResult(const Twine &)> onError) {
    std::string message;
    llvm::raw_string_ostream os(message);
    if (failed(parseFromString(text, os)))
      return onError(addKnownOptions(message, texts.getNames()));
    if (llvm::Error error = texts.apply(request))
      return onError(llvm::toString(std::move(error)));
    if (llvm::Error error = checkStepOptions(request.step))
      return onError(llvm::toString(std::move(error)));
    return success();
  }

  /// All that passes do. Objects are made by others.
  static constexpr unsigned fullStages = AllStages & ~ObjectStage;

private:
  std::vector<OptionInfo<PipelineRequest>> rows;
  TextOptions<PipelineRequest> texts;
};
} // namespace

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Registers a pipeline with the options that `stages` read.
static void
registerPipeline(StringRef name, StringRef description, unsigned stages,
                 void (*build)(OpPassManager &, const PipelineRequest &)) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &pm, StringRef text,
          function_ref<LogicalResult(const Twine &)> onError) {
        PipelineRequest request;
        auto explain = [&](const Twine &message) {
          return onError(name + ": " + message);
        };
        if (failed(PipelineOptions(stages).parse(text, request, explain)))
          return failure();
        build(pm, request);
        return success();
      },
      [=](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(PipelineOptions(stages));
      });
}

static void registerPipelines() {
  registerPipeline(
      "remat-import-pipeline",
      "Bring what an exporter produced to the form that remat compiles",
      ImportStage, [](OpPassManager &pm, const PipelineRequest &request) {
        addTransformScript(pm, request.step);
        buildImportPipeline(pm, request.step);
      });
  registerPipeline("remat-joint-pipeline", "Differentiate and fuse (L0 to L1)",
                   JointStage,
                   [](OpPassManager &pm, const PipelineRequest &request) {
                     buildJointPipeline(pm, request.step);
                   });
  registerPipeline("remat-tasks-pipeline",
                   "Form tasks and estimate their costs (L1 to L2)", TasksStage,
                   [](OpPassManager &pm, const PipelineRequest &request) {
                     buildTasksPipeline(pm, request.step);
                   });
  registerPipeline("remat-plan-pipeline", "Plan and place (L2 to L4)",
                   PlanStage,
                   [](OpPassManager &pm, const PipelineRequest &request) {
                     buildPlanPipeline(pm, request.step);
                   });
  registerPipeline(
      "remat-pipeline",
      "From an exported model to a placed graph (L0 to L4), or as far as "
      "'emit' says",
      PipelineOptions::fullStages,
      [](OpPassManager &pm, const PipelineRequest &request) {
        buildRematPipeline(pm, request.step, request.level);
      });
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
  registerTransformScriptPass();
  registerPipelines();
}
