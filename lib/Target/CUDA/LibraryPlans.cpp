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

namespace {

/// The bytes of a convolution's tensors.
struct TensorBytes {
  explicit TensorBytes(const remat_convolution &conv);
  int64_t input, output, filter;
};

} // namespace

TensorBytes::TensorBytes(const remat_convolution &conv)
    : input(multiplyCounts(conv.batch, conv.input_channels)),
      output(multiplyCounts(conv.batch, conv.output_channels)),
      filter(multiplyCounts(conv.input_channels /
                                std::max<int64_t>(conv.groups, 1),
                            conv.output_channels)) {
  for (int i = 0; i < conv.spatial_rank; ++i) {
    input = multiplyCounts(input, conv.input[i]);
    output = multiplyCounts(output, conv.output[i]);
    filter = multiplyCounts(filter, conv.filter[i]);
  }
  for (int64_t *count : {&input, &output, &filter})
    *count = multiplyCounts(*count, remat_dtype_bytes(conv.input_dtype));
}

/// Whether the channels of a tensor lie side by side, and the batch is the
/// outermost dimension. Strides are of batch, channels and positions.
static bool isChannelsLast(int64_t batch, int64_t channels,
                           const int64_t *positions, int rank,
                           const int64_t *strides) {
  int64_t inner = channels;
  if (channels > 1 && strides[1] != 1)
    return false;
  for (int i = rank - 1; i >= 0; --i) {
    if (positions[i] > 1 && strides[2 + i] != inner)
      return false;
    inner = multiplyCounts(inner, positions[i]);
  }
  return batch <= 1 || strides[0] == inner;
}

bool remat::cuda::usesTensorCores(const remat_convolution &conv,
                                  bool allowsTf32) {
  bool hasTensorCores = conv.input_dtype == REMAT_F16 ||
                        conv.input_dtype == REMAT_BF16 ||
                        (conv.input_dtype == REMAT_F32 && allowsTf32);
  return hasTensorCores && conv.filter_dtype == conv.input_dtype &&
         conv.output_dtype == conv.input_dtype;
}

int64_t remat::cuda::countRearrangedBytes(const remat_convolution &conv,
                                          bool allowsTf32) {
  if (!usesTensorCores(conv, allowsTf32))
    return 0;
  TensorBytes bytes(conv);
  int64_t copied = 0;
  if (!isChannelsLast(conv.batch, conv.input_channels, conv.input,
                      conv.spatial_rank, conv.input_strides))
    copied = bytes.input;
  if (!isChannelsLast(conv.batch, conv.output_channels, conv.output,
                      conv.spatial_rank, conv.output_strides))
    copied = addCounts(copied, bytes.output);
  return copied;
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
  // The library may copy all tensors to another layout, and have sums of parts
  // beside them.
  constexpr int64_t leastBytes = int64_t(32) << 20;
  TensorBytes tensors(*call.getConvolution());
  int64_t bytes = leastBytes;
  for (int64_t count : {tensors.input, tensors.output, tensors.filter})
    bytes = addCounts(bytes, count);
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
