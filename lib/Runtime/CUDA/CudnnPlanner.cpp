//===- CudnnPlanner.cpp - execution plans of cuDNN ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/CudnnPlanner.h"

#include "Cudnn.h"
#include "CudnnForm.h"
#include "Descriptors.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

using namespace remat;
using namespace remat::cudnn;

namespace {

/// What the library has to know of a device.
struct Device {
  uint32_t capability;
  const char *name;
  int multiprocessors, sharedBytes, clockKhz, memoryClockKhz, busBits,
      cacheBytes;
  uint64_t memoryBytes;
};

/// Makes the plans of one convolution for the devices of one capability.
class Planner {
public:
  Planner(const Library &library, const remat_convolution &convolution,
          const ConvolutionPlanLimits &limits)
      : lib(library), convolution(convolution), limits(limits),
        graph(library, Kind::Graph) {}
  bool run(std::vector<ConvolutionPlan> &plans, std::string &error);

private:
  bool describeDevices(std::string &error);
  Descriptor describeTensor(const ConvolutionForm::Tensor &tensor,
                            int64_t number) const;
  bool describeOperation(std::string &error);
  std::vector<Descriptor> findConfigs(const Descriptor &device, int mode);
  enum class Speed { Refused, Scalar, TensorCores };
  Speed classify(Descriptor &config) const;
  bool makePlan(const Descriptor &device, const Descriptor &config,
                ConvolutionPlan &plan) const;
  uint64_t countSharedBytes(const ConvolutionPlan &plan) const;
  void countWorkspace(ConvolutionPlan &plan) const;
  bool choosePlan(const Descriptor &device, ConvolutionPlan &plan);

  const Library &lib;
  const remat_convolution &convolution;
  const ConvolutionPlanLimits &limits;
  Descriptor graph;
  std::vector<Descriptor> targets;
  /// What the graph refers to.
  std::vector<Descriptor> parts;
};

} // namespace

/// The first version that answers for devices which are not there.
static constexpr uint32_t leastVersion = 90800;

/// Those in common use. The library tells them apart by multiprocessors and
/// cache, not by the size and the clock of the memory.
static constexpr Device devices[] = {{80, "NVIDIA A100", 108, 166912, 1410000,
                                      1215000, 5120, 41943040, 42949672960},
                                     {90, "NVIDIA H100", 132, 232448, 1980000,
                                      2619000, 5120, 52428800, 85899345920},
                                     {90, "NVIDIA H200", 132, 232448, 1980000,
                                      3201000, 6144, 62914560, 150754820096}};

/// The device in the words of the library. What is the same for all of them is
/// what CUDA documents for these capabilities.
static std::string printDevice(const Device &device, uint32_t version) {
  auto number = [](const char *name, uint64_t value) {
    return std::string(",\"") + name + "\":" + std::to_string(value);
  };
  return R"({"cudaDeviceId":0,"deviceId":0,"pciDeviceId":0,"isTccDriver":0,)"
         R"("supportCoopLaunch":1,"driverVer":13000,"warpSize":32,)"
         R"("maxGridSize":[2147483647,65535,65535],)"
         R"("maxBlockSize":[1024,1024,64],"maxThreadsPerBlock":1024,)"
         R"("maxThreadsPerSM":2048,"maxCtasPerSM":32,"regsPerBlock":65536,)"
         R"("maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152,)"
         R"("reservedSharedMemoryPerBlock":1024,"schemaVersion":1)" +
         number("deviceVer", device.capability * 10) +
         number("multiProcessorCount", device.multiprocessors) +
         number("maxSharedMemoryPerBlockOptin", device.sharedBytes) +
         number("smClockRateKHz", device.clockKhz) +
         number("memClockRateKHz", device.memoryClockKhz) +
         number("memoryBusWidth", device.busBits) +
         number("l2CacheSize", device.cacheBytes) +
         number("totalGlobalMem", device.memoryBytes) +
         number("cudnnVersion", version) + ",\"deviceName\":\"" + device.name +
         "\"}";
}

static bool fail(std::string &error, std::string message) {
  error = std::move(message);
  return false;
}

