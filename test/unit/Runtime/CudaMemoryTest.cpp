//===- CudaMemoryTest.cpp - devices, streams and memory of callers --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a caller with tensors on a device says and asks: which device, which
// streams still write its tensors, and memory of the device.
//
//===----------------------------------------------------------------------===//

#include "CudaCaller.h"

using namespace remat;

namespace {

class CudaMemoryTest : public CudaTest {};

/// y = x + 1.
StepTableBuilder makeSum() {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  builder.addEntry(makeEntry(addKernel(builder, "add"), {x}, {y}));
  return builder;
}

/// The primary context of a device as that of this thread, as other libraries
/// have it.
struct OtherContext {
  explicit OtherContext(int device) : device(device) {
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxPushCurrent_v2(context);
  }
  ~OtherContext() {
    cuCtxPopCurrent_v2(&context);
    cuDevicePrimaryCtxRelease_v2(device);
  }
  int device;
  void *context = nullptr;
};

/// A run whose argument is written in a stream that is given `waits`. Returns
/// the number of wrong elements.
size_t countWrongBehindStream(bool waits) {
  CudaStep step(makeSum());
  Tensor x({cudaElements}, 3), y({cudaElements});
  remat_tensor argument = x;
  argument.data = fakecuda::allocate(bytes);
  CallersStream caller;
  caller.copy(argument.data, x.values.data());
  if (waits)
    EXPECT_EQ(remat_step_wait(step.step, caller.stream), REMAT_OK);
  EXPECT_EQ(step.run({argument}, {y}), REMAT_OK) << step.message;
  size_t wrong = 0;
  for (float value : y.values)
    wrong += value != 4;
  cuStreamSynchronize(caller.stream);
  fakecuda::release(argument.data);
  return wrong;
}

TEST_F(CudaMemoryTest, RunsWaitForStreams) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    fakecuda::reset(seed);
    EXPECT_EQ(countWrongBehindStream(/*waits=*/true), 0u) << "seed " << seed;
  }
}

// The test above can fail: without the wait it does.
TEST_F(CudaMemoryTest, RunsWithoutWaitsAreWrong) {
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    fakecuda::reset(seed);
    wrong += countWrongBehindStream(/*waits=*/false) != 0;
  }
  EXPECT_GT(wrong, 0u);
}

TEST_F(CudaMemoryTest, StreamsThatFail) {
  CudaStep step(makeSum());
  fakecuda::fail("cuEventRecord", 400);
  EXPECT_EQ(remat_step_wait(step.step, nullptr), REMAT_DEVICE_ERROR);
  EXPECT_STREQ(remat_last_error(),
               "asking how far a stream is failed: CUDA_ERROR_INVALID_HANDLE "
               "(of the stand-in)");
  EXPECT_EQ(remat_step_wait(nullptr, nullptr), REMAT_INVALID_ARGUMENT);
}

TEST_F(CudaMemoryTest, StepsAreLoadedToTheDeviceThatIsAskedFor) {
  fakecuda::setDevices(2, 9, 0);
  {
    CudaStep first(makeSum());
    EXPECT_EQ(remat_step_device(first.step), 0);
    OtherContext context(1);
    CudaStep current(makeSum());
    EXPECT_EQ(remat_step_device(current.step), 1);
    ASSERT_EQ(remat_cuda_use_device(0), REMAT_OK);
    CudaStep chosen(makeSum());
    EXPECT_EQ(remat_step_device(chosen.step), 0);
    EXPECT_EQ(remat_cuda_use_device(2), REMAT_NO_DEVICE);
    EXPECT_STREQ(remat_last_error(),
                 "the CUDA driver has no device 2, only those from 0 to 1");
    CudaStep still(makeSum());
    EXPECT_EQ(remat_step_device(still.step), 0);
    ASSERT_EQ(remat_cuda_use_device(-1), REMAT_OK);
    CudaStep again(makeSum());
    EXPECT_EQ(remat_step_device(again.step), 1);
  }
  EXPECT_EQ(remat_step_device(nullptr), -1);
}

