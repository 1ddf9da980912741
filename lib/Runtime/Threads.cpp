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

#include <sched.h>
#include <thread>

extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

using namespace remat;

int remat::availableThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}

ThreadScope::ThreadScope(int threads) : previous(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() { omp_set_num_threads(previous); }

void remat::parallel(int threads, ParallelBody body, void *context) {
  if (threads <= 1) {
    body(context, 0, 1);
    return;
  }
  struct Call {
    ParallelBody body;
    void *context;
  } call{body, context};
  GOMP_parallel(
      [](void *data) {
        auto &call = *static_cast<Call *>(data);
        call.body(call.context, omp_get_thread_num(), omp_get_num_threads());
      },
      &call, static_cast<unsigned>(threads), 0);
}
