//===- TensorEventsTest.cpp - tensors that come and go --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results that get their memory, and arguments that are released, while a call
// runs.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <memory>

using namespace remat;

namespace {

const std::vector<remat_kernel_fn> kernels = {add};

/// The forward call makes s = 2x. The backward call makes d = s + g and, by way
/// of 2s in the buffer of the result f, e = 4s; then f = d + d.
StepTableBuilder twoCalls() {
  StepTableBuilder builder;
  const char *arguments[] = {"x", "g"}, *results[] = {"d", "e", "f"};
  uint32_t in[2], out[3];
  for (uint32_t i = 0; i < 2; ++i) {
    builder.addArgument(arguments[i], REMAT_F32, {16});
    in[i] = builder.addArgumentBuffer(i);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    builder.addResult(results[i], REMAT_F32, {16});
    out[i] = builder.addResultBuffer(i);
  }
  uint32_t s = builder.addArenaBuffer(0, 64);
  uint32_t twice = builder.addReusedBuffer(2, 0, 64);
  builder.addEntry(makeEntry(0, {in[0], in[0]}, {s}, 16));
  builder.beginCall();
  builder.addEntry(makeEntry(0, {s, in[1]}, {out[0]}, 16));
  builder.addEntry(makeEntry(0, {s, s}, {twice}, 16));
  builder.addEntry(makeEntry(0, {twice, twice}, {out[1]}, 16));
  builder.addEntry(makeEntry(0, {out[0], out[0]}, {out[2]}, 16));
  builder.setArenaBytes(64);
  builder.setStateBytes(64);
  return builder;
}

/// A caller that writes down what it is asked for.
struct Caller {
  std::string asked;
  std::unique_ptr<Tensor> results[3];
  /// What it gives for a result in place of memory of its own.
  void *other = nullptr;
  size_t otherOf = 3;

  static void *provide(void *user, size_t result) {
    auto &caller = *static_cast<Caller *>(user);
    caller.asked += " +" + std::to_string(result);
    if (result == caller.otherOf)
      return caller.other;
    caller.results[result] =
        std::make_unique<Tensor>(std::vector<int64_t>{16}, 0.0f);
    return caller.results[result]->values.data();
  }
  static void release(void *user, size_t argument) {
    static_cast<Caller *>(user)->asked += " -" + std::to_string(argument);
  }
  const remat_tensor_events events = {provide, release, this};
};

struct TwoCalls {
  TwoCalls() : step(twoCalls(), kernels, {1, REMAT_STEP_POISON, nullptr, 0}) {}

  /// The forward call, then the backward call with the caller's events, with
  /// the result `given`, if there is one, from the beginning.
  remat_status calls(const remat_tensor_events *events, size_t given = 3) {
    const int64_t *dims = remat_tensor(given_).dims;
    remat_tensor missing = {nullptr, REMAT_F32, 1, dims};
    std::vector<remat_tensor> arguments = {x, g}, results(3, missing);
    if (given < 3)
      results[given] = given_;
    remat_state state = {memory, 64, nullptr, 0, 0, nullptr, 0, nullptr};
    EXPECT_EQ(remat_step_forward(step.step, arguments.data(), 2, results.data(),
                                 3, &state),
              REMAT_OK);
    state.events = events;
    return remat_step_backward(step.step, 0, arguments.data(), 2,
                               results.data(), 3, &state);
  }

  Step step;
  Tensor x{{16}, 1.0f}, g{{16}, 100.0f}, given_{{16}, 0.0f};
  alignas(64) char memory[64];
};

std::vector<float> all(float value) { return std::vector<float>(16, value); }

// `f` is asked for when its buffer first holds something else.
TEST(TensorEvents, InOrder) {
  TwoCalls run;
  ASSERT_EQ(run.step.loaded, REMAT_OK) << run.step.message;
  Caller caller;
  ASSERT_EQ(run.calls(&caller.events), REMAT_OK) << remat_last_error();
  EXPECT_EQ(caller.asked, " +0 -1 +2 +1");
  EXPECT_EQ(caller.results[0]->values, all(102));
  EXPECT_EQ(caller.results[1]->values, all(8));
  EXPECT_EQ(caller.results[2]->values, all(204));
}

// What is there is not asked for.
TEST(TensorEvents, GivenResults) {
  TwoCalls run;
  Caller caller;
  ASSERT_EQ(run.calls(&caller.events, 1), REMAT_OK) << remat_last_error();
  EXPECT_EQ(caller.asked, " +0 -1 +2");
  EXPECT_EQ(run.given_.values, all(8));
}

// Memory of an argument may be that of a result when it is released.
TEST(TensorEvents, MemoryOfReleased) {
  TwoCalls run;
  Caller caller;
  caller.other = run.g.values.data();
  caller.otherOf = 2;
  ASSERT_EQ(run.calls(&caller.events), REMAT_OK) << remat_last_error();
  EXPECT_EQ(run.g.values, all(204));
}

TEST(TensorEvents, Refusals) {
  TwoCalls run;
  EXPECT_EQ(run.calls(nullptr), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "result 0 'd' has no data");
  Caller overlapping;
  overlapping.other = run.g.values.data();
  overlapping.otherOf = 0;
  EXPECT_EQ(run.calls(&overlapping.events), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "result 0 'd' got memory that overlaps argument 1 'g'");
  Caller without;
  without.otherOf = 1;
  EXPECT_EQ(run.calls(&without.events), REMAT_OUT_OF_MEMORY);
  EXPECT_STREQ(remat_last_error(), "result 1 'e' got no memory of 64 bytes");
  // Nothing is left of it.
  Caller caller;
  EXPECT_EQ(run.calls(&caller.events), REMAT_OK) << remat_last_error();
}

} // namespace
