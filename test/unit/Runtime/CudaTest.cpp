//===- CudaTest.cpp - steps on a stand-in for a GPU -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the run time asks of the driver, and in which order. The stand-in drains
// streams at random, so that a wait that is missing shows in some of many runs.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

using namespace remat;

namespace {

Tensor makeInput() {
  Tensor x({cudaElements});
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = static_cast<float>(i) / 8;
  return x;
}

size_t countWrong(const Tensor &x, const Tensor &y) {
  size_t wrong = 0;
  for (size_t i = 0; i < x.values.size(); ++i)
    wrong += y.values[i] != expectOffloaded(x.values[i]);
  return wrong;
}

TEST_F(CudaTest, RunsKernelsAndCopies) {
  CudaStep step(makeOffloadingStep());
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  EXPECT_EQ(fakecuda::getImages()[0], "cubin 9.0");
  Tensor x = makeInput(), y({cudaElements});
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(countWrong(x, y), 0u);
  remat_step_stats stats = step.stats();
  // Sum and squares, then squares and the copy: two buffers at a time.
  EXPECT_EQ(stats.measured_peak_bytes, 512u);
  EXPECT_EQ(stats.touched_bytes, 512u);
  EXPECT_EQ(stats.host_peak_bytes, 256u);
  EXPECT_EQ(stats.offloaded_bytes, 256u);
  EXPECT_EQ(stats.executed_entries, 6u);
  EXPECT_GE(stats.device_bytes, 512u);
}

// In either direction, the fastest of several copies.
TEST_F(CudaTest, MeasuresTheLink) {
  CudaStep step(makeOffloadingStep());
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  size_t objects = fakecuda::countObjects();
  fakecuda::setElapsedTimes({9, 4, 2, 4, 4, 8, 1, 2, 4, 8});
  remat_link_speed speed = {};
  ASSERT_EQ(remat_step_measure_link(step.step, &speed), REMAT_OK)
      << remat_last_error();
  EXPECT_EQ(speed.to_host, (uint64_t(64) << 20) * 1000 / 2);
  EXPECT_EQ(speed.to_device, (uint64_t(64) << 20) * 1000);
  EXPECT_EQ(fakecuda::countObjects(), objects);
  EXPECT_EQ(fakecuda::countCalls("cuMemcpyAsync"), 10u);
  // The step runs as before.
  Tensor x = makeInput(), y({cudaElements});
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(countWrong(x, y), 0u);
}

// Whatever the order in which streams get on, and whether the run is given
// entry by entry, recorded or repeated.
TEST_F(CudaTest, WaitsOrderStreams) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    fakecuda::reset(seed);
    CudaStep step(makeOffloadingStep());
    Tensor x = makeInput();
    for (int run = 0; run < 4; ++run) {
      Tensor y({cudaElements});
      // Copies of tensors of the host stay where they are.
      ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
      EXPECT_EQ(countWrong(x, y), 0u) << "seed " << seed << " run " << run;
    }
    EXPECT_EQ(fakecuda::countCalls("cuStreamBeginCapture_v2"), 1u);
    EXPECT_EQ(fakecuda::countCalls("cuGraphLaunch"), 3u);
    EXPECT_EQ(step.stats().runs, 4u);
  }
}

// The test above can fail: without waits it does.
TEST_F(CudaTest, StreamsWithoutWaitsAreWrong) {
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    fakecuda::reset(seed);
    CudaStep step(makeOffloadingStep());
    fakecuda::ignoreWaits(true);
    Tensor x = makeInput(), y({cudaElements});
    step.run({x}, {y});
    wrong += countWrong(x, y) != 0;
    fakecuda::ignoreWaits(false);
  }
  EXPECT_GT(wrong, 0u);
}

