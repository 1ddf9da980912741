//===- ResultPlacesTest.cpp - results in the place of dead state ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where results of backward calls may be in the state, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace remat;

namespace {

const std::vector<remat_kernel_fn> kernels = {add};

constexpr uint64_t nowhere = REMAT_NO_PLACE;

/// The forward call leaves s = 2x, t = 3x, and the result y = 4x. The backward
/// call makes d = t + g, where t ends, e = s + y, where s ends, and f = e + e,
/// by way of scratch memory in the place of t if `isReused`.
StepTableBuilder twoCalls(bool isReused = false) {
  StepTableBuilder builder;
  const char *arguments[] = {"x", "g"}, *results[] = {"y", "d", "e", "f"};
  uint32_t in[2], out[4];
  for (uint32_t i = 0; i < 2; ++i) {
    builder.addArgument(arguments[i], REMAT_F32, {16});
    in[i] = builder.addArgumentBuffer(i);
  }
  for (uint32_t i = 0; i < 4; ++i) {
    builder.addResult(results[i], REMAT_F32, {16});
    out[i] = builder.addResultBuffer(i);
  }
  uint32_t s = builder.addArenaBuffer(0, 64);
  uint32_t t = builder.addArenaBuffer(64, 64);
  uint32_t scratch = builder.addArenaBuffer(64, 64);
  builder.addEntry(makeEntry(0, {in[0], in[0]}, {s}, 16));
  builder.addEntry(makeEntry(0, {s, in[0]}, {t}, 16));
  builder.addEntry(makeEntry(0, {s, s}, {out[0]}, 16));
  builder.beginCall();
  builder.addEntry(makeEntry(0, {t, in[1]}, {out[1]}, 16));
  builder.addEntry(makeEntry(0, {s, out[0]}, {out[2]}, 16));
  if (isReused)
    builder.addEntry(makeEntry(0, {out[2], out[2]}, {scratch}, 16));
  builder.addEntry(
      makeEntry(0, {isReused ? scratch : out[2], isReused ? scratch : out[2]},
                {out[3]}, 16));
  builder.setArenaBytes(128);
  builder.setStateBytes(128);
  return builder;
}

std::vector<uint64_t> placesOf(const Step &step) {
  std::vector<uint64_t> places;
  for (size_t i = 0; i < remat_step_result_count(step.step); ++i) {
    remat_tensor_info info;
    EXPECT_EQ(remat_step_result(step.step, i, &info), REMAT_OK);
    places.push_back(info.state_offset);
  }
  return places;
}

struct TwoCalls {
  explicit TwoCalls(bool isReused = false)
      : step(twoCalls(isReused), kernels, {1, REMAT_STEP_POISON, nullptr, 0}) {}

  remat_status calls(const std::vector<void *> &data,
                     const remat_tensor_events *events = nullptr) {
    const int64_t *dims = remat_tensor(x).dims;
    std::vector<remat_tensor> arguments = {x, g};
    std::vector<remat_tensor> results(4, {nullptr, REMAT_F32, 1, dims});
    results[0].data = y.values.data();
    remat_state state = {memory, 128, nullptr, 0, 0, nullptr, 0, nullptr};
    EXPECT_EQ(remat_step_forward(step.step, arguments.data(), 2, results.data(),
                                 4, &state),
              REMAT_OK)
        << remat_last_error();
    for (size_t i = 0; i < 3; ++i)
      results[i + 1].data = data[i];
    state.events = events;
    return remat_step_backward(step.step, 0, arguments.data(), 2,
                               results.data(), 4, &state);
  }

  Step step;
  Tensor x{{16}, 1.0f}, g{{16}, 100.0f}, y{{16}, 0.0f}, d{{16}, 0.0f};
  Tensor e{{16}, 0.0f};
  alignas(64) char memory[128];
};

std::vector<float> at(const void *data) {
  auto *values = static_cast<const float *>(data);
  return {values, values + 16};
}

std::vector<float> all(float value) { return std::vector<float>(16, value); }

// A result is where something ended before, not where something ends with the
// entry that makes it.
TEST(ResultPlaces, WhereStateIsDead) {
  TwoCalls run;
  ASSERT_EQ(run.step.loaded, REMAT_OK) << run.step.message;
  EXPECT_EQ(placesOf(run.step),
            (std::vector<uint64_t>{nowhere, nowhere, 64, 0}));
  ASSERT_EQ(run.calls({run.d.values.data(), run.memory + 64, run.memory}),
            REMAT_OK)
      << remat_last_error();
  EXPECT_EQ(run.d.values, all(103));
  EXPECT_EQ(at(run.memory + 64), all(6));
  EXPECT_EQ(at(run.memory), all(12));
}

// What a later entry uses is not dead.
TEST(ResultPlaces, WhereStateIsUsedAgain) {
  TwoCalls run(/*isReused=*/true);
  ASSERT_EQ(run.step.loaded, REMAT_OK) << run.step.message;
  EXPECT_EQ(placesOf(run.step),
            (std::vector<uint64_t>{nowhere, nowhere, nowhere, 0}));
}

// A step that is one call keeps no state.
TEST(ResultPlaces, OneCall) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {16});
  builder.addEntry(
      makeEntry(0, {builder.addArgumentBuffer(0), builder.addArgumentBuffer(0)},
                {builder.addResultBuffer(0)}, 16));
  Step step(builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  EXPECT_EQ(placesOf(step), std::vector<uint64_t>{nowhere});
}

TEST(ResultPlaces, Refusals) {
  TwoCalls run;
  char *state = run.memory;
  EXPECT_EQ(run.calls({run.d.values.data(), state, run.e.values.data()}),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "result 2 'e' overlaps the state, expected it elsewhere, or at "
               "byte 64 of it");
  EXPECT_EQ(run.calls({state, run.e.values.data(), state}),
            REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(run.calls({state, run.e.values.data(), state + 64}),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "result 1 'd' overlaps the state, expected it elsewhere");
}

/// A caller that gives the memory of results in the state, and writes down what
/// the call reads no more.
struct Caller {
  char *state;
  uint64_t places[4];
  std::string released;

  static void *provide(void *user, size_t result) {
    auto &caller = *static_cast<Caller *>(user);
    return caller.state + caller.places[result];
  }
  static void release(void *user, size_t argument) {
    static_cast<Caller *>(user)->released += " x" + std::to_string(argument);
  }
  static void releaseResult(void *user, size_t result) {
    static_cast<Caller *>(user)->released += " y" + std::to_string(result);
  }
  const remat_tensor_events events = {provide, release, this, releaseResult};
};

// A result of the forward call is released as arguments are.
TEST(ResultPlaces, WhileACallRuns) {
  TwoCalls run;
  Caller caller = {run.memory, {0, 0, 64, 0}, ""};
  ASSERT_EQ(run.calls({run.d.values.data(), nullptr, nullptr}, &caller.events),
            REMAT_OK)
      << remat_last_error();
  EXPECT_EQ(caller.released, " x1 y0");
  EXPECT_EQ(at(run.memory + 64), all(6));
  EXPECT_EQ(at(run.memory), all(12));
  // It is no place for another result.
  Caller wrong = {run.memory, {0, 0, 0, 64}, ""};
  EXPECT_EQ(run.calls({run.d.values.data(), nullptr, nullptr}, &wrong.events),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "result 2 'e' overlaps the state, expected it elsewhere, or at "
               "byte 64 of it");
}

} // namespace
