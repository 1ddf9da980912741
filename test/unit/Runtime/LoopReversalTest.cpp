//===- LoopReversalTest.cpp - loops that make their states again ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop with few checkpoints gives the bits of the loop that is given all
// states, and makes as few of them as possible.
//
//===----------------------------------------------------------------------===//

#include "LoopTest.h"

#include "remat/Schedules/Revolve.h"

#include <random>
#include <utility>

using namespace remat;

namespace {

float *at(void *const *buffers, int i) {
  return static_cast<float *>(buffers[i]);
}
void multiply(void *const *buffers, int64_t begin, int64_t end,
              remat_kernel_status *) {
  for (int64_t i = begin; i < end; ++i)
    at(buffers, 2)[i] = at(buffers, 0)[i] * at(buffers, 1)[i];
}
/// Copies what is less than 100, and fails otherwise.
void check(void *const *buffers, int64_t, int64_t,
           remat_kernel_status *status) {
  float value = at(buffers, 0)[0];
  if (value >= 100)
    *status = {1, -1, static_cast<int64_t>(value), 100};
  for (int i = 0; i < 3; ++i)
    at(buffers, 1)[i] = at(buffers, 0)[i];
}
const std::vector<remat_kernel_fn> kernels = {multiply, add, check};

uint32_t addArgument(StepTableBuilder &builder, std::vector<int64_t> dims) {
  return builder.addArgumentBuffer(
      builder.addArgument("argument", REMAT_F32, dims));
}
uint32_t addResult(StepTableBuilder &builder, std::vector<int64_t> dims) {
  return builder.addResultBuffer(builder.addResult("result", REMAT_F32, dims));
}

/// (h, g, w, v, x) -> (h * w + x, g + v): the states are h, of 3 elements, and
/// g, of 20, either of which may be updated in place.
StepTableBuilder makeAdvance(bool hIsInPlace, bool gIsInPlace) {
  StepTableBuilder builder;
  uint32_t h = addArgument(builder, {3}), g = addArgument(builder, {20});
  uint32_t w = addArgument(builder, {3}), v = addArgument(builder, {20});
  uint32_t x = addArgument(builder, {3});
  uint32_t nextH = addResult(builder, {3}), nextG = addResult(builder, {20});
  if (hIsInPlace)
    builder.addDonation(0, 0);
  if (gIsInPlace)
    builder.addDonation(1, 1);
  uint32_t product = builder.addArenaBuffer(0, 12);
  builder.addEntry(makeEntry(2, {x}, {product}));
  builder.addEntry(makeEntry(0, {h, w}, {product}, 3));
  builder.addEntry(
      makeEntry(1, {product, x}, {hIsInPlace ? builder.addView(h) : nextH}, 3));
  builder.addEntry(
      makeEntry(1, {g, v}, {gIsInPlace ? builder.addView(g) : nextG}, 20));
  return builder;
}

/// (a, v, h, g, y) -> (a * h + y, g * v): a is carried, v is invariant, h and g
/// are states, y is an element of a slice, and the last result one of a stack.
StepTableBuilder makeBody() {
  StepTableBuilder builder;
  uint32_t a = addArgument(builder, {3}), v = addArgument(builder, {20});
  uint32_t h = addArgument(builder, {3}), g = addArgument(builder, {20});
  uint32_t y = addArgument(builder, {3});
  uint32_t next = addResult(builder, {3}), s = addResult(builder, {20});
  uint32_t product = builder.addArenaBuffer(64, 12);
  builder.addEntry(makeEntry(0, {a, h}, {product}, 3));
  builder.addEntry(makeEntry(1, {product, y}, {next}, 3));
  builder.addEntry(makeEntry(0, {g, v}, {s}, 20));
  return builder;
}

/// What the loops work on. Numbers are all different and stay small.
struct Values {
  Values(int64_t count, bool isReverse)
      : a({3}, 0.5), v({20}, 0.125), y({count, 3}), h({3}, 1), g({20}), w({3}),
        x({count, 3}), states({count, 3}), others({count, 20}), end({3}),
        s({count, 20}) {
    for (size_t i = 0; i < x.values.size(); ++i) {
      x.values[i] = float(i % 13) / 16;
      y.values[i] = float(i % 7) / 8;
    }
    for (size_t i = 0; i < 3; ++i)
      w.values[i] = 0.25f + 0.125f * float(i);
    for (size_t i = 0; i < 20; ++i)
      g.values[i] = float(i);
    // All states: the loop is reverse to that of its advance.
    std::vector<float> nextH = h.values, nextG = g.values;
    for (int64_t step = 0; step < count; ++step) {
      int64_t i = isReverse ? step : count - 1 - step;
      std::copy_n(nextH.begin(), 3, states.values.begin() + 3 * i);
      std::copy_n(nextG.begin(), 20, others.values.begin() + 20 * i);
      void *product[] = {nextH.data(), w.values.data(), nextH.data()};
      multiply(product, 0, 3, nullptr);
      void *sum[] = {nextH.data(), x.values.data() + 3 * i, nextH.data()};
      add(sum, 0, 3, nullptr);
      void *other[] = {nextG.data(), v.values.data(), nextG.data()};
      add(other, 0, 20, nullptr);
    }
  }
  Tensor a, v, y, h, g, w, x, states, others, end, s;
};

/// A step of one loop. With `slots`, it makes its states itself.
struct Reversal {
  Reversal(int64_t count, int64_t slots, bool isReverse, bool hIsInPlace,
           bool gIsInPlace, bool hasTrips = false)
      : body(makeBody()), advance(makeAdvance(hIsInPlace, gIsInPlace)),
        loop(makeRecord(builder.addBody(body.finalize()), 1, 1,
                        slots > 0 ? 1 : 3, 1, isReverse ? 1u : 0u, count)) {
    if (slots > 0) {
      loop.advance = builder.addBody(advance.finalize());
      loop.advance_invariants = 2;
      loop.advance_slices = 1;
      loop.slots = slots;
    }
    std::vector<std::vector<int64_t>> dims = {{3}, {20}};
    if (slots > 0)
      dims.insert(dims.end(), {{count, 3}, {3}, {20}, {3}, {20}, {count, 3}});
    else
      dims.insert(dims.end(), {{count, 3}, {count, 20}, {count, 3}});
    std::vector<uint32_t> operands;
    for (const std::vector<int64_t> &operand : dims)
      operands.push_back(addArgument(builder, operand));
    if (hasTrips) {
      loop.flags |= REMAT_LOOP_TRIPS;
      operands.push_back(builder.addArgumentBuffer(
          builder.addArgument("trips", REMAT_I64, {})));
    }
    uint32_t end = addResult(builder, {3});
    entry = makeEntry(0, operands, {end, addResult(builder, {count, 20})});
    entry.kind = REMAT_ENTRY_LOOP;
    entry.name = "scan";
  }
  void finish(uint64_t removed = 0, uint64_t removedOnHost = 0) {
    workspaceBytes =
        loopWorkspaceBytes(loop, body.finalize(), advance.finalize());
    entry.callee = builder.addLoop(loop);
    // Of a wrong loop nothing is known; it is refused whatever is here.
    entry.workspace = builder.addArenaBuffer(
        0, workspaceBytes == UINT64_MAX ? 64 : workspaceBytes - removed);
    hostBytes = loopHostBytes(loop, body.finalize(), advance.finalize());
    if (loop.host_slots > 0)
      entry.hostWorkspace = builder.addHostBuffer(
          0, hostBytes == UINT64_MAX ? 64 : hostBytes - removedOnHost);
    builder.addEntry(entry);
  }
  void expect(const std::string &message) {
    finish();
    std::string error;
    EXPECT_FALSE(checkStepTable(builder.finalize(), error));
    EXPECT_EQ(error, message);
  }

