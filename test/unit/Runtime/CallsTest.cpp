//===- CallsTest.cpp - steps that are several calls -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward and two backward calls, what they count and what they refuse.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace remat;

namespace {

const std::vector<remat_kernel_fn> kernels = {add};

/// y = 3s by way of s = 2x and scratch; then d = s + g, and e = s + t + h,
/// where t = 2s is made by the first backward call. Each is 64 bytes.
StepTableBuilder threeCalls(uint64_t stateBytes = 128) {
  StepTableBuilder builder;
  const char *arguments[] = {"x", "g", "h"}, *results[] = {"y", "d", "e"};
  uint32_t in[3], out[3];
  for (uint32_t i = 0; i < 3; ++i) {
    builder.addArgument(arguments[i], REMAT_F32, {16});
    builder.addResult(results[i], REMAT_F32, {16});
    in[i] = builder.addArgumentBuffer(i);
    out[i] = builder.addResultBuffer(i);
  }
  uint32_t s = builder.addArenaBuffer(0, 64);
  uint32_t t = builder.addArenaBuffer(64, 64);
  uint32_t scratch = builder.addArenaBuffer(128, 64);
  uint32_t other = builder.addArenaBuffer(128, 64);
  builder.addEntry(makeEntry(0, {in[0], in[0]}, {s}, 16));
  builder.addEntry(makeEntry(0, {s, s}, {scratch}, 16));
  builder.addEntry(makeEntry(0, {scratch, s}, {out[0]}, 16));
  builder.beginCall();
  builder.addEntry(makeEntry(0, {s, s}, {t}, 16));
  builder.addEntry(makeEntry(0, {s, in[1]}, {out[1]}, 16));
  builder.beginCall();
  builder.addEntry(makeEntry(0, {s, t}, {other}, 16));
  builder.addEntry(makeEntry(0, {other, in[2]}, {out[2]}, 16));
  builder.setArenaBytes(192);
  builder.setStateBytes(stateBytes);
  return builder;
}

struct Tensors {
  explicit Tensors(float value)
      : x({16}, value), g({16}, 100), h({16}, 1000), y({16}), d({16}), e({16}) {
  }
  std::vector<remat_tensor> arguments() { return {x, g, h}; }
  std::vector<remat_tensor> results() { return {y, d, e}; }
  Tensor x, g, h, y, d, e;
};

struct State : remat_state {
  State()
      : remat_state{memory, sizeof(memory), nullptr, 0,
                    0,      nullptr,        0,       nullptr} {}
  alignas(64) char memory[128];
};

remat_status forward(Step &step, Tensors &tensors, State &state) {
  auto arguments = tensors.arguments(), results = tensors.results();
  arguments[1] = arguments[2] = results[1] = results[2] = {};
  return remat_step_forward(step.step, arguments.data(), 3, results.data(), 3,
                            &state);
}

remat_status backward(Step &step, size_t number, Tensors &tensors,
                      State &state) {
  auto arguments = tensors.arguments(), results = tensors.results();
  arguments[0] = results[0] = arguments[2 - number] = results[2 - number] = {};
  return remat_step_backward(step.step, number, arguments.data(), 3,
                             results.data(), 3, &state);
}

// Two forward calls, then their backward calls, in one step and in another.
TEST(Calls, SeveralStates) {
  Step one(threeCalls(), kernels, {1, REMAT_STEP_POISON, nullptr, 0});
  Step two(threeCalls(), kernels, {1, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(one.loaded, REMAT_OK) << one.message;
  EXPECT_EQ(remat_step_backward_count(one.step), 2u);
  EXPECT_EQ(remat_step_state_bytes(one.step), 128u);
  Tensors a(1), b(2);
  State ofA, ofB;
  ASSERT_EQ(forward(one, a, ofA), REMAT_OK) << remat_last_error();
  // s is left.
  EXPECT_EQ(one.stats().state_bytes, 64u);
  EXPECT_EQ(one.stats().measured_peak_bytes, 128u);
  ASSERT_EQ(forward(one, b, ofB), REMAT_OK) << remat_last_error();
  ASSERT_EQ(backward(one, 0, a, ofA), REMAT_OK) << remat_last_error();
  // s and t are left.
  EXPECT_EQ(one.stats().state_bytes, 128u);
  EXPECT_EQ(one.stats().measured_peak_bytes, 128u);
  EXPECT_EQ(one.stats().executed_entries, 2u);
  ASSERT_EQ(backward(one, 0, b, ofB), REMAT_OK) << remat_last_error();
  ASSERT_EQ(backward(two, 1, b, ofB), REMAT_OK) << remat_last_error();
  EXPECT_EQ(two.stats().state_bytes, 0u);
  EXPECT_EQ(two.stats().measured_peak_bytes, 192u);
  ASSERT_EQ(backward(one, 1, a, ofA), REMAT_OK) << remat_last_error();
  auto all = [](float value) { return std::vector<float>(16, value); };
  EXPECT_EQ(a.y.values, all(6));
  EXPECT_EQ(a.d.values, all(102));
  EXPECT_EQ(a.e.values, all(1006));
  EXPECT_EQ(b.d.values, all(104));
  EXPECT_EQ(b.e.values, all(1012));
}

TEST(Calls, AtOnce) {
  Step step(threeCalls(), kernels, {1, REMAT_STEP_POISON, nullptr, 0});
  Tensors tensors(1);
  ASSERT_EQ(step.run(tensors.arguments(), tensors.results()), REMAT_OK)
      << step.message;
  EXPECT_EQ(tensors.e.values, std::vector<float>(16, 1006));
  EXPECT_EQ(step.stats().measured_peak_bytes, 192u);
  EXPECT_EQ(step.stats().state_bytes, 0u);
}

TEST(Calls, Queries) {
  Step step(threeCalls(), kernels);
  remat_tensor_info info;
  ASSERT_EQ(remat_step_argument(step.step, 2, &info), REMAT_OK);
  EXPECT_EQ(info.first_call, 2u);
  EXPECT_EQ(info.last_call, 2u);
  ASSERT_EQ(remat_step_result(step.step, 0, &info), REMAT_OK);
  EXPECT_EQ(info.first_call, 0u);
  EXPECT_EQ(info.last_call, 0u);
}

// The state of one forward call is used by each backward call only once.
TEST(Calls, Order) {
  Step step(threeCalls(), kernels);
  Tensors tensors(1);
  State state;
  EXPECT_EQ(backward(step, 0, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "backward call 0 was made with a state after no forward call");
  ASSERT_EQ(forward(step, tensors, state), REMAT_OK);
  EXPECT_EQ(backward(step, 1, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "backward call 1 was made with a state after "
               "0 backward calls, expected 1");
  ASSERT_EQ(backward(step, 0, tensors, state), REMAT_OK);
  EXPECT_EQ(backward(step, 0, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "backward call 0 was made with a state after "
               "1 backward calls, expected 0");
  EXPECT_EQ(backward(step, 2, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "backward call 2 is out of range: the step has 2");
}

TEST(Calls, BadState) {
  Step step(threeCalls(), kernels);
  Tensors tensors(1);
  State state;
  state.bytes = 127;
  EXPECT_EQ(forward(step, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(),
               "state has 127 bytes, expected at least 128");
  state.bytes = 128;
  state.data = state.memory + 4;
  EXPECT_EQ(forward(step, tensors, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "state is 4 bytes past a multiple of 64, "
                                   "expected it to be aligned");
  EXPECT_EQ(remat_step_forward(step.step, nullptr, 0, nullptr, 0, nullptr),
            REMAT_INVALID_ARGUMENT);
}

// A call that needs a tensor says so.
TEST(Calls, MissingTensor) {
  Step step(threeCalls(), kernels);
  Tensors tensors(1);
  State state;
  ASSERT_EQ(forward(step, tensors, state), REMAT_OK);
  auto arguments = tensors.arguments(), results = tensors.results();
  arguments[1].data = nullptr;
  EXPECT_EQ(remat_step_backward(step.step, 0, arguments.data(), 3,
                                results.data(), 3, &state),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "argument 1 'g' has no data");
}

TEST(Calls, DamagedTables) {
  Step small(threeCalls(/*stateBytes=*/64), kernels);
  EXPECT_EQ(small.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(small.message, "buffer 7 is needed by a later call but does not "
                           "last");
  Step across(threeCalls(/*stateBytes=*/32), kernels);
  EXPECT_EQ(across.message, "buffer 6 lies partly in the state");
  Step large(threeCalls(/*stateBytes=*/256), kernels);
  EXPECT_EQ(large.message, "state has 256 bytes, but the arena only 192");
}

/// A step that is compiled for separate calls has no backward call if nothing
/// depends on the arguments: its forward call needs what it uses, like others.
TEST(Calls, NoBackward) {
  StepTableBuilder builder;
  builder.addArgument("unused", REMAT_F32, {16});
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {16});
  uint32_t x = builder.addArgumentBuffer(1);
  builder.addEntry(makeEntry(0, {x, x}, {builder.addResultBuffer(0)}, 16));
  Step step(builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(remat_step_backward_count(step.step), 0u);
  State state;
  Tensor in({16}, 2), out({16});
  remat_tensor arguments[] = {{}, in}, result = out;
  EXPECT_EQ(remat_step_forward(step.step, arguments, 2, &result, 1, &state),
            REMAT_OK)
      << remat_step_error(step.step);
  EXPECT_EQ(out.values[15], 4);
  // As a whole, the step takes all.
  EXPECT_EQ(step.run({arguments[0], in}, {out}), REMAT_INVALID_ARGUMENT);
}

} // namespace
