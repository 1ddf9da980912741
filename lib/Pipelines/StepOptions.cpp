//===- StepOptions.cpp - what to compile, and how -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepOptions.h"

#include "remat/Transforms/Optimizer.h"

using namespace llvm;
using namespace remat;

/// What is no optimizer is refused where it is set.
static bool scalesLoss(StringRef optimizer) {
  if (optimizer.empty())
    return false;
  Expected<OptimizerOptions> parsed = parseOptimizer(optimizer);
  if (parsed)
    return parsed->scalesLoss();
  consumeError(parsed.takeError());
  return false;
}

SmallVector<DifferentiateOptions, 2> StepOptions::getDerivatives() const {
  if (derivatives)
    return *derivatives;
  SmallVector<DifferentiateOptions, 2> made;
  DifferentiateOptions derivative;
  derivative.wrt = wrt;
  derivative.result = result;
  derivative.mode = cotangents ? DifferentiateOptions::Reverse
                               : DifferentiateOptions::Gradient;
  derivative.accumulate = accumulate;
  derivative.markGradients = !optimizer.empty() || microbatches > 1;
  // The pass that applies the optimizer makes the scale of the cotangent.
  if (scalesLoss(optimizer)) {
    derivative.mode = DifferentiateOptions::Reverse;
    derivative.results = {result};
  }
  if (differentiate)
    made.push_back(derivative);
  derivative.accumulate = derivative.markGradients = false;
  derivative.results.clear();
  derivative.mode = DifferentiateOptions::Forward;
  if (tangents)
    made.push_back(derivative);
  return made;
}

Error remat::checkStepOptions(const StepOptions &options) {
  if (Error error = checkSequentialOptions(options.sequential))
    return error;
  // The tangents of a sum would take tangents of what it is added to.
  if (options.accumulate && options.tangents)
    return createStringError("'accumulate' and 'tangents' exclude each other");
  if ((options.accumulate || options.cotangents) && !options.differentiate)
    return createStringError(
        Twine(options.accumulate ? "'accumulate'" : "'cotangents'") +
        " has no effect: nothing is differentiated");
  if (!options.optimizer.empty() && (options.accumulate || options.tangents))
    return createStringError(
        "'optimizer' excludes 'accumulate' and 'tangents': it leaves no "
        "gradients");
  if (options.cotangents && scalesLoss(options.optimizer))
    return createStringError("'cotangents' excludes an optimizer with "
                             "'loss_scale': the scale is the cotangent");
  // A function that has computed its gradients marks them for the optimizer.
  if (!options.differentiate && scalesLoss(options.optimizer))
    return createStringError("an optimizer with 'loss_scale' needs a function "
                             "to differentiate: the scale is the cotangent of "
                             "its loss, and nothing is differentiated");
  if (options.microbatches > 1 &&
      (options.accumulate || options.tangents || options.cotangents))
    return createStringError("'microbatches' excludes 'accumulate', "
                             "'tangents' and 'cotangents'");
  if (options.microbatches > 1 && options.splitBatch != 1)
    return createStringError("'microbatches' excludes 'split-batch': the "
                             "function is that of one part already");
  if (options.microbatches == 1 && options.splitBatch == 1 &&
      options.assumedBatch == 0 && !options.batchArguments.empty())
    return createStringError("'batch-arguments' has no effect without "
                             "'microbatches' or 'split-batch'");
  if (options.foldLayers != LayerFolding::Never && options.splitBatch != 1)
    return createStringError("'fold-layers' excludes 'split-batch'");
  if (options.foldLayers != LayerFolding::Never &&
      options.sliceRows == StepOptions::planSliceRows)
    return createStringError("'fold-layers' excludes 'slice-rows=auto'");
  if (options.foldLayers != LayerFolding::Never && options.separateBackward &&
      options.sliceRows != 0)
    return createStringError("'slice-rows' has no effect with 'fold-layers' "
                             "and 'separate-backward': a loss that slices make "
                             "with its gradient is that of another call, and "
                             "hidden layers are sliced apart from loops");
  if (options.widen && options.narrow != TensorNarrowing::None)
    return createStringError("'widen' excludes 'narrow'");
  bool isLayered = options.microbatchOrder == MicrobatchOrder::Layers;
  if (options.microbatches == 1 && isLayered)
    return createStringError(
        "'microbatch-order' has no effect without 'microbatches'");
  if (isLayered && !options.differentiate)
    return createStringError("'microbatch-order=layers' needs a function to "
                             "differentiate, and nothing is differentiated");
  if (options.compress.empty() &&
      (options.maxGradientError > 0 || !options.gradientErrors.empty()))
    return createStringError("'max-gradient-error' and 'gradient-errors' have "
                             "no effect without 'compress'");
  if (options.maxGradientError == 0 && !options.gradientErrors.empty())
    return createStringError(
        "'gradient-errors' has no effect without 'max-gradient-error'");
  if (options.maxGradientError > 0 && !options.optimizer.empty())
    return createStringError("'max-gradient-error' excludes 'optimizer': it "
                             "leaves no gradients");
  if (options.maxGradientError > 0 && options.gradientErrors.empty())
    return createStringError(
        "'max-gradient-error' needs the errors that values in packed form "
        "cause, measure them by 'remat-run --max-gradient-error=... "
        "--gradient-errors=FILE' and give this file");
  return checkPolicyOptions(options.policies);
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

ArrayRef<StepLevelInfo> remat::getStepLevels() {
  static const StepLevelInfo levels[] = {
      {StepLevel::Joint, "joint", "IR, forward and backward"},
      {StepLevel::Tasks, "tasks", "IR, cut into tasks with costs"},
      {StepLevel::Planned, "planned", "IR, planned"},
      {StepLevel::Placed, "placed", "IR, planned and placed"},
      {StepLevel::Code, "code", "IR in the LLVM dialect"}};
  return levels;
}
