//===- CudaTest.h - helpers of tests of steps for a GPU ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_CUDATEST_H
#define REMAT_TEST_UNIT_RUNTIME_CUDATEST_H

#include "FakeCuda.h"
#include "FakeDeviceCode.h"
#include "RuntimeTest.h"

#include <cstring>

namespace remat {

/// Begins with a stand-in as new, and ends with no complaint of it and nothing
/// that was not freed.
class CudaTest : public ::testing::Test {
protected:
  void SetUp() override { fakecuda::reset(1); }
  void TearDown() override {
    EXPECT_EQ(fakecuda::getComplaints(), std::vector<std::string>());
    EXPECT_EQ(fakecuda::countObjects(), 0u);
  }
};

/// A step for the stand-in, whose copies run beside the computation.
class CudaStep : public Step {
public:
  explicit CudaStep(const StepTableBuilder &builder,
                    remat_step_options options = {},
                    std::string deviceCode = makeDeviceCode())
      : Step(finalize(builder), {}, options, std::move(deviceCode)) {}

private:
  static std::string finalize(StepTableBuilder builder) {
    builder.assignStreams();
    return builder.finalize();
  }
};

/// Number of elements of the tensors in these tests.
constexpr int64_t cudaElements = 64;

/// A kernel of one launch on tensors of `cudaElements` floats.
template <typename Function>
void defineKernel(const std::string &name, size_t buffers, Function function) {
  fakecuda::define(name, buffers + 1,
                   [=](const std::vector<void *> &parameters) {
                     std::vector<float *> values;
                     for (size_t i = 0; i < buffers; ++i)
                       values.push_back(static_cast<float *>(parameters[i]));
                     for (int64_t i = 0; i < cudaElements; ++i)
                       function(values, i);
                   });
}

/// Buffers of arguments and results with as many floats.
inline uint32_t addVectorArgument(StepTableBuilder &builder, const char *name) {
  return builder.addArgumentBuffer(
      builder.addArgument(name, REMAT_F32, {cudaElements}));
}
inline uint32_t addVectorResult(StepTableBuilder &builder, const char *name) {
  return builder.addResultBuffer(
      builder.addResult(name, REMAT_F32, {cudaElements}));
}

inline uint32_t addKernel(StepTableBuilder &builder, const std::string &name) {
  return builder.addKernel(0, {{name, 1, 64, 0}}, {});
}

/// y = (x + 1) * 2, where the sum is moved to the host and back while another
/// value, which the result needs as well, takes its place.
inline StepTableBuilder makeOffloadingStep() {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  defineKernel("square", 2,
               [](auto &v, int64_t i) { v[1][i] = v[0][i] * v[0][i]; });
  defineKernel("join", 3,
               [](auto &v, int64_t i) { v[2][i] = v[0][i] * 2 + v[1][i]; });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  uint32_t sum = builder.addArenaBuffer(0, bytes);
  uint32_t kept = builder.addHostBuffer(0, bytes);
  uint32_t squares = builder.addArenaBuffer(0, bytes);
  uint32_t others = builder.addArenaBuffer(bytes, bytes);
  uint32_t again = builder.addArenaBuffer(0, bytes);
  builder.addEntry(makeEntry(addKernel(builder, "add"), {x}, {sum}));
  builder.addEntry(makeCopy(sum, kept));
  uint32_t square = addKernel(builder, "square");
  builder.addEntry(makeEntry(square, {x}, {squares}));
  builder.addEntry(makeEntry(square, {squares}, {others}));
  builder.addEntry(makeCopy(kept, again));
  builder.addEntry(makeEntry(addKernel(builder, "join"), {again, others}, {y}));
  return builder;
}

/// What that step gives for x.
inline float expectOffloaded(float x) { return (x + 1) * 2 + x * x * x * x; }

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_CUDATEST_H
