//===- CopyStreamsTest.cpp - steps whose copies run on threads ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That copies really run beside the computation, and that all else a step does
// is as it is without them: results, counts, failures, modes, several steps.
//
//===----------------------------------------------------------------------===//

#include "CopyStreams.h"
#include "RuntimeTest.h"
#include "Table.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace remat;

namespace {

const int64_t count = 1 << 16;

/// The threads for copies that this process has.
size_t threadCount() {
  size_t threads = 0;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    file >> name;
    threads += name == "remat-copies";
  }
  return threads;
}

/// Whether there are none; one that has ended may be listed a while longer.
bool hasNoThreads() {
  for (int tries = 0; threadCount() > 0 && tries < 5000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threadCount() == 0;
}

/// result = operand + 1; an operand of 100 ends the step.
void increment(void *const *buffers, int64_t begin, int64_t end,
               remat_kernel_status *status) {
  auto *from = static_cast<const float *>(buffers[0]);
  auto *to = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = from[i] + 1;
  if (begin == 0 && from[0] == 100)
    *status = {1, -1, 0, -1};
}

/// a = x + 1; a goes to the host while b = a + 1 and c = b + 1; a comes back
/// while d = c + 1; y = a + d. In the place of a, other values lie between.
StepTableBuilder makeStep(bool isSplit = false, bool hasStreams = true) {
  const uint64_t bytes = count * 4;
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {count});
  builder.addResult("y", REMAT_F32, {count});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  uint32_t a = builder.addArenaBuffer(bytes, bytes);
  uint32_t b = builder.addArenaBuffer(0, bytes);
  uint32_t c = builder.addArenaBuffer(bytes, bytes);
  uint32_t kept = isSplit ? builder.addArenaBuffer(0, bytes) : c;
  uint32_t d = builder.addArenaBuffer(2 * bytes, bytes);
  uint32_t back = builder.addArenaBuffer(isSplit ? bytes : 0, bytes);
  uint32_t host = builder.addHostBuffer(0, bytes);
  builder.addEntry(makeEntry(0, {x}, {a}, count));
  builder.addEntry(makeCopy(a, host));
  builder.addEntry(makeEntry(0, {a}, {b}, count));
  builder.addEntry(makeEntry(0, {b}, {c}, count));
  if (isSplit) {
    builder.addEntry(makeCopy(c, kept));
    builder.beginCall();
    builder.setStateBytes(bytes);
  }
  builder.addEntry(makeCopy(host, back));
  builder.addEntry(makeEntry(0, {kept}, {d}, count));
  builder.addEntry(makeEntry(1, {back, d}, {y}, count));
  if (hasStreams)
    builder.assignStreams();
  return builder;
}

remat_step_options on(int threads, uint32_t flags = 0,
                      remat_determinism_check check = REMAT_CHECK_METADATA) {
  remat_step_options options = {};
  options.threads = threads;
  options.flags = flags;
  options.determinism_check = check;
  return options;
}

const std::vector<remat_kernel_fn> kernels = {increment, add};

/// a = x + 1 goes to the host and is released behind b = a + 1, c = b + 1, and
/// before d = c + 1 in its place; then y = a + d with what comes back.
StepTableBuilder makeStepWithRelease() {
  const uint64_t bytes = count * 4;
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {count});
  builder.addResult("y", REMAT_F32, {count});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, bytes);
  uint32_t b = builder.addArenaBuffer(bytes, bytes);
  uint32_t c = builder.addArenaBuffer(2 * bytes, bytes);
  uint32_t d = builder.addArenaBuffer(0, bytes);
  uint32_t back = builder.addArenaBuffer(bytes, bytes);
  uint32_t host = builder.addHostBuffer(0, bytes);
  builder.addEntry(makeEntry(0, {x}, {a}, count));
  builder.addEntry(makeCopy(a, host));
  builder.addEntry(makeEntry(0, {a}, {b}, count));
  builder.addEntry(makeEntry(0, {b}, {c}, count));
  builder.addEntry(makeRelease(a));
  builder.addEntry(makeEntry(0, {c}, {d}, count));
  builder.addEntry(makeCopy(host, back));
  builder.addEntry(makeEntry(1, {back, d}, {y}, count));
  builder.assignStreams();
  return builder;
}

