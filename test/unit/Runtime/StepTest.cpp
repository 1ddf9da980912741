//===- StepTest.cpp - running steps and what they count -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of handwritten kernels: results, threads, and bookkeeping that is
// worked out by hand in the comments.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

using namespace remat;

extern "C" void omp_set_num_threads(int threads);

namespace {

/// r[i] = a[i] + 1 for floats; the extent counts elements.
void addOne(void *const *buffers, int64_t begin, int64_t end,
            remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] + 1;
}

/// Two results, a + 1 and a + 2, by way of a workspace.
void both(void *const *buffers, int64_t begin, int64_t end,
          remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *first = static_cast<float *>(buffers[1]);
  auto *second = static_cast<float *>(buffers[2]);
  auto *workspace = static_cast<float *>(buffers[3]);
  for (int64_t i = begin; i < end; ++i) {
    workspace[i] = a[i] + 1;
    first[i] = workspace[i];
    second[i] = workspace[i] + 1;
  }
}

const std::vector<remat_kernel_fn> kernels = {addOne, add, both};

TEST(Step, Empty) {
  StepTableBuilder builder;
  Step step(builder, {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  EXPECT_EQ(step.run({}, {}), REMAT_OK);
  EXPECT_EQ(step.stats().measured_peak_bytes, 0u);
  EXPECT_EQ(step.stats().executed_entries, 0u);
  EXPECT_EQ(remat_step_arena_bytes(step.step), 0u);
}

/// By default a step has no more threads than OpenMP gives the thread that
/// loads it; a number that the options say is taken as it is.
TEST(Step, ThreadsOfOpenMp) {
  int loaded[3];
  std::thread([&] {
    omp_set_num_threads(1);
    loaded[0] = remat_step_threads(Step(StepTableBuilder(), {}).step);
    omp_set_num_threads(1 << 20);
    loaded[1] = remat_step_threads(Step(StepTableBuilder(), {}).step);
    omp_set_num_threads(1);
    remat_step_options options = {};
    options.threads = 3;
    loaded[2] = remat_step_threads(Step(StepTableBuilder(), {}, options).step);
  }).join();
  EXPECT_EQ(loaded[0], 1);
  EXPECT_GE(loaded[1], 1);
  EXPECT_LE(loaded[1], static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(loaded[2], 3);
}

/// x -> a -> b -> y, 100 floats (400 bytes, 448 rounded).
StepTableBuilder chain() {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {10, 10});
  builder.addResult("y", REMAT_F32, {10, 10});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 400);
  uint32_t b = builder.addArenaBuffer(448, 400);
  uint32_t y = builder.addResultBuffer(0);
  builder.addEntry(makeEntry(0, {x}, {a}, 100));
  builder.addEntry(makeEntry(0, {a}, {b}, 100));
  builder.addEntry(makeEntry(0, {b}, {y}, 100));
  return builder;
}

int64_t nanosecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin)
      .count();
}

TEST(Step, Chain) {
  for (int threads : {0, 1, 2, 7}) {
    remat_step_options options = {threads, REMAT_STEP_PROFILE, nullptr, 0};
    Step step(chain(), kernels, options);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor x({10, 10}, 1.5f), y({10, 10});
    auto begin = std::chrono::steady_clock::now();
    for (int repeat = 0; repeat < 3; ++repeat) {
      ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
      EXPECT_EQ(y.values, std::vector<float>(100, 4.5f));
    }
    remat_step_stats stats = step.stats();
    // While the second entry runs, a and b are live; arguments do not count.
    EXPECT_EQ(stats.measured_peak_bytes, 896u);
    EXPECT_EQ(stats.touched_bytes, 896u);
    EXPECT_EQ(stats.arena_bytes, 896u);
    EXPECT_EQ(stats.executed_entries, 3u);
    EXPECT_EQ(stats.recomputed_entries, 0u);
    EXPECT_EQ(stats.runs, 3u);
    EXPECT_NE(remat_step_entry_times(step.step), nullptr);
    const int64_t *cpuTimes = remat_step_entry_cpu_times(step.step);
    ASSERT_NE(cpuTimes, nullptr);
    // Nobody computes longer than so many threads do.
    int64_t sum = std::accumulate(cpuTimes, cpuTimes + 3, int64_t(0));
    EXPECT_GT(sum, 0);
    EXPECT_LT(sum, nanosecondsSince(begin) *
                       int64_t(std::thread::hardware_concurrency()));
    // One entry after the other, counted from the beginning of the last run:
    // it took less than all runs and what is between them.
    const remat_entry_span *spans = remat_step_entry_spans(step.step);
    ASSERT_NE(spans, nullptr);
    int64_t last = 0;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_GE(spans[i].begin, last) << "entry " << i;
      EXPECT_GE(spans[i].end, spans[i].begin) << "entry " << i;
      last = spans[i].end;
    }
    EXPECT_GT(last, 0);
    EXPECT_LT(last, nanosecondsSince(begin));
  }
}