  StepTableBuilder builder, body, advance;
  remat_loop loop;
  StepEntry entry;
  uint64_t workspaceBytes = 0, hostBytes = 0;
};

class LoopReversal
    : public ::testing::TestWithParam<std::tuple<bool, bool, bool>> {};

TEST_P(LoopReversal, GivesWhatAllStatesGive) {
  auto [isReverse, hIsInPlace, gIsInPlace] = GetParam();
  for (int64_t count = 1; count <= 60; ++count) {
    Values v(count, isReverse);
    Reversal all(count, 0, isReverse, false, false);
    all.finish();
    Step whole(all.builder, kernels, {1, 0, nullptr, 0});
    ASSERT_EQ(whole.loaded, REMAT_OK) << whole.message;
    ASSERT_EQ(whole.run({v.a, v.v, v.states, v.others, v.y}, {v.end, v.s}),
              REMAT_OK)
        << whole.message;
    std::vector<float> end = v.end.values, s = v.s.values;
    for (int64_t slots = 1; slots <= 10; ++slots) {
      Reversal few(count, slots, isReverse, hIsInPlace, gIsInPlace);
      few.finish();
      // NaNs in the arena must not touch states that are kept.
      unsigned flags = (count + slots) % 2 ? unsigned(REMAT_STEP_POISON)
                                           : unsigned(REMAT_STEP_PROFILE);
      Step step(few.builder, kernels,
                {count % 4 == 0 ? 4 : 1, flags, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      Tensor other({3}), stack({count, 20});
      ASSERT_EQ(
          step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {other, stack}),
          REMAT_OK)
          << step.message;
      ASSERT_EQ(other.values, end) << count << " by " << slots;
      ASSERT_EQ(stack.values, s) << count << " by " << slots;
      // Beside the loop, 3 entries of the body and 4 of the advance.
      uint64_t advanced = step.stats().executed_entries - 1 - 3 * count;
      ASSERT_EQ(advanced, 4 * uint64_t(fewestAdvances(count, slots)))
          << count << " by " << slots;
      if (flags & REMAT_STEP_PROFILE)
        ASSERT_EQ(step.bodyRuns(0),
                  (std::vector<uint64_t>{uint64_t(count), advanced / 4}));
      // The larger arena, what is carried, and the states.
      uint64_t expected = 128 + 64 + 64 + 128;
      expected += (hIsInPlace ? 0 : 64) + (gIsInPlace ? 0 : 128);
      expected += (64 + 128) * uint64_t(std::min(slots, count) - 1);
      ASSERT_EQ(few.workspaceBytes, expected);
      ASSERT_EQ(step.stats().measured_peak_bytes, expected);
    }
  }
}

/// With segments whose first states are on the host, bits are the same, and
/// both peaks are those that the table says.
TEST_P(LoopReversal, GivesThatWithStatesOnTheHost) {
  auto [isReverse, hIsInPlace, gIsInPlace] = GetParam();
  for (int64_t count : {1, 2, 7, 16, 33}) {
    Values v(count, isReverse);
    Reversal all(count, 0, isReverse, false, false);
    all.finish();
    Step whole(all.builder, kernels, {1, 0, nullptr, 0});
    ASSERT_EQ(whole.run({v.a, v.v, v.states, v.others, v.y}, {v.end, v.s}),
              REMAT_OK)
        << whole.message;
    for (int64_t period : {1, 2, 5, 40})
      for (int64_t hostSlots : {1, 2, 4, 50})
        for (int64_t slots : {1, 3}) {
          Reversal few(count, slots, isReverse, hIsInPlace, gIsInPlace);
          few.loop.host_slots = hostSlots;
          few.loop.period = period;
          few.finish();
          unsigned flags = period % 2 ? unsigned(REMAT_STEP_POISON) : 0u;
          Step step(few.builder, kernels, {1, flags, nullptr, 0});
          ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
          Tensor other({3}), stack({count, 20});
          // Twice: what was left on the host is of no use.
          for (int run = 0; run < 2; ++run)
            ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x},
                               {other, stack}),
                      REMAT_OK)
                << step.message;
          std::string what = std::to_string(count) + " by " +
                             std::to_string(slots) + ", " +
                             std::to_string(hostSlots) + " on the host, one " +
                             "in " + std::to_string(period);
          ASSERT_EQ(other.values, v.end.values) << what;
          ASSERT_EQ(stack.values, v.s.values) << what;
          ASSERT_EQ(
              step.stats().executed_entries - 1 - 3 * uint64_t(count),
              4 * uint64_t(fewestAdvances(count, slots, hostSlots, period)))
              << what;
          int64_t segment = std::min(period, count),
                  segments = segmentsOf(count, segment);
          uint64_t expected = 128 + 64;
          if (!areAllOnHost(count, hostSlots, period))
            expected +=
                64 + 128 + (hIsInPlace ? 0 : 64) + (gIsInPlace ? 0 : 128);
          // Two stages, and the slots of a segment.
          expected += (64 + 128) * uint64_t(2 + std::min(slots, segment) - 1);
          ASSERT_EQ(step.stats().measured_peak_bytes, expected) << what;
          uint64_t onHost =
              (64 + 128) * uint64_t(std::min(hostSlots, segments - 1));
          ASSERT_EQ(step.stats().host_peak_bytes, onHost) << what;
          // Each is stored once if there is a slot for each.
          if (hostSlots >= segments - 1)
            ASSERT_EQ(step.stats().offloaded_bytes,
                      (64 + 128) * uint64_t(std::max<int64_t>(segments - 2, 0)))
                << what;
        }
  }
}