TEST_F(CudaMemoryTest, MemoryOfOtherDevicesIsRefused) {
  fakecuda::setDevices(2, 9, 0);
  CudaStep step(makeSum());
  Tensor x({cudaElements}, 3), y({cudaElements});
  remat_tensor argument = x, result = y;
  argument.data = fakecuda::allocate(bytes, /*device=*/1);
  EXPECT_EQ(step.run({argument}, {result}), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(
      step.message,
      "argument 0 'x' is in memory of device 1, expected memory of device "
      "0, which runs the step, or of the host");
  std::swap(argument.data, result.data);
  EXPECT_EQ(step.run({argument}, {result}), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step.message.find("result 0 'y' is in memory of device 1"), 0u);
  fakecuda::release(result.data);
}

TEST_F(CudaMemoryTest, MemoryForTensors) {
  void *memory = nullptr;
  ASSERT_EQ(remat_cuda_allocate(0, bytes, &memory), REMAT_OK);
  std::vector<float> values(cudaElements, 5), found(cudaElements);
  ASSERT_EQ(remat_cuda_copy(0, memory, values.data(), bytes, nullptr),
            REMAT_OK);
  ASSERT_EQ(remat_cuda_copy(0, found.data(), memory, bytes, nullptr), REMAT_OK);
  EXPECT_EQ(found, values);
  EXPECT_EQ(remat_cuda_free(0, memory), REMAT_OK);
  EXPECT_EQ(remat_cuda_free(0, nullptr), REMAT_OK);
  EXPECT_EQ(remat_cuda_copy(0, nullptr, memory, 0, nullptr), REMAT_OK);
  EXPECT_EQ(remat_cuda_copy(0, nullptr, values.data(), 4, nullptr),
            REMAT_INVALID_ARGUMENT);
  // It has an address, whatever its size.
  ASSERT_EQ(remat_cuda_allocate(0, 0, &memory), REMAT_OK);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(remat_cuda_free(0, memory), REMAT_OK);
  EXPECT_EQ(remat_cuda_allocate(0, uint64_t(1) << 40, &memory),
            REMAT_OUT_OF_MEMORY);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(remat_cuda_allocate(5, 1, &memory), REMAT_DEVICE_ERROR);
}

/// z = (x + 1) + 1, where x + 1 is in the state of the two calls, and the
/// second call has scratch memory at a multiple of 256 bytes.
StepTableBuilder makeTwoCalls(uint64_t stateBytes = bytes) {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  defineKernel("copy", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i]; });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t z = addVectorResult(builder, "z");
  uint32_t kept = builder.addArenaBuffer(0, bytes);
  uint64_t place = (stateBytes + 255) / 256 * 256;
  uint32_t scratch = builder.addArenaBuffer(place, bytes);
  uint32_t add = addKernel(builder, "add"), copy = addKernel(builder, "copy");
  builder.addEntry(makeEntry(add, {x}, {kept}));
  builder.beginCall();
  builder.addEntry(makeEntry(add, {kept}, {scratch}));
  builder.addEntry(makeEntry(copy, {scratch}, {z}));
  builder.setStateBytes(stateBytes);
  return builder;
}

// The arena has no room for a state that each call is given, so that the two
// together are as large as the planned arena.
TEST_F(CudaMemoryTest, ArenasWithoutTheState) {
  remat_step_options options = {};
  options.flags = REMAT_STEP_STATE_IS_GIVEN;
  options.arena_bytes = bytes;
  options.arena = fakecuda::allocate(bytes);
  remat_state state = {};
  state.data = fakecuda::allocate(bytes);
  state.bytes = bytes;
  {
    CudaStep step(makeTwoCalls(), options);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor x({cudaElements}, 3), z({cudaElements});
    remat_tensor argument = x, result = z;
    ASSERT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &state),
              REMAT_OK)
        << remat_last_error();
    ASSERT_EQ(
        remat_step_backward(step.step, 0, &argument, 1, &result, 1, &state),
        REMAT_OK)
        << remat_last_error();
    EXPECT_EQ(z.values, std::vector<float>(cudaElements, 5));

    constexpr const char *expected =
        "the step was loaded with REMAT_STEP_STATE_IS_GIVEN, but the call has "
        "no state in memory of the device";
    EXPECT_EQ(step.run({x}, {z}), REMAT_INVALID_ARGUMENT);
    EXPECT_EQ(step.message, expected);
    alignas(64) char host[bytes];
    remat_state onHost = {};
    onHost.data = host;
    onHost.bytes = bytes;
    EXPECT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &onHost),
              REMAT_INVALID_ARGUMENT);
    EXPECT_STREQ(remat_last_error(), expected);
  }
  options.arena_bytes = bytes - 1;
  CudaStep small(makeTwoCalls(), options);
  EXPECT_EQ(small.message,
            "option 'arena' has 255 bytes, expected at least 256");
  fakecuda::release(options.arena);
  fakecuda::release(state.data);
}

