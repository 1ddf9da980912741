//===- StepOptions.h - what to compile, and how -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a step and the one table that names and describes them. Made
// of the table are the flags of remat-run, remat-compile and remat-plan, the
// options of the pipelines of remat-opt, and the keys that embedders set.
// docs/options.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPOPTIONS_H
#define REMAT_PIPELINES_STEPOPTIONS_H

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/Dialect/Remat/Transforms/ApplyPolicies.h"
#include "remat/Dialect/Remat/Transforms/CheckpointSequential.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Target/ConvolutionChoice.h"
#include "remat/Utils/OptionTable.h"

#include "llvm/Support/JSON.h"

namespace remat {

/// In which order parts of a batch run: each through the function and its
/// derivative, all of them through one layer after the other, or whatever plans
/// better.
enum class MicrobatchOrder { Parts, Layers, Auto };

/// Whether equal layers become loops: not, in all cases, or where that plans
/// better.
enum class LayerFolding { Never, Always, Auto };

/// Whether what forward kernels make is kept where they would run again before
/// any plan: not, in all cases, or where that plans better.
enum class RepeatKeeping { Never, Always, Auto };

/// The channels of convolutions of few of them: those of the program, more by
/// zeros, or more by blocks of positions, too, see remat-widen-channels.
enum class ConvolutionChannels { Program, Zeros, Blocks };

/// What tensors are kept in: in the types of the program, or in 16 bits.
enum class TensorNarrowing { None, BF16, F16 };

/// All that can be asked for when a step is compiled. What a default says is
/// what happens without the option.
struct StepOptions {
  /// What the step is compiled for, one of getKnownTargets(). Empty: what the
  /// module's `remat.target` says, else "cpu".
  std::string target;
  /// The function to compile, see findEntry.
  std::string function = "main";

  /// File with a script of the transform dialect to run on the model as it is
  /// read, or empty. A script in the model's own file is run in any case.
  std::string script;

  /// Operations that one loop may unroll to; a longer one stays a loop.
  int64_t unrollLimit = 4096;
  /// The most iterations of a loop of which neither an attribute nor the
  /// program says that; 0 for any number.
  int64_t maxTripCount = 0;

  /// Segments to cut the function into. Its own `function` is not used.
  SequentialOptions sequential;
  /// What is saved, by name and operation.
  PolicyOptions policies;
  /// Whether recomputation of a region stops when all that is needed of it
  /// exists, for all regions; if not set, as each says.
  std::optional<bool> earlyStop;

  /// Whether equal layers become a loop, see remat-fold-layers.
  LayerFolding foldLayers = LayerFolding::Never;

  /// Whether to append a backward computation: by default the gradient of
  /// `result`, with `cotangents` the vector-Jacobian product of all results.
  bool differentiate = true;
  /// Numbers of the arguments to differentiate with respect to. Empty: all
  /// floating-point arguments.
  llvm::SmallVector<int64_t> wrt;
  /// Number of the result to differentiate. Negative numbers count from the
  /// end.
  int64_t result = -1;
  bool cotangents = false;
  /// Add each gradient to what is in one more argument, whose buffer the result
  /// has.
  bool accumulate = false;
  /// The optimizer that updates what is differentiated, as parseOptimizer reads
  /// it, or empty: gradients are returned.
  std::string optimizer;
  /// Parts of a batch that the step runs the function for, and the numbers of
  /// the arguments of which each part has its own; if empty, those that
  /// remat-microbatches finds.
  int64_t microbatches = 1;
  llvm::SmallVector<int64_t> batchArguments;
  MicrobatchOrder microbatchOrder = MicrobatchOrder::Auto;
  /// In how many parts the batch that the function has is done; 0 lets the plan
  /// choose.
  int64_t splitBatch = 1;
  /// Rows that the batch is taken to have; 0 for those of the program. With
  /// others, the step is one to plan and not to run: see remat-resize-batch.
  int64_t assumedBatch = 0;
  /// Whether to append, as the last of all, tangents of all results.
  bool tangents = false;
  /// If set, these are the derivatives to append, in place of what the five
  /// members above ask for. Each differentiates what the previous one made.
  std::optional<llvm::SmallVector<DifferentiateOptions, 2>> derivatives;
  /// Compute in f64 wherever the function has a narrower floating-point type.
  bool widen = false;
  /// Whether tensors are kept in fewer bits than the function's, see
  /// remat-narrow-tensors.
  TensorNarrowing narrow = TensorNarrowing::None;