TEST_F(CudaTest, TensorsOnTheDeviceAreUsedInPlace) {
  CudaStep step(makeOffloadingStep());
  Tensor x = makeInput(), y({cudaElements});
  constexpr size_t bytes = cudaElements * sizeof(float);
  remat_tensor onDevice = x, result = y;
  onDevice.data = fakecuda::allocate(bytes);
  result.data = fakecuda::allocate(bytes);
  std::memcpy(onDevice.data, x.values.data(), bytes);
  size_t copies = fakecuda::countCalls("cuMemcpyAsync");
  ASSERT_EQ(step.run({onDevice}, {result}), REMAT_OK) << step.message;
  // Offload, reload and the status.
  EXPECT_EQ(fakecuda::countCalls("cuMemcpyAsync") - copies, 3u);
  std::memcpy(y.values.data(), result.data, bytes);
  EXPECT_EQ(countWrong(x, y), 0u);
  fakecuda::release(onDevice.data);
  fakecuda::release(result.data);
}

// What the step has in host memory is not brought to the device by the call:
// each run copies it in, out, and the status. The second run is recorded.
TEST_F(CudaTest, HostArgumentsStayWhereTheyAre) {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  StepTableBuilder builder;
  constexpr size_t bytes = cudaElements * sizeof(float);
  uint32_t m = builder.addArgumentBuffer(
      builder.addArgument("m", REMAT_F32, {cudaElements}, REMAT_TENSOR_HOST));
  uint32_t n = builder.addResultBuffer(
      builder.addResult("m", REMAT_F32, {cudaElements}, REMAT_TENSOR_HOST));
  builder.addDonation(0, 0);
  uint32_t in = builder.addArenaBuffer(0, bytes);
  uint32_t out = builder.addArenaBuffer(bytes, bytes);
  builder.addEntry(makeCopy(m, in));
  builder.addEntry(makeEntry(addKernel(builder, "add"), {in}, {out}));
  builder.addEntry(makeCopy(out, n));
  CudaStep step(builder);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor state = makeInput(), before = makeInput();
  for (int run = 1; run <= 3; ++run) {
    size_t copies = fakecuda::countCalls("cuMemcpyAsync");
    ASSERT_EQ(step.run({state}, {state}), REMAT_OK) << step.message;
    if (run == 1)
      EXPECT_EQ(fakecuda::countCalls("cuMemcpyAsync") - copies, 3u);
    for (int64_t i = 0; i < cudaElements; ++i)
      ASSERT_EQ(state.values[i], before.values[i] + run);
  }
  EXPECT_EQ(step.stats().offloaded_bytes, bytes);
}

