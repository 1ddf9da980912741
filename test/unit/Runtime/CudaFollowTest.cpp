//===- CudaFollowTest.cpp - calls that return before the device is done ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams that go on behind calls nobody has waited for: in order, without a
// wait of the host, and with every failure told by a later call.
//
//===----------------------------------------------------------------------===//

#include "CudaCaller.h"

using namespace remat;

namespace {

class CudaFollowTest : public CudaTest {};

/// A vector in memory of the device.
struct DeviceVector : Tensor {
  DeviceVector() : Tensor({cudaElements}), memory(fakecuda::allocate(bytes)) {}
  ~DeviceVector() { fakecuda::release(memory); }
  DeviceVector(const DeviceVector &) = delete;
  operator remat_tensor() {
    remat_tensor tensor = static_cast<Tensor &>(*this);
    tensor.data = memory;
    return tensor;
  }
  void *memory;
};

size_t countWaits() { return fakecuda::countCalls("cuStreamSynchronize"); }

/// Three calls, each of whose arguments the caller's stream writes over behind
/// the call before, and of whose results it takes what the call gave. Returns
/// the number of wrong elements.
size_t countWrongBehindCalls(bool isFollowed) {
  CudaStep step(makeOffloadingStep());
  EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
  CallersStream stream;
  DeviceVector x, y;
  std::vector<std::vector<float>> given, found;
  for (int call = 0; call < 3; ++call) {
    given.emplace_back(cudaElements, static_cast<float>(call + 1));
    found.emplace_back(cudaElements);
  }
  size_t waits = countWaits();
  for (int call = 0; call < 3; ++call) {
    stream.copy(x.memory, given[call].data());
    if (isFollowed)
      EXPECT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
    EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
    stream.copy(found[call].data(), y.memory);
  }
  EXPECT_EQ(countWaits(), waits + (isFollowed ? 0 : 3));
  EXPECT_EQ(step.stats().runs, 3u);
  cuStreamSynchronize(stream.stream);
  EXPECT_EQ(remat_step_synchronize(step.step), REMAT_OK);
  size_t wrong = 0;
  for (int call = 0; call < 3; ++call)
    for (float value : found[call])
      wrong += value != expectOffloaded(static_cast<float>(call + 1));
  return wrong;
}

// The second call is recorded, and the third one repeats it.
TEST_F(CudaFollowTest, StreamsGoOnBehindCalls) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    fakecuda::reset(seed);
    EXPECT_EQ(countWrongBehindCalls(/*isFollowed=*/true), 0u)
        << "seed " << seed;
  }
}

// The test above can fail: a stream that nobody named does not wait.
TEST_F(CudaFollowTest, OtherStreamsDoNotWait) {
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    fakecuda::reset(seed);
    wrong += countWrongBehindCalls(/*isFollowed=*/false) != 0;
  }
  EXPECT_GT(wrong, 0u);
}

TEST_F(CudaFollowTest, AStreamIsFollowedOnce) {
  CudaStep step(makeOffloadingStep());
  CallersStream stream;
  DeviceVector x, y;
  ASSERT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
  // A call that is refused is a call, too.
  EXPECT_EQ(step.run({x}, {}), REMAT_INVALID_ARGUMENT);
  size_t waits = countWaits();
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(countWaits(), waits + 1);
}

TEST_F(CudaFollowTest, CallsWaitForTensorsOfTheHost) {
  CudaStep step(makeOffloadingStep());
  CallersStream stream;
  Tensor x({cudaElements}, 2), y({cudaElements});
  ASSERT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  for (float value : y.values)
    EXPECT_EQ(value, expectOffloaded(2));
}

TEST_F(CudaFollowTest, CallsThatAreWatchedWait) {
  remat_step_options options = {};
  options.flags = REMAT_STEP_PROFILE;
  CudaStep step(makeOffloadingStep(), options);
  CallersStream stream;
  DeviceVector x, y;
  std::vector<float> ones(cudaElements, 1), found(cudaElements);
  stream.copy(x.memory, ones.data());
  ASSERT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  for (int64_t i = 0; i < cudaElements; ++i)
    EXPECT_EQ(static_cast<float *>(y.memory)[i], expectOffloaded(1));
}

/// y = x, whose index is out of bounds where x has a 7.
StepTableBuilder makeGather() {
  fakecuda::define("gather", 3, [](const std::vector<void *> &parameters) {
    const auto *x = static_cast<const float *>(parameters[0]);
    auto *y = static_cast<float *>(parameters[1]);
    std::copy_n(x, cudaElements, y);
    if (std::find(x, x + cudaElements, 7) != x + cudaElements)
      *static_cast<remat_kernel_status *>(parameters[2]) = {1, 0, 7, 5,
                                                            nullptr};
  });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  builder.addCheck("indices of 'gather'");
  StepEntry entry = makeEntry(addKernel(builder, "gather"), {x}, {y});
  entry.name = "gather";
  builder.addEntry(entry);
  return builder;
}