bool Planner::describeDevices(std::string &error) {
  for (const Device &known : devices) {
    if (known.capability != limits.capability)
      continue;
    Descriptor &device = targets.emplace_back(lib, Kind::Device);
    device.setText(Attribute::DeviceText, printDevice(known, lib.getVersion()));
    if (!device.finalize())
      return fail(error, "cuDNN refuses the description of a device: " +
                             lib.describe(device.getStatus()));
  }
  return !targets.empty() ||
         fail(error, "there is no description of a device of compute "
                     "capability " +
                         std::to_string(limits.capability / 10) + "." +
                         std::to_string(limits.capability % 10));
}

static DataType getType(int32_t dtype) {
  switch (dtype) {
  case REMAT_F64:
    return typeF64;
  case REMAT_F16:
    return typeF16;
  case REMAT_BF16:
    return typeBF16;
  default:
    return typeF32;
  }
}

Descriptor Planner::describeTensor(const ConvolutionForm::Tensor &tensor,
                                   int64_t number) const {
  Descriptor described(lib, Kind::Tensor);
  described.set(Attribute::TensorType, Type::DataType,
                int(getType(convolution.input_dtype)));
  described.set(Attribute::TensorDims, tensor.dims);
  described.set(Attribute::TensorStrides, tensor.strides);
  described.set(Attribute::TensorNumber, Type::Int64, number);
  described.set(Attribute::TensorAlignment, Type::Int64, tensorAlignment);
  described.finalize();
  return described;
}

static const OperationAttributes &getAttributes(int32_t kind) {
  static constexpr OperationAttributes forward = {Kind::Forward, 700, 701, 702,
                                                  704,           703, 705};
  static constexpr OperationAttributes inputGradient = {
      Kind::InputGradient, 706, 707, 708, 710, 709, 711};
  static constexpr OperationAttributes filterGradient = {
      Kind::FilterGradient, 712, 713, 714, 716, 715, 717};
  return kind == REMAT_CONV_FORWARD          ? forward
         : kind == REMAT_CONV_INPUT_GRADIENT ? inputGradient
                                             : filterGradient;
}

/// The graph of the convolution alone.
bool Planner::describeOperation(std::string &error) {
  ConvolutionForm form;
  Footprint footprint;
  if (!checkConvolution(convolution, footprint, error))
    return false;
  if (!findConvolutionForm(convolution, form))
    return fail(error, "cuDNN does not take a convolution with these types, "
                       "strides or windows");
  bool isF64 = convolution.input_dtype == REMAT_F64;
  constexpr int crossCorrelation = 1;
  Descriptor conv(lib, Kind::Convolution);
  conv.set(Attribute::ConvolutionSpatialDims, Type::Int64,
           static_cast<int64_t>(form.stride.size()));
  conv.set(Attribute::ConvolutionType, Type::DataType,
           int(isF64 ? typeF64 : typeF32));
  conv.set(Attribute::ConvolutionMode, Type::ConvolutionMode, crossCorrelation);
  conv.set(Attribute::ConvolutionPrePaddings, form.prePadding);
  conv.set(Attribute::ConvolutionPostPaddings, form.postPadding);
  conv.set(Attribute::ConvolutionDilations, form.dilation);
  conv.set(Attribute::ConvolutionStrides, form.stride);
  conv.finalize();
  Descriptor input = describeTensor(form.input, inputNumber);
  Descriptor filter = describeTensor(form.filter, filterNumber);
  Descriptor output = describeTensor(form.output, outputNumber);

  const OperationAttributes &names = getAttributes(convolution.kind);
  Descriptor operation(lib, names.kind);
  operation.set(names.convolution, conv);
  operation.set(names.input, input);
  operation.set(names.filter, filter);
  operation.set(names.output, output);
  const double one = 1, zero = 0;
  const float one32 = 1, zero32 = 0;
  Type scale = isF64 ? Type::Double : Type::Float;
  operation.set(names.alpha, scale, 1,
                isF64 ? static_cast<const void *>(&one) : &one32);
  operation.set(names.beta, scale, 1,
                isF64 ? static_cast<const void *>(&zero) : &zero32);
  operation.finalize();
  graph.set(Attribute::GraphOperations, operation);
  bool isSound = graph.finalize();
  if (!isSound)
    error = "cuDNN refuses the convolution: " + lib.describe(graph.getStatus());
  for (Descriptor *part : {&conv, &input, &filter, &output, &operation})
    parts.push_back(std::move(*part));
  return isSound;
}

