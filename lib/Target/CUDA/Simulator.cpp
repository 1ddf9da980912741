//===- Simulator.cpp - blocks of GPU threads on the CPU -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The checks of longjmp forbid to jump to another stack.
#undef _FORTIFY_SOURCE

#include "Simulator.h"
#include "WarpOps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <ucontext.h>
#include <vector>

using namespace remat::cuda;

namespace {

/// The threads of one block.
class BlockRun {
public:
  BlockRun(int64_t threads, bool reverse)
      : fibers(threads), stacks(new char[threads * stackBytes]),
        words{std::vector<Words>(threads), std::vector<Words>(threads)},
        reverse(reverse) {}

  /// Runs all threads to their ends. Returns what is wrong with the code, or
  /// null.
  const char *run(SimulatedThread code, void *const *buffers,
                  remat_kernel_status *status, void *shared, int64_t block);
  /// Waits for the other threads of the block.
  void wait() { stop(AtBarrier); }
  /// Gives `words` to the other threads of the warp, and waits for theirs.
  /// Returns those of its first thread; those of the others follow.
  using Words = std::array<uint32_t, 8>;
  const Words *exchange(const Words &words);
  size_t getLane() const { return current % warpSize; }
  /// A copy that a thread has begun.
  struct Copy {
    void *target;
    const void *source;
    size_t bytes;
  };
  void begin(const Copy &copy) { fibers[current].copies.push_back(copy); }
  void groupCopies();
  void finishCopies(size_t pending);

private:
  static constexpr size_t stackBytes = 128 << 10;
  enum State { Ready, AtBarrier, AtExchange, Done };
  struct Fiber {
    std::jmp_buf place;
    bool isStarted = false;
    State state = Ready;
    unsigned exchanges = 0;
    /// Those of no group yet, and the groups that were not waited for.
    std::vector<Copy> copies;
    std::deque<std::vector<Copy>> groups;
  };
  static void start();
  void resume(size_t number);
  void stop(State state);
  bool runWarp(size_t first, size_t end);

  std::vector<Fiber> fibers;
  std::unique_ptr<char[]> stacks;
  /// A thread may give the next words while others still read the last ones.
  std::array<std::vector<Words>, 2> words;
  bool reverse;
  std::jmp_buf scheduler;
  ucontext_t home;
  size_t current = 0;
  SimulatedThread code = nullptr;
  void *const *buffers = nullptr;
  remat_kernel_status *status = nullptr;
  void *shared = nullptr;
  int64_t block = 0;
};

thread_local BlockRun *running = nullptr;

} // namespace

void BlockRun::start() {
  BlockRun &self = *running;
  self.code(self.buffers, self.status, self.shared, self.block,
            static_cast<int64_t>(self.current));
  self.fibers[self.current].state = Done;
  _longjmp(self.scheduler, 1);
}

/// Runs a thread to its next barrier or its end.
void BlockRun::resume(size_t number) {
  current = number;
  Fiber &fiber = fibers[number];
  if (_setjmp(scheduler) != 0)
    return;
  if (fiber.isStarted)
    _longjmp(fiber.place, 1);
  fiber.isStarted = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stacks.get() + number * stackBytes;
  context.uc_stack.ss_size = stackBytes;
  context.uc_link = nullptr;
  makecontext(&context, &BlockRun::start, 0);
  swapcontext(&home, &context);
}

void BlockRun::stop(State state) {
  Fiber &fiber = fibers[current];
  fiber.state = state;
  if (_setjmp(fiber.place) == 0)
    _longjmp(scheduler, 1);
}

const BlockRun::Words *BlockRun::exchange(const Words &mine) {
  std::vector<Words> &all = words[fibers[current].exchanges++ % 2];
  all[current] = mine;
  stop(AtExchange);
  return &all[current - getLane()];
}

void BlockRun::groupCopies() {
  Fiber &fiber = fibers[current];
  fiber.groups.push_back(std::move(fiber.copies));
  fiber.copies.clear();
}

void BlockRun::finishCopies(size_t pending) {
  std::deque<std::vector<Copy>> &groups = fibers[current].groups;
  for (; groups.size() > pending; groups.pop_front())
    for (const Copy &copy : groups.front()) {
      std::memset(copy.target, 0, 16);
      std::memcpy(copy.target, copy.source, copy.bytes);
    }
}

/// Runs the threads of a warp until they are at a barrier or at their ends.
/// False if some wait for words of others that will not give any.
bool BlockRun::runWarp(size_t first, size_t end) {
  for (;;) {
    size_t waiting = 0;
    for (size_t i = 0; i < end - first; ++i) {
      size_t number = reverse ? end - 1 - i : first + i;
      if (fibers[number].state == Ready)
        resume(number);
      waiting += fibers[number].state == AtExchange;
    }
    if (waiting == 0)
      return true;
    if (waiting != warpSize)
      return false;
    for (size_t number = first; number < end; ++number)
      fibers[number].state = Ready;
  }
}

