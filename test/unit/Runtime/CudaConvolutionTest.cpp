//===- CudaConvolutionTest.cpp - convolutions on a stand-in for a GPU -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptions of convolutions become plans of cuDNN, and plans calls that
// compute the same. The numbers are small integers, so that every order of the
// sums gives the same.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "LoopTest.h"

#include "remat/Runtime/CudnnPlanner.h"

#include <algorithm>

using namespace remat;

namespace {

constexpr uint64_t enoughBytes = 1 << 20;

/// Strides of dims that are laid out as `order` says, outermost first.
void layOut(const std::vector<int64_t> &dims, const std::vector<int> &order,
            int64_t *strides) {
  int64_t size = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[*dim] = size;
    size *= dims[static_cast<size_t>(*dim)];
  }
}

/// A sound convolution with the most windows that its padding has room for.
remat_convolution makeConvolution(int32_t kind, std::vector<int64_t> input,
                                  std::vector<int64_t> filter, int64_t stride,
                                  int64_t dilation, int64_t padLow,
                                  int64_t padHigh, int64_t groups,
                                  bool channelsLast) {
  remat_convolution c = {};
  c.kind = kind;
  c.spatial_rank = static_cast<int32_t>(input.size());
  c.batch = 2;
  c.groups = groups;
  c.input_channels = 3 * groups;
  c.output_channels = 2 * groups;
  std::vector<int64_t> in = {c.batch, c.input_channels};
  std::vector<int64_t> out = {c.batch, c.output_channels};
  std::vector<int64_t> taps = {groups, 2, 3};
  std::vector<int> order = {0}, filterOrder = {0, 1};
  for (int i = 0; i < c.spatial_rank; ++i) {
    auto dim = static_cast<size_t>(i);
    c.input[i] = input[dim];
    c.filter[i] = filter[dim];
    c.stride[i] = stride;
    c.dilation[i] = dilation;
    c.pad_lo[i] = padLow;
    c.pad_hi[i] = padHigh;
    c.output[i] =
        (c.input[i] + padLow + padHigh - dilation * (c.filter[i] - 1) - 1) /
            stride +
        1;
    in.push_back(c.input[i]);
    taps.push_back(c.filter[i]);
    out.push_back(c.output[i]);
    order.push_back(2 + i);
    filterOrder.push_back(3 + i);
  }
  order.insert(channelsLast ? order.end() : order.begin() + 1, 1);
  filterOrder.insert(channelsLast ? filterOrder.end() : filterOrder.begin() + 2,
                     2);
  layOut(in, order, c.input_strides);
  layOut(taps, filterOrder, c.filter_strides);
  layOut(out, order, c.output_strides);
  return c;
}

/// The elements of input, filter and output.
struct Sizes {
  int64_t input, filter, output;
};

Sizes getSizes(const remat_convolution &c) {
  Sizes sizes = {c.batch * c.input_channels,
                 c.output_channels * c.input_channels / c.groups,
                 c.batch * c.output_channels};
  for (int i = 0; i < c.spatial_rank; ++i) {
    sizes.input *= c.input[i];
    sizes.filter *= c.filter[i];
    sizes.output *= c.output[i];
  }
  return sizes;
}

/// Visits the places of all products that StepTable.h names.
template <typename Visit>
void visitProducts(const remat_convolution &c, Visit visit) {
  int64_t outputs = c.output_channels / c.groups;
  int64_t inputs = c.input_channels / c.groups;
  int64_t windows = 1, taps = 1;
  for (int i = 0; i < c.spatial_rank; ++i) {
    windows *= c.output[i];
    taps *= c.filter[i];
  }
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t i = 0; i < inputs; ++i)
          for (int64_t window = 0; window < windows; ++window)
            for (int64_t tap = 0; tap < taps; ++tap) {
              int64_t in = n * c.input_strides[0] +
                           (g * inputs + i) * c.input_strides[1];
              int64_t filter = g * c.filter_strides[0] +
                               o * c.filter_strides[1] +
                               i * c.filter_strides[2];
              int64_t out = n * c.output_strides[0] +
                            (g * outputs + o) * c.output_strides[1];
              int64_t y = window, r = tap;
              bool isInside = true;
              for (int dim = c.spatial_rank; dim-- > 0;) {
                int64_t place = y % c.output[dim] * c.stride[dim] +
                                r % c.filter[dim] * c.dilation[dim] -
                                c.pad_lo[dim];
                isInside &= place >= 0 && place < c.input[dim];
                in += place * c.input_strides[2 + dim];
                filter += r % c.filter[dim] * c.filter_strides[3 + dim];
                out += y % c.output[dim] * c.output_strides[2 + dim];
                y /= c.output[dim];
                r /= c.filter[dim];
              }
              if (isInside)
                visit(static_cast<size_t>(in), static_cast<size_t>(filter),
                      static_cast<size_t>(out));
            }
}