TEST(Step, Queries) {
  Step step(chain(), kernels);
  ASSERT_EQ(step.loaded, REMAT_OK);
  EXPECT_EQ(remat_step_argument_count(step.step), 1u);
  EXPECT_EQ(remat_step_result_count(step.step), 1u);
  EXPECT_EQ(remat_step_entry_count(step.step), 3u);
  remat_tensor_info info;
  ASSERT_EQ(remat_step_argument(step.step, 0, &info), REMAT_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, REMAT_F32);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[1], 10);
  EXPECT_EQ(info.bytes, 400u);
  ASSERT_EQ(remat_step_result(step.step, 0, &info), REMAT_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(remat_step_result(step.step, 1, &info), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "result 1 is out of range: the step has 1");
  size_t index = 7;
  ASSERT_EQ(remat_step_find_argument(step.step, "x", &index), REMAT_OK);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(remat_step_find_result(step.step, "x", &index),
            REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_last_error(), "the step has no result named 'x'");
  EXPECT_EQ(remat_step_entry_times(step.step), nullptr);
  EXPECT_EQ(remat_step_entry_cpu_times(step.step), nullptr);
  EXPECT_EQ(remat_step_entry_spans(step.step), nullptr);
}

TEST(Step, UnalignedData) {
  Step step(chain(), kernels);
  alignas(64) char memory[2][404];
  float value = 2;
  for (int i = 0; i < 100; ++i)
    std::memcpy(memory[0] + 4 + 4 * i, &value, 4);
  int64_t dims[2] = {10, 10};
  remat_tensor x = {memory[0] + 4, REMAT_F32, 2, dims};
  remat_tensor y = {memory[1] + 4, REMAT_F32, 2, dims};
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK);
  std::memcpy(&value, memory[1] + 4 + 4 * 99, 4);
  EXPECT_EQ(value, 5);
}