void expectResults(Step &step, float value) {
  Tensor x({count}, value), y({count});
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(y.values, std::vector<float>(count, 2 * value + 5));
}

/// The table that a builder makes.
Table readBack(const std::string &blob) {
  remat_module module = makeModule(blob);
  Table table;
  std::string error;
  EXPECT_TRUE(readTable(module, table, error)) << error;
  return table;
}

} // namespace

// The offload does not end before the test lets it, so that whoever came back
// from `pass` before did not wait for it.
TEST(CopyStreams, RunBeside) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  uint32_t host = builder.addHostBuffer(0, 64);
  builder.addEntry(makeCopy(builder.addArgumentBuffer(0), host));
  builder.addEntry(makeCopy(host, builder.addArenaBuffer(0, 64)));
  builder.assignStreams();
  std::string blob = builder.finalize(), message;
  Table table = readBack(blob);
  std::promise<void> mayEnd;
  std::shared_future<void> end = mayEnd.get_future().share();
  std::vector<uint32_t> order;
  std::atomic<bool> hasEnded = false;
  CopyStreams streams;
  ASSERT_TRUE(streams.start(
      table,
      [&](uint32_t entry) {
        if (entry == 0)
          end.wait();
        order.push_back(entry);
        hasEnded = true;
      },
      message))
      << message;
  ASSERT_TRUE(streams.begin(0));
  streams.pass(0);
  streams.pass(1); // the reload waits for the offload
  EXPECT_FALSE(hasEnded);
  mayEnd.set_value();
  streams.wait(0);
  EXPECT_TRUE(hasEnded);
  streams.wait(1);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1}));
  // Another run, from the middle.
  ASSERT_TRUE(streams.begin(1));
  streams.wait(0);
  streams.pass(1);
  streams.drain();
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 1}));
}

TEST(CopyStreams, NoThreadWithoutCopies) {
  ASSERT_TRUE(hasNoThreads());
  {
    Step step(makeStep(false, /*hasStreams=*/false), kernels, on(1));
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(threadCount(), 0u);
    expectResults(step, 1);
  }
  {
    Step step(makeStep(), kernels, on(1));
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(threadCount(), 2u);
  }
  EXPECT_TRUE(hasNoThreads());
}

TEST(CopyStreams, SameResultsAndCounts) {
  Step beside(makeStep(), kernels, on(2));
  Step inOrder(makeStep(false, /*hasStreams=*/false), kernels, on(2));
  for (float value : {0.5f, 3.0f, 7.25f}) {
    expectResults(beside, value);
    expectResults(inOrder, value);
    remat_step_stats a = beside.stats(), b = inOrder.stats();
    EXPECT_EQ(a.measured_peak_bytes, b.measured_peak_bytes);
    EXPECT_EQ(a.host_peak_bytes, b.host_peak_bytes);
    EXPECT_EQ(a.offloaded_bytes, uint64_t(count) * 4);
    EXPECT_EQ(a.offloaded_bytes, b.offloaded_bytes);
    EXPECT_EQ(a.executed_entries, b.executed_entries);
  }
  remat_entry_info info;
  ASSERT_EQ(remat_step_entry(beside.step, 1, &info), REMAT_OK);
  EXPECT_EQ(info.stream, REMAT_STREAM_TO_HOST);
  ASSERT_EQ(remat_step_entry(beside.step, 4, &info), REMAT_OK);
  EXPECT_EQ(info.stream, REMAT_STREAM_TO_DEVICE);
}