/// With the checkpoints of the most iterations, fewer run in the order of a
/// loop of as many.
TEST_P(LoopReversal, GivesThatForEachNumberOfIterations) {
  auto [isReverse, hIsInPlace, gIsInPlace] = GetParam();
  constexpr int64_t most = 30;
  Values v(most, isReverse);
  for (int64_t slots : {1, 3, 30, -2}) {
    // Of the last, some are on the host.
    bool isOnHost = slots < 0;
    slots = std::abs(slots);
    Reversal few(most, slots, isReverse, hIsInPlace, gIsInPlace,
                 /*hasTrips=*/true);
    if (isOnHost) {
      few.loop.host_slots = 3;
      few.loop.period = 4;
    }
    few.finish();
    Step step(few.builder, kernels, {1, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (int64_t trips = 0; trips <= most; ++trips) {
      std::vector<float> end = v.a.values, s(20 * most);
      if (trips > 0) {
        Values fixed(trips, isReverse);
        Reversal all(trips, 0, isReverse, false, false);
        all.finish();
        Step whole(all.builder, kernels, {1, 0, nullptr, 0});
        ASSERT_EQ(
            whole.run({fixed.a, fixed.v, fixed.states, fixed.others, fixed.y},
                      {fixed.end, fixed.s}),
            REMAT_OK)
            << whole.message;
        end = fixed.end.values;
        std::copy(fixed.s.values.begin(), fixed.s.values.end(), s.begin());
      }
      int64_t number = trips;
      remat_tensor counted = {&number, REMAT_I64, 0, nullptr};
      Tensor other({3}), stack({most, 20}, 5);
      ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x, counted},
                         {other, stack}),
                REMAT_OK)
          << step.message;
      ASSERT_EQ(other.values, end) << trips << " by " << slots;
      ASSERT_EQ(stack.values, s) << trips << " by " << slots;
      ASSERT_EQ(step.stats().executed_entries - 1 - 3 * uint64_t(trips),
                4 * uint64_t(fewestAdvances(trips, slots, few.loop.host_slots,
                                            few.loop.period)));
      ASSERT_EQ(step.stats().measured_peak_bytes, few.workspaceBytes);
    }
  }
}