/// The tensors of a convolution as operands and result.
struct Problem {
  explicit Problem(const remat_convolution &c)
      : input({getSizes(c).input}), filter({getSizes(c).filter}),
        output({getSizes(c).output}) {
    fill(input, 7);
    fill(filter, 5);
    fill(output, 6);
    Tensor *all[] = {&input, &filter, &output};
    int result = c.kind == REMAT_CONV_FORWARD          ? 2
                 : c.kind == REMAT_CONV_INPUT_GRADIENT ? 0
                                                       : 1;
    expected = all[result]->values;
    std::fill(expected.begin(), expected.end(), 0.0f);
    visitProducts(c, [&](size_t in, size_t tap, size_t out) {
      if (result == 2)
        expected[out] += input.values[in] * filter.values[tap];
      else if (result == 0)
        expected[in] += output.values[out] * filter.values[tap];
      else
        expected[tap] += input.values[in] * output.values[out];
    });
    // Operands in their order: output and filter, or input and output.
    lhs = result == 0 ? &output : &input;
    rhs = result == 1 ? &output : &filter;
    written = all[result];
  }
  static void fill(Tensor &tensor, size_t period) {
    for (size_t i = 0; i < tensor.values.size(); ++i)
      tensor.values[i] = static_cast<float>(i % period) - 2;
  }

  Tensor input, filter, output;
  std::vector<float> expected;
  Tensor *lhs, *rhs, *written;
};

ConvolutionPlanLimits getLimits() {
  ConvolutionPlanLimits limits;
  limits.capability = 90;
  limits.workspaceBytes = enoughBytes;
  return limits;
}

/// The only plan of a convolution; none if there are several.
bool makePlan(const remat_convolution &c, const ConvolutionPlanLimits &limits,
              ConvolutionPlan &plan, std::string &error) {
  std::vector<ConvolutionPlan> plans;
  if (!planConvolution(c, limits, plans, error) || plans.size() != 1)
    return false;
  plan = plans.front();
  return true;
}

/// A step of the convolution alone, with these plans.
StepTableBuilder makeStep(const remat_convolution &c, const Problem &problem,
                          const ConvolutionPlan &plan, uint64_t workspaceBytes,
                          uint32_t capability = 90, int entries = 1) {
  StepTableBuilder builder;
  uint32_t a = builder.addArgumentBuffer(
      builder.addArgument("a", REMAT_F32, problem.lhs->dims));
  uint32_t b = builder.addArgumentBuffer(
      builder.addArgument("b", REMAT_F32, problem.rhs->dims));
  uint32_t number = builder.addConvolution(c);
  if (!plan.text.empty())
    builder.addPlan(number, capability, plan.version, plan.text,
                    plan.workspaceBytes);
  for (int i = 0; i < entries; ++i) {
    uint32_t result = builder.addResultBuffer(builder.addResult(
        "c" + std::to_string(i), REMAT_F32, problem.written->dims));
    StepEntry entry = makeEntry(number, {a, b}, {result});
    entry.kind = REMAT_ENTRY_CONVOLUTION;
    entry.name = "conv";
    entry.location = "model.py:7";
    if (workspaceBytes > 0)
      entry.workspace = builder.addArenaBuffer(0, workspaceBytes);
    builder.addEntry(entry);
  }
  return builder;
}

class CudaConvolutionTest : public ::testing::Test {
protected:
  void SetUp() override {
    fakecuda::reset(1);
    fakecuda::setCudnnVersion(91900);
  }
  void TearDown() override {
    EXPECT_EQ(fakecuda::getComplaints(), std::vector<std::string>());
    EXPECT_EQ(fakecuda::countObjects(), 0u);
  }
};

void check(const remat_convolution &c) {
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  StepTableBuilder builder = makeStep(c, problem, plan, plan.workspaceBytes);
  uint64_t planned = builder.getArenaBytes();
  CudaStep step(builder);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({*problem.lhs, *problem.rhs}, {*problem.written}),
            REMAT_OK)
      << step.message;
  ASSERT_EQ(problem.written->values, problem.expected);
  EXPECT_EQ(step.stats().measured_peak_bytes, planned);
}

