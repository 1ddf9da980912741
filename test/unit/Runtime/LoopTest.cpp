//===- LoopTest.cpp - loops run and say where they fail -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops compute something in which the order of iterations, and every
// operand, can be seen. They have elements of three floats, so that most of
// them are at no multiple of the alignment.
//
//===----------------------------------------------------------------------===//

#include "LoopTest.h"

#include "LibraryTest.h"

#include <algorithm>
#include <limits>

using namespace remat;

namespace {

const float *in(void *const *buffers, int i) {
  return static_cast<const float *>(buffers[i]);
}
float *out(void *const *buffers, int i) {
  return static_cast<float *>(buffers[i]);
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
const std::vector<remat_kernel_fn> kernels = {multiply, add, subtract};

/// What Cell computes in a loop, in plain code.
struct Expected {
  Expected(std::vector<float> init, const std::vector<float> &w,
           const std::vector<float> &x, bool isReverse)
      : h(std::move(init)), s(x.size()) {
    size_t count = x.size() / 3;
    for (size_t step = 0; step < count; ++step) {
      size_t i = isReverse ? count - 1 - step : step;
      for (size_t j = 0; j < 3; ++j) {
        s[3 * i + j] = h[j] - x[3 * i + j];
        h[j] = h[j] * w[j] + x[3 * i + j];
      }
    }
  }
  std::vector<float> h, s;
};

/// Tensors of a loop of Cell.
struct Values {
  explicit Values(int64_t count)
      : h({3}), w({3}), x({count, 3}), end({3}), s({count, 3}) {
    for (size_t i = 0; i < 3; ++i) {
      h.values[i] = float(i) + 1;
      w.values[i] = 0.75f - 0.5f * float(i);
    }
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = float(i * i % 11) / 4;
  }
  Expected expected(bool isReverse) const {
    return {h.values, w.values, x.values, isReverse};
  }
  Tensor h, w, x, end, s;
};

class Loop : public ::testing::TestWithParam<std::tuple<int, bool, bool>> {};

/// One loop over arguments and results of the step: all lengths up to where
/// copies have been in both places several times.
TEST_P(Loop, GivesWhatItsIterationsGive) {
  auto [threads, isReverse, isInPlace] = GetParam();
  for (int64_t count = 1; count <= 7; ++count) {
    CellLoop cell(count, isReverse, isInPlace);
    Values v(count);
    Expected expected = v.expected(isReverse);
    for (unsigned flags : {0u, unsigned(REMAT_STEP_POISON)}) {
      Step step(cell.builder, kernels, {threads, flags, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      for (int repeat = 0; repeat < 2; ++repeat) {
        std::fill(v.end.values.begin(), v.end.values.end(), 0.0f);
        ASSERT_EQ(step.run({v.h, v.w, v.x}, {v.end, v.s}), REMAT_OK)
            << step.message;
        EXPECT_EQ(v.end.values, expected.h) << count;
        EXPECT_EQ(v.s.values, expected.s) << count;
        // The entries of all iterations, and the loop itself.
        EXPECT_EQ(step.stats().executed_entries, uint64_t(3 * count + 1));
        // The workspace: the arena of the body, and a copy of what is carried.
        EXPECT_EQ(step.stats().measured_peak_bytes, isInPlace ? 64u : 128u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Loop,
                         ::testing::Combine(::testing::Values(1, 4),
                                            ::testing::Bool(),
                                            ::testing::Bool()));

/// What is carried may be where the step wants the end, without a copy.
TEST(LoopRun, UpdatesTheOperandItself) {
  CellLoop cell(5, /*isReverse=*/false, /*isInPlace=*/true, /*donates=*/true);
  Values v(5);
  Expected expected = v.expected(false);
  Step step(cell.builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  ASSERT_EQ(step.run({v.h, v.w, v.x}, {v.h, v.s}), REMAT_OK) << step.message;
  EXPECT_EQ(v.h.values, expected.h);
  EXPECT_EQ(v.s.values, expected.s);
}

/// Elements of the slice and of the stack are in buffers of their own, in any
/// order in memory.
TEST(LoopRun, Lists) {
  for (bool isReverse : {false, true}) {
    StepTableBuilder builder;
    builder.addArgument("h", REMAT_F32, {3});
    builder.addArgument("w", REMAT_F32, {3});
    for (const char *name : {"x0", "x1", "x2", "x3"})
      builder.addArgument(name, REMAT_F32, {3});
    builder.addResult("h", REMAT_F32, {3});
    for (const char *name : {"s0", "s1", "s2", "s3"})
      builder.addResult(name, REMAT_F32, {3});
    remat_loop loop = cellLoop(builder, 4, isReverse, /*isInPlace=*/false);
    uint32_t number = builder.addLoop(loop, {1, 1});
    EXPECT_EQ(builder.addLoop(loop, {1, 1}), number);
    EXPECT_NE(builder.addLoop(loop), number);
    std::vector<uint32_t> operands, results;
    for (uint32_t i = 0; i < 6; ++i)
      operands.push_back(builder.addArgumentBuffer(i));
    for (uint32_t i = 0; i < 5; ++i)
      results.push_back(builder.addResultBuffer(i));
    builder.addEntry(makeLoop(
        number, operands, results,
        builder.addArenaBuffer(0, loopWorkspaceBytes(loop, makeCell(false)))));
    Values v(4);
    Expected expected = v.expected(isReverse);
    std::vector<Tensor> x(4, Tensor({3})), s(4, Tensor({3}));
    for (size_t i = 0; i < 4; ++i)
      x[i].values.assign(v.x.values.begin() + 3 * i,
                         v.x.values.begin() + 3 * (i + 1));
    Step step(builder, kernels, {1, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    ASSERT_EQ(step.run({v.h, v.w, x[0], x[1], x[2], x[3]},
                       {v.end, s[0], s[1], s[2], s[3]}),
              REMAT_OK)
        << step.message;
    EXPECT_EQ(v.end.values, expected.h);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(s[i].values,
                std::vector<float>(expected.s.begin() + 3 * i,
                                   expected.s.begin() + 3 * (i + 1)));
  }
}

/// A step whose loop reads x of iteration i, a copy of argument x, from where
/// it writes s of iteration places[i]; -1 is the arena.
StepTableBuilder makeSharing(bool isReverse, const std::vector<int> &places) {
  StepTableBuilder builder;
  builder.addArgument("h", REMAT_F32, {3});
  builder.addArgument("w", REMAT_F32, {3});
  for (const char *name : {"x0", "x1", "x2", "x3"})
    builder.addArgument(name, REMAT_F32, {16});
  builder.addResult("h", REMAT_F32, {3});
  for (const char *name : {"s0", "s1", "s2", "s3"})
    builder.addResult(name, REMAT_F32, {16});
  StepTableBuilder body;
  for (const char *name : {"h", "w"})
    body.addArgument(name, REMAT_F32, {3});
  body.addArgument("x", REMAT_F32, {16});
  body.addResult("h", REMAT_F32, {3});
  body.addResult("s", REMAT_F32, {16});
  uint32_t h = body.addArgumentBuffer(0), w = body.addArgumentBuffer(1);
  uint32_t x = body.addArgumentBuffer(2);
  body.addEntry(makeEntry(0, {h, w}, {body.addResultBuffer(0)}, 3));
  body.addEntry(makeEntry(1, {x, x}, {body.addResultBuffer(1)}, 16));
  remat_loop loop =
      makeRecord(builder.addBody(body.finalize()), 1, 1, 1, 1,
                 isReverse ? unsigned(REMAT_LOOP_REVERSE) : 0u, 4);
  std::vector<uint32_t> operands = {builder.addArgumentBuffer(0),
                                    builder.addArgumentBuffer(1)};
  for (uint32_t i = 0; i < 4; ++i) {
    operands.push_back(places[i] < 0
                           ? builder.addArenaBuffer(256 + 64 * i, 64)
                           : builder.addReusedBuffer(1 + places[i], 0, 64));
    builder.addEntry(
        makeCopy(builder.addArgumentBuffer(2 + i), operands.back()));
  }
  std::vector<uint32_t> results;
  for (uint32_t i = 0; i < 5; ++i)
    results.push_back(builder.addResultBuffer(i));
  builder.addEntry(makeLoop(builder.addLoop(loop, {1, 1}), operands, results,
                            builder.addArenaBuffer(0, 256)));
  return builder;
}

/// What one iteration reads may lie where a later one writes, whichever way
/// the loop runs, and is then not poisoned when the loop has ended.
TEST(LoopRun, ReadsWhereLaterIterationsWrite) {
  for (bool isReverse : {false, true}) {
    Step step(makeSharing(isReverse, isReverse ? std::vector<int>{-1, 0, 1, 2}
                                               : std::vector<int>{1, 2, 3, -1}),
              kernels, {1, REMAT_STEP_POISON, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor h({3}), w({3}), end({3});
    std::vector<Tensor> x(4, Tensor({16})), s(4, Tensor({16}));
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 16; ++j)
        x[i].values[j] = float(16 * i + j);
    ASSERT_EQ(
        step.run({h, w, x[0], x[1], x[2], x[3]}, {end, s[0], s[1], s[2], s[3]}),
        REMAT_OK)
        << step.message;
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 16; ++j)
        EXPECT_EQ(s[i].values[j], 2 * float(16 * i + j)) << i << " " << j;
  }
}

/// Neither where the same iteration writes nor where an earlier one does.
TEST(LoopRun, RefusesToReadWhereEarlierIterationsWrite) {
  for (std::vector<int> places :
       {std::vector<int>{0, -1, -1, -1}, std::vector<int>{-1, -1, 1, -1}}) {
    for (bool isReverse : {false, true}) {
      std::vector<int> inOrder = places;
      if (isReverse)
        inOrder = places[0] == 0 ? std::vector<int>{-1, -1, -1, 3}
                                 : std::vector<int>{-1, 2, -1, -1};
      Step step(makeSharing(isReverse, inOrder), kernels);
      EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
      EXPECT_NE(step.message.find("that overlaps operand"), std::string::npos)
          << step.message;
    }
  }
}

/// Adds up the elements of a slice, and writes what was added up before them,
/// less the element, in its place.
std::string makeUpdating() {
  StepTableBuilder body;
  body.addArgument("h", REMAT_F32, {3});
  body.addArgument("x", REMAT_F32, {3});
  body.addResult("h", REMAT_F32, {3});
  body.addResult("s", REMAT_F32, {3});
  body.addDonation(1, 1);
  uint32_t h = body.addArgumentBuffer(0), x = body.addArgumentBuffer(1);
  body.addEntry(makeEntry(1, {h, x}, {body.addResultBuffer(0)}, 3));
  body.addEntry(makeEntry(2, {h, x}, {body.addView(x)}, 3));
  return body.finalize();
}

/// What is stacked lies where the elements were of which it is made, in one
/// buffer or in several; where the step has other buffers for it, the elements
/// stay as they are.
TEST(LoopRun, UpdatesElementsOfSlices) {
  for (bool isReverse : {false, true})
    for (bool isInPlace : {false, true})
      for (bool isList : {false, true}) {
        StepTableBuilder builder;
        std::string body = makeUpdating();
        remat_loop loop =
            makeRecord(builder.addBody(body), 1, 0, 1, 1,
                       isReverse ? unsigned(REMAT_LOOP_REVERSE) : 0u, 4);
        builder.addArgument("h", REMAT_F32, {3});
        builder.addResult("h", REMAT_F32, {3});
        std::vector<uint32_t> operands = {builder.addArgumentBuffer(0)},
                              results = {builder.addResultBuffer(0)};
        uint32_t parts = isList ? 4 : 1;
        std::vector<int64_t> dims = {3};
        if (!isList)
          dims = {4, 3};
        for (uint32_t i = 1; i <= parts; ++i) {
          builder.addArgument("x", REMAT_F32, dims);
          builder.addResult("s", REMAT_F32, dims);
          operands.push_back(builder.addArgumentBuffer(i));
          if (isInPlace)
            builder.addDonation(i, i);
          results.push_back(isInPlace ? builder.addView(operands.back())
                                      : builder.addResultBuffer(i));
        }
        builder.addEntry(makeLoop(
            isList ? builder.addLoop(loop, {1, 1}) : builder.addLoop(loop),
            operands, results,
            builder.addArenaBuffer(0, loopWorkspaceBytes(loop, body))));
        Step step(builder, kernels, {1, REMAT_STEP_POISON, nullptr, 0});
        ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
        std::vector<Tensor> given(1 + parts, Tensor(dims)),
            made(1 + parts, Tensor(dims));
        given[0] = made[0] = Tensor({3});
        std::vector<float> x(12), expected(12), h = {1, 2, 3};
        for (size_t i = 0; i < 12; ++i)
          x[i] = float(i * i % 11) / 4;
        given[0].values = h;
        for (size_t step = 0; step < 4; ++step) {
          size_t i = isReverse ? 3 - step : step;
          for (size_t j = 0; j < 3; ++j) {
            expected[3 * i + j] = h[j] - x[3 * i + j];
            h[j] += x[3 * i + j];
          }
        }
        size_t size = isList ? 3 : 12;
        for (size_t i = 0; i < parts; ++i)
          given[1 + i].values.assign(x.begin() + size * i,
                                     x.begin() + size * (i + 1));
        if (isInPlace)
          std::copy(given.begin() + 1, given.end(), made.begin() + 1);
        std::vector<remat_tensor> inputs, outputs;
        for (size_t i = 0; i <= parts; ++i) {
          inputs.push_back(i > 0 && isInPlace ? made[i] : given[i]);
          outputs.push_back(made[i]);
        }
        ASSERT_EQ(step.run(inputs, outputs), REMAT_OK) << step.message;
        EXPECT_EQ(made[0].values, h);
        for (size_t i = 0; i < parts; ++i) {
          auto slice = [&](const std::vector<float> &all) {
            return std::vector<float>(all.begin() + size * i,
                                      all.begin() + size * (i + 1));
          };
          EXPECT_EQ(made[1 + i].values, slice(expected));
          EXPECT_EQ(given[1 + i].values, slice(x));
        }
      }
}

/// A reverse loop of 4 iterations whose states are sums of the elements of a
/// list before them: adds the states up, and adds each to its element. State i
/// is made of the elements from `shift` on.
StepTableBuilder makeUpdatingReversal(uint32_t shift) {
  StepTableBuilder builder, body, advance;
  for (const char *name : {"d", "h", "x"})
    body.addArgument(name, REMAT_F32, {3});
  for (const char *name : {"d", "x"})
    body.addResult(name, REMAT_F32, {3});
  body.addDonation(2, 1);
  uint32_t d = body.addArgumentBuffer(0), h = body.addArgumentBuffer(1);
  uint32_t x = body.addArgumentBuffer(2);
  body.addEntry(makeEntry(1, {d, h}, {body.addResultBuffer(0)}, 3));
  body.addEntry(makeEntry(1, {x, h}, {body.addView(x)}, 3));
  for (const char *name : {"h", "x"})
    advance.addArgument(name, REMAT_F32, {3});
  advance.addResult("h", REMAT_F32, {3});
  advance.addEntry(
      makeEntry(1, {advance.addArgumentBuffer(0), advance.addArgumentBuffer(1)},
                {advance.addResultBuffer(0)}, 3));
  remat_loop loop = makeRecord(builder.addBody(body.finalize()), 1, 0, 1, 1,
                               unsigned(REMAT_LOOP_REVERSE), 4);
  loop.advance = builder.addBody(advance.finalize());
  loop.advance_slices = 1;
  loop.slots = 2;
  for (const char *name : {"d", "h"})
    builder.addArgument(name, REMAT_F32, {3});
  builder.addResult("d", REMAT_F32, {3});
  std::vector<uint32_t> operands = {builder.addArgumentBuffer(0)},
                        results = {builder.addResultBuffer(0)};
  for (uint32_t i = 0; i < 4; ++i) {
    builder.addArgument("x", REMAT_F32, {3});
    builder.addResult("x", REMAT_F32, {3});
    operands.push_back(builder.addArgumentBuffer(2 + i));
    builder.addDonation(2 + i, 1 + i);
    results.push_back(builder.addView(operands.back()));
  }
  std::vector<uint32_t> elements(operands.begin() + 1, operands.end());
  operands.push_back(builder.addArgumentBuffer(1));
  for (uint32_t i = 0; i < 4; ++i)
    operands.push_back(elements[std::min(i + shift, 3u)]);
  builder.addEntry(makeLoop(
      builder.addLoop(loop, {1, 1, 1}), operands, results,
      builder.addArenaBuffer(
          0, loopWorkspaceBytes(loop, body.finalize(), advance.finalize()))));
  return builder;
}

/// An iteration may write over what states are made of: those before it are
/// made of other elements.
TEST(LoopRun, UpdatesWhatStatesWereMadeOf) {
  Step step(makeUpdatingReversal(0), kernels,
            {1, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor d({3}), h({3}, 1), sum({3});
  std::vector<Tensor> x(4, Tensor({3}));
  for (size_t i = 0; i < 4; ++i)
    x[i].values.assign(3, float(1 << i));
  ASSERT_EQ(
      step.run({d, h, x[0], x[1], x[2], x[3]}, {sum, x[0], x[1], x[2], x[3]}),
      REMAT_OK)
      << step.message;
  // The states are 1, 2, 4 and 8.
  EXPECT_EQ(sum.values, std::vector<float>(3, 15));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(x[i].values, std::vector<float>(3, float(2 << i))) << i;
}

/// What an iteration has written over may not be needed for a state again.
TEST(LoopRun, RefusesStatesOfWhatWasUpdated) {
  Step step(makeUpdatingReversal(1), kernels);
  EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
  EXPECT_NE(step.message.find("that overlaps operand"), std::string::npos)
      << step.message;
}

/// A body is loaded once, and then run in the workspaces of two entries.
TEST(LoopRun, EntriesShareABody) {
  StepTableBuilder builder;
  builder.addArgument("h", REMAT_F32, {3});
  builder.addArgument("w", REMAT_F32, {3});
  builder.addArgument("x", REMAT_F32, {4, 3});
  builder.addResult("h", REMAT_F32, {3});
  builder.addResult("s", REMAT_F32, {4, 3});
  uint32_t h = builder.addArgumentBuffer(0), w = builder.addArgumentBuffer(1);
  uint32_t x = builder.addArgumentBuffer(2);
  uint32_t between = builder.addArenaBuffer(0, 12);
  uint32_t sums = builder.addArenaBuffer(64, 48);
  uint32_t first = builder.addArenaBuffer(128, 128);
  uint32_t second = builder.addArenaBuffer(192, 128);
  remat_loop loop = cellLoop(builder, 4, false, false);
  uint32_t forward = builder.addLoop(loop);
  EXPECT_EQ(builder.addLoop(loop), forward);
  loop.flags = REMAT_LOOP_REVERSE;
  uint32_t reverse = builder.addLoop(loop);
  EXPECT_NE(forward, reverse);
  EXPECT_EQ(builder.addBody(makeCell(false)), loop.body);
  builder.addEntry(makeLoop(forward, {h, w, x}, {between, sums}, first));
  builder.addEntry(makeLoop(
      reverse, {between, w, sums},
      {builder.addResultBuffer(0), builder.addResultBuffer(1)}, second));
  Values v(4);
  Expected once = v.expected(false);
  Expected twice(once.h, v.w.values, once.s, true);
  for (unsigned flags : {0u, unsigned(REMAT_STEP_POISON)}) {
    Step step(builder, kernels, {1, flags, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (int repeat = 0; repeat < 2; ++repeat) {
      ASSERT_EQ(step.run({v.h, v.w, v.x}, {v.end, v.s}), REMAT_OK)
          << step.message;
      EXPECT_EQ(v.end.values, twice.h);
      EXPECT_EQ(v.s.values, twice.s);
      EXPECT_EQ(step.stats().executed_entries, 2u + 2 * 4 * 3);
    }
  }
}

/// Rows of a matrix one after the other, in each of them the elements, with one
/// value carried through all of them.
TEST(LoopRun, Nested) {
  for (int threads : {1, 4}) {
    StepTableBuilder builder;
    builder.addArgument("h", REMAT_F32, {3});
    builder.addArgument("w", REMAT_F32, {3});
    builder.addArgument("x", REMAT_F32, {3, 5, 3});
    builder.addResult("h", REMAT_F32, {3});
    builder.addResult("s", REMAT_F32, {3, 5, 3});
    CellLoop row(5, /*isReverse=*/true, /*isInPlace=*/false);
    remat_loop loop =
        makeRecord(builder.addBody(row.builder.finalize()), 1, 1, 1, 1, 0, 3);
    uint64_t bytes = loopWorkspaceBytes(loop, row.builder.finalize());
    EXPECT_EQ(bytes, 128u + 64);
    builder.addEntry(
        makeLoop(builder.addLoop(loop),
                 {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1),
                  builder.addArgumentBuffer(2)},
                 {builder.addResultBuffer(0), builder.addResultBuffer(1)},
                 builder.addArenaBuffer(0, bytes)));
    Values v(15);
    Tensor x({3, 5, 3}), s({3, 5, 3});
    x.values = v.x.values;
    std::vector<float> h = v.h.values, expected;
    for (int i = 0; i < 3; ++i) {
      std::vector<float> part(x.values.begin() + 15 * i,
                              x.values.begin() + 15 * (i + 1));
      Expected end(h, v.w.values, part, true);
      h = end.h;
      expected.insert(expected.end(), end.s.begin(), end.s.end());
    }
    for (unsigned flags :
         {0u, unsigned(REMAT_STEP_POISON), unsigned(REMAT_STEP_PROFILE)}) {
      Step step(builder, kernels, {threads, flags, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      ASSERT_EQ(step.run({v.h, v.w, x}, {v.end, s}), REMAT_OK) << step.message;
      EXPECT_EQ(v.end.values, h);
      EXPECT_EQ(s.values, expected);
      EXPECT_EQ(step.stats().executed_entries, 1u + 3 * (1 + 5 * 3));
      // 3 rows, with 15 elements in all; nothing is counted unless asked for.
      std::vector<uint64_t> runs;
      if (flags & REMAT_STEP_PROFILE)
        runs = {3, 0, 15, 0};
      EXPECT_EQ(step.bodyRuns(0), runs);
      EXPECT_EQ(step.stats().measured_peak_bytes, bytes);
    }
  }
}

/// A body without memory of its own, whose loop needs no workspace, and values
/// of no bytes.
TEST(LoopRun, WithoutWorkspace) {
  StepTableBuilder body;
  body.addArgument("x", REMAT_F32, {3});
  body.addArgument("nothing", REMAT_F32, {0});
  body.addResult("y", REMAT_F32, {3});
  body.addResult("nothing", REMAT_F32, {0});
  body.addEntry(makeCopy(body.addArgumentBuffer(0), body.addResultBuffer(0)));
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4, 3});
  builder.addArgument("nothing", REMAT_F32, {4, 0});
  builder.addResult("y", REMAT_F32, {4, 3});
  builder.addResult("nothing", REMAT_F32, {4, 0});
  uint32_t loop = builder.addLoop(
      makeRecord(builder.addBody(body.finalize()), 0, 0, 2, 2, 0, 4));
  builder.addEntry(makeLoop(
      loop, {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1)},
      {builder.addResultBuffer(0), builder.addResultBuffer(1)}));
  Step step(builder, {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Values v(4);
  int64_t dims[] = {4, 0};
  remat_tensor nothing = {nullptr, REMAT_F32, 2, dims};
  ASSERT_EQ(step.run({v.x, nothing}, {v.s, nothing}), REMAT_OK) << step.message;
  EXPECT_EQ(v.s.values, v.x.values);
}

/// Workspaces may be in memory that the caller gives with each call.
TEST(LoopRun, WorkspaceInTheState) {
  CellLoop cell(6, /*isReverse=*/false, /*isInPlace=*/false);
  cell.builder.setStateBytes(128);
  cell.builder.beginCall();
  Step step(cell.builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Values v(6);
  Expected expected = v.expected(false);
  alignas(64) char memory[2][128];
  std::vector<remat_tensor> arguments = {v.h, v.w, v.x}, results = {v.end, v.s};
  for (char *data : {memory[0], memory[1], memory[0]}) {
    remat_state state = {data, 128, nullptr, 0, 0, nullptr, 0, nullptr};
    std::fill(v.end.values.begin(), v.end.values.end(), 0.0f);
    std::fill_n(data, 128, char(1));
    ASSERT_EQ(remat_step_forward(step.step, arguments.data(), 3, results.data(),
                                 2, &state),
              REMAT_OK)
        << remat_last_error();
    EXPECT_EQ(v.end.values, expected.h);
    EXPECT_FALSE(std::all_of(data, data + 128, [](char c) { return c == 1; }));
  }
}

/// Fails with an index that is 5 or more, which is what it is told by x.
void checkIndex(void *const *buffers, int64_t, int64_t,
                remat_kernel_status *status) {
  auto index = static_cast<int64_t>(in(buffers, 0)[0]);
  if (index >= 5)
    *status = {1, 0, index, 5};
  out(buffers, 1)[0] = in(buffers, 0)[0];
}

TEST(LoopRun, FailureSaysInWhichIteration) {
  StepTableBuilder body;
  body.addArgument("x", REMAT_F32, {1});
  body.addResult("y", REMAT_F32, {1});
  body.addCheck("indices");
  StepEntry entry =
      makeEntry(0, {body.addArgumentBuffer(0)}, {body.addResultBuffer(0)});
  entry.name = "gather";
  entry.location = "model.py:3";
  body.addEntry(entry);
  for (bool isReverse : {false, true}) {
    StepTableBuilder builder;
    builder.addArgument("x", REMAT_F32, {9, 1});
    builder.addResult("y", REMAT_F32, {9, 1});
    uint32_t loop = builder.addLoop(makeRecord(
        builder.addBody(body.finalize()), 0, 0, 1, 1, isReverse ? 1u : 0u, 9));
    entry = makeLoop(loop, {builder.addArgumentBuffer(0)},
                     {builder.addResultBuffer(0)});
    entry.name = "scan";
    builder.addEntry(entry);
    for (int threads : {1, 4}) {
      Step step(builder, {checkIndex}, {threads, 0, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      Tensor x({9, 1}), y({9, 1}, -1);
      x.values[3] = 7;
      x.values[6] = 8;
      EXPECT_EQ(step.run({x}, {y}), REMAT_INDEX_OUT_OF_BOUNDS);
      std::string expected = isReverse ? "iteration 6: " : "iteration 3: ";
      expected = "entry 0 'scan': " + expected +
                 "entry 0 'gather' at model.py:3: index " +
                 (isReverse ? "8" : "7") +
                 " is out of bounds, expected 0 to 4: indices";
      EXPECT_EQ(step.message, expected);
      // Those before have run, those behind have not.
      EXPECT_EQ(y.values[isReverse ? 7 : 2], 0);
      EXPECT_EQ(y.values[isReverse ? 2 : 7], -1);
      EXPECT_EQ(step.stats().executed_entries, isReverse ? 4u : 5u);
      x.values[3] = x.values[6] = 4;
      EXPECT_EQ(step.run({x}, {y}), REMAT_OK);
    }
  }
}

/// Says what it finds in the arena behind its workspace, and leaves something
/// there.
void peek(void *const *buffers, int64_t, int64_t, remat_kernel_status *) {
  out(buffers, 0)[0] = in(buffers, 1)[16];
  out(buffers, 1)[16] = 5;
}

/// A body that reads what the iteration before it left in the arena finds NaNs.
TEST(LoopRun, PoisonIsInEachIteration) {
  StepTableBuilder body;
  body.addResult("found", REMAT_F32, {1});
  body.setArenaBytes(128);
  body.addEntry(makeEntry(0, {}, {body.addResultBuffer(0)}, 1,
                          body.addArenaBuffer(0, 64)));
  StepTableBuilder builder;
  builder.addResult("found", REMAT_F32, {3, 1});
  uint32_t loop = builder.addLoop(
      makeRecord(builder.addBody(body.finalize()), 0, 0, 0, 1, 0, 3));
  builder.addEntry(makeLoop(loop, {}, {builder.addResultBuffer(0)},
                            builder.addArenaBuffer(0, 128)));
  Tensor found({3, 1});
  Step plain(builder, {peek});
  ASSERT_EQ(plain.loaded, REMAT_OK) << plain.message;
  ASSERT_EQ(plain.run({}, {found}), REMAT_OK);
  EXPECT_EQ(found.values, (std::vector<float>{0, 5, 5}));
  Step poisoned(builder, {peek}, {1, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(poisoned.run({}, {found}), REMAT_OK);
  for (float value : found.values)
    EXPECT_TRUE(std::isnan(value));
}

/// Counts its calls, so that no two give the same.
void count(void *const *buffers, int64_t, int64_t, remat_kernel_status *) {
  static float calls = 0;
  out(buffers, 0)[0] = ++calls;
}

/// Recomputations within a body are compared in each iteration.
TEST(LoopRun, RecomputationsAreChecked) {
  StepTableBuilder body;
  body.addResult("a", REMAT_F32, {1});
  body.addResult("b", REMAT_F32, {1});
  StepEntry entry = makeEntry(0, {}, {body.addResultBuffer(0)});
  body.addEntry(entry);
  entry.results = {body.addResultBuffer(1)};
  entry.recompute = true;
  entry.task = 1;
  entry.original = 0;
  body.addEntry(entry);
  StepTableBuilder builder;
  builder.addResult("a", REMAT_F32, {3, 1});
  builder.addResult("b", REMAT_F32, {3, 1});
  uint32_t loop = builder.addLoop(
      makeRecord(builder.addBody(body.finalize()), 0, 0, 0, 2, 0, 3));
  builder.addEntry(makeLoop(
      loop, {}, {builder.addResultBuffer(0), builder.addResultBuffer(1)}));
  Tensor a({3, 1}), b({3, 1});
  remat_step_options options = {};
  options.determinism_check = REMAT_CHECK_BITWISE;
  Step same(builder,
            {[](void *const *buffers, int64_t, int64_t, remat_kernel_status *) {
              out(buffers, 0)[0] = 1;
            }},
            options);
  ASSERT_EQ(same.loaded, REMAT_OK) << same.message;
  EXPECT_EQ(same.run({}, {a, b}), REMAT_OK) << same.message;
  EXPECT_EQ(same.stats().recomputed_entries, 3u);
  Step other(builder, {count}, options);
  EXPECT_EQ(other.run({}, {a, b}), REMAT_NONDETERMINISTIC);
  EXPECT_EQ(other.message.find("entry 0: iteration 0: entry 1 repeats entry 0 "
                               "with other bits"),
            0u)
      << other.message;
}

/// Library calls on elements that are at no multiple of the alignment give the
/// same bits as on tensors of their own.
TEST(LoopRun, LibraryCallsOnUnalignedElements) {
  for (int32_t dtype : {REMAT_F32, REMAT_BF16}) {
    const int64_t m = 33, n = 51, k = 47, count = 3;
    remat_matmul d = {};
    d.a_dtype = d.b_dtype = d.c_dtype = dtype;
    d.batch[0] = d.batch[1] = d.batch[2] = 1;
    d.m = m, d.n = n, d.k = k;
    d.a_m_stride = k, d.b_k_stride = d.c_m_stride = n;
    d.a_k_stride = d.b_n_stride = d.c_n_stride = 1;
    auto type = static_cast<remat_dtype>(dtype);
    std::mt19937 random(1);
    Elements a(dtype, m * k), b(dtype, count * k * n), c(dtype, count * m * n);
    a.fill(random);
    b.fill(random);
    auto bytes =
        static_cast<uint64_t>(remat_matmul_workspace_bytes(&d, /*threads=*/2));
    StepTableBuilder body;
    body.setThreads(2);
    body.addArgument("a", type, {m * k});
    body.addArgument("b", type, {k * n});
    body.addResult("c", type, {m * n});
    StepEntry entry =
        makeEntry(body.addMatmul(d),
                  {body.addArgumentBuffer(0), body.addArgumentBuffer(1)},
                  {body.addResultBuffer(0)});
    entry.kind = REMAT_ENTRY_MATMUL;
    if (bytes > 0)
      entry.workspace = body.addArenaBuffer(0, bytes);
    body.addEntry(entry);
    StepTableBuilder builder;
    builder.addArgument("a", type, {m * k});
    builder.addArgument("b", type, {count * k * n});
    builder.addResult("c", type, {count * m * n});
    remat_loop loop =
        makeRecord(builder.addBody(body.finalize()), 0, 1, 1, 1, 0, count);
    builder.addEntry(makeLoop(
        builder.addLoop(loop),
        {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1)},
        {builder.addResultBuffer(0)},
        builder.addArenaBuffer(0, loopWorkspaceBytes(loop, body.finalize()))));
    Step step(builder, {}, {2, 0, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    ASSERT_EQ(step.run({a.tensor(), b.tensor()}, {c.tensor()}), REMAT_OK);
    EXPECT_EQ(step.stats().degraded_calls, 0u);
    for (int64_t i = 0; i < count; ++i) {
      Elements right(dtype, k * n), expected(dtype, m * n);
      for (int64_t j = 0; j < k * n; ++j)
        right.set(j, b.get(i * k * n + j));
      Step alone(body, {}, {2, 0, nullptr, 0});
      ASSERT_EQ(alone.run({a.tensor(), right.tensor()}, {expected.tensor()}),
                REMAT_OK);
      for (int64_t j = 0; j < m * n; ++j)
        ASSERT_EQ(c.get(i * m * n + j), expected.get(j)) << i << " " << j;
    }
  }
}

} // namespace