/// Of any number of iterations up to 300.
TEST_P(LoopReversal, GivesThatWithRandomSlotsOnTheHost) {
  auto [isReverse, hIsInPlace, gIsInPlace] = GetParam();
  constexpr int64_t most = 300;
  std::mt19937_64 random(isReverse + 2 * hIsInPlace + 4 * gIsInPlace);
  auto draw = [&](int64_t last) { return 1 + int64_t(random() % last); };
  Values v(most, isReverse);
  for (int sample = 0; sample < 4; ++sample) {
    Reversal few(most, draw(12), isReverse, hIsInPlace, gIsInPlace,
                 /*hasTrips=*/true);
    few.loop.host_slots = draw(20);
    few.loop.period = draw(30);
    few.finish();
    Step step(few.builder, kernels, {1, 0, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (int64_t trips = sample; trips <= most; trips += 4) {
      std::vector<float> end = v.a.values, s(20 * most);
      if (trips > 0) {
        Values fixed(trips, isReverse);
        Reversal all(trips, 0, isReverse, false, false);
        all.finish();
        Step whole(all.builder, kernels, {1, 0, nullptr, 0});
        ASSERT_EQ(
            whole.run({fixed.a, fixed.v, fixed.states, fixed.others, fixed.y},
                      {fixed.end, fixed.s}),
            REMAT_OK)
            << whole.message;
        end = fixed.end.values;
        std::copy(fixed.s.values.begin(), fixed.s.values.end(), s.begin());
      }
      int64_t number = trips;
      remat_tensor counted = {&number, REMAT_I64, 0, nullptr};
      Tensor other({3}), stack({most, 20}, 5);
      ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x, counted},
                         {other, stack}),
                REMAT_OK)
          << step.message;
      ASSERT_EQ(other.values, end) << trips;
      ASSERT_EQ(stack.values, s) << trips;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoopReversal,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool(),
                                            ::testing::Bool()));

