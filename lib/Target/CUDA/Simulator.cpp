//===- Simulator.cpp - blocks of GPU threads on the CPU -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The checks of longjmp forbid to jump to another stack.
#undef _FORTIFY_SOURCE

#include "Simulator.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

using namespace remat::cuda;

namespace {

/// The threads of one block.
class Block {
public:
  Block(int64_t threads, bool reverse)
      : fibers(threads), stacks(new char[threads * stackBytes]),
        reverse(reverse) {}

  /// Runs all threads to their ends. False if some end where others wait.
  bool run(SimulatedThread code, void *const *buffers,
           remat_kernel_status *status, void *shared, int64_t block);
  void wait();

private:
  static constexpr size_t stackBytes = 128 << 10;
  struct Fiber {
    std::jmp_buf place;
    bool isStarted = false, isDone = false;
  };
  static void start();
  void resume(size_t number);

  std::vector<Fiber> fibers;
  std::unique_ptr<char[]> stacks;
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

thread_local Block *running = nullptr;

} // namespace

void Block::start() {
  Block &self = *running;
  self.code(self.buffers, self.status, self.shared, self.block,
            static_cast<int64_t>(self.current));
  self.fibers[self.current].isDone = true;
  _longjmp(self.scheduler, 1);
}

/// Runs a thread to its next barrier or its end.
void Block::resume(size_t number) {
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
  makecontext(&context, &Block::start, 0);
  swapcontext(&home, &context);
}

void Block::wait() {
  if (_setjmp(fibers[current].place) == 0)
    _longjmp(scheduler, 1);
}

bool Block::run(SimulatedThread code, void *const *buffers,
                remat_kernel_status *status, void *shared, int64_t block) {
  this->code = code;
  this->buffers = buffers;
  this->status = status;
  this->shared = shared;
  this->block = block;
  size_t count = fibers.size();
  for (Fiber &fiber : fibers)
    fiber.isStarted = fiber.isDone = false;
  for (;;) {
    size_t done = 0;
    for (size_t i = 0; i < count; ++i) {
      size_t number = reverse ? count - 1 - i : i;
      resume(number);
      done += fibers[number].isDone;
    }
    if (done == count)
      return true;
    if (done != 0)
      return false;
  }
}

void remat::cuda::remat_simulate_barrier() {
  // In code without fibers there is nobody to wait for.
  if (running)
    running->wait();
}

void remat::cuda::remat_simulate_launch(SimulatedThread code,
                                        void *const *buffers,
                                        remat_kernel_status *status,
                                        int64_t blocks, int64_t threads,
                                        int64_t shared_bytes, int32_t barriers,
                                        int32_t reverse) {
  std::vector<double> shared((static_cast<size_t>(shared_bytes) + 31) / 16 * 2);
  auto clear = [&] {
    std::memset(shared.data(), 0xff, shared.size() * sizeof(double));
  };
  if (!barriers) {
    for (int64_t block = 0; block < blocks; ++block) {
      clear();
      for (int64_t i = 0; i < threads; ++i)
        code(buffers, status, shared.data(), block,
             reverse ? threads - 1 - i : i);
    }
    return;
  }
  Block fibers(threads, reverse != 0);
  Block *before = running;
  running = &fibers;
  for (int64_t block = 0; block < blocks; ++block) {
    clear();
    if (fibers.run(code, buffers, status, shared.data(), block))
      continue;
    std::fprintf(stderr,
                 "a barrier is not reached by all threads of block %lld\n",
                 static_cast<long long>(block));
    *status = {1, -1, -1, -1};
    break;
  }
  running = before;
}
