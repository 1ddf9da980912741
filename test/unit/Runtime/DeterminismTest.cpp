//===- DeterminismTest.cpp - recomputations that give something else ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recomputation that differs from its original is found: by the sizes of its
// results when the step is loaded, and by their bits when the step runs.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace remat;

namespace {

int calls = 0;

/// r[i] = a[i] + 1, but element 5 tells how often the kernel has run.
void countCalls(void *const *buffers, int64_t begin, int64_t end,
                remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] + (i == 5 ? static_cast<float>(++calls) : 1);
}

/// r[i] = a[i] + 1.
void addOne(void *const *buffers, int64_t begin, int64_t end,
            remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] + 1;
}

const std::vector<remat_kernel_fn> good = {addOne, addOne};
const std::vector<remat_kernel_fn> bad = {addOne, countCalls};

/// x -> a -> b, then a and b again, into other places; `cloneBytes` are those
/// of the second b. A tensor has 10 floats. The second half may be a call of
/// its own.
StepTableBuilder recompute(uint64_t cloneBytes = 40, bool separate = false,
                           uint32_t row = 0) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {10});
  builder.addResult("y", REMAT_F32, {10});
  builder.addResult("z", REMAT_F32, {10});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t y = builder.addResultBuffer(0), z = builder.addResultBuffer(1);
  auto add = [&](uint32_t callee, uint32_t from, uint32_t to, uint32_t task,
                 uint32_t original, const char *name) {
    StepEntry entry = makeEntry(callee, {from}, {to}, 10);
    entry.task = task;
    entry.original = original;
    entry.recompute = original != REMAT_NONE;
    entry.name = name;
    entry.location = "model.mlir:" + std::to_string(7 + task);
    builder.addEntry(entry);
  };
  uint32_t buffers[4];
  for (uint32_t i = 0; i < 4; ++i) {
    buffers[i] = builder.addArenaBuffer(i * 64, i == 3 ? cloneBytes : 40);
    builder.setContents(buffers[i], REMAT_F32, i == 3 ? cloneBytes : 40, row);
  }
  add(0, x, buffers[0], 0, REMAT_NONE, "sin");
  add(1, buffers[0], buffers[1], 1, REMAT_NONE, "dropout");
  add(0, buffers[1], y, 2, REMAT_NONE, "loss");
  if (separate)
    builder.beginCall();
  add(0, x, buffers[2], 3, 0, "sin");
  add(1, buffers[2], buffers[3], 4, 1, "dropout");
  add(0, buffers[3], z, 5, REMAT_NONE, "gradient");
  return builder;
}

remat_step_options withCheck(remat_determinism_check check,
                             uint32_t flags = 0) {
  return {1, flags, nullptr, 0, check};
}

remat_status runOnce(Step &step) {
  calls = 0;
  Tensor x({10}, 1), y({10}), z({10});
  return step.run({x}, {y, z});
}

TEST(Determinism, BitsDiffer) {
  Step step(recompute(), bad, withCheck(REMAT_CHECK_BITWISE));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  EXPECT_EQ(runOnce(step), REMAT_NONDETERMINISTIC);
  EXPECT_EQ(step.message,
            "entry 4 'dropout' at model.mlir:11 repeats entry 1 'dropout' at "
            "model.mlir:8 with other bits: element 5 of result 0 was 3 and is "
            "4");
  // A step can be run again, and is checked again.
  EXPECT_EQ(runOnce(step), REMAT_NONDETERMINISTIC);
}

// Element 5 is in a gap between rows of 20 bytes, which begin every 32: none of
// the results differs in what means something.
TEST(Determinism, GapsBetweenRows) {
  Step refused(recompute(40, /*separate=*/false, /*row=*/20), bad,
               withCheck(REMAT_CHECK_BITWISE));
  EXPECT_EQ(refused.loaded, REMAT_INVALID_MODULE);
  EXPECT_NE(refused.message.find("rows of 20 bytes"), std::string::npos)
      << refused.message;
  for (uint32_t row : {20u, 24u, 32u}) {
    StepTableBuilder builder = recompute();
    for (uint32_t i = 0; i < 4; ++i)
      builder.setContents(i + 3, REMAT_F32, 32, row);
    Step step(builder, bad, withCheck(REMAT_CHECK_BITWISE, REMAT_STEP_DEBUG));
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    if (row == 20) {
      EXPECT_EQ(runOnce(step), REMAT_OK) << step.message;
      EXPECT_EQ(std::string(remat_step_trace(step.step)).find("!="),
                std::string::npos);
      continue;
    }
    EXPECT_EQ(runOnce(step), REMAT_NONDETERMINISTIC);
    EXPECT_NE(step.message.find("element 5 of result 0 was 3 and is 4"),
              std::string::npos)
        << step.message;
  }
}

TEST(Determinism, BitsAgree) {
  Step step(recompute(), good, withCheck(REMAT_CHECK_BITWISE));
  EXPECT_EQ(runOnce(step), REMAT_OK) << step.message;
}

TEST(Determinism, NoneAndMetadataDoNotCompare) {
  for (auto check : {REMAT_CHECK_NONE, REMAT_CHECK_METADATA}) {
    Step step(recompute(), bad, withCheck(check));
    EXPECT_EQ(runOnce(step), REMAT_OK) << step.message;
  }
}

