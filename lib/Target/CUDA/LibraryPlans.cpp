//===- LibraryPlans.cpp - execution plans of cuDNN ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryPlans.h"
#include "CodeEmitter.h"
#include "SecondPlans.h"

#include "remat/Codegen/Library/Convolution.h"
#include "remat/Codegen/LibraryCall.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Utils/Saturating.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

using codegen::DevicePlan;

namespace {

/// Asks for the plans of each convolution once.
class ConvolutionPlanner {
public:
  ConvolutionPlanner(ArrayRef<const Chip *> chips, bool allowsTf32)
      : chips(chips), allowsTf32(allowsTf32) {}

  /// Plans for all devices, or none and why.
  struct Plans {
    SmallVector<DevicePlan> plans;
    std::string error;
  };
  /// With at most `mostBytes` of workspace.
  const Plans &get(const remat_convolution &conv, int64_t mostBytes,
                   bool isSmallest);

private:
  ArrayRef<const Chip *> chips;
  bool allowsTf32;
  /// By what is asked for; equal convolutions have equal limits.
  std::map<std::pair<std::string, bool>, Plans> known;
};

} // namespace

static int64_t countTensorBytes(const remat_convolution &conv) {
  int64_t input = multiplyCounts(conv.batch, conv.input_channels);
  int64_t output = multiplyCounts(conv.batch, conv.output_channels);
  int64_t filter =
      multiplyCounts(conv.input_channels / conv.groups, conv.output_channels);
  for (int i = 0; i < conv.spatial_rank; ++i) {
    input = multiplyCounts(input, conv.input[i]);
    output = multiplyCounts(output, conv.output[i]);
    filter = multiplyCounts(filter, conv.filter[i]);
  }
  return multiplyCounts(addCounts(addCounts(input, output), filter),
                        remat_dtype_bytes(conv.input_dtype));
}

const ConvolutionPlanner::Plans &
ConvolutionPlanner::get(const remat_convolution &conv, int64_t mostBytes,
                        bool isSmallest) {
  std::string key(reinterpret_cast<const char *>(&conv), sizeof(conv));
  auto [found, isNew] = known.try_emplace({std::move(key), isSmallest});
  Plans &result = found->second;
  for (const Chip *chip : isNew ? chips : ArrayRef<const Chip *>()) {
    std::vector<ConvolutionPlan> plans;
    if (!planConvolution(
            conv,
            {chip->capability, allowsTf32, uint64_t(mostBytes), isSmallest},
            plans, result.error)) {
      result.error += (" on " + chip->name).str();
      result.plans.clear();
      break;
    }
    for (ConvolutionPlan &plan : plans)
      result.plans.push_back({chip->capability, std::move(plan)});
  }
  return result;
}

/// The kernels that may get plans.
static SmallVector<FunctionOpInterface> collectConvolutions(ModuleOp module) {
  // A placed graph, the body of a loop, has no room for another workspace.
  llvm::StringSet<> placed;
  for (auto graph : module.getOps<GraphOp>())
    if (graph.isPlaced())
      for (auto task : graph.getOps<TaskOp>())
        placed.insert(task.getKernel());
  SmallVector<FunctionOpInterface> kernels;
  for (auto kernel : module.getOps<FunctionOpInterface>()) {
    if (!kernel->hasAttr(RematDialect::kernelAttrName) ||
        kernel->hasAttr(RematDialect::plansAttrName) ||
        placed.contains(kernel.getName()))
      continue;
    auto chosen = kernel->getAttrOfType<ImplementationAttr>(
        RematDialect::implementationAttrName);
    if (chosen && chosen.getValue() == Implementation::Generated)
      continue;
    codegen::LibraryCallRef call = codegen::describeLibraryCall(kernel);
    if (call && call->getConvolution())
      kernels.push_back(kernel);
  }
  return kernels;
}

/// The most workspace that a plan may have.
static int64_t getLimit(const codegen::LibraryCall &call, TargetAttr facts,
                        const LibraryOptions &options) {
  // The library may copy tensors to another layout, but not keep more than
  // they have.
  constexpr int64_t leastBytes = int64_t(32) << 20;
  int64_t bytes =
      std::max(leastBytes, countTensorBytes(*call.getConvolution()));
  return options.convolutions == ConvolutionChoice::Auto
             ? std::min(bytes, codegen::getWorthwhileBytes(call, facts))
             : bytes;
}

static uint64_t getMostBytes(ArrayRef<DevicePlan> plans) {
  uint64_t bytes = 0;
  for (const DevicePlan &plan : plans)
    bytes = std::max(bytes, plan.plan.workspaceBytes);
  return bytes;
}

LogicalResult remat::cuda::makeConvolutionPlans(ModuleOp module,
                                                const LibraryOptions &options) {
  bool isAsked = options.convolutions == ConvolutionChoice::Cudnn;
  SmallVector<FunctionOpInterface> kernels = collectConvolutions(module);
  std::string error;
  if ((isAsked || !kernels.empty()) && !canPlanConvolutions(error)) {
    if (isAsked)
      return module.emitError("convolutions cannot be carried out by cuDNN: ")
             << error;
    emitRemark(module.getLoc()) << "convolutions are generated code: " << error;
    return success();
  }
  auto chips = findChips(options.chip);
  if (!chips)
    return module.emitError(llvm::toString(chips.takeError()));
  ConvolutionPlanner planner(*chips, options.allowsTf32);
  SecondPlans seconds;
  for (FunctionOpInterface kernel : kernels) {
    codegen::LibraryCallRef call = codegen::describeLibraryCall(kernel);
    const remat_convolution &conv = *call->getConvolution();
    int64_t limit = getLimit(*call, getTargetFacts(module), options);
    const ConvolutionPlanner::Plans &plans = planner.get(
        conv, limit, options.convolutionPlans == ConvolutionPlans::Smallest);
    if (plans.plans.empty()) {
      emitRemark(kernel.getLoc())
          << "the convolution is generated code: " << plans.error;
      continue;
    }
    codegen::setDevicePlans(kernel, plans.plans);
    if (options.convolutionPlans != ConvolutionPlans::Budget)
      continue;
    const auto &smaller = planner.get(conv, limit, /*isSmallest=*/true).plans;
    uint64_t bytes = getMostBytes(plans.plans);
    // Less is not worth another algorithm.
    if (!smaller.empty() && bytes > 0 && getMostBytes(smaller) <= bytes / 2)
      seconds[kernel.getName()] = smaller;
  }
  if (!seconds.empty())
    addGraphsWithSecondPlans(module, seconds);
  return success();
}
