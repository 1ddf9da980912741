//===- Threads.cpp - the one pool of threads ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// clang emits calls of LLVM's OpenMP runtime, while oneDNN is built on libgomp.
// To share libgomp's pool whatever compiler builds remat, this file enters it
// through its stable ABI: what gcc emits for "#pragma omp parallel".
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include "CoreWatch.h"
#include "FloatScope.h"
#include "QuietThread.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_get_dynamic(void);
void omp_set_dynamic(int isDynamic);
int omp_get_thread_limit(void);
int omp_get_max_active_levels(void);
int omp_in_parallel(void);
// Since OpenMP 5.0.
int omp_pause_resource_all(int kind) __attribute__((weak));
}

using namespace remat;

static int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}

int remat::availableThreads() {
  return atMostThreads(std::min(availableCores(), omp_get_max_threads()));
}

int remat::atMostThreads(int threads) {
  if (omp_get_max_active_levels() <= 0)
    return 1;
  return std::max(std::min(threads, omp_get_thread_limit()), 1);
}

bool remat::canStartThreads(int threads) {
  static std::atomic<int> known{1};
  if (threads <= known.load(std::memory_order_relaxed))
    return true;
  std::mutex ends; // They live until it is unlocked.
  std::vector<pthread_t> started;
  started.reserve(threads);
  ends.lock();
  auto waitForEnd = [](void *mutex) -> void * {
    std::lock_guard<std::mutex> lock(*static_cast<std::mutex *>(mutex));
    return nullptr;
  };
  bool canStart = true;
  {
    SignalsBlocked blocked;
    for (int i = 1; i < threads && canStart; ++i) {
      pthread_t thread;
      canStart = pthread_create(&thread, nullptr, waitForEnd, &ends) == 0;
      if (canStart)
        started.push_back(thread);
    }
  }
  ends.unlock();
  for (pthread_t thread : started)
    pthread_join(thread, nullptr);
  if (canStart)
    known.store(threads, std::memory_order_relaxed);
  return canStart;
}

bool remat::mayHaveThreads() {
  return !omp_in_parallel() && omp_get_max_active_levels() > 0;
}

static int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

bool remat::coresAreBusy() {
  static CoreWatch watch;
  static std::atomic<int64_t> next{0};
  static std::atomic<bool> busy{false};
  static std::atomic_flag isLooking = ATOMIC_FLAG_INIT;
  int64_t now = nanoseconds(CLOCK_MONOTONIC);
  if (now < next.load(std::memory_order_relaxed) ||
      isLooking.test_and_set(std::memory_order_acquire))
    return busy.load(std::memory_order_relaxed);
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    watch.look(now, {nanoseconds(CLOCK_PROCESS_CPUTIME_ID), usage.ru_nivcsw});
    busy.store(watch.isBusy(), std::memory_order_relaxed);
    next.store(watch.nextLook(), std::memory_order_relaxed);
  }
  isLooking.clear(std::memory_order_release);
  return busy.load(std::memory_order_relaxed);
}

/// Threads do not survive a fork, but what libgomp knows of them does: parallel
/// work in the child would wait for them without end. So they are ended before,
/// and parent and child make new ones when they need them. libgomp refuses this
/// inside of parallel work, where a program had better not fork.
static void endThreadsBeforeForks() {
  static bool isDone = [] {
    constexpr int hard = 2; // omp_pause_hard
    if (omp_pause_resource_all)
      pthread_atfork([] { omp_pause_resource_all(hard); }, nullptr, nullptr);
    return true;
  }();
  (void)isDone;
}

ThreadScope::ThreadScope(int threads)
    : previous(omp_get_max_threads()), wasDynamic(omp_get_dynamic()) {
  if (threads > 1)
    endThreadsBeforeForks();
  omp_set_num_threads(threads);
  omp_set_dynamic(0);
}

ThreadScope::~ThreadScope() {
  omp_set_num_threads(previous);
  omp_set_dynamic(wasDynamic);
}

void remat::parallel(int threads, ParallelBody body, void *context) {
  // No bit of a result depends on the number of threads.
  if (threads <= 1 || coresAreBusy()) {
    body(context, 0, 1);
    return;
  }
  endThreadsBeforeForks();
  struct Call {
    ParallelBody body;
    void *context;
  } call{body, context};
  GOMP_parallel(
      [](void *data) {
        auto &call = *static_cast<Call *>(data);
        FloatScope scope;
        call.body(call.context, omp_get_thread_num(), omp_get_num_threads());
      },
      &call, static_cast<unsigned>(threads), 0);
}