TEST(Step, CallersArena) {
  std::vector<char> memory(896 + 64);
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  char *arena = memory.data() + (64 - address % 64) % 64;
  Step good(chain(), kernels, {1, 0, arena, 896});
  ASSERT_EQ(good.loaded, REMAT_OK) << good.message;
  Tensor x({10, 10}, 1), y({10, 10});
  EXPECT_EQ(good.run({x}, {y}), REMAT_OK);
  float a;
  std::memcpy(&a, arena, 4);
  EXPECT_EQ(a, 2);
  EXPECT_EQ(Step(chain(), kernels, {1, 0, arena, 895}).loaded,
            REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(Step(chain(), kernels, {1, 0, arena + 4, 896}).loaded,
            REMAT_INVALID_ARGUMENT);
}

TEST(Step, Observer) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4});
  builder.addResult("y", REMAT_F32, {4});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  uint32_t between = builder.addArenaBuffer(0, 16);
  builder.setContents(between, REMAT_F32, 16);
  builder.addEntry(makeEntry(0, {x}, {between}, 4));
  builder.addEntry(makeEntry(0, {between}, {y}, 4));
  Step step(builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;

  // It sees what each entry has written, and what it writes is read.
  struct Seen {
    std::vector<size_t> entries;
    std::vector<float> numbers;
    bool isBetweenF32 = false;
  } seen;
  auto observe = [](void *user, size_t entry, const remat_observed *results,
                    size_t count) {
    auto &seen = *static_cast<Seen *>(user);
    seen.entries.push_back(entry);
    ASSERT_EQ(count, 1u);
    EXPECT_GE(results[0].bytes, 16u);
    auto *data = static_cast<float *>(results[0].data);
    seen.numbers.push_back(data[3]);
    if (entry != 0)
      return;
    seen.isBetweenF32 = results[0].dtype == REMAT_F32;
    data[3] = 10;
  };
  ASSERT_EQ(remat_step_observe(step.step, observe, &seen), REMAT_OK);
  Tensor in({4}, 1), out({4});
  EXPECT_EQ(step.run({in}, {out}), REMAT_OK) << step.message;
  EXPECT_EQ(seen.entries, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(seen.numbers, (std::vector<float>{2, 11}));
  EXPECT_TRUE(seen.isBetweenF32);
  EXPECT_EQ(out.values, (std::vector<float>{3, 3, 3, 11}));

  // What it throws ends the run, and nothing else.
  auto fail = [](void *, size_t, const remat_observed *, size_t) {
    (void)std::vector<int>().at(0);
  };
  ASSERT_EQ(remat_step_observe(step.step, fail, nullptr), REMAT_OK);
  EXPECT_EQ(step.run({in}, {out}), REMAT_INVALID_ARGUMENT);
  EXPECT_STREQ(remat_step_error(step.step),
               "a function that was given to the step threw an exception");

  // No more.
  ASSERT_EQ(remat_step_observe(step.step, nullptr, nullptr), REMAT_OK);
  EXPECT_EQ(step.run({in}, {out}), REMAT_OK) << step.message;
  EXPECT_EQ(seen.entries.size(), 2u);
  EXPECT_EQ(out.values, (std::vector<float>{3, 3, 3, 3}));
  EXPECT_EQ(remat_step_observe(nullptr, observe, &seen),
            REMAT_INVALID_ARGUMENT);
}

TEST(Step, ViewsWorkspaceAndSeveralResults) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {16});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 64);
  uint32_t b = builder.addArenaBuffer(64, 64);
  uint32_t workspace = builder.addArenaBuffer(128, 100); // 128 bytes
  uint32_t view = builder.addView(a);
  uint32_t c = builder.addArenaBuffer(128, 64);
  uint32_t y = builder.addResultBuffer(0);
  // live: a 64, b 64, workspace 128: peak 256
  builder.addEntry(makeEntry(2, {x}, {a, b}, 16, workspace));
  // the workspace is gone: a, b, c: 192; b dies
  builder.addEntry(makeEntry(0, {b}, {c}, 16));
  // a is alive through its view, which is not counted
  builder.addEntry(makeEntry(1, {view, c}, {y}, 16));
  for (uint32_t flags : {0u, unsigned(REMAT_STEP_POISON)}) {
    Step step(builder, kernels, {2, flags, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    Tensor in({16}, 10), out({16});
    ASSERT_EQ(step.run({in}, {out}), REMAT_OK);
    EXPECT_EQ(out.values, std::vector<float>(16, 11 + 13));
    EXPECT_EQ(step.stats().measured_peak_bytes, 256u);
    EXPECT_EQ(step.stats().touched_bytes, 256u);
  }
}

TEST(Step, PartsOfABuffer) {
  // Two entries write the halves of one root; a third reads all of it.
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {32});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t root = builder.addArenaBuffer(0, 128);
  uint32_t low = builder.addView(root, 0, 64);
  uint32_t high = builder.addView(root, 64, 64);
  uint32_t y = builder.addResultBuffer(0);
  builder.addEntry(makeEntry(0, {x}, {low}, 16));
  builder.addEntry(makeEntry(0, {low}, {high}, 16));
  builder.addEntry(makeEntry(0, {root}, {y}, 32));
  Step step(builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor in({16}, 0), out({32});
  ASSERT_EQ(step.run({in}, {out}), REMAT_OK);
  EXPECT_EQ(out.values[0], 2);
  EXPECT_EQ(out.values[31], 3);
  EXPECT_EQ(step.stats().measured_peak_bytes, 128u);
}

TEST(Step, OffloadAndRecompute) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {16});
  builder.addResult("y", REMAT_F32, {16});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 64);
  uint32_t stored = builder.addHostBuffer(0, 64);
  uint32_t b = builder.addArenaBuffer(0, 64);
  uint32_t reloaded = builder.addArenaBuffer(64, 64);
  uint32_t again = builder.addArenaBuffer(128, 64);
  uint32_t y = builder.addResultBuffer(0);
  builder.addEntry(makeEntry(0, {x}, {a}, 16));     // a = x + 1
  builder.addEntry(makeCopy(a, stored));            // a leaves
  builder.addEntry(makeEntry(0, {x}, {b}, 16));     // in a's place
  builder.addEntry(makeCopy(stored, reloaded));     // b, reloaded: 128
  StepEntry clone = makeEntry(0, {b}, {again}, 16); // x + 2; 192
  clone.recompute = true;
  clone.original = 3;
  clone.copy = 1;
  clone.name = "linalg.add";
  builder.addEntry(clone);
  builder.addEntry(makeEntry(1, {reloaded, again}, {y}, 16));
  Step step(builder, kernels, {0, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor in({16}, 1), out({16});
  ASSERT_EQ(step.run({in}, {out}), REMAT_OK);
  EXPECT_EQ(out.values, std::vector<float>(16, 5));
  remat_step_stats stats = step.stats();
  EXPECT_EQ(stats.measured_peak_bytes, 192u);
  EXPECT_EQ(stats.host_peak_bytes, 64u);
  EXPECT_EQ(stats.host_bytes, 64u);
  EXPECT_EQ(stats.offloaded_bytes, 64u);
  EXPECT_EQ(stats.recomputed_entries, 1u);
  remat_entry_info info;
  ASSERT_EQ(remat_step_entry(step.step, 4, &info), REMAT_OK);
  EXPECT_EQ(info.original, 3u);
  EXPECT_EQ(info.copy, 1u);
  EXPECT_STREQ(info.name, "linalg.add");
}

TEST(Step, Constants) {
  StepTableBuilder builder;
  builder.addResult("y", REMAT_F32, {2});
  float data[2] = {3, 4};
  uint32_t constant = builder.addConstantBuffer(data, sizeof(data));
  builder.addConstantBuffer(data, sizeof(data)); // kept once
  builder.addEntry(makeEntry(0, {constant}, {builder.addResultBuffer(0)}, 2));
  Step step(builder, kernels);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor out({2});
  ASSERT_EQ(step.run({}, {out}), REMAT_OK);
  EXPECT_EQ(out.values, (std::vector<float>{4, 5}));
}

TEST(Step, ZeroSizes) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {0, 7});
  builder.addResult("y", REMAT_F32, {7, 0});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 0);
  uint32_t y = builder.addResultBuffer(0);
  builder.addEntry(makeEntry(0, {x}, {a}, 0));
  builder.addEntry(makeEntry(0, {a}, {y}, 0));
  builder.addEntry(makeCopy(a, y));
  Step step(builder, kernels, {2, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  int64_t in[2] = {0, 7}, out[2] = {7, 0};
  EXPECT_EQ(
      step.run({{nullptr, REMAT_F32, 2, in}}, {{nullptr, REMAT_F32, 2, out}}),
      REMAT_OK)
      << step.message;
  EXPECT_EQ(step.stats().measured_peak_bytes, 0u);
}

TEST(Step, EveryIndexOnceWhateverTheGrain) {
  static auto count = [](void *const *buffers, int64_t begin, int64_t end,
                         remat_kernel_status *) {
    for (int64_t i = begin; i < end; ++i)
      static_cast<float *>(buffers[1])[i] =
          static_cast<const float *>(buffers[0])[i] + 1;
  };
  for (int64_t grain : {1, 3, 64, 1000}) {
    StepTableBuilder builder;
    builder.addArgument("x", REMAT_F32, {101});
    builder.addResult("y", REMAT_F32, {101});
    StepEntry entry = makeEntry(0, {builder.addArgumentBuffer(0)},
                                {builder.addResultBuffer(0)}, 101);
    entry.grain = grain;
    builder.addEntry(entry);
    Step step(builder, {count}, {5, 0, nullptr, 0});
    Tensor x({101}, 1), y({101});
    ASSERT_EQ(step.run({x}, {y}), REMAT_OK);
    EXPECT_EQ(y.values, std::vector<float>(101, 2));
  }
}

TEST(Step, PoisonShowsADeadBuffer) {
  // The kernel reads a neighbour that is no operand of its: with poison that
  // is NaN, without it the value is still there.
  static auto neighbour = [](void *const *buffers, int64_t, int64_t,
                             remat_kernel_status *) {
    *static_cast<float *>(buffers[1]) =
        static_cast<const float *>(buffers[0])[-16];
  };
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {1});
  builder.addResult("y", REMAT_F32, {1});
  uint32_t x = builder.addArgumentBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 4), b = builder.addArenaBuffer(64, 4);
  builder.addEntry(makeEntry(0, {x}, {a}));
  builder.addEntry(makeEntry(0, {a}, {b}));
  builder.addEntry(makeEntry(1, {b}, {builder.addResultBuffer(0)}));
  for (uint32_t flags : {0u, unsigned(REMAT_STEP_POISON)}) {
    Step step(builder, {addOne, neighbour}, {1, flags, nullptr, 0});
    Tensor in({1}, 1), out({1});
    ASSERT_EQ(step.run({in}, {out}), REMAT_OK);
    EXPECT_EQ(std::isnan(out.values[0]), flags != 0);
  }
}

TEST(Step, TwoStepsOnTwoThreads) {
  auto work = [] {
    Step step(chain(), kernels, {2, 0, nullptr, 0});
    Tensor x({10, 10}, 1), y({10, 10});
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(step.run({x}, {y}), REMAT_OK);
    EXPECT_EQ(y.values, std::vector<float>(100, 4));
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(StepTableBuilder, SameCallsSameBytes) {
  EXPECT_EQ(chain().finalize(), chain().finalize());
  StepTableBuilder builder;
  EXPECT_EQ(builder.addString("a"), builder.addString("a"));
  EXPECT_EQ(builder.addString(""), 0u);
  remat_matmul matmul = {};
  EXPECT_EQ(builder.addMatmul(matmul), builder.addMatmul(matmul));
  matmul.m = 1;
  EXPECT_EQ(builder.addMatmul(matmul), 1u);
  EXPECT_EQ(builder.addCheck("x"), builder.addCheck("x"));
}

} // namespace
