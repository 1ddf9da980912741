//===- CudaLoopTest.cpp - loops on a stand-in for a GPU -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each step runs on the CPU and on the stand-in, which drains its streams in
// several random orders: given entry by entry, recorded, repeated, and one
// entry after the other. Results and counts are the same.
//
//===----------------------------------------------------------------------===//

#include "CudaLoopTest.h"

#include <array>

using namespace remat;

namespace {

class CudaLoopTest : public CudaTest {};

using MakeTable = std::function<LoopTable(bool isForDevice)>;

/// Tensors for a step: floats are small, and numbers are `number`.
std::vector<LoopTensor> makeTensors(const remat_step *step, bool isResult,
                                    int64_t number) {
  std::vector<LoopTensor> tensors;
  size_t count = isResult ? remat_step_result_count(step)
                          : remat_step_argument_count(step);
  for (size_t i = 0; i < count; ++i) {
    remat_tensor_info info;
    if (isResult)
      remat_step_result(step, i, &info);
    else
      remat_step_argument(step, i, &info);
    LoopTensor tensor(info.dtype, {info.dims, info.dims + info.rank});
    if (!isResult && info.dtype == REMAT_F32)
      for (size_t j = 0; j < tensor.bytes.size() / sizeof(float); ++j)
        tensor.floats()[j] = *info.name == 'n'
                                 ? float(number)
                                 : float((i + 3) * j % 23) / 32 + float(i) / 16;
    if (!isResult && info.dtype == REMAT_I1)
      tensor.bytes[0] = number > 0;
    if (!isResult && info.dtype == REMAT_I64 && *info.name == 'n')
      std::memcpy(tensor.bytes.data(), &number, sizeof(number));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

struct Outcome {
  std::vector<std::vector<char>> results;
  remat_step_stats stats;
  remat_status status;
  std::string message;
};

Outcome runOnce(Step &step, int64_t number) {
  std::vector<LoopTensor> given = makeTensors(step.step, false, number);
  std::vector<LoopTensor> results = makeTensors(step.step, true, number);
  // A result is where the argument is that gives its buffer to it.
  std::vector<remat_tensor> arguments(given.begin(), given.end());
  std::vector<remat_tensor> tensors;
  Outcome outcome;
  for (LoopTensor &result : results)
    tensors.push_back(result);
  outcome.status = step.run(arguments, tensors);
  outcome.message = step.message;
  outcome.stats = step.stats();
  for (LoopTensor &result : results)
    outcome.results.push_back(result.bytes);
  return outcome;
}

/// Compares the step on both machines. Returns how often it was recorded.
size_t compare(const MakeTable &make, int64_t number = 0) {
  Step cpu(make(false), cpuLoopKernels, {1, 0, nullptr, 0});
  EXPECT_EQ(cpu.loaded, REMAT_OK) << cpu.message;
  if (cpu.loaded != REMAT_OK)
    return 0;
  Outcome expected = runOnce(cpu, number);
  EXPECT_EQ(expected.status, REMAT_OK) << expected.message;
  size_t recorded = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed)
    for (unsigned flags :
         {0u, unsigned(REMAT_STEP_POISON), unsigned(REMAT_STEP_PROFILE),
          unsigned(REMAT_STEP_DEBUG), unsigned(REMAT_STEP_ANOMALY_ERROR)}) {
      fakecuda::reset(seed);
      defineLoopKernels();
      remat_step_options options = {};
      options.flags = flags;
      if (flags & REMAT_STEP_POISON)
        options.determinism_check = REMAT_CHECK_BITWISE;
      CudaStep step(make(true), options);
      EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
      for (int run = 0; step.loaded == REMAT_OK && run < 4; ++run) {
        Outcome outcome = runOnce(step, number);
        EXPECT_EQ(outcome.status, REMAT_OK) << outcome.message;
        EXPECT_EQ(outcome.results, expected.results)
            << "seed " << seed << " flags " << flags << " run " << run;
        EXPECT_EQ(outcome.stats.executed_entries,
                  expected.stats.executed_entries);
        EXPECT_EQ(outcome.stats.measured_peak_bytes,
                  expected.stats.measured_peak_bytes);
        EXPECT_EQ(outcome.stats.touched_bytes, expected.stats.touched_bytes);
        EXPECT_EQ(outcome.stats.offloaded_bytes,
                  expected.stats.offloaded_bytes);
      }
      recorded += fakecuda::countCalls("cuStreamBeginCapture_v2");
    }
  return recorded;
}

/// All lengths up to where copies have been in both places several times. The
/// second run of each seed is recorded.
TEST_F(CudaLoopTest, GivesWhatTheCpuGives) {
  for (int64_t count = 1; count <= 5; ++count)
    for (uint32_t flags : {0u, unsigned(REMAT_LOOP_REVERSE)})
      for (bool isInPlace : {false, true})
        EXPECT_EQ(compare([&](bool isForDevice) {
                    return makeCellStep(isForDevice, count, flags, isInPlace);
                  }),
                  8u);
}

/// The host reads the number from the device, so that nothing is recorded.
TEST_F(CudaLoopTest, TripsAreReadFromTheDevice) {
  for (int64_t trips : {5, 0, 1, 4, -2})
    for (uint32_t flags : {0u, unsigned(REMAT_LOOP_REVERSE)})
      EXPECT_EQ(compare(
                    [&](bool isForDevice) {
                      return makeCellStep(isForDevice, 5,
                                          flags | REMAT_LOOP_TRIPS);
                    },
                    trips),
                0u);
}

TEST_F(CudaLoopTest, MoreTripsThanPlannedAreRefused) {
  defineLoopKernels();
  CudaStep step(makeCellStep(true, 5, REMAT_LOOP_TRIPS));
  EXPECT_EQ(runOnce(step, 6).message,
            "entry 1 'scan': runs 6 iterations, expected at most 5, the "
            "maximum that the step was compiled for: compile it with a larger "
            "one (remat.max_trip_count, or the option max-trip-count)");
  EXPECT_EQ(runOnce(step, 5).status, REMAT_OK);
}

/// (goes on, n, h, most, w) -> (goes on, n, h * w), with a check that h stays
/// below 100.
LoopTable makeWhile(bool isForDevice, int64_t limit) {
  LoopTable table(isForDevice), body(isForDevice);
  std::vector<uint32_t> a, r, operands, results;
  for (LoopTable *each : {&body, &table}) {
    a = {each->number("goes on", REMAT_I1), each->number("zero"),
         each->argument("h"), each->number("n"), each->argument("w")};
    r = {each->numberResult("goes on", REMAT_I1), each->numberResult("n"),
         each->result("h")};
    if (limit > 0)
      r.push_back(each->result("s", each == &body
                                        ? std::vector<int64_t>()
                                        : std::vector<int64_t>{limit}));
    if (each == &body) {
      uint32_t product = body.place();
      body.run(Multiply, {a[2], a[4]}, {product});
      body.run(Check, {product}, {r[2]});
      body.run(Count, {a[1], a[3]}, {r[0], r[1]});
      if (limit > 0)
        body.run(Check, {a[2]}, {r[3]});
    }
  }
  std::string blob = body.finalize();
  remat_loop loop = makeRecord(table.addBody(blob), 3, 2, 0, limit > 0,
                               REMAT_LOOP_WHILE, limit);
  table.runLoop(table.addLoop(loop), a, r, loopWorkspaceBytes(loop, blob));
  return table;
}

TEST_F(CudaLoopTest, ConditionsAreReadFromTheDevice) {
  for (int64_t trips : {0, 1, 2, 7, 8})
    for (int64_t limit : {0, 8})
      EXPECT_EQ(
          compare(
              [&](bool isForDevice) { return makeWhile(isForDevice, limit); },
              trips),
          0u);
}

TEST_F(CudaLoopTest, MoreIterationsOfAConditionAreRefused) {
  defineLoopKernels();
  CudaStep step(makeWhile(true, 4));
  EXPECT_EQ(runOnce(step, 5).message,
            "entry 0 'scan': runs more than 4 iterations, expected at most 4, "
            "the maximum that the step was compiled for: compile it with a "
            "larger one (remat.max_trip_count, or the option max-trip-count)");
}

/// A loop of rows around one of elements.
TEST_F(CudaLoopTest, LoopsWithinLoops) {
  constexpr int64_t outer = 3, inner = 4;
  auto make = [](bool isForDevice) {
    LoopTable body(isForDevice), table(isForDevice);
    std::string cell = makeDeviceCell(isForDevice);
    remat_loop row = makeRecord(body.addBody(cell), 1, 1, 1, 1, 0, inner);
    std::vector<uint32_t> operands = {body.argument("h"), body.argument("w"),
                                      body.argument("x", {inner})};
    uint32_t end = body.place();
    std::vector<uint32_t> results = {body.result("h"),
                                     body.result("s", {inner})};
    body.runLoop(body.addLoop(row), operands, {end, results[1]},
                 loopWorkspaceBytes(row, cell));
    body.run(Add, {end, operands[1]}, {results[0]});
    std::string blob = body.finalize();
    remat_loop all =
        makeRecord(table.addBody(blob), 1, 1, 1, 1, REMAT_LOOP_REVERSE, outer);
    table.runLoop(table.addLoop(all),
                  {table.argument("h"), table.argument("w"),
                   table.argument("x", {outer, inner})},
                  {table.result("h"), table.result("s", {outer, inner})},
                  loopWorkspaceBytes(all, blob));
    return table;
  };
  EXPECT_EQ(compare(make), 8u);
}

/// Elements of the slice and the stack in buffers of their own.
TEST_F(CudaLoopTest, Lists) {
  auto make = [](bool isForDevice) {
    LoopTable table(isForDevice);
    std::string cell = makeDeviceCell(isForDevice);
    remat_loop loop = makeRecord(table.addBody(cell), 1, 1, 1, 1, 0, 4);
    std::vector<uint32_t> operands, results;
    for (const char *name : {"h", "w", "x0", "x1", "x2", "x3"})
      operands.push_back(table.argument(name));
    for (const char *name : {"h", "s0", "s1", "s2", "s3"})
      results.push_back(table.result(name));
    table.runLoop(table.addLoop(loop, {1, 1}), operands, results,
                  loopWorkspaceBytes(loop, cell));
    return table;
  };
  EXPECT_EQ(compare(make), 8u);
}

/// A loop that runs backward and makes the states again of which it keeps
/// `slots` on the device and `hostSlots` on the host, one in `period`
/// iterations: (h, w, x) -> h * w + x, then (a, v, h, y) -> (a * h + y, h - v).
LoopTable makeReversal(bool isForDevice, int64_t slots, bool isInPlace,
                       int64_t hostSlots = 0, int64_t period = 0,
                       int64_t count = 7) {
  LoopTable advance(isForDevice), body(isForDevice), table(isForDevice);
  uint32_t h = advance.argument("h"), w = advance.argument("w");
  uint32_t x = advance.argument("x"), next = advance.result("h");
  uint32_t product = advance.place();
  if (isInPlace)
    advance.addDonation(0, 0);
  advance.run(Multiply, {h, w}, {product});
  advance.run(Add, {product, x}, {isInPlace ? advance.addView(h) : next});
  uint32_t a = body.argument("a"), v = body.argument("v");
  uint32_t state = body.argument("h"), y = body.argument("y");
  uint32_t end = body.result("a"), s = body.result("s");
  uint32_t scaled = body.place();
  body.run(Multiply, {a, state}, {scaled});
  body.run(Add, {scaled, y}, {end});
  body.run(Subtract, {state, v}, {s});
  std::string blob = body.finalize(), other = advance.finalize();
  remat_loop loop =
      makeRecord(table.addBody(blob), 1, 1, 1, 1, REMAT_LOOP_REVERSE, count);
  loop.advance = table.addBody(other);
  loop.advance_invariants = 1;
  loop.advance_slices = 1;
  loop.slots = slots;
  loop.host_slots = hostSlots;
  loop.period = period;
  table.runLoop(
      table.addLoop(loop),
      {table.argument("a"), table.argument("v"), table.argument("y", {count}),
       table.argument("h"), table.argument("w"), table.argument("x", {count})},
      {table.result("a"), table.result("s", {count})},
      loopWorkspaceBytes(loop, blob, other), loopHostBytes(loop, blob, other));
  return table;
}

TEST_F(CudaLoopTest, StatesAreMadeAgain) {
  for (int64_t slots : {1, 2, 3})
    for (bool isInPlace : {false, true})
      EXPECT_EQ(compare([&](bool isForDevice) {
                  return makeReversal(isForDevice, slots, isInPlace);
                }),
                8u);
}

/// States move to the host and back beside what iterations compute, with room
/// for all of them there or for some.
TEST_F(CudaLoopTest, StatesOnTheHost) {
  for (int64_t slots : {1, 2})
    for (bool isInPlace : {false, true})
      for (std::array<int64_t, 3> host :
           {std::array<int64_t, 3>{1, 2, 7}, {5, 1, 7}, {2, 1, 9}})
        EXPECT_EQ(compare([&](bool isForDevice) {
                    auto [hostSlots, period, count] = host;
                    return makeReversal(isForDevice, slots, isInPlace,
                                        hostSlots, period, count);
                  }),
                  8u);
}

/// Such a loop in the body of another one, with the same places on the host in
/// each iteration of that.
TEST_F(CudaLoopTest, StatesOnTheHostWithinLoops) {
  constexpr int64_t count = 7, outer = 3;
  auto make = [](bool isForDevice) {
    LoopTable table(isForDevice);
    std::string blob =
        makeReversal(isForDevice, 1, false, 5, 1, count).finalize();
    remat_loop all = makeRecord(table.addBody(blob), 1, 5, 0, 1, 0, outer);
    table.runLoop(table.addLoop(all),
                  {table.argument("a"), table.argument("v"),
                   table.argument("y", {count}), table.argument("h"),
                   table.argument("w"), table.argument("x", {count})},
                  {table.result("a"), table.result("s", {outer, count})},
                  loopWorkspaceBytes(all, blob), loopHostBytes(all, blob, ""));
    return table;
  };
  EXPECT_EQ(compare(make), 8u);
}

/// What a loop has made is moved to the host while another loop takes its
/// place, and back for a third.
LoopTable makeOffloadingLoops(bool isForDevice) {
  constexpr int64_t count = 3;
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  LoopTable table(isForDevice);
  std::string cell = makeDeviceCell(isForDevice);
  remat_loop loop = makeRecord(table.addBody(cell), 1, 1, 1, 1, 0, count);
  uint32_t number = table.addLoop(loop);
  uint32_t h = table.argument("h"), w = table.argument("w"),
           x = table.argument("x", {count}), end = table.result("h"),
           s = table.result("s", {count});
  uint64_t room = loopWorkspaceBytes(loop, cell);
  // Of the workspaces, each loop has the same place.
  uint64_t first = 1024, second = first + count * bytes + 256;
  auto add = [&](std::vector<uint32_t> operands,
                 std::vector<uint32_t> results) {
    table.addEntry(makeLoop(number, std::move(operands), std::move(results),
                            table.addArenaBuffer(0, room)));
  };
  uint32_t stack = table.addArenaBuffer(first, count * bytes);
  uint32_t firstEnd = table.addArenaBuffer(second, bytes);
  add({h, w, x}, {firstEnd, stack});
  uint32_t kept = table.addHostBuffer(0, count * bytes);
  table.addEntry(makeCopy(stack, kept));
  uint32_t other = table.addArenaBuffer(first, count * bytes);
  uint32_t secondEnd = table.addArenaBuffer(second + 256, bytes);
  add({firstEnd, w, x}, {secondEnd, other});
  uint32_t otherEnd = table.addArenaBuffer(second + 512, bytes);
  uint32_t third = table.addArenaBuffer(second + 768, count * bytes);
  add({secondEnd, w, other}, {otherEnd, third});
  uint32_t again = table.addArenaBuffer(first, count * bytes);
  table.addEntry(makeCopy(kept, again));
  add({otherEnd, w, again}, {end, s});
  return table;
}

TEST_F(CudaLoopTest, CopiesBesideLoops) {
  EXPECT_EQ(compare(makeOffloadingLoops), 8u);
}

/// The tests above can fail: without waits they do.
TEST_F(CudaLoopTest, CopiesWithoutWaitsAreWrong) {
  auto makeStates = [](bool isForDevice) {
    return makeReversal(isForDevice, 1, false, 2, 1, 9);
  };
  for (const MakeTable &make :
       {MakeTable(makeOffloadingLoops), MakeTable(makeStates)}) {
    Step cpu(make(false), cpuLoopKernels, {1, 0, nullptr, 0});
    Outcome expected = runOnce(cpu, 0);
    size_t wrong = 0;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      fakecuda::reset(seed);
      defineLoopKernels();
      CudaStep step(make(true));
      fakecuda::ignoreWaits(true);
      wrong += runOnce(step, 0).results != expected.results;
      fakecuda::ignoreWaits(false);
    }
    EXPECT_GT(wrong, 0u);
  }
}

/// Where a run has too many launches, its recording is given up.
TEST_F(CudaLoopTest, LongLoopsAreNotRecorded) {
  constexpr int64_t count = 20000;
  defineLoopKernels();
  CudaStep step(makeCellStep(true, count, 0));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Outcome first = runOnce(step, 0);
  for (int run = 0; run < 2; ++run) {
    Outcome outcome = runOnce(step, 0);
    EXPECT_EQ(outcome.status, REMAT_OK) << outcome.message;
    EXPECT_EQ(outcome.results, first.results);
  }
  EXPECT_EQ(fakecuda::countCalls("cuStreamBeginCapture_v2"), 1u);
  EXPECT_EQ(fakecuda::countCalls("cuGraphLaunch"), 0u);
}

/// A body has constants of its own.
TEST_F(CudaLoopTest, ConstantsOfBodies) {
  auto make = [](bool isForDevice) {
    LoopTable body(isForDevice), table(isForDevice);
    std::vector<float> numbers(cudaElements, 0.5);
    uint32_t h = body.argument("h"), next = body.result("h");
    body.run(Multiply,
             {h, body.addConstantBuffer(numbers.data(),
                                        numbers.size() * sizeof(float))},
             {next});
    std::string blob = body.finalize();
    remat_loop loop = makeRecord(table.addBody(blob), 1, 0, 0, 0, 0, 3);
    table.runLoop(table.addLoop(loop), {table.argument("h")},
                  {table.result("h")}, loopWorkspaceBytes(loop, blob));
    return table;
  };
  EXPECT_EQ(compare(make), 8u);
}

} // namespace