TEST_F(CudaConvolutionTest, AllKinds) {
  struct {
    std::vector<int64_t> input, filter;
    int64_t stride, dilation, padLow, padHigh, groups;
  } cases[] = {{{7, 5}, {3, 3}, 1, 1, 1, 1, 1},
               {{9, 6}, {3, 2}, 2, 1, 1, 1, 1},
               {{8, 7}, {3, 3}, 2, 1, 0, 1, 2},
               {{11, 10}, {3, 3}, 1, 2, 2, 2, 3},
               {{9}, {4}, 3, 1, 2, 1, 1},
               {{8}, {1}, 2, 1, 0, 0, 2},
               {{5, 4, 6}, {2, 3, 1}, 2, 1, 1, 1, 1},
               {{1, 1}, {1, 1}, 1, 1, 0, 0, 1}};
  for (auto &test : cases)
    for (int32_t kind = 0; kind < REMAT_CONV_KIND_COUNT; ++kind)
      for (bool channelsLast : {false, true}) {
        check(makeConvolution(kind, test.input, test.filter, test.stride,
                              test.dilation, test.padLow, test.padHigh,
                              test.groups, channelsLast));
        if (HasFatalFailure())
          FAIL() << "kind " << kind << " of " << test.input.size()
                 << " dims, stride " << test.stride << ", channels last "
                 << channelsLast;
      }
}

// Fewer windows than there is room for are those at the beginning.
TEST_F(CudaConvolutionTest, LastWindowsLeftOut) {
  for (int32_t kind = 0; kind < REMAT_CONV_KIND_COUNT; ++kind) {
    remat_convolution c =
        makeConvolution(kind, {9, 9}, {3, 3}, 2, 1, 1, 3, 1, false);
    check(c);
  }
  remat_convolution c =
      makeConvolution(0, {9, 9}, {1, 1}, 1, 1, 0, 0, 1, false);
  c.output[0] = 4;
  ConvolutionPlan plan;
  std::string error;
  EXPECT_FALSE(makePlan(c, getLimits(), plan, error));
  EXPECT_EQ(error, "cuDNN does not take a convolution with these types, "
                   "strides or windows");
}

// Algorithm 0 gives other bits in each run, 1 and 4 are for tensor cores, 3 is
// the one without a workspace.
TEST_F(CudaConvolutionTest, Choice) {
  remat_convolution c =
      makeConvolution(0, {7, 5}, {3, 3}, 1, 1, 1, 1, 1, false);
  ConvolutionPlanLimits limits = getLimits();
  ConvolutionPlan plan;
  std::string error;
  auto choose = [&] {
    EXPECT_TRUE(makePlan(c, limits, plan, error)) << error;
    return plan.text.substr(0, plan.text.find(' ', 14));
  };
  EXPECT_EQ(choose(), "fake 10 900 2 0");
  // The second device that is known needs 8 bytes more.
  EXPECT_EQ(plan.workspaceBytes, 1000u + 2 * 2 * 35 * 4 + 8);
  EXPECT_EQ(plan.version, 91900u);
  // So little is small enough.
  limits.isSmallest = true;
  EXPECT_EQ(choose(), "fake 10 900 2 0");
  remat_convolution tiny = c;
  c = makeConvolution(0, {40, 40}, {3, 3}, 1, 1, 1, 1, 1, false);
  EXPECT_EQ(choose(), "fake 10 900 3 0");
  EXPECT_EQ(plan.workspaceBytes, 0u);
  limits.isSmallest = false;
  EXPECT_EQ(choose(), "fake 10 900 2 0");
  c = tiny;
  limits.allowsTf32 = true;
  EXPECT_EQ(choose(), "fake 10 900 1 0");
  // Where the first of the fast ones has no room for its copies, a later one
  // is taken, and not a slow one that is listed before it.
  limits.workspaceBytes = 5 << 19;
  c = makeConvolution(0, {290, 290}, {3, 3}, 1, 1, 1, 1, 1, false);
  EXPECT_EQ(choose(), "fake 10 900 4 0");
  limits.isSmallest = true;
  limits.workspaceBytes = 3 * enoughBytes;
  EXPECT_EQ(choose(), "fake 10 900 4 0");
  // Nothing is copied.
  limits.isSmallest = false;
  c = makeConvolution(0, {290, 290}, {3, 3}, 1, 1, 1, 1, 1, true);
  EXPECT_EQ(choose(), "fake 10 900 1 0");
  EXPECT_EQ(plan.workspaceBytes, 0u);
  // If none of them has room, a slow one has.
  limits.workspaceBytes = 0;
  c = tiny;
  EXPECT_EQ(choose(), "fake 10 900 3 0");
  limits = getLimits();
  limits.workspaceBytes = 1000;
  limits.capability = 80;
  EXPECT_EQ(choose(), "fake 10 800 3 0");
  EXPECT_EQ(plan.workspaceBytes, 0u);
  c.input_dtype = c.filter_dtype = c.output_dtype = REMAT_F64;
  limits.workspaceBytes = enoughBytes;
  EXPECT_EQ(choose(), "fake 10 800 2 1");

  limits.capability = 75;
  EXPECT_FALSE(makePlan(c, limits, plan, error));
  EXPECT_EQ(error,
            "there is no description of a device of compute capability 7.5");
  limits.capability = 90;
  c.output_dtype = REMAT_F32;
  EXPECT_FALSE(makePlan(c, limits, plan, error));
  fakecuda::setCudnnVersion(90701);
  EXPECT_FALSE(canPlanConvolutions(error));
  EXPECT_EQ(error, "cuDNN 9.7.1 makes no plans for devices that are not there, "
                   "expected 9.8.0 or later");
}

