//===- LoopTripsTest.cpp - loops that count when they run -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many iterations run is an operand, or what the body says. They give what
// a loop of as many gives, and leave zeros where others would have written.
//
//===----------------------------------------------------------------------===//

#include "LoopTest.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace remat;

namespace {

const float *in(void *const *buffers, int i) {
  return static_cast<const float *>(buffers[i]);
}
float *out(void *const *buffers, int i) {
  return static_cast<float *>(buffers[i]);
}
int64_t read(void *const *buffers, int i) {
  int64_t value;
  std::memcpy(&value, buffers[i], sizeof(value));
  return value;
}

void multiply(void *const *buffers, int64_t begin, int64_t end,
              remat_kernel_status *) {
  for (int64_t i = begin; i < end; ++i)
    out(buffers, 2)[i] = in(buffers, 0)[i] * in(buffers, 1)[i];
}
void subtract(void *const *buffers, int64_t begin, int64_t end,
              remat_kernel_status *) {
  for (int64_t i = begin; i < end; ++i)
    out(buffers, 2)[i] = in(buffers, 0)[i] - in(buffers, 1)[i];
}
/// (n, most) -> (n + 1 < most, n + 1)
void step(void *const *buffers, int64_t, int64_t, remat_kernel_status *) {
  int64_t next = read(buffers, 0) + 1;
  *static_cast<uint8_t *>(buffers[2]) = next < read(buffers, 1);
  std::memcpy(buffers[3], &next, sizeof(next));
}
const std::vector<remat_kernel_fn> kernels = {multiply, add, subtract, step};

/// A number that a step takes or gives.
template <typename T, remat_dtype dtype>
struct Number {
  T value;
  operator remat_tensor() { return {&value, dtype, 0, nullptr}; }
};
using Flag = Number<uint8_t, REMAT_I1>;
using Count = Number<int64_t, REMAT_I64>;

//===----------------------------------------------------------------------===//
// A number of iterations that is an operand
//===----------------------------------------------------------------------===//

/// The loop of Cell, of up to `most` iterations; 0 is any number, and then it
/// has neither slices nor stacks.
struct CountedCell {
  CountedCell(int64_t most, bool isReverse, bool isInPlace) {
    builder.addArgument("h", REMAT_F32, {3});
    builder.addArgument("w", REMAT_F32, {3});
    builder.addArgument("x", REMAT_F32, {most, 3});
    builder.addArgument("n", REMAT_I64, {});
    builder.addResult("h", REMAT_F32, {3});
    builder.addResult("s", REMAT_F32, {most, 3});
    remat_loop loop = cellLoop(builder, most, isReverse, isInPlace);
    loop.flags |= REMAT_LOOP_TRIPS;
    std::vector<uint32_t> operands, results;
    for (uint32_t i = 0; i < 4; ++i)
      operands.push_back(builder.addArgumentBuffer(i));
    for (uint32_t i = 0; i < 2; ++i)
      results.push_back(builder.addResultBuffer(i));
    StepEntry entry =
        makeLoop(builder.addLoop(loop), operands, results,
                 builder.addArenaBuffer(
                     0, loopWorkspaceBytes(loop, makeCell(isInPlace))));
    entry.name = "scan";
    entry.location = "model.py:7:0";
    builder.addEntry(entry);
  }
  StepTableBuilder builder;
};

class LoopTrips : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(LoopTrips, GiveWhatALoopOfAsManyGives) {
  auto [isReverse, isInPlace] = GetParam();
  constexpr int64_t most = 6;
  CountedCell cell(most, isReverse, isInPlace);
  Tensor h({3}, 1), w({3}, 0.5), x({most, 3}), end({3}), s({most, 3});
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = float(i * i % 11) / 4;
  constexpr unsigned flags = unsigned(REMAT_STEP_POISON) | REMAT_STEP_PROFILE;
  Step counted(cell.builder, kernels, {1, flags, nullptr, 0});
  ASSERT_EQ(counted.loaded, REMAT_OK) << counted.message;
  for (int64_t trips : {6, 0, 1, 2, 5, -1, 3, 4}) {
    std::vector<float> expectedEnd = h.values, expected(most * 3);
    if (trips > 0) {
      Tensor fewX({trips, 3}), fewS({trips, 3});
      std::copy_n(x.values.begin(), trips * 3, fewX.values.begin());
      CellLoop few(trips, isReverse, isInPlace);
      Step fixed(few.builder, kernels, {1, 0, nullptr, 0});
      ASSERT_EQ(fixed.run({h, w, fewX}, {end, fewS}), REMAT_OK);
      expectedEnd = end.values;
      std::copy_n(fewS.values.begin(), trips * 3, expected.begin());
    }
    std::fill(s.values.begin(), s.values.end(), 7.0f);
    ASSERT_EQ(counted.run({h, w, x, Count{trips}}, {end, s}), REMAT_OK)
        << counted.message;
    EXPECT_EQ(end.values, expectedEnd) << trips;
    EXPECT_EQ(s.values, expected) << trips;
    EXPECT_EQ(counted.stats().executed_entries,
              uint64_t(3 * std::max<int64_t>(trips, 0) + 1));
    EXPECT_EQ(counted.bodyRuns(0),
              (std::vector<uint64_t>{uint64_t(std::max<int64_t>(trips, 0)),
                                     /*advance*/ 0}));
    // What is planned for the most iterations, whatever runs.
    EXPECT_EQ(counted.stats().measured_peak_bytes, isInPlace ? 64u : 128u);
  }
  for (int64_t trips : {most + 1, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(counted.run({h, w, x, Count{trips}}, {end, s}),
              REMAT_ASSERTION_FAILED);
    EXPECT_EQ(counted.message,
              "entry 0 'scan' at model.py:7:0: runs " + std::to_string(trips) +
                  " iterations, expected at most 6, the maximum that the step "
                  "was compiled for: compile it with a larger one "
                  "(remat.max_trip_count, or the option max-trip-count)");
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoopTrips,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool()));

//===----------------------------------------------------------------------===//
// A body that says when the loop ends
//===----------------------------------------------------------------------===//

/// (go on, n, h, most, w) -> (n + 1 < most, n + 1, h * w), which stacks h if
/// there is a maximum.
struct WhileLoop {
  explicit WhileLoop(int64_t limit) {
    StepTableBuilder body;
    for (StepTableBuilder *table : {&body, &builder}) {
      table->addArgument("goes on", REMAT_I1, {});
      table->addArgument("n", REMAT_I64, {});
      table->addArgument("h", REMAT_F32, {3});
      table->addArgument("most", REMAT_I64, {});
      table->addArgument("w", REMAT_F32, {3});
      table->addResult("goes on", REMAT_I1, {});
      table->addResult("n", REMAT_I64, {});
      table->addResult("h", REMAT_F32, {3});
    }
    if (limit > 0) {
      body.addResult("s", REMAT_F32, {3});
      builder.addResult("s", REMAT_F32, {limit, 3});
    }
    std::vector<uint32_t> a, r;
    for (uint32_t i = 0; i < 5; ++i)
      a.push_back(body.addArgumentBuffer(i));
    for (uint32_t i = 0; i < (limit > 0 ? 4 : 3); ++i)
      r.push_back(body.addResultBuffer(i));
    body.addEntry(makeEntry(3, {a[1], a[3]}, {r[0], r[1]}));
    body.addEntry(makeEntry(0, {a[2], a[4]}, {r[2]}, 3));
    if (limit > 0)
      body.addEntry(makeCopy(a[2], r[3]));
    blob = body.finalize();
    loop = makeRecord(builder.addBody(blob), 3, 2, 0, limit > 0,
                      REMAT_LOOP_WHILE, limit);
    operands.clear();
    for (uint32_t i = 0; i < 5; ++i)
      operands.push_back(builder.addArgumentBuffer(i));
    for (uint32_t i = 0; i < (limit > 0 ? 4 : 3); ++i)
      results.push_back(builder.addResultBuffer(i));
  }
  StepTableBuilder &finish() {
    uint64_t bytes = loopWorkspaceBytes(loop, blob);
    builder.addEntry(makeLoop(builder.addLoop(loop), operands, results,
                              builder.addArenaBuffer(0, bytes)));
    return builder;
  }
  void expect(const std::string &message) {
    builder.addEntry(makeLoop(builder.addLoop(loop), operands, results,
                              builder.addArenaBuffer(0, 256)));
    std::string error;
    EXPECT_FALSE(checkStepTable(builder.finalize(), error));
    EXPECT_EQ(error, message);
  }
  StepTableBuilder builder;
  std::string blob;
  remat_loop loop;
  std::vector<uint32_t> operands, results;
};

TEST(LoopWhile, EndsWhenItsBodySaysSo) {
  Tensor h({3}, 1), w({3}, 2), end({3}), s({8, 3});
  for (int64_t limit : {0, 8}) {
    WhileLoop loop(limit);
    Step step(loop.finish(), kernels, {1, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (int64_t trips = 0; trips <= 8; ++trips) {
      Flag flag{2};
      Count count{-1};
      std::vector<remat_tensor> results = {flag, count, end};
      if (limit > 0)
        results.push_back(s);
      ASSERT_EQ(
          step.run({Flag{trips > 0}, Count{0}, h, Count{trips}, w}, results),
          REMAT_OK)
          << step.message;
      EXPECT_EQ(flag.value, 0);
      EXPECT_EQ(count.value, trips);
      EXPECT_EQ(end.values, std::vector<float>(3, float(1 << trips)));
      for (int64_t i = 0; i < limit; ++i)
        EXPECT_EQ(s.values[size_t(3 * i)], i < trips ? float(1 << i) : 0) << i;
    }
  }
}

TEST(LoopWhile, RunsNoMoreThanItsMaximum) {
  Tensor h({3}, 1), w({3}, 2), end({3}), s({4, 3});
  Flag flag{0};
  Count count{0};
  WhileLoop loop(4);
  Step step(loop.finish(), kernels, {1, 0, nullptr, 0});
  EXPECT_EQ(
      step.run({Flag{1}, Count{0}, h, Count{4}, w}, {flag, count, end, s}),
      REMAT_OK);
  EXPECT_EQ(
      step.run({Flag{1}, Count{0}, h, Count{5}, w}, {flag, count, end, s}),
      REMAT_ASSERTION_FAILED);
  EXPECT_EQ(step.message,
            "entry 0: runs more than 4 iterations, expected at most 4, the "
            "maximum that the step was compiled for: compile it with a larger "
            "one (remat.max_trip_count, or the option max-trip-count)");
}

/// A derivative runs as often as was counted.
TEST(LoopWhile, CountsItsIterations) {
  Tensor h({3}, 1), w({3}, 2), end({3});
  Flag flag{0};
  Count count{0};
  WhileLoop loop(0);
  Step step(loop.finish(), kernels, {1, 0, nullptr, 0});
  EXPECT_EQ(step.run({Flag{1}, Count{1}, h, Count{4}, w}, {flag, count, end}),
            REMAT_ASSERTION_FAILED);
  EXPECT_EQ(step.message,
            "entry 0: counts 4 iterations, expected 3, which have run");
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST(LoopWhile, IsRefusedIfItCannotEnd) {
  WhileLoop reverse(4), both(4), advance(4), few(4), negative(4), limit(4);
  reverse.loop.flags |= REMAT_LOOP_REVERSE;
  reverse.expect("loop 0 ends when its body says so, and has flags 5 or an "
                 "advance, expected flags 4 and none");
  both.loop.flags |= REMAT_LOOP_TRIPS;
  both.expect("loop 0 ends when its body says so, and has flags 6 or an "
              "advance, expected flags 4 and none");
  advance.loop.advance = 0;
  advance.expect("loop 0 ends when its body says so, and has flags 4 or an "
                 "advance, expected flags 4 and none");
  few.loop = makeRecord(few.loop.body, 1, 4, 0, 3, REMAT_LOOP_WHILE, 4);
  few.expect("loop 0 ends when its body says so, expected an i1 and an i64 in "
             "front of what it carries");
  limit.loop.count = 0;
  limit.expect("loop 0 has slices, stacks or an advance without a limit of its "
               "iterations, expected at least 1");
  negative.loop.count = -1;
  negative.expect("loop 0 has -1 iterations, expected at least 1");
}

TEST(LoopTrips, AreRefusedIfTheyAreNoNumber) {
  StepTableBuilder builder;
  remat_loop loop = cellLoop(builder, 4, false, false);
  loop.flags |= REMAT_LOOP_TRIPS;
  std::vector<uint32_t> operands;
  for (std::vector<int64_t> dims :
       std::vector<std::vector<int64_t>>{{3}, {3}, {4, 3}, {3}})
    operands.push_back(builder.addArgumentBuffer(
        builder.addArgument("argument", REMAT_F32, dims)));
  uint32_t end = builder.addResult("end", REMAT_F32, {3});
  uint32_t s = builder.addResult("s", REMAT_F32, {4, 3});
  builder.addEntry(
      makeLoop(builder.addLoop(loop), operands,
               {builder.addResultBuffer(end), builder.addResultBuffer(s)},
               builder.addArenaBuffer(0, 128)));
  std::string error;
  EXPECT_FALSE(checkStepTable(builder.finalize(), error));
  EXPECT_EQ(error, "entry 0 has operand 3 of 12 bytes, expected 8");
}

} // namespace