  /// Let forward and backward computation be separate calls, see
  /// remat-separate-backward.
  bool separateBackward = false;
  /// Rows of slices of wide values; 0 for those that the target asks for, and
  /// planSliceRows to let the plan choose.
  int64_t sliceRows = 0;
  static constexpr int64_t planSliceRows = -1;
  /// The codecs in whose forms the planner may keep values, see
  /// remat-offer-packing.
  llvm::SmallVector<std::string> compress;
  /// What that may add to the relative error of a gradient, or 0 for no bound,
  /// and the file of measured errors that a bound needs.
  double maxGradientError = 0;
  std::string gradientErrors;
  /// Threads that the step will run on; 0 for all cores.
  int threads = 0;
  /// File of measured costs, or empty.
  std::string costs;

  PlanOptions plan;

  /// The symbol of the `remat_module` that the code defines.
  std::string name = "step";
  /// The processor that code is made for, by the name that the target's
  /// compiler knows; empty for the host's.
  std::string chip;
  /// Who carries out convolutions on a CUDA device.
  ConvolutionChoice convolutions = ConvolutionChoice::Auto;
  /// Which plans of cuDNN these have.
  ConvolutionPlans convolutionPlans = ConvolutionPlans::Fastest;
  /// What channels these have if there are few.
  ConvolutionChannels channels = ConvolutionChannels::Program;
  /// Whether products of f32 may be multiplied as TF32 where a device can.
  bool allowsTf32 = false;
  /// Whether a product of f16 or bf16 that a bias is added to may stay in f32
  /// until the sum is rounded.
  bool roundsOnlySums = false;
  /// Whether attention may round to 16 bits what it multiplies, and read its
  /// results as they are rounded for others.
  bool roundsFactors = false;
  /// Whether forward kernels run again only where the plan says so, see
  /// remat-keep-repeated.
  RepeatKeeping keepRepeated = RepeatKeeping::Never;
  /// What runs code that is loaded into this process, by a name that the target
  /// knows; empty for what it is made for.
  std::string device;
  /// Directory where compiled kernels are kept, or empty.
  std::string kernelCache;
  /// Directory of the CUDA toolkit, or empty for the one that is found.
  std::string cudaToolkit;

  /// The derivatives to append, in order.
  llvm::SmallVector<DifferentiateOptions, 2> getDerivatives() const;
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// The stages of compilation, which are the bits of a set.
enum Stage : unsigned {
  ImportStage = 1,
  JointStage = 2,
  TasksStage = 4,
  PlanStage = 8,
  PlaceStage = 16,
  CodeStage = 32,
  ObjectStage = 64,
  AllStages = 127
};

/// A row of the table of options.
struct StepOptionInfo : OptionInfo<StepOptions> {
  /// The stages that read the option.
  unsigned stages = 0;
};

/// All options but `derivatives`, which has no text.
llvm::ArrayRef<StepOptionInfo> getStepOptionTable();

/// The table as data: for each option `name`, `kind` ("flag", "value" or
/// "list"), `value` (how it is written), `default`, `help`, `stages` and, where
/// there are only a few values, `choices` with `name` and `summary`.
llvm::json::Array describeStepOptions();

/// The targets that this process can compile for.
std::vector<std::string> getKnownTargets();

//===----------------------------------------------------------------------===//
// Options by name
//===----------------------------------------------------------------------===//

/// Sets the option called `key` to what `value` says. An unknown key is an
/// error that lists the known ones, a bad value one that says what was expected
/// and what was given. Underscores in `key` count as dashes.
llvm::Error setOption(StepOptions &options, llvm::StringRef key,
                      llvm::StringRef value);

/// Sets an option for each member of `object`. A value is what `setOption`
/// takes, as a string, or else a number, a boolean, an array for a list, an
/// object of names and bytes for the budgets of regions, or null for what the
/// option was before. On an error, nothing is set.
llvm::Error applyOptions(StepOptions &options,
                         const llvm::json::Object &object);

/// An error if options contradict each other or have no effect.
llvm::Error checkStepOptions(const StepOptions &options);

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// How far a pipeline goes.
enum class StepLevel { Joint, Tasks, Planned, Placed, Code };

/// What tools call a level, and say of it.
struct StepLevelInfo {
  StepLevel level;
  /// As given to `--emit`.
  llvm::StringRef name, help;
};

/// All levels, in the order in which they are reached.
llvm::ArrayRef<StepLevelInfo> getStepLevels();

} // namespace remat

#endif // REMAT_PIPELINES_STEPOPTIONS_H
