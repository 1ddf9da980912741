//===- Pipelines.cpp - named pipelines, one for each level ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "Cleanup.h"
#include "FunctionImport.h"
#include "TransformScript.h"

#include "remat/AutoDiff/Passes.h"
#include "remat/Codegen/KernelBufferization.h"
#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Target/AllTargets.h"
#include "remat/Target/Passes.h"
#include "remat/Target/Target.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/TextOptions.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

using namespace mlir;
using namespace remat;

/// Canonical form where all shapes are static.
static void addStaticCleanup(OpPassManager &pm) {
  addCleanup(pm, getDisabledCanonicalizations());
}

/// A target that was asked for is in the IR from here on. It must be one that
/// the device runs.
static void addTarget(OpPassManager &pm, const StepOptions &options) {
  SetTargetPassOptions target;
  target.target = options.target;
  target.device = options.device;
  target.chip = options.chip;
  if (!options.target.empty() || !options.device.empty())
    pm.addPass(createSetTargetPass(target));
}

/// Makes loops of equal layers, or a function with such loops beside the one
/// without.
static void addFoldLayers(OpPassManager &pm, const StepOptions &options) {
  if (options.foldLayers == LayerFolding::Never)
    return;
  FoldLayersPassOptions layers;
  layers.function = options.function;
  layers.alternative = options.foldLayers == LayerFolding::Auto;
  pm.addPass(createFoldLayersPass(layers));
}

/// Lets parts of a batch pass layer after layer, or be able to.
static void addLayerMicrobatches(OpPassManager &pm,
                                 const StepOptions &options) {
  // What is differentiated already is in no layers.
  if (options.microbatches == 1 || !options.differentiate ||
      options.microbatchOrder == MicrobatchOrder::Parts)
    return;
  LayerMicrobatchesPassOptions layers;
  layers.function = options.function;
  layers.parts = options.microbatches;
  layers.arguments.assign(options.batchArguments.begin(),
                          options.batchArguments.end());
  layers.wrt.assign(options.wrt.begin(), options.wrt.end());
  layers.alternative = options.microbatchOrder == MicrobatchOrder::Auto;
  pm.addPass(createLayerMicrobatchesPass(layers));
}

/// Lets the batch be done in parts.
static void addSplitBatch(OpPassManager &pm, const StepOptions &options) {
  if (options.splitBatch == 1)
    return;
  SplitBatchPassOptions split;
  split.function = options.function;
  split.parts = options.splitBatch;
  split.arguments.assign(options.batchArguments.begin(),
                         options.batchArguments.end());
  split.wrt.assign(options.wrt.begin(), options.wrt.end());
  pm.addPass(createSplitBatchPass(split));
}

/// Adds the derivatives that the step asks for. Each begins with what the one
/// before has made.
static void addDerivatives(OpPassManager &pm, const StepOptions &options) {
  for (const DifferentiateOptions &derivative : options.getDerivatives()) {
    DifferentiatePassOptions pass;
    pass.function = options.function;
    pass.mode = derivative.mode;
    pass.wrt.assign(derivative.wrt.begin(), derivative.wrt.end());
    pass.result = derivative.result;
    pass.results.assign(derivative.results.begin(), derivative.results.end());
    pass.tags.assign(derivative.tags.begin(), derivative.tags.end());
    pass.accumulate = derivative.accumulate;
    pass.markGradients = derivative.markGradients;
    pm.addPass(createDifferentiatePass(pass));
    addStaticCleanup(pm);
  }
}

/// Lets the whole step run part after part of the batch.
static void addMicrobatches(OpPassManager &pm, const StepOptions &options) {
  if (options.microbatches <= 1 ||
      options.microbatchOrder == MicrobatchOrder::Layers)
    return;
  MicrobatchesPassOptions parts;
  parts.function = options.function;
  parts.parts = options.microbatches;
  parts.arguments.assign(options.batchArguments.begin(),
                         options.batchArguments.end());
  pm.addPass(createMicrobatchesPass(parts));
}

/// Adds what updates the weights by their gradients.
static void addOptimizer(OpPassManager &pm, const StepOptions &options) {
  if (options.optimizer.empty())
    return;
  ApplyOptimizerPassOptions optimizer;
  optimizer.function = options.function;
  optimizer.optimizer = options.optimizer;
  pm.addPass(createApplyOptimizerPass(optimizer));
}

/// Chooses how many channels convolutions have, and where they are in memory.
static void addLayouts(OpPassManager &pm, const StepOptions &options) {
  if (options.channels != ConvolutionChannels::Program) {
    WidenChannelsPassOptions wide;
    wide.spreadsNaN = options.channels == ConvolutionChannels::Blocks;
    wide.convolutions = options.convolutions;
    wide.tf32 = options.allowsTf32;
    wide.device = options.device;
    pm.addNestedPass<func::FuncOp>(createWidenChannelsPass(wide));
  }
  ChooseLayoutsPassOptions layouts;
  layouts.convolutions = options.convolutions;
  layouts.tf32 = options.allowsTf32;
  layouts.device = options.device;
  pm.addNestedPass<func::FuncOp>(createChooseLayoutsPass(layouts));
}

