//===- ScratchTest.cpp - tensors beside the memory of the step ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What calls write beside results, the arena among it, is nothing of the
// caller's tensors and states.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace remat;

namespace {

/// s = 2x in the arena, offloaded to the host and brought back; a backward call
/// makes y = 2s if there are two calls.
StepTableBuilder offloading(bool hasBackward) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {16});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  uint32_t s = builder.addArenaBuffer(64, 64);
  uint32_t host = builder.addHostBuffer(0, 64);
  uint32_t again = builder.addArenaBuffer(128, 64);
  uint32_t kept = builder.addArenaBuffer(0, 64);
  builder.addEntry(makeEntry(0, {x, x}, {s}, 16));
  builder.addEntry(makeEntry(0, {x, x}, {kept}, 16));
  builder.addEntry(makeCopy(s, host));
  if (hasBackward)
    builder.beginCall();
  builder.addEntry(makeCopy(host, again));
  builder.addEntry(makeEntry(0, {again, kept}, {y}, 16));
  builder.setArenaBytes(192);
  builder.setHostBytes(64);
  if (hasBackward)
    builder.setStateBytes(64);
  return builder;
}

struct Offloading {
  explicit Offloading(bool hasBackward)
      : step(offloading(hasBackward), {add}, {1, 0, arena, sizeof arena}) {
    EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
  }

  remat_tensor at(char *data) {
    remat_tensor tensor = x;
    tensor.data = data;
    return tensor;
  }

  remat_status call(bool isForward, const remat_tensor &argument,
                    remat_tensor result, remat_state &state) {
    return isForward
               ? remat_step_forward(step.step, &argument, 1, &result, 1, &state)
               : remat_step_backward(step.step, 0, &argument, 1, &result, 1,
                                     &state);
  }

  alignas(64) char arena[256] = {};
  alignas(64) char host[128] = {};
  alignas(64) char memory[128] = {};
  Step step;
  Tensor x{{16}, 1.0f}, y{{16}, 0.0f};
};

TEST(Scratch, TensorsInTheArena) {
  Offloading run(/*hasBackward=*/false);
  for (int offset : {0, 60, 188}) {
    EXPECT_EQ(run.step.run({run.at(run.arena + offset)}, {run.y}),
              REMAT_INVALID_ARGUMENT);
    EXPECT_EQ(run.step.message,
              "argument 0 'x' overlaps the arena, expected it elsewhere");
    EXPECT_EQ(run.step.run({run.x}, {run.at(run.arena + offset)}),
              REMAT_INVALID_ARGUMENT);
    EXPECT_EQ(run.step.message,
              "result 0 'y' overlaps the arena, expected it elsewhere");
  }
  // Behind what the step needs of it.
  EXPECT_EQ(run.step.run({run.x}, {run.at(run.arena + 192)}), REMAT_OK)
      << run.step.message;
  EXPECT_EQ(*reinterpret_cast<float *>(run.arena + 192), 4);
}

TEST(Scratch, States) {
  Offloading run(/*hasBackward=*/true);
  auto refused = [&](char *data, char *host, const char *expected) {
    remat_state state = {data, 64, host, 64, 0, nullptr, 0, nullptr};
    EXPECT_EQ(run.call(true, run.x, run.y, state), REMAT_INVALID_ARGUMENT);
    EXPECT_STREQ(remat_step_error(run.step.step), expected);
  };
  refused(run.memory, run.memory, "the state overlaps the state's host memory");
  refused(run.memory, run.arena + 64,
          "the state's host memory overlaps the arena");
  refused(run.arena + 64, run.host, "the state overlaps the arena");
  // What the arena has for a state may be one.
  for (char *data : {run.memory, run.arena}) {
    remat_state state = {data, 64, run.host, 64, 0, nullptr, 0, nullptr};
    ASSERT_EQ(run.call(true, run.x, run.y, state), REMAT_OK)
        << remat_step_error(run.step.step);
    EXPECT_EQ(run.call(false, run.x, run.at(run.host + 32), state),
              REMAT_INVALID_ARGUMENT);
    EXPECT_STREQ(remat_step_error(run.step.step),
                 "result 0 'y' overlaps the state's host memory, expected it "
                 "elsewhere");
    ASSERT_EQ(run.call(true, run.x, run.y, state), REMAT_OK);
    ASSERT_EQ(run.call(false, run.x, run.y, state), REMAT_OK)
        << remat_step_error(run.step.step);
    EXPECT_EQ(run.y.values, std::vector<float>(16, 4));
  }
}

// A caller that hands out the arena for a result is refused, too.
TEST(Scratch, ProvidedResults) {
  Offloading run(/*hasBackward=*/true);
  remat_tensor_events events = {
      [](void *user, size_t) -> void * { return user; }, nullptr,
      run.arena + 128, nullptr};
  remat_state state = {run.memory, 64, run.host, 64, 0, nullptr, 0, &events};
  ASSERT_EQ(run.call(true, run.x, run.at(nullptr), state), REMAT_OK)
      << remat_step_error(run.step.step);
  EXPECT_EQ(run.call(false, run.x, run.at(nullptr), state),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_step_error(run.step.step),
               "result 0 'y' overlaps the arena, expected it elsewhere");
}

TEST(Scratch, CallsThatThereAreNot) {
  Offloading run(/*hasBackward=*/false);
  remat_state state = {};
  EXPECT_EQ(remat_step_forward(run.step.step, nullptr, 0, nullptr, 0, nullptr),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_step_error(run.step.step), "state is NULL");
  EXPECT_EQ(run.call(false, run.x, run.y, state), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_step_error(run.step.step),
               "backward call 0 is out of range: the step has 0");
}

} // namespace