// Where blocks share sums, a device wants more workspace than cuDNN finds
// without one: a tile for each multiprocessor, which is planned.
TEST_F(CudaConvolutionTest, SharedSums) {
  remat_convolution c =
      makeConvolution(0, {290, 290}, {1, 1}, 1, 1, 0, 0, 1, false);
  ConvolutionPlanLimits limits = getLimits();
  limits.allowsTf32 = true;
  limits.workspaceBytes = 5 << 19;
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, limits, plan, error)) << error;
  EXPECT_EQ(plan.text.substr(0, 15), "fake 10 900 4 0");
  EXPECT_EQ(plan.workspaceBytes, 64u + 8 + 132 * 64 * 64 * 4 + 4096);
  CudaStep step(makeStep(c, problem, plan, plan.workspaceBytes));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({*problem.lhs, *problem.rhs}, {*problem.written}),
            REMAT_OK)
      << step.message;
  EXPECT_EQ(problem.written->values, problem.expected);
}

// Entries with one description have one plan, also when a graph repeats them.
TEST_F(CudaConvolutionTest, ManyRuns) {
  remat_convolution c =
      makeConvolution(0, {7, 5}, {3, 3}, 1, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  CudaStep step(makeStep(c, problem, plan, plan.workspaceBytes, 90, 2));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  for (int run = 0; run < 4; ++run) {
    Tensor first(problem.written->dims), second(problem.written->dims);
    ASSERT_EQ(step.run({*problem.lhs, *problem.rhs}, {first, second}), REMAT_OK)
        << step.message;
    EXPECT_EQ(first.values, problem.expected);
    EXPECT_EQ(second.values, problem.expected);
  }
  EXPECT_EQ(fakecuda::getCudnnPlan(), plan.text);
}

/// A loop over two inputs and filters.
StepTableBuilder makeLoopStep(const remat_convolution &c,
                              const Problem &problem,
                              const ConvolutionPlan &plan) {
  StepTableBuilder builder;
  std::string body = makeStep(c, problem, plan, plan.workspaceBytes).finalize();
  remat_loop loop =
      makeRecord(builder.addBody(body), 0, 0, 2, 1, /*flags=*/0, 2);
  auto twice = [](std::vector<int64_t> dims) {
    dims.insert(dims.begin(), 2);
    return dims;
  };
  std::vector<uint32_t> operands;
  for (const Tensor *tensor : {problem.lhs, problem.rhs})
    operands.push_back(builder.addArgumentBuffer(
        builder.addArgument("a", REMAT_F32, twice(tensor->dims))));
  uint32_t result = builder.addResultBuffer(
      builder.addResult("c", REMAT_F32, twice(problem.written->dims)));
  builder.addEntry(
      makeLoop(builder.addLoop(loop), operands, {result},
               builder.addArenaBuffer(0, loopWorkspaceBytes(loop, body))));
  return builder;
}

TEST_F(CudaConvolutionTest, InLoops) {
  remat_convolution c =
      makeConvolution(0, {8, 8}, {4, 4}, 1, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  CudaStep step(makeLoopStep(c, problem, plan));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  std::vector<Tensor> tensors;
  for (const Tensor *tensor : {problem.lhs, problem.rhs, problem.written}) {
    std::vector<int64_t> dims = tensor->dims;
    dims.insert(dims.begin(), 2);
    tensors.emplace_back(dims);
    for (size_t i = 0; i < tensors.back().values.size(); ++i)
      tensors.back().values[i] = tensor->values[i % tensor->values.size()];
  }
  ASSERT_EQ(step.run({tensors[0], tensors[1]}, {tensors[2]}), REMAT_OK)
      << step.message;
  std::vector<float> expected = problem.expected;
  expected.insert(expected.end(), problem.expected.begin(),
                  problem.expected.end());
  EXPECT_EQ(tensors[2].values, expected);
}

/// Filters of 54 floats that follow each other are not where cuDNN wants them.
TEST_F(CudaConvolutionTest, UnalignedInLoops) {
  remat_convolution c =
      makeConvolution(0, {8, 8}, {3, 3}, 1, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  CudaStep step(makeLoopStep(c, problem, plan));
  EXPECT_EQ(step.loaded, REMAT_LIBRARY_ERROR);
  EXPECT_EQ(step.message,
            "body 0: entry 0 'conv' at model.py:7: a tensor begins at any "
            "multiple of 8 bytes, as it is of an iteration of a loop, expected "
            "a multiple of 16: unroll the loop, or compile the step without "
            "cuDNN");
}

TEST_F(CudaConvolutionTest, Failures) {
  remat_convolution c =
      makeConvolution(0, {7, 5}, {3, 3}, 1, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  auto load = [&](const ConvolutionPlan &given, uint64_t bytes,
                  uint32_t capability = 90) {
    CudaStep step(makeStep(c, problem, given, bytes, capability));
    EXPECT_EQ(step.loaded, REMAT_LIBRARY_ERROR);
    return step.message;
  };
  const std::string entry = "entry 0 'conv' at model.py:7: ";
  EXPECT_EQ(load({}, 4096), entry +
                                "the step has no plan of the convolution for "
                                "a device of compute capability 9.0");
  EXPECT_EQ(load(plan, plan.workspaceBytes, 80),
            entry + "the step has no plan of the convolution for a device of "
                    "compute capability 9.0, only for 8.0");
  EXPECT_EQ(load(plan, 1024),
            entry + "the plan of the convolution needs 1568 bytes of "
                    "workspace, the entry has 1024");
  ConvolutionPlan smaller = plan;
  smaller.workspaceBytes = 1024;
  EXPECT_EQ(load(smaller, 1024),
            entry + "cuDNN wants 1560 bytes of workspace for the plan of a "
                    "convolution, planned were 1024");
  ConvolutionPlan damaged = plan;
  damaged.text = "none";
  EXPECT_EQ(load(damaged, plan.workspaceBytes),
            entry + "cuDNN does not take the plan of a convolution on this "
                    "device: CUDNN_STATUS_BAD_PARAM");
  // A plan for another device that says it is for this one.
  ConvolutionPlan other = plan;
  other.text.replace(8, 3, "800");
  EXPECT_EQ(load(other, plan.workspaceBytes),
            entry + "cuDNN does not take the plan of a convolution on this "
                    "device: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH");
  fakecuda::setCudnnVersion(92801);
  EXPECT_EQ(load(plan, plan.workspaceBytes),
            entry + "the step has convolutions by cuDNN 9.19.0, and this "
                    "machine has cuDNN 9.28.1");
  fakecuda::setCudnnVersion(91900);

  StepTableBuilder malformed = makeStep(c, problem, plan, plan.workspaceBytes);
  malformed.addPlan(1, 90, plan.version, plan.text, 0);
  CudaStep refused(malformed);
  EXPECT_EQ(refused.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(refused.message, "plan 1 has no text or no convolution");

  // The library takes the second plan only.
  StepTableBuilder several = makeStep(c, problem, other, plan.workspaceBytes);
  several.addPlan(0, 90, plan.version, plan.text, plan.workspaceBytes);
  CudaStep step(several);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  fakecuda::failCudnn(5000);
  EXPECT_EQ(step.run({*problem.lhs, *problem.rhs}, {*problem.written}),
            REMAT_DEVICE_ERROR);
  EXPECT_EQ(step.message,
            entry + "cuDNN failed: CUDNN_STATUS_EXECUTION_FAILED");
}

/// Code of a step that computes what `problem` expects.
void defineCode(const Problem &problem) {
  size_t bytes = problem.expected.size() * sizeof(float);
  fakecuda::define("code", 4, [=](const std::vector<void *> &parameters) {
    // Operands and result are those of the call.
    const auto *lhs = static_cast<const float *>(parameters[0]);
    const auto *rhs = static_cast<const float *>(parameters[1]);
    bool areGiven = lhs[0] == problem.lhs->values[0] &&
                    lhs[1] == problem.lhs->values[1] &&
                    rhs[0] == problem.rhs->values[0];
    std::memset(parameters[2], 0, bytes);
    if (areGiven)
      std::memcpy(parameters[2], problem.expected.data(), bytes);
  });
}

// Where the library is missing, is another one, or takes no plan for the
// device, code of the step does what all entries with the description do.
TEST_F(CudaConvolutionTest, CodeInstead) {
  remat_convolution c =
      makeConvolution(1, {7, 5}, {3, 3}, 2, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  defineCode(problem);
  auto count = [&](uint32_t capability, uint64_t workspaceBytes) {
    StepTableBuilder builder =
        makeStep(c, problem, plan, workspaceBytes, capability, 2);
    builder.addCodePlan(0, addKernel(builder, "code"), 0);
    CudaStep step(builder);
    EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
    size_t launches = fakecuda::countCalls("cuLaunchKernel");
    Tensor first(problem.written->dims), second(problem.written->dims);
    EXPECT_EQ(step.run({*problem.lhs, *problem.rhs}, {first, second}), REMAT_OK)
        << step.message;
    EXPECT_EQ(first.values, problem.expected);
    EXPECT_EQ(second.values, problem.expected);
    EXPECT_EQ(fakecuda::countCalls("cuLaunchKernel") - launches,
              step.stats().degraded_calls);
    return step.stats().degraded_calls;
  };
  EXPECT_EQ(count(90, plan.workspaceBytes), 0u);
  EXPECT_EQ(count(80, plan.workspaceBytes), 2u);
  EXPECT_EQ(count(90, 1024), 2u);
  fakecuda::setCudnnVersion(92801);
  EXPECT_EQ(count(90, plan.workspaceBytes), 2u);
}

TEST_F(CudaConvolutionTest, MalformedCode) {
  remat_convolution c =
      makeConvolution(0, {7, 5}, {3, 3}, 1, 1, 1, 1, 1, false);
  Problem problem(c);
  ConvolutionPlan plan;
  std::string error;
  ASSERT_TRUE(makePlan(c, getLimits(), plan, error)) << error;
  StepTableBuilder missing = makeStep(c, problem, plan, plan.workspaceBytes);
  missing.addCodePlan(0, 3, 0);
  EXPECT_EQ(CudaStep(missing).message, "plan 1 uses kernel 3, the table has 0");
  // Its scratch memory is behind the end of the workspace.
  StepTableBuilder large = makeStep(c, problem, plan, plan.workspaceBytes);
  large.addCodePlan(0, large.addKernel(0, {{"code", 1, 32, 0}}, {1 << 20}), 0);
  EXPECT_EQ(CudaStep(large).message,
            "entry 0 'conv' at model.py:7 has a workspace of 1600 bytes, its "
            "kernel uses byte 1048576");
  // A plan of a library that says it is code.
  StepTableBuilder both = makeStep(c, problem, plan, plan.workspaceBytes);
  both.addCodePlan(0, addKernel(both, "code"), 0);
  std::string table = both.finalize();
  remat_step_header header;
  std::memcpy(&header, table.data(), sizeof(header));
  ASSERT_EQ(header.plans.count, 2u);
  remat_plan record;
  size_t place = header.plans.offset + sizeof(record);
  std::memcpy(&record, &table[place], sizeof(record));
  record.capability = 90;
  std::memcpy(&table[place], &record, sizeof(record));
  header.checksum = 0;
  std::memcpy(&table[0], &header, sizeof(header));
  header.checksum = remat_table_checksum(table.data(), table.size());
  std::memcpy(&table[0], &header, sizeof(header));
  EXPECT_EQ(Step(table, {}, {}, makeDeviceCode()).message,
            "plan 1 is code and a plan of a library, expected one of both");
}

} // namespace