constexpr const char *earlier =
    "an earlier call of the step: entry 0 'gather': index 7 is out of bounds, "
    "expected 0 to 4: indices of 'gather'";

/// A step of which a call without an error and then one with a failed check
/// have been made, both of which came back.
struct FailedCall {
  FailedCall() : step(makeGather()) {
    EXPECT_EQ(remat_step_check_count(step.step), 1u);
    run(1);
    EXPECT_EQ(run(7), REMAT_OK) << step.message;
  }
  remat_status run(float value, bool isFollowed = true) {
    values.emplace_back(cudaElements, value);
    stream.copy(x.memory, values.back().data());
    if (isFollowed)
      EXPECT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
    else
      EXPECT_EQ(remat_step_wait(step.step, stream.stream), REMAT_OK);
    return step.run({x}, {y});
  }
  std::vector<std::vector<float>> values;
  DeviceVector x, y;
  CudaStep step;
  CallersStream stream;
};

TEST_F(CudaFollowTest, FailedChecksAreToldByACallThatWaits) {
  FailedCall failed;
  EXPECT_EQ(failed.run(2, /*isFollowed=*/false), REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(failed.step.message, earlier);
  // Once.
  EXPECT_EQ(failed.run(2, /*isFollowed=*/false), REMAT_OK);
  EXPECT_EQ(failed.run(2), REMAT_OK);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_OK);
}

TEST_F(CudaFollowTest, FailedChecksAreToldByACallThatFindsThem) {
  FailedCall failed;
  // Nobody has waited, so that the next call knows nothing.
  EXPECT_EQ(failed.run(2), REMAT_OK);
  cuStreamSynchronize(failed.stream.stream);
  EXPECT_EQ(failed.run(3), REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(failed.step.message, earlier);
  // What the failed call should have done is done by the next one.
  EXPECT_EQ(failed.run(3), REMAT_OK);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_OK);
  EXPECT_EQ(*static_cast<float *>(failed.y.memory), 3);
}

TEST_F(CudaFollowTest, FailedChecksAreToldWhenOneAsks) {
  FailedCall failed;
  EXPECT_EQ(remat_step_synchronize(failed.step.step),
            REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_STREQ(remat_last_error(), earlier);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_OK);
  EXPECT_EQ(failed.run(2), REMAT_OK);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_OK);
}

TEST_F(CudaFollowTest, FailedChecksAreToldByACallThatTurnsOutToWait) {
  FailedCall failed;
  Tensor y({cudaElements});
  ASSERT_EQ(remat_step_follow(failed.step.step, nullptr), REMAT_OK);
  // By then, the failure is known, but it was not when the call began.
  EXPECT_EQ(failed.step.run({failed.x}, {y}), REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(failed.run(2), REMAT_OK);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_OK);
}

TEST_F(CudaFollowTest, FailedChecksSurviveARunThatCannotBeRecorded) {
  FailedCall failed;
  fakecuda::fail("cuGraphInstantiateWithFlags", 2);
  EXPECT_EQ(failed.run(2), REMAT_OK) << failed.step.message;
  EXPECT_EQ(remat_step_synchronize(failed.step.step),
            REMAT_INDEX_OUT_OF_BOUNDS);
}

TEST_F(CudaFollowTest, DriversThatFail) {
  for (const char *function : {"cuEventRecord", "cuStreamWaitEvent"})
    for (int call = 0; call < 4; ++call) {
      fakecuda::reset(1);
      CudaStep step(makeOffloadingStep());
      CallersStream stream;
      DeviceVector x, y;
      fakecuda::fail(function, 400, call);
      remat_status status = remat_step_follow(step.step, stream.stream);
      if (status == REMAT_OK)
        status = step.run({x}, {y});
      EXPECT_EQ(status, REMAT_DEVICE_ERROR) << function << " " << call;
      fakecuda::fail(function, 0);
      EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
    }
  FailedCall failed;
  fakecuda::fail("cuStreamSynchronize", 700);
  EXPECT_EQ(remat_step_synchronize(failed.step.step), REMAT_DEVICE_ERROR);
  EXPECT_STREQ(remat_last_error(),
               "an earlier run failed: CUDA_ERROR_ILLEGAL_ADDRESS (of the "
               "stand-in)");
}

// Memory of the step is not freed under a run.
TEST_F(CudaFollowTest, StepsMayBeFreedUnderARun) {
  CallersStream stream;
  DeviceVector x, y;
  {
    CudaStep step(makeOffloadingStep());
    for (int call = 0; call < 3; ++call) {
      ASSERT_EQ(remat_step_follow(step.step, stream.stream), REMAT_OK);
      EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
    }
  }
}

TEST_F(CudaFollowTest, NoStep) {
  EXPECT_EQ(remat_step_follow(nullptr, nullptr), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_step_synchronize(nullptr), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_step_check_count(nullptr), 0u);
}

} // namespace