const char *BlockRun::run(SimulatedThread code, void *const *buffers,
                          remat_kernel_status *status, void *shared,
                          int64_t block) {
  this->code = code;
  this->buffers = buffers;
  this->status = status;
  this->shared = shared;
  this->block = block;
  size_t count = fibers.size(), warps = (count + warpSize - 1) / warpSize;
  for (Fiber &fiber : fibers) {
    fiber.isStarted = false;
    fiber.state = Ready;
    fiber.exchanges = 0;
    fiber.copies.clear();
    fiber.groups.clear();
  }
  for (;;) {
    for (size_t i = 0; i < warps; ++i) {
      size_t first = (reverse ? warps - 1 - i : i) * warpSize;
      if (!runWarp(first, std::min<size_t>(first + warpSize, count)))
        return "an exchange is not reached by all threads of a warp";
    }
    size_t done = 0;
    for (const Fiber &fiber : fibers)
      done += fiber.state == Done;
    if (done == count)
      return nullptr;
    if (done != 0)
      return "a barrier is not reached by all threads";
    for (Fiber &fiber : fibers)
      fiber.state = Ready;
  }
}

void remat::cuda::remat_simulate_barrier() {
  // In code without fibers there is nobody to wait for.
  if (running)
    running->wait();
}

int32_t remat::cuda::remat_simulate_shuffle(int32_t value, int32_t distance) {
  const auto *words = running->exchange({static_cast<uint32_t>(value)});
  return static_cast<int32_t>(words[running->getLane() ^ distance][0]);
}

/// The four sums of the product that a thread took part in last.
static thread_local std::array<float, 4> lastSums;

static float readFactor(uint32_t word, size_t number, bool half) {
  uint16_t bits = static_cast<uint16_t>(word >> (number % 2 * 16));
  uint32_t wide;
  if (!half) {
    wide = static_cast<uint32_t>(bits) << 16;
  } else {
    // A subnormal f16 is a multiple of 2^-24.
    uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31;
    uint32_t fraction = bits & 1023;
    if (exponent == 0) {
      float value = std::ldexp(static_cast<float>(fraction), -24);
      return sign ? -value : value;
    }
    exponent = exponent == 31 ? 255 : exponent + 112;
    wide = sign | exponent << 23 | fraction << 13;
  }
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

void remat::cuda::remat_simulate_tensor_core(uint32_t a0, uint32_t a1,
                                             uint32_t a2, uint32_t a3,
                                             uint32_t b0, uint32_t b1, float c0,
                                             float c1, float c2, float c3,
                                             int32_t half) {
  size_t lane = running->getLane();
  const auto *words = running->exchange({a0, a1, a2, a3, b0, b1});
  std::array<float, 4> sums{c0, c1, c2, c3};
  for (size_t number = 0; number < 4; ++number) {
    size_t row = lane / 4 + number / 2 * 8, column = lane % 4 * 2 + number % 2;
    for (size_t k = 0; k < 16; ++k) {
      size_t place = k % 8 / 2;
      uint32_t a = words[row % 8 * 4 + place][row / 8 + k / 8 * 2];
      uint32_t b = words[column * 4 + place][4 + k / 8];
      sums[number] += readFactor(a, k, half) * readFactor(b, k, half);
    }
  }
  lastSums = sums;
}

float remat::cuda::remat_simulate_sum(int32_t number) {
  return lastSums[static_cast<size_t>(number)];
}

/// What the thread has of the matrices that it took part in loading last.
static thread_local std::array<uint32_t, 4> lastWords;

void remat::cuda::remat_simulate_matrix_load(const void *row,
                                             int32_t transposes) {
  std::array<uint32_t, 8> mine = {};
  std::memcpy(mine.data(), row, 16);
  size_t lane = running->getLane(), g = lane / 4, t = lane % 4;
  const auto *words = running->exchange(mine);
  auto getElement = [&](size_t matrix, size_t i, size_t j) {
    return words[matrix * 8 + i][j / 2] >> (j % 2 * 16) & 0xffff;
  };
  for (size_t matrix = 0; matrix < 4; ++matrix)
    lastWords[matrix] = transposes ? getElement(matrix, 2 * t, g) |
                                         getElement(matrix, 2 * t + 1, g) << 16
                                   : words[matrix * 8 + g][t];
}

int32_t remat::cuda::remat_simulate_word(int32_t number) {
  return static_cast<int32_t>(lastWords[static_cast<size_t>(number)]);
}

void remat::cuda::remat_simulate_copy(void *target, const void *source,
                                      int32_t bytes) {
  running->begin({target, source, static_cast<size_t>(bytes)});
}

void remat::cuda::remat_simulate_copy_group() { running->groupCopies(); }

void remat::cuda::remat_simulate_copy_wait(int32_t pending) {
  running->finishCopies(static_cast<size_t>(pending));
}

void remat::cuda::remat_simulate_launch(SimulatedThread code,
                                        void *const *buffers,
                                        remat_kernel_status *status,
                                        int64_t blocks, int64_t threads,
                                        int64_t sharedBytes, int32_t together,
                                        int32_t reverse) {
  std::vector<double> shared((static_cast<size_t>(sharedBytes) + 31) / 16 * 2);
  auto clear = [&] {
    std::memset(shared.data(), 0xff, shared.size() * sizeof(double));
  };
  if (!together) {
    for (int64_t block = 0; block < blocks; ++block) {
      clear();
      for (int64_t i = 0; i < threads; ++i)
        code(buffers, status, shared.data(), block,
             reverse ? threads - 1 - i : i);
    }
    return;
  }
  BlockRun fibers(threads, reverse != 0);
  BlockRun *before = running;
  running = &fibers;
  for (int64_t block = 0; block < blocks; ++block) {
    clear();
    const char *fault = fibers.run(code, buffers, status, shared.data(), block);
    if (!fault)
      continue;
    std::fprintf(stderr, "%s of block %lld\n", fault,
                 static_cast<long long>(block));
    *status = {1, -1, -1, -1, nullptr};
    break;
  }
  running = before;
}
