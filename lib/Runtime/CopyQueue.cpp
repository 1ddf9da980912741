//===- CopyQueue.cpp - copies beside a loop -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of a few copies: a loop has at most two under way at each of its
// stages, and a running step allocates nothing.
//
//===----------------------------------------------------------------------===//

#include "CopyQueue.h"

#include "QuietThread.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace remat;

namespace {
struct QueuedCopy {
  const char *from;
  char *to;
  uint64_t bytes;
};
} // namespace

struct CopyQueue::State {
  void serve();

  static constexpr uint64_t most = 8;
  pid_t process = getpid();
  std::mutex mutex; // for all that follows
  std::condition_variable work, end;
  bool isStopping = false;
  /// How many were passed on since the thread began, and how many have ended.
  uint64_t passed = 0, ended = 0;
  QueuedCopy ring[most];
  std::thread thread;
};

void CopyQueue::State::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    work.wait(lock, [&] { return isStopping || passed > ended; });
    if (passed == ended)
      return;
    QueuedCopy next = ring[ended % most];
    lock.unlock();
    std::memcpy(next.to, next.from, next.bytes);
    lock.lock();
    ++ended;
    end.notify_all();
  }
}

bool CopyQueue::start(std::string &message) {
  state = new State;
  return startCopies(
      state->thread, "remat-states", [this] { state->serve(); }, message);
}

CopyQueue::~CopyQueue() {
  if (!state || state->process != getpid())
    return;
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->isStopping = true;
  }
  state->work.notify_all();
  if (state->thread.joinable())
    state->thread.join();
  delete state;
}

CopyQueue::Run::Run(CopyQueue &queue)
    : queue(queue), isBeside(queue.state && queue.state->process == getpid()),
      first(isBeside ? queue.state->passed : 0) {}

CopyQueue::Run::~Run() { wait(passed); }

uint64_t CopyQueue::Run::copy(const char *from, char *to, uint64_t bytes) {
  ++passed;
  if (!isBeside) {
    std::memcpy(to, from, bytes);
    return passed;
  }
  State &state = *queue.state;
  {
    std::unique_lock<std::mutex> lock(state.mutex);
    state.end.wait(lock,
                   [&] { return state.passed - state.ended < State::most; });
    state.ring[state.passed++ % State::most] = {from, to, bytes};
  }
  state.work.notify_one();
  return passed;
}

void CopyQueue::Run::wait(uint64_t number) {
  if (!isBeside || number == 0)
    return;
  State &state = *queue.state;
  std::unique_lock<std::mutex> lock(state.mutex);
  state.end.wait(lock, [&] { return state.ended >= first + number; });
}
