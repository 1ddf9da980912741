//===- CudaFailureTest.cpp - what goes wrong on a GPU ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every failure of the driver, and every code that does not fit, is a status
// with a message; nothing is left behind.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

using namespace remat;

namespace {

class CudaFailureTest : public ::testing::Test {
protected:
  void SetUp() override { fakecuda::reset(1); }
  void TearDown() override { EXPECT_EQ(fakecuda::countObjects(), 0u); }
};

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CudaFailureTest, NoDevice) {
  fakecuda::setDevices(0, 9, 0);
  CudaStep step(makeOffloadingStep());
  EXPECT_EQ(step.loaded, REMAT_NO_DEVICE);
  EXPECT_EQ(step.message, "the CUDA driver knows no device");
  EXPECT_EQ(std::string(remat_status_name(step.loaded)), "no device");
  uint32_t capability = 0;
  EXPECT_EQ(remat_cuda_capability(&capability), REMAT_NO_DEVICE);
  fakecuda::setDevices(1, 8, 6);
  EXPECT_EQ(remat_cuda_capability(&capability), REMAT_OK);
  EXPECT_EQ(capability, 86u);
  char name[6];
  EXPECT_EQ(remat_cuda_device_name(name, sizeof(name)), REMAT_OK);
  EXPECT_EQ(std::string(name), "stand");
  EXPECT_EQ(remat_cuda_device_name(name, 0), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_cuda_device_name(nullptr, 6), REMAT_INVALID_ARGUMENT);
  fakecuda::setDevices(0, 9, 0);
  EXPECT_EQ(remat_cuda_device_name(name, sizeof(name)), REMAT_NO_DEVICE);
}

TEST_F(CudaFailureTest, MeasuringTheLink) {
  std::pair<const char *, remat_status> cases[] = {
      {"cuMemAlloc_v2", REMAT_OUT_OF_MEMORY},
      {"cuMemHostAlloc", REMAT_OUT_OF_MEMORY},
      {"cuMemcpyAsync", REMAT_DEVICE_ERROR},
      {"cuEventElapsedTime", REMAT_DEVICE_ERROR}};
  CudaStep step(makeOffloadingStep());
  size_t objects = fakecuda::countObjects();
  for (auto [function, status] : cases) {
    fakecuda::fail(function, 2);
    remat_link_speed speed = {};
    EXPECT_EQ(remat_step_measure_link(step.step, &speed), status) << function;
    EXPECT_TRUE(contains(remat_last_error(), "CUDA_ERROR_OUT_OF_MEMORY"));
    EXPECT_EQ(fakecuda::countObjects(), objects);
  }
}

TEST_F(CudaFailureTest, CodeForTheDevice) {
  struct {
    int major, minor;
    const char *image;
  } cases[] = {{8, 0, "cubin 8.0"},
               {8, 9, "cubin 8.0"},
               {9, 0, "cubin 9.0"},
               {10, 0, "PTX 9.0"}};
  for (auto [major, minor, image] : cases) {
    fakecuda::reset(1);
    fakecuda::setDevices(1, major, minor);
    CudaStep step(makeOffloadingStep());
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(fakecuda::getImages(), std::vector<std::string>{image});
  }
  fakecuda::reset(1);
  fakecuda::setDevices(1, 7, 5);
  CudaStep step(makeOffloadingStep());
  EXPECT_EQ(step.loaded, REMAT_DEVICE_ERROR);
  EXPECT_EQ(step.message,
            "the step has no code for a device of compute capability 7.5, only "
            "for 8.0 9.0 PTX of 9.0");
}

TEST_F(CudaFailureTest, DamagedCode) {
  std::string code = makeDeviceCode();
  code[code.size() - 3] ^= 1;
  CudaStep damaged(makeOffloadingStep(), {}, code);
  EXPECT_EQ(damaged.loaded, REMAT_DEVICE_ERROR);
  EXPECT_TRUE(contains(damaged.message, "device code is damaged"));
  code[0] ^= 1;
  CudaStep other(makeOffloadingStep(), {}, code);
  EXPECT_EQ(other.message, "module's device code is none");
  CudaStep empty(makeOffloadingStep(), {}, makeDeviceCode({}, 0));
  EXPECT_EQ(empty.message,
            "module's device code has 0 units, the step table uses unit 0");
}

TEST_F(CudaFailureTest, Launches) {
  auto load = [](const DeviceLaunch &launch,
                 const std::vector<uint64_t> &scratch = {}) {
    StepTableBuilder builder;
    uint32_t y = addVectorResult(builder, "y");
    builder.addEntry(
        makeEntry(builder.addKernel(0, {launch}, scratch), {}, {y}));
    CudaStep step(builder);
    EXPECT_NE(step.loaded, REMAT_OK);
    return step.message;
  };
  EXPECT_EQ(load({"f", 0, 32, 0}),
            "launch 0 has 0 blocks of 32 threads, expected 1 to 2147483647 of "
            "1 to 1024");
  EXPECT_EQ(load({"f", 1, 2048, 0}),
            "launch 0 has 1 blocks of 2048 threads, expected 1 to 2147483647 "
            "of 1 to 1024");
  EXPECT_EQ(load({"f", 1, 32, 1 << 20}),
            "kernel 'f' needs 1048576 bytes of shared memory, the device has "
            "232448");
  EXPECT_EQ(load({"f", 1, 32, 0}), "kernel 'f' cannot be loaded: "
                                   "CUDA_ERROR_NOT_FOUND (of the stand-in)");
  EXPECT_EQ(load({"f", 1, 32, 0}, {64}),
            "entry 0 has a workspace of 0 bytes, its kernel uses byte 64");
}