// What is dead is filled with NaN, but not before the copy of it has ended.
TEST(CopyStreams, Modes) {
  for (uint32_t flags = 0; flags < 8; ++flags)
    for (remat_determinism_check check :
         {REMAT_CHECK_METADATA, REMAT_CHECK_BITWISE}) {
      Step step(makeStep(), kernels, on(1, flags, check));
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      for (float value : {1.0f, 2.0f})
        expectResults(step, value);
      const int64_t *times = remat_step_entry_times(step.step);
      ASSERT_EQ(times != nullptr, (flags & REMAT_STEP_PROFILE) != 0);
      for (size_t i = 0; times && i < remat_step_entry_count(step.step); ++i)
        EXPECT_GT(times[i], 0) << "entry " << i;
    }
}

// Entry 2 fails while entry 1 may be under way; the step can be run again.
TEST(CopyStreams, Failure) {
  Step step(makeStep(), kernels);
  for (int i = 0; i < 20; ++i) {
    Tensor bad({count}, 99), y({count});
    EXPECT_EQ(step.run({bad}, {y}), REMAT_ASSERTION_FAILED);
    expectResults(step, float(i));
  }
}

// What is released later is counted for longer: a beside b and c.
TEST(CopyStreams, Release) {
  for (auto check : {REMAT_CHECK_METADATA, REMAT_CHECK_BITWISE}) {
    Step step(makeStepWithRelease(), kernels, on(1, 0, check));
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (float value : {1.0f, 7.0f}) {
      expectResults(step, value);
      EXPECT_EQ(step.stats().measured_peak_bytes, uint64_t(3 * 4 * count));
      EXPECT_EQ(step.stats().executed_entries, 8u);
    }
  }
}

TEST(CopyStreams, Calls) {
  Step step(makeStep(/*isSplit=*/true), kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  const size_t states = 3;
  struct alignas(REMAT_ALIGNMENT) Memory {
    float values[count];
  };
  std::vector<Memory> data(states), host(states);
  std::vector<remat_state> state(states);
  remat_tensor none = {};
  for (size_t i = 0; i < states; ++i) {
    Tensor x({count}, float(i));
    remat_tensor given = x;
    state[i] = {data[i].values,
                sizeof(Memory),
                host[i].values,
                sizeof(Memory),
                0,
                nullptr,
                0};
    ASSERT_EQ(remat_step_forward(step.step, &given, 1, &none, 1, &state[i]),
              REMAT_OK)
        << remat_last_error();
  }
  for (size_t i = 0; i < states; ++i) {
    Tensor y({count});
    remat_tensor result = y;
    ASSERT_EQ(
        remat_step_backward(step.step, 0, &none, 1, &result, 1, &state[i]),
        REMAT_OK)
        << remat_last_error();
    EXPECT_EQ(y.values, std::vector<float>(count, 2 * float(i) + 5));
  }
}

TEST(CopyStreams, SeveralSteps) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      Step step(makeStep(), kernels, on(1));
      for (int run = 0; run < 20; ++run)
        expectResults(step, float(i + run));
    });
  for (std::thread &thread : threads)
    thread.join();
}

// What it is depends on the machine; less than a page in a millisecond would be
// none.
TEST(CopyStreams, MeasuresTheLink) {
  Step step(makeStep(), kernels, on(1));
  remat_link_speed speed = {};
  ASSERT_EQ(remat_step_measure_link(step.step, &speed), REMAT_OK)
      << remat_last_error();
  EXPECT_GT(speed.to_host, 4'000'000u);
  EXPECT_GT(speed.to_device, 4'000'000u);
  expectResults(step, 1);
  EXPECT_EQ(remat_step_measure_link(step.step, nullptr),
            REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_step_measure_link(nullptr, &speed), REMAT_INVALID_ARGUMENT);
}

// Threads do not survive a fork: the child copies by itself, and ends.
TEST(CopyStreams, Fork) {
  Step step(makeStep(), kernels, on(1));
  expectResults(step, 1);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Tensor x({count}, 2), y({count});
    bool isRight = step.run({x}, {y}) == REMAT_OK && y.values[count - 1] == 9;
    step.~Step();
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expectResults(step, 3);
}
