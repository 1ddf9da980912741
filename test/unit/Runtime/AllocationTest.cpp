//===- AllocationTest.cpp - runs allocate nothing of size -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts what the process allocates while a step with library calls runs: only
// small things, since all memory of size is in the arena.
//
//===----------------------------------------------------------------------===//

#include "LibraryTest.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define REMAT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REMAT_SANITIZED
#endif
#endif

#ifndef REMAT_SANITIZED

static std::atomic<bool> counting{false};
static std::atomic<size_t> largest{0};

static void note(size_t bytes) {
  if (!counting.load(std::memory_order_relaxed))
    return;
  size_t before = largest.load();
  while (before < bytes && !largest.compare_exchange_weak(before, bytes))
    ;
}

// These take the place of the C library's, also for the shared libraries.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  note(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
}

using namespace remat;

namespace {

size_t largestAllocation(Step &step, const std::vector<remat_tensor> &arguments,
                         const std::vector<remat_tensor> &results) {
  EXPECT_EQ(step.run(arguments, results), REMAT_OK); // pool, first touch
  largest = 0;
  counting = true;
  EXPECT_EQ(step.run(arguments, results), REMAT_OK);
  counting = false;
  return largest;
}

TEST(Allocation, Matmul) {
  for (bool transposed : {false, true}) {
    remat_matmul d = {};
    d.batch[0] = d.batch[1] = d.batch[2] = 1;
    d.m = 256, d.n = 384, d.k = 512;
    d.a_m_stride = transposed ? 1 : 512, d.a_k_stride = transposed ? 256 : 1;
    d.b_k_stride = 384, d.b_n_stride = 1, d.c_m_stride = 384, d.c_n_stride = 1;
    Elements a(REMAT_F32, 256 * 512), b(REMAT_F32, 512 * 384);
    Elements initial(REMAT_F32, 256 * 384), c(REMAT_F32, 256 * 384);
    Step step(makeCall(REMAT_ENTRY_MATMUL, a, b, c, &d, nullptr, 2), {},
              {2, 0, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_LT(largestAllocation(step,
                                {a.tensor(), b.tensor(), initial.tensor()},
                                {c.tensor()}),
              8192u);
  }
}

TEST(Allocation, Convolution) {
  for (int kind = 0; kind < 3; ++kind) {
    remat_convolution d = {};
    d.kind = kind, d.spatial_rank = 2;
    d.batch = 4, d.groups = 1, d.input_channels = d.output_channels = 32;
    for (int i = 0; i < 2; ++i) {
      d.input[i] = d.output[i] = 16, d.filter[i] = 3;
      d.stride[i] = d.dilation[i] = d.pad_lo[i] = d.pad_hi[i] = 1;
    }
    const int64_t data[] = {32 * 256, 256, 16, 1};
    const int64_t filter[] = {0, 288, 9, 3, 1};
    std::copy_n(data, 4, d.input_strides);
    std::copy_n(data, 4, d.output_strides);
    std::copy_n(filter, 5, d.filter_strides);
    Elements input(REMAT_F32, 4 * 32 * 256), weights(REMAT_F32, 32 * 288);
    Elements output(REMAT_F32, 4 * 32 * 256);
    Elements &a = kind == REMAT_CONV_INPUT_GRADIENT ? output : input;
    Elements &b = kind == REMAT_CONV_FILTER_GRADIENT ? output : weights;
    Elements c = kind == REMAT_CONV_FORWARD          ? output
                 : kind == REMAT_CONV_INPUT_GRADIENT ? input
                                                     : weights;
    Elements initial = c;
    Step step(makeCall(REMAT_ENTRY_CONVOLUTION, a, b, c, nullptr, &d, 2), {},
              {2, 0, nullptr, 0});
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_LT(largestAllocation(step,
                                {a.tensor(), b.tensor(), initial.tensor()},
                                {c.tensor()}),
              8192u);
  }
}

/// Leaves the process so much more address space, until the end of the scope.
class SpaceLimit {
public:
  explicit SpaceLimit(size_t more) {
    getrlimit(RLIMIT_AS, &before);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before;
    now.rlim_cur = pages * sysconf(_SC_PAGESIZE) + more;
    setrlimit(RLIMIT_AS, &now);
  }
  ~SpaceLimit() { setrlimit(RLIMIT_AS, &before); }

private:
  rlimit before;
};

// libgomp would end the process.
TEST(Allocation, ThreadsThatTheSystemDoesNotGive) {
  StepTableBuilder builder;
  remat_step_options options = {};
  options.threads = 200;
  {
    SpaceLimit limit(size_t(16) << 20);
    Step step(builder, {}, options);
    EXPECT_EQ(step.loaded, REMAT_OUT_OF_MEMORY);
    EXPECT_EQ(step.message, "cannot start 200 threads; ask for fewer by the "
                            "option 'threads'");
  }
  options.threads = 2;
  EXPECT_EQ(Step(builder, {}, options).loaded, REMAT_OK);
}

} // namespace

#endif // REMAT_SANITIZED