/// Algorithms with their parameters, those first that the library thinks fast.
std::vector<Descriptor> Planner::findConfigs(const Descriptor &device,
                                             int mode) {
  Descriptor heuristics(lib, Kind::Heuristics);
  heuristics.set(Attribute::HeuristicsGraph, graph);
  heuristics.set(Attribute::HeuristicsMode, Type::HeuristicsMode, mode);
  heuristics.set(Attribute::HeuristicsDevice, device);
  heuristics.finalize();
  int64_t count = heuristics.read(Attribute::HeuristicsResults,
                                  Type::Descriptor, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<Object> objects;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(lib, Kind::EngineConfig);
    objects.push_back(configs.back().get());
  }
  if (count > 0)
    count = heuristics.read(Attribute::HeuristicsResults, Type::Descriptor,
                            count, objects.data());
  while (static_cast<int64_t>(configs.size()) > count)
    configs.pop_back();
  return configs;
}

/// What an algorithm multiplies with, if it gives the same bits in every run,
/// in the precision that was asked for.
Planner::Speed Planner::classify(Descriptor &config) const {
  enum Note : int {
    tensorCore = 0,
    downConvertsInputs = 1,
    reducedPrecisionSum = 2,
    nondeterministic = 4,
    noteCount = 32
  };
  Descriptor engine(lib, Kind::Engine);
  Object object = engine.get();
  int notes[noteCount];
  if (config.read(Attribute::ConfigEngine, Type::Descriptor, 1, &object) != 1)
    return Speed::Refused;
  int64_t count = engine.read(Attribute::EngineNotes, Type::NumericalNote,
                              noteCount, notes);
  bool isF32 = convolution.input_dtype == REMAT_F32;
  bool isAllowed =
      count >= 0 && std::all_of(notes, notes + count, [&](int note) {
        return note != nondeterministic && note != reducedPrecisionSum &&
               (note != tensorCore || !isF32 || limits.allowsTf32) &&
               (note != downConvertsInputs || (isF32 && limits.allowsTf32));
      });
  if (!isAllowed)
    return Speed::Refused;
  return std::find(notes, notes + count, tensorCore) == notes + count
             ? Speed::Scalar
             : Speed::TensorCores;
}

bool Planner::makePlan(const Descriptor &device, const Descriptor &config,
                       ConvolutionPlan &plan) const {
  Descriptor made(lib, Kind::Plan);
  made.set(Attribute::PlanConfig, config);
  made.set(Attribute::PlanDevice, device);
  if (!made.finalize())
    return false;
  int64_t count = made.read(Attribute::PlanText, Type::Char, 0, nullptr);
  if (count <= 0)
    return false;
  std::string text(static_cast<size_t>(count), '\0');
  if (made.read(Attribute::PlanText, Type::Char, count, &text[0]) <= 0)
    return false;
  // Without the NUL.
  plan.text = text.c_str();
  plan.version = lib.getVersion();
  plan.workspaceBytes = UINT64_MAX;
  countWorkspace(plan);
  return plan.workspaceBytes <= limits.workspaceBytes;
}

/// The number of a parameter of the plan's algorithm; -1 if it has none.
static int readKnob(const std::string &plan, const char *name) {
  std::string key = std::string("\"CUDNN_KNOB_TYPE_") + name + "\":";
  size_t place = plan.find(key);
  return place == std::string::npos
             ? -1
             : std::atoi(plan.c_str() + place + key.size());
}

/// The room that blocks of an algorithm need to share sums. How many blocks
/// there are, the library asks the driver: without one it counts none. On an
/// H200, cuDNN 9.19 wanted at most a tile of the result in f32 for each
/// multiprocessor, and some hundred bytes, of 173 plans whose workspace there
/// was not the one that was found without a driver.
uint64_t Planner::countSharedBytes(const ConvolutionPlan &plan) const {
  constexpr int sharedInWorkspace = 0;
  constexpr uint64_t kib = 1024, counterBytes = 4 * kib;
  if (readKnob(plan.text, "WORKSPACE") != sharedInWorkspace)
    return 0;
  // By the number of the tile's size: of 64 x 64 to 256 x 128 elements, which
  // take half of the registers.
  static constexpr uint64_t tiles[] = {
      64 * kib, 32 * kib,  128 * kib, 128 * kib, 64 * kib,
      16 * kib, 128 * kib, 32 * kib,  128 * kib, 64 * kib};
  int size = readKnob(plan.text, "TILE_SIZE");
  uint64_t tileBytes =
      size >= 0 && size < int(std::size(tiles)) ? tiles[size] : 128 * kib;
  int most = 0;
  for (const Device &device : devices)
    if (device.capability == limits.capability)
      most = std::max(most, device.multiprocessors);
  return static_cast<uint64_t>(most) * tileBytes + counterBytes;
}