TEST(Determinism, Metadata) {
  Step refused(recompute(36), good, withCheck(REMAT_CHECK_METADATA));
  EXPECT_EQ(refused.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(refused.message,
            "entry 4 'dropout' at model.mlir:11 repeats entry 1 'dropout' at "
            "model.mlir:8 but the bytes of result 0 are 36, expected 40");
  Step taken(recompute(36), good, withCheck(REMAT_CHECK_NONE));
  EXPECT_EQ(taken.loaded, REMAT_OK) << taken.message;
}

TEST(Determinism, Trace) {
  Step step(recompute(), bad,
            withCheck(REMAT_CHECK_METADATA, REMAT_STEP_DEBUG));
  ASSERT_EQ(runOnce(step), REMAT_OK) << step.message;
  std::string trace = remat_step_trace(step.step);
  auto has = [&](const char *text) {
    return trace.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has("forward | recomputation\nentry 0 'sin' at model.mlir:7 ["));
  EXPECT_TRUE(has("] | entry 3 'sin' at model.mlir:10 ["));
  EXPECT_TRUE(has("] != entry 4 'dropout' at model.mlir:11 ["));
  EXPECT_FALSE(has("loss"));
}

// The trace of a failed check ends where the run did.
TEST(Determinism, GlobalSwitch) {
  Step step(recompute(), bad, withCheck(REMAT_CHECK_BITWISE));
  remat_set_debug(1);
  EXPECT_EQ(runOnce(step), REMAT_NONDETERMINISTIC);
  EXPECT_NE(step.message.find("was 3 and is 4\nforward | recomputation\n"),
            std::string::npos)
      << step.message;
  remat_set_debug(0);
  Step traced(recompute(), good, withCheck(REMAT_CHECK_NONE, REMAT_STEP_DEBUG));
  EXPECT_EQ(runOnce(traced), REMAT_OK);
  EXPECT_STREQ(remat_step_trace(traced.step), "");
  remat_set_debug(-1);
  EXPECT_EQ(runOnce(traced), REMAT_OK);
  EXPECT_STRNE(remat_step_trace(traced.step), "");
}

/// A forward and a backward call on x, with memory for the check.
struct Calls {
  Calls(Step &step, float value) : step(step.step), x({10}, value) {
    state = {};
    state.check = memory;
    state.check_bytes = remat_step_check_bytes(step.step);
  }
  remat_status forward() { return run(y, {}, 0); }
  remat_status backward() { return run({}, z, 1); }
  remat_status run(remat_tensor y, remat_tensor z, int call) {
    remat_tensor argument = x, results[] = {y, z};
    return call == 0
               ? remat_step_forward(step, &argument, 1, results, 2, &state)
               : remat_step_backward(step, 0, &argument, 1, results, 2, &state);
  }

  remat_step *step;
  Tensor x, y{{10}}, z{{10}};
  remat_state state;
  alignas(64) char memory[256];
};

// What a forward call gave is kept with its state: other forward calls may come
// between it and its backward call.
TEST(Determinism, SeparateCalls) {
  calls = 0;
  Step step(recompute(40, /*separate=*/true), good,
            withCheck(REMAT_CHECK_BITWISE, REMAT_STEP_DEBUG));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  // 16 for each of four entries, and two results of 40.
  EXPECT_EQ(remat_step_check_bytes(step.step), 144u);
  Calls a(step, 1), b(step, 2);
  ASSERT_EQ(a.forward(), REMAT_OK) << remat_last_error();
  EXPECT_EQ(step.stats().check_bytes, 112u);
  ASSERT_EQ(b.forward(), REMAT_OK) << remat_last_error();
  EXPECT_EQ(a.backward(), REMAT_OK) << remat_last_error();
  EXPECT_EQ(step.stats().check_bytes, 32u);
  std::string trace = remat_step_trace(step.step);
  EXPECT_EQ(trace.find("!="), std::string::npos) << trace;
  EXPECT_EQ(trace.find("did not run"), std::string::npos) << trace;
  EXPECT_EQ(b.backward(), REMAT_OK) << remat_last_error();
}

TEST(Determinism, SeparateCallsDiffer) {
  calls = 0;
  Step step(recompute(40, /*separate=*/true), bad,
            withCheck(REMAT_CHECK_BITWISE));
  Calls a(step, 1), b(step, 1);
  ASSERT_EQ(a.forward(), REMAT_OK) << remat_last_error();
  ASSERT_EQ(b.forward(), REMAT_OK) << remat_last_error();
  EXPECT_EQ(a.backward(), REMAT_NONDETERMINISTIC);
  EXPECT_STREQ(remat_last_error(),
               "entry 4 'dropout' at model.mlir:11 repeats entry 1 'dropout' "
               "at model.mlir:8 with other bits: element 5 of result 0 was 3 "
               "and is 5");
  b.state.check_bytes = 143;
  EXPECT_EQ(b.forward(), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "state's memory for checks has 143 bytes, "
                                   "expected at least 144");
}

TEST(Determinism, BadOption) {
  Step step(recompute(), good,
            withCheck(static_cast<remat_determinism_check>(3)));
  EXPECT_EQ(step.loaded, REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step.message, "option 'determinism_check' is 3, expected 0 to 2");
}

} // namespace