/// Slots that are never used take no memory, however many there may be.
TEST(LoopReversalRun, MoreSlotsThanIterations) {
  Reversal some(5, 5, true, false, false),
      many(5, INT64_MAX, true, false, false);
  some.finish();
  many.finish();
  EXPECT_EQ(some.workspaceBytes, many.workspaceBytes);
  Values v(5, true);
  Step step(many.builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {v.end, v.s}),
            REMAT_OK);
  EXPECT_EQ(step.stats().executed_entries, 1u + 5 * 3 + 4 * 4);
}

TEST(LoopReversalRun, FailureOfTheAdvance) {
  Reversal loop(9, 3, true, false, false);
  loop.finish();
  Step step(loop.builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Values v(9, true);
  v.x.values[3 * 4] = 100;
  EXPECT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {v.end, v.s}),
            REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(step.message,
            "entry 0 'scan': iteration 4 of its advance: entry 0: index 100 is "
            "out of bounds, expected 0 to 99");
}

/// No copy is under way when a run has failed.
TEST(LoopReversalRun, FailureWithStatesOnTheHost) {
  Reversal loop(9, 1, true, false, false);
  loop.loop.host_slots = loop.loop.period = 2;
  loop.finish();
  Step step(loop.builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Values v(9, true);
  ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {v.end, v.s}),
            REMAT_OK);
  std::vector<float> end = v.end.values;
  float whole = std::exchange(v.x.values[3 * 4], 100.0f);
  EXPECT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {v.end, v.s}),
            REMAT_INDEX_OUT_OF_BOUNDS);
  v.x.values[3 * 4] = whole;
  ASSERT_EQ(step.run({v.a, v.v, v.y, v.h, v.g, v.w, v.v, v.x}, {v.end, v.s}),
            REMAT_OK);
  EXPECT_EQ(v.end.values, end);
}

TEST(LoopReversalErrors, HostSlots) {
  auto make = [](int64_t hostSlots, int64_t period) {
    Reversal loop(8, 2, true, false, false);
    loop.loop.host_slots = hostSlots;
    loop.loop.period = period;
    return loop;
  };
  make(-1, 0).expect("loop 0 has -1 slots on the host with a period of 0, "
                     "expected both above 0, or none");
  make(0, 3).expect("loop 0 has 0 slots on the host with a period of 3, "
                    "expected both above 0, or none");
  make(3, 0).expect("loop 0 has 3 slots on the host with a period of 0, "
                    "expected both above 0, or none");
  Reversal none = make(2, 1), room = make(3, 2), stages = make(3, 2);
  none.loop.advance = REMAT_NONE;
  none.loop.slices = 3;
  none.loop.advance_invariants = none.loop.advance_slices = 0;
  none.loop.slots = 0;
  none.expect("loop 0 has slots or operands of an advance, but none");
  auto refused = [](Reversal &loop, const char *expected) {
    std::string error;
    EXPECT_FALSE(checkStepTable(loop.builder.finalize(), error));
    EXPECT_EQ(error, expected);
  };
  room.finish(0, 64);
  refused(room, "entry 0 'scan' has a workspace on the host of 512 bytes, "
                "expected at least 576");
  stages.finish(64);
  refused(stages, "entry 0 'scan' has a workspace of 1088 bytes, expected at "
                  "least 1152");
  // It is the host's, and the entry's alone.
  Reversal arena = make(3, 2), shared = make(3, 2), kernel = make(3, 2);
  arena.finish();
  arena.entry.hostWorkspace = arena.entry.workspace;
  arena.builder.addEntry(arena.entry);
  refused(arena, "entry 1 'scan' has a workspace that is not an aligned buffer "
                 "of the host arena");
  shared.finish();
  shared.entry.workspace = shared.builder.addArenaBuffer(0, 2048);
  shared.builder.addEntry(shared.entry);
  refused(shared, "entry 1 'scan' has a workspace that is in use elsewhere");
  kernel.finish();
  StepEntry copy = makeCopy(kernel.entry.operands[0], kernel.entry.results[0]);
  copy.hostWorkspace = kernel.entry.hostWorkspace;
  kernel.builder.addEntry(copy);
  refused(kernel, "entry 1 has a workspace on the host, expected a loop");
}