TEST_F(CudaTest, UnalignedTensorsAreCopied) {
  CudaStep step(makeOffloadingStep());
  Tensor x = makeInput(), y({cudaElements});
  constexpr size_t bytes = cudaElements * sizeof(float);
  remat_tensor onDevice = x;
  char *memory = static_cast<char *>(fakecuda::allocate(bytes + 4));
  onDevice.data = memory + 4;
  std::memcpy(onDevice.data, x.values.data(), bytes);
  ASSERT_EQ(step.run({onDevice}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(countWrong(x, y), 0u);
  fakecuda::release(memory);
}

TEST_F(CudaTest, NewAddressesAreRecordedAnew) {
  CudaStep step(makeOffloadingStep());
  Tensor x = makeInput(), y({cudaElements});
  constexpr size_t bytes = cudaElements * sizeof(float);
  std::vector<void *> places;
  for (int i = 0; i < 6; ++i)
    places.push_back(fakecuda::allocate(bytes));
  for (int run = 0; run < 3; ++run)
    for (void *place : places) {
      remat_tensor result = y;
      result.data = place;
      std::memset(place, 0, bytes);
      ASSERT_EQ(step.run({x}, {result}), REMAT_OK) << step.message;
      std::memcpy(y.values.data(), place, bytes);
      EXPECT_EQ(countWrong(x, y), 0u);
    }
  for (int run = 0; run < 3; ++run) {
    remat_tensor result = y;
    result.data = places[0];
    ASSERT_EQ(step.run({x}, {result}), REMAT_OK) << step.message;
  }
  EXPECT_EQ(fakecuda::countCalls("cuStreamBeginCapture_v2"), 1u);
  for (void *place : places)
    fakecuda::release(place);
}

// Each entry by itself.
TEST_F(CudaTest, SerialRuns) {
  remat_step_options options = {};
  for (uint32_t flags :
       {unsigned(REMAT_STEP_PROFILE), unsigned(REMAT_STEP_POISON),
        unsigned(REMAT_STEP_DEBUG)}) {
    options.flags = flags;
    CudaStep step(makeOffloadingStep(), options);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor x = makeInput();
    for (int run = 0; run < 3; ++run) {
      Tensor y({cudaElements});
      ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
      EXPECT_EQ(countWrong(x, y), 0u);
    }
    // The device has no CPU time.
    EXPECT_EQ(remat_step_entry_cpu_times(step.step), nullptr);
    const int64_t *times = remat_step_entry_times(step.step);
    ASSERT_EQ(times != nullptr, flags == unsigned(REMAT_STEP_PROFILE));
    if (times)
      EXPECT_EQ(times[5], 1000000);
  }
  EXPECT_EQ(fakecuda::countCalls("cuStreamBeginCapture_v2"), 0u);
}

/// Forward: s = x + 1 in the state. Backward: y = s * 2 + x * x * x * x.
StepTableBuilder makeTwoCalls() {
  // It defines the kernels.
  makeOffloadingStep();
  StepTableBuilder calls;
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  uint32_t x = addVectorArgument(calls, "x");
  uint32_t y = addVectorResult(calls, "y");
  uint32_t sum = calls.addArenaBuffer(0, bytes);
  uint32_t squares = calls.addArenaBuffer(bytes, bytes);
  uint32_t others = calls.addArenaBuffer(2 * bytes, bytes);
  calls.addEntry(makeEntry(addKernel(calls, "add"), {x}, {sum}));
  calls.beginCall();
  uint32_t square = addKernel(calls, "square");
  calls.addEntry(makeEntry(square, {x}, {squares}));
  calls.addEntry(makeEntry(square, {squares}, {others}));
  calls.addEntry(makeEntry(addKernel(calls, "join"), {sum, others}, {y}));
  calls.setStateBytes(bytes);
  return calls;
}

TEST_F(CudaTest, StatesAreOnEitherSide) {
  constexpr size_t bytes = cudaElements * sizeof(float);
  StepTableBuilder builder = makeTwoCalls();
  for (bool isOnDevice : {false, true}) {
    CudaStep step(builder);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    alignas(REMAT_ALIGNMENT) char host[bytes];
    remat_state state = {};
    state.data = isOnDevice ? fakecuda::allocate(bytes) : host;
    state.bytes = bytes;
    Tensor x = makeInput(), y({cudaElements});
    remat_tensor argument = x, result = y;
    ASSERT_EQ(remat_step_forward(step.step, &argument, 1, &result, 1, &state),
              REMAT_OK)
        << remat_last_error();
    // Another run in between leaves the state alone.
    Tensor z({cudaElements}, 5), w({cudaElements});
    ASSERT_EQ(step.run({z}, {w}), REMAT_OK);
    ASSERT_EQ(
        remat_step_backward(step.step, 0, &argument, 1, &result, 1, &state),
        REMAT_OK)
        << remat_last_error();
    EXPECT_EQ(countWrong(x, y), 0u);
    if (isOnDevice)
      fakecuda::release(state.data);
  }
}

TEST_F(CudaTest, ConstantsAreOnTheDevice) {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  StepTableBuilder builder;
  std::vector<float> data(cudaElements, 41);
  uint32_t constant =
      builder.addConstantBuffer(data.data(), data.size() * sizeof(float));
  uint32_t y = addVectorResult(builder, "y");
  builder.addEntry(makeEntry(addKernel(builder, "add"), {constant}, {y}));
  CudaStep step(builder);
  Tensor result({cudaElements});
  ASSERT_EQ(step.run({}, {result}), REMAT_OK) << step.message;
  EXPECT_EQ(result.values, std::vector<float>(cudaElements, 42));
}

TEST_F(CudaTest, ScratchIsInTheWorkspace) {
  std::vector<void *> given;
  fakecuda::define("sum", 5, [&](const std::vector<void *> &parameters) {
    given = parameters;
  });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  uint32_t workspace = builder.addArenaBuffer(256, 1024);
  uint32_t kernel = builder.addKernel(0, {{"sum", 3, 32, 1 << 16}}, {0, 512});
  builder.addEntry(makeEntry(kernel, {x}, {y}, 1, workspace));
  CudaStep step(builder);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor a = makeInput(), b({cudaElements});
  ASSERT_EQ(step.run({a}, {b}), REMAT_OK) << step.message;
  ASSERT_EQ(given.size(), 5u);
  EXPECT_EQ(static_cast<char *>(given[3]) - static_cast<char *>(given[2]), 512);
  // More shared memory than usual has to be asked for.
  EXPECT_EQ(fakecuda::countCalls("cuFuncSetAttribute"), 1u);
}

TEST_F(CudaTest, CodecsSeeHostMemory) {
  struct Codec {
    static int pack(void *, const remat_saved_value *value, const void *data,
                    void *packed) {
      for (uint64_t i = 0; i < value->bytes / sizeof(float); ++i)
        static_cast<float *>(packed)[i] = -static_cast<const float *>(data)[i];
      return 0;
    }
  };
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  uint32_t sum = builder.addArenaBuffer(0, bytes);
  uint32_t packed = builder.addArenaBuffer(bytes, bytes);
  builder.addEntry(makeEntry(addKernel(builder, "add"), {x}, {sum}));
  uint32_t value =
      builder.addPackedValue("negate", 7, REMAT_F32, {cudaElements}, bytes);
  StepEntry pack = makeEntry(value, {sum}, {packed});
  pack.kind = REMAT_ENTRY_PACK;
  builder.addEntry(pack);
  StepEntry unpack = makeEntry(value, {packed}, {y});
  unpack.kind = REMAT_ENTRY_UNPACK;
  builder.addEntry(unpack);
  remat_codec codec = {"negate", Codec::pack, nullptr, nullptr};
  codec.unpack = [](void *user, const remat_saved_value *v, const void *from,
                    void *to) { return Codec::pack(user, v, from, to); };
  remat_step_options options = {};
  options.codecs = &codec;
  options.codec_count = 1;
  CudaStep step(builder, options);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor a({cudaElements}, 2), b({cudaElements});
  ASSERT_EQ(step.run({a}, {b}), REMAT_OK) << step.message;
  EXPECT_EQ(b.values, std::vector<float>(cudaElements, 3));
}

TEST_F(CudaTest, BitwiseCheckReadsTheDevice) {
  int runs = 0;
  fakecuda::define("drift", 3, [&](const std::vector<void *> &parameters) {
    auto *y = static_cast<float *>(parameters[1]);
    std::fill(y, y + cudaElements, static_cast<float>(runs++));
  });
  defineKernel("join", 3,
               [](auto &v, int64_t i) { v[2][i] = v[0][i] + v[1][i]; });
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  uint32_t once = builder.addArenaBuffer(0, bytes);
  uint32_t twice = builder.addArenaBuffer(bytes, bytes);
  uint32_t kernel = addKernel(builder, "drift");
  StepEntry entry = makeEntry(kernel, {x}, {once});
  builder.addEntry(entry);
  StepEntry clone = makeEntry(kernel, {x}, {twice});
  clone.task = 1;
  clone.original = 0;
  clone.copy = 1;
  clone.recompute = true;
  builder.addEntry(clone);
  StepEntry join = makeEntry(addKernel(builder, "join"), {once, twice}, {y});
  join.task = 2;
  builder.addEntry(join);
  builder.setContents(once, REMAT_F32, bytes);
  builder.setContents(twice, REMAT_F32, bytes);
  remat_step_options options = {};
  options.determinism_check = REMAT_CHECK_BITWISE;
  CudaStep step(builder, options);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor a = makeInput(), b({cudaElements});
  EXPECT_EQ(step.run({a}, {b}), REMAT_NONDETERMINISTIC);
  EXPECT_NE(step.message.find("with other bits: element 0 of result 0 was 0"),
            std::string::npos)
      << step.message;
}

} // namespace