// The rest of the arena has the alignment of the whole: a state of 320 bytes
// takes the place of 256.
TEST_F(CudaMemoryTest, ArenasWithoutTheStateAreAligned) {
  uintptr_t place = 1;
  remat_step_options options = {};
  options.flags = REMAT_STEP_STATE_IS_GIVEN;
  remat_state state = {};
  state.data = fakecuda::allocate(bytes + 64);
  state.bytes = bytes + 64;
  {
    CudaStep step(makeTwoCalls(bytes + 64), options);
    fakecuda::define("copy", 3, [&](const std::vector<void *> &parameters) {
      place = reinterpret_cast<uintptr_t>(parameters[0]);
    });
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(remat_step_arena_bytes(step.step), 3 * bytes);
    Tensor x({cudaElements}, 3), z({cudaElements});
    remat_tensor argument = x, result = z;
    ASSERT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &state),
              REMAT_OK);
    ASSERT_EQ(
        remat_step_backward(step.step, 0, &argument, 1, &result, 1, &state),
        REMAT_OK)
        << remat_last_error();
    EXPECT_EQ(place % 256, 0u);
  }
  fakecuda::release(state.data);
}

// Kernels rely on the same alignment for all that is on a device.
TEST_F(CudaMemoryTest, StatesOnTheDeviceAreAligned) {
  CudaStep step(makeTwoCalls());
  Tensor x({cudaElements}, 3), z({cudaElements});
  remat_tensor argument = x, result = z;
  char *memory = static_cast<char *>(fakecuda::allocate(2 * bytes));
  remat_state state = {};
  state.data = memory + 64;
  state.bytes = bytes;
  EXPECT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &state),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "state is 64 bytes past a multiple of 256, "
                                   "expected it to be aligned");
  fakecuda::release(memory);
}

// A result may be where the state is dead, at the alignment of a device, if the
// state is there; one on the host is only copied.
TEST_F(CudaMemoryTest, ResultsInTheState) {
  CudaStep step(makeTwoCalls());
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  remat_tensor_info info;
  ASSERT_EQ(remat_step_result(step.step, 0, &info), REMAT_OK);
  ASSERT_EQ(info.state_offset, 0u);
  Tensor x({cudaElements}, 3), z({cudaElements});
  alignas(64) char onHost[bytes];
  for (bool isOnDevice : {true, false}) {
    remat_tensor argument = x, result = z;
    remat_state state = {};
    state.data = isOnDevice ? fakecuda::allocate(bytes) : onHost;
    state.bytes = bytes;
    ASSERT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &state),
              REMAT_OK)
        << remat_last_error();
    result.data = state.data;
    remat_status status =
        remat_step_backward(step.step, 0, &argument, 1, &result, 1, &state);
    if (!isOnDevice) {
      EXPECT_EQ(status, REMAT_INVALID_ARGUMENT);
      EXPECT_STREQ(remat_last_error(),
                   "result 0 'z' overlaps the state, expected it elsewhere");
      continue;
    }
    ASSERT_EQ(status, REMAT_OK) << remat_last_error();
    ASSERT_EQ(remat_cuda_copy(0, z.values.data(), state.data, bytes, nullptr),
              REMAT_OK);
    EXPECT_EQ(z.values, std::vector<float>(cudaElements, 5));
    fakecuda::release(state.data);
  }
}

} // namespace