void remat::buildJointPipeline(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createImportSizesPass());
  addTarget(pm, options);
  std::string earlyStop =
      options.earlyStop ? FlagSyntax().print(*options.earlyStop) : "";
  ExpandWrittenDerivativesPassOptions written;
  written.function = options.function;
  written.earlyStop = earlyStop;
  // What rules bring along, such as the slope of erf at 0, is wide from the
  // beginning.
  if (options.widen) {
    pm.addNestedPass<func::FuncOp>(createWidenFloatsPass());
    // Codecs that import has put aside.
    pm.nest<ModuleOp>().addNestedPass<func::FuncOp>(createWidenFloatsPass());
  }
  pm.addPass(createExpandWrittenDerivativesPass(written));
  LowerCheckpointsPassOptions checkpoints;
  checkpoints.earlyStop = earlyStop;
  pm.addPass(createLowerCheckpointsPass(checkpoints));
  if (options.microbatches > 1)
    pm.addPass(createMarkKeysPass());
  pm.addNestedPass<func::FuncOp>(createLowerRandomPass());
  bool isDifferentiated = !options.getDerivatives().empty();
  if (isDifferentiated)
    pm.addNestedPass<func::FuncOp>(createStopSoftmaxMaxGradientPass());
  addFoldLayers(pm, options);
  // A layer may begin in the middle of what passes before know as a whole.
  addLayerMicrobatches(pm, options);
  addSplitBatch(pm, options);
  addDerivatives(pm, options);
  addMicrobatches(pm, options);
  addOptimizer(pm, options);
  if (!isDifferentiated)
    addStaticCleanup(pm);
  pm.addPass(createSimplifyLoopsPass());
  // A loss that the backward computation makes is not that of another call.
  if ((options.microbatches > 1 || options.splitBatch != 1) &&
      !options.separateBackward) {
    pm.addPass(createFuseLoopsPass());
    addStaticCleanup(pm);
  }
  pm.addNestedPass<func::FuncOp>(createLowerStacksPass());
  pm.addPass(createLowerDerivativeOpsPass());
  pm.addNestedPass<func::FuncOp>(createGeneralizeElementwisePass());
  pm.addNestedPass<func::FuncOp>(createCompareRowMaximaPass());
  // Results are kept for this, which may take more bytes.
  if (options.roundsFactors) {
    ReassociateRowSumsPassOptions rowSums;
    rowSums.usesRoundedResults = true;
    pm.addNestedPass<func::FuncOp>(createReassociateRowSumsPass(rowSums));
  }
  pm.addNestedPass<func::FuncOp>(createNarrowContractionOperandsPass());
  pm.addNestedPass<func::FuncOp>(createScatterToOneHotPass());
  pm.addNestedPass<func::FuncOp>(createScatterIntoSumsPass());
  pm.addNestedPass<func::FuncOp>(createSinkIntoGathersPass());
  pm.addNestedPass<func::FuncOp>(createMergeContractionsPass());
  pm.addNestedPass<func::FuncOp>(createTransposeFactorsPass());
  pm.addNestedPass<func::FuncOp>(createSplitElementwisePass());
  pm.addNestedPass<func::FuncOp>(createRecomputeCheapPass());
  addLayouts(pm, options);
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  FuseReadersPassOptions readers;
  readers.function = options.function;
  readers.alternative = true;
  pm.addPass(createFuseReadersPass(readers));
  pm.addNestedPass<func::FuncOp>(createFuseSiblingReductionsPass());
  addStaticCleanup(pm);
}