/// Finds the workspace of a plan on the devices that take it, if any does.
void Planner::countWorkspace(ConvolutionPlan &plan) const {
  uint64_t most = 0;
  bool isTaken = false;
  for (const Descriptor &device : targets) {
    Descriptor loaded(lib, Kind::Plan);
    loaded.set(Attribute::PlanDevice, device);
    loaded.setText(Attribute::PlanText, plan.text);
    int64_t bytes = 0;
    if (!loaded.finalize() ||
        loaded.read(Attribute::PlanWorkspace, Type::Int64, 1, &bytes) != 1)
      continue;
    most = std::max(most, static_cast<uint64_t>(bytes));
    isTaken = true;
  }
  if (!isTaken)
    return;
  plan.workspaceBytes = most + countSharedBytes(plan);
}

/// The first plan that has room; the one with the least workspace of some, if
/// that is asked for. Where the library thinks an algorithm on tensor cores the
/// fastest, the others are ten times slower, however little room they need.
bool Planner::choosePlan(const Descriptor &device, ConvolutionPlan &plan) {
  enum : int { fallback = 2, best = 3 };
  // Each takes some milliseconds; what comes later is slow.
  constexpr int mostPlans = 16;
  // There is nothing to gain below.
  constexpr uint64_t fewBytes = 4096;
  std::optional<Speed> wanted;
  bool isFast = false;
  int count = 0;
  for (int mode : {best, fallback})
    for (Descriptor &config : findConfigs(device, mode)) {
      ConvolutionPlan made;
      Speed speed = classify(config);
      if (speed == Speed::Refused)
        continue;
      if (!wanted)
        wanted = speed;
      if (!makePlan(device, config, made))
        continue;
      bool isAsFast = speed >= *wanted;
      bool isSmaller = made.workspaceBytes < plan.workspaceBytes;
      if (count++ == 0 || (isAsFast && !isFast) ||
          (isAsFast == isFast && isSmaller && limits.isSmallest)) {
        plan = std::move(made);
        isFast = isAsFast;
      }
      bool isEnough = !limits.isSmallest || plan.workspaceBytes <= fewBytes;
      if ((isFast && isEnough) || count == mostPlans)
        return true;
    }
  return count > 0;
}

bool Planner::run(std::vector<ConvolutionPlan> &plans, std::string &error) {
  if (!describeDevices(error) || !describeOperation(error))
    return false;
  plans.clear();
  for (const Descriptor &device : targets) {
    ConvolutionPlan plan;
    if (!choosePlan(device, plan))
      return fail(error, "cuDNN has no deterministic algorithm for the "
                         "convolution with at most " +
                             std::to_string(limits.workspaceBytes) +
                             " bytes of workspace");
    if (std::none_of(plans.begin(), plans.end(), [&](const ConvolutionPlan &p) {
          return p.text == plan.text;
        }))
      plans.push_back(std::move(plan));
  }
  return true;
}

static const Library *getPlanningLibrary(std::string &error) {
  const Library *library = Library::get(error);
  if (!library || library->getVersion() >= leastVersion)
    return library;
  error = "cuDNN " + printVersion(library->getVersion()) +
          " makes no plans for devices that are not there, expected " +
          printVersion(leastVersion) + " or later";
  return nullptr;
}

bool remat::canPlanConvolutions(std::string &error) {
  return getPlanningLibrary(error) != nullptr;
}

bool remat::planConvolution(const remat_convolution &convolution,
                            const ConvolutionPlanLimits &limits,
                            std::vector<ConvolutionPlan> &plans,
                            std::string &error) {
  const Library *library = getPlanningLibrary(error);
  return library && Planner(*library, convolution, limits).run(plans, error);
}