TEST(LoopReversalErrors, Loops) {
  auto make = [] { return Reversal(4, 2, true, false, false); };
  Reversal own = make(), missing = make(), slots = make(), none = make();
  own.loop.advance = own.loop.body;
  own.expect("loop 0 advances with body 0 of 2, expected another than its "
             "own");
  missing.loop.advance = 2;
  missing.loop.slices = 3;
  missing.expect("loop 0 advances with body 2 of 2, expected another than its "
                 "own");
  slots.loop.slots = 0;
  slots.expect("loop 0 has 0 slots for states, expected at least 1");
  none.loop.advance = REMAT_NONE;
  none.loop.slices = 3;
  none.expect("loop 0 has slots or operands of an advance, but none");
  Reversal invariants = make(), states = make();
  invariants.loop.advance_invariants = 1;
  invariants.expect("loop 0 advances with body 1 with 5 arguments and 2 "
                    "results, expected 4 and 2");
  // The body has the states behind its invariants.
  states.loop.invariants = 0;
  states.loop.slices = 2;
  states.expect("loop 0 has argument 1 of its body of another type than state "
                "0");
  StepTableBuilder other;
  uint32_t x = addArgument(other, {3});
  addArgument(other, {3});
  other.addResult("result", REMAT_F32, {3});
  other.addDonation(1, 0);
  other.addEntry(makeCopy(x, other.addResultBuffer(0)));
  Reversal donation = make();
  donation.loop = makeRecord(0, 1, 1, 2, 1, 1, 4);
  donation.loop.slots = 1;
  donation.loop.advance = donation.builder.addBody(other.finalize());
  donation.loop.advance_slices = 1;
  donation.expect(
      "loop 0 advances with body 2 with argument 1 in the buffer "
      "of result 0, expected that of a carried value or of an element "
      "of a slice");
}

TEST(LoopReversalErrors, Entries) {
  auto make = [] { return Reversal(4, 2, true, false, false); };
  auto refused = [](Reversal &loop, const char *expected) {
    std::string error;
    EXPECT_FALSE(checkStepTable(loop.builder.finalize(), error));
    EXPECT_EQ(error, expected);
  };
  Reversal operands = make(), init = make(), slice = make(), room = make();
  operands.entry.operands.pop_back();
  operands.expect("entry 0 'scan' has 7 operands and 2 results, expected 8 and "
                  "2");
  init.entry.operands[4] = init.entry.operands[3];
  init.expect("entry 0 'scan' has operand 4 of 12 bytes, expected 80");
  slice.entry.operands[7] = slice.entry.operands[5];
  slice.expect("entry 0 'scan' has operand 7 of 12 bytes, expected 48");
  room.finish(64);
  refused(room, "entry 0 'scan' has a workspace of 704 bytes, expected at "
                "least 768");
  Reversal large(4, 2, true, false, false);
  large.loop.count = INT64_MAX;
  large.loop.slots = INT64_MAX;
  EXPECT_EQ(loopWorkspaceBytes(large.loop, large.body.finalize(),
                               large.advance.finalize()),
            UINT64_MAX);
  EXPECT_EQ(loopWorkspaceBytes(large.loop, large.body.finalize()), UINT64_MAX);
}

} // namespace