void remat::buildTasksPipeline(OpPassManager &pm, const StepOptions &options) {
  addTarget(pm, options);
  // By default, slices make a loss where its gradient is made, which may be
  // another call.
  if (!options.separateBackward || options.sliceRows != 0) {
    SliceRowsPassOptions slices;
    slices.function = options.function;
    slices.alternatives = options.sliceRows == StepOptions::planSliceRows;
    slices.rows = slices.alternatives ? 0 : options.sliceRows;
    // Loops of layers are an alternative of their own.
    slices.hidden =
        options.sliceRows != 0 && options.foldLayers == LayerFolding::Never;
    slices.apart = options.separateBackward;
    pm.addPass(createSliceRowsPass(slices));
  }
  pm.addNestedPass<func::FuncOp>(createPickEarlyPass());
  pm.addNestedPass<func::FuncOp>(createSeparateTagsPass());
  if (options.roundsFactors)
    pm.addNestedPass<func::FuncOp>(createRoundFactorsPass());
  RoundProductsPassOptions roundProducts;
  roundProducts.onlySums = options.roundsOnlySums;
  pm.addNestedPass<func::FuncOp>(createRoundProductsPass(roundProducts));
  pm.addNestedPass<func::FuncOp>(createRoundScattersPass());
  pm.addNestedPass<func::FuncOp>(createFormEpiloguesPass());
  FormTasksPassOptions formTasks;
  formTasks.function = options.function;
  pm.addPass(createFormTasksPass(formTasks));
  if (options.keepRepeated != RepeatKeeping::Never) {
    KeepRepeatedPassOptions kept;
    kept.alternative = options.keepRepeated == RepeatKeeping::Auto;
    pm.addPass(createKeepRepeatedPass(kept));
  }
  pm.addPass(createOrderTasksPass());
  if (!options.compress.empty()) {
    OfferPackingPassOptions offers;
    offers.codecs = options.compress;
    offers.maxGradientError = options.maxGradientError;
    offers.gradientErrors = options.gradientErrors;
    pm.addPass(createOfferPackingPass(offers));
  }
  pm.addPass(createOfferAbsorptionPass());
  pm.addPass(createPadRowsPass());
  ChooseImplementationsPassOptions implementations;
  implementations.threads = options.threads;
  implementations.costs = options.costs;
  implementations.chip = options.chip;
  implementations.device = options.device;
  implementations.convolutions = options.convolutions;
  implementations.convolutionPlans = options.convolutionPlans;
  implementations.tf32 = options.allowsTf32;
  pm.addPass(createChooseImplementationsPass(implementations));
  AnnotateCostsPassOptions costs;
  costs.threads = options.threads;
  costs.costs = options.costs;
  costs.chip = options.chip;
  costs.device = options.device;
  costs.tf32 = options.allowsTf32;
  pm.addPass(createAnnotateCostsPass(costs));
  pm.addPass(createPlaceBodiesPass());
  if (!options.separateBackward)
    return;
  SeparateBackwardPassOptions separate;
  separate.derivatives = std::max<unsigned>(
      1, llvm::count_if(options.getDerivatives(), [](const auto &derivative) {
        return derivative.mode != DifferentiateOptions::Forward;
      }));
  pm.addPass(createSeparateBackwardPass(separate));
}

void remat::buildPlanPipeline(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createPlanPass(options.plan));
  buildPlacePipeline(pm, options.plan.reuseResultBuffers);
}

void remat::buildPlacePipeline(OpPassManager &pm, bool reuseResultBuffers) {
  pm.addPass(createSeparateCopiesPass());
  if (reuseResultBuffers)
    pm.addPass(createAssignBuffersPass());
  pm.addPass(createPlacePass());
}

void remat::buildRematPipeline(OpPassManager &pm, const StepOptions &options,
                               StepLevel level) {
  addTransformScript(pm, options);
  pm.addPass(createImportSizesPass());
  // What a loop calls shows what it slices. Links of a chain stay calls.
  if (options.sequential.segments == 0) {
    pm.addPass(createAttachRulesPass());
    pm.addPass(createImportCallsPass());
  }
  // Random state may be read in loops, and links of a chain may be iterations.
  pm.addNestedPass<func::FuncOp>(createImportBuffersPass());
  pm.addNestedPass<func::FuncOp>(createImportScattersPass());
  pm.addNestedPass<func::FuncOp>(createCarryRandomStatePass());
  addKeepLoops(pm, options);
  ImportLoopsPassOptions loops;
  loops.limit = std::max(loops.limit, options.unrollLimit);
  pm.addNestedPass<func::FuncOp>(createImportLoopsPass(loops));
  buildImportPipeline(pm, options);
  if (options.assumedBatch != 0) {
    ResizeBatchPassOptions batch;
    batch.function = options.function;
    batch.size = options.assumedBatch;
    batch.arguments.assign(options.batchArguments.begin(),
                           options.batchArguments.end());
    batch.wrt.assign(options.wrt.begin(), options.wrt.end());
    pm.addPass(createResizeBatchPass(batch));
  }
  if (options.narrow != TensorNarrowing::None) {
    NarrowTensorsPassOptions narrow;
    narrow.function = options.function;
    narrow.type = options.narrow == TensorNarrowing::BF16 ? NarrowType::BF16
                                                          : NarrowType::F16;
    pm.addPass(createNarrowTensorsPass(narrow));
  }
  buildJointPipeline(pm, options);
  if (level >= StepLevel::Tasks)
    buildTasksPipeline(pm, options);
  if (level == StepLevel::Planned)
    pm.addPass(createPlanPass(options.plan));
  if (level >= StepLevel::Placed)
    buildPlanPipeline(pm, options);
  if (level < StepLevel::Code)
    return;
  LoweringOptions lowering;
  lowering.name = options.name;
  lowering.threads = options.threads;
  lowering.chip = options.chip;
  // The table of options has refused names that are not known.
  llvm::Expected<const Target *> target =
      lookupTarget(options.target.empty() ? "cpu" : options.target);
  if (target)
    (*target)->addLowering(pm, lowering);
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
      return onError(explainOptions(message, text, texts.getNames()));
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
  registerForeignDialects(registry);
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
  registerRematPipelinesPasses();
  registerPipelines();
}