TEST_F(CudaFailureTest, OutOfMemory) {
  fakecuda::setMemory(600);
  CudaStep step(makeOffloadingStep());
  EXPECT_EQ(step.loaded, REMAT_OUT_OF_MEMORY);
  EXPECT_EQ(
      step.message,
      "cannot allocate 192 bytes on the device, of whose 600 bytes 88 are "
      "free: CUDA_ERROR_OUT_OF_MEMORY (of the stand-in)");
}

TEST_F(CudaFailureTest, ArenaOfTheHost) {
  alignas(256) static char memory[1024];
  remat_step_options options = {};
  options.arena = memory;
  options.arena_bytes = sizeof(memory);
  CudaStep step(makeOffloadingStep(), options);
  EXPECT_EQ(step.loaded, REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step.message, "option 'arena' is no memory of the device");
  options.arena = memory + 64;
  CudaStep unaligned(makeOffloadingStep(), options);
  EXPECT_EQ(unaligned.message, "option 'arena' is 64 bytes past a multiple of "
                               "256, expected it to be aligned");
}

/// A kernel with a failed check.
void defineFailing(const remat_kernel_status &failure) {
  fakecuda::define("gather", 3, [=](const std::vector<void *> &parameters) {
    auto *status = static_cast<remat_kernel_status *>(parameters[2]);
    EXPECT_EQ(status->failed, 0);
    *status = failure;
  });
}

TEST_F(CudaFailureTest, ChecksNameTheEntry) {
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  builder.addCheck("indices of 'gather'");
  StepEntry entry = makeEntry(addKernel(builder, "gather"), {x}, {y});
  entry.name = "gather";
  entry.location = "model.py:3";
  builder.addEntry(entry);
  struct {
    remat_kernel_status failure;
    remat_status status;
    const char *message;
  } cases[] = {
      {{1, 0, -7, 12, nullptr},
       REMAT_INDEX_OUT_OF_BOUNDS,
       "entry 0 'gather' at model.py:3: index -7 is out of bounds, expected 0 "
       "to 11: indices of 'gather'"},
      {{1, -1, 99, 12, nullptr},
       REMAT_INDEX_OUT_OF_BOUNDS,
       "entry 0 'gather' at model.py:3: index 99 is out of bounds, expected 0 "
       "to 11"},
      {{1, 0, -1, -1, nullptr},
       REMAT_ASSERTION_FAILED,
       "entry 0 'gather' at model.py:3: indices of 'gather'"}};
  for (auto [failure, status, message] : cases) {
    fakecuda::reset(1);
    defineFailing(failure);
    CudaStep step(builder);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor a({cudaElements}), b({cudaElements});
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(step.run({a}, {b}), status);
      EXPECT_EQ(step.message, message);
    }
    // The next run is as good as any.
    fakecuda::define("gather", 3, [](const std::vector<void *> &) {});
    EXPECT_EQ(step.run({a}, {b}), REMAT_OK) << step.message;
  }
}

/// The functions that loading and running call, each of which fails once.
TEST_F(CudaFailureTest, EveryCallOfTheDriver) {
  const char *functions[] = {"cuDeviceGetCount",
                             "cuDeviceGet",
                             "cuDeviceGetAttribute",
                             "cuDevicePrimaryCtxRetain",
                             "cuModuleLoadData",
                             "cuModuleGetFunction",
                             "cuMemAlloc_v2",
                             "cuMemHostAlloc",
                             "cuStreamCreate",
                             "cuEventCreate",
                             "cuMemcpyAsync",
                             "cuMemsetD8Async",
                             "cuStreamWaitEvent",
                             "cuEventRecord",
                             "cuLaunchKernel",
                             "cuStreamSynchronize",
                             "cuStreamBeginCapture_v2",
                             "cuStreamEndCapture",
                             "cuGraphInstantiateWithFlags",
                             "cuGraphLaunch"};
  for (const char *function : functions) {
    bool everFailed = false;
    for (int call = 0;; ++call) {
      fakecuda::reset(7);
      StepTableBuilder builder = makeOffloadingStep();
      fakecuda::fail(function, 700, call);
      bool failed = false;
      {
        CudaStep step(builder);
        if (step.loaded != REMAT_OK) {
          failed = true;
          EXPECT_FALSE(step.message.empty()) << function;
        }
        Tensor x({cudaElements}, 2), y({cudaElements});
        for (int run = 0; step.loaded == REMAT_OK && run < 4; ++run) {
          remat_status status = step.run({x}, {y});
          if (status == REMAT_OK) {
            EXPECT_EQ(y.values,
                      std::vector<float>(cudaElements, expectOffloaded(2)))
                << function << " " << call << " run " << run;
            continue;
          }
          failed = true;
          EXPECT_TRUE(contains(step.message, "CUDA_ERROR_ILLEGAL_ADDRESS"))
              << step.message;
        }
      }
      EXPECT_EQ(fakecuda::countObjects(), 0u) << function << " " << call;
      // A recording that failed is ended as it is.
      for (const std::string &complaint : fakecuda::getComplaints())
        EXPECT_EQ(complaint, "a captured stream is not joined")
            << function << " " << call;
      everFailed |= failed;
      if (size_t(call) >= fakecuda::countCalls(function))
        break;
    }
    // Recording a run may fail without harm: it is then run as the first was.
    bool isRecording =
        contains(function, "Capture") || contains(function, "Instantiate");
    EXPECT_NE(everFailed, isRecording) << function;
  }
}

} // namespace
