//===- Threads.h - the one pool of threads ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and oneDNN share one OpenMP pool, libgomp's: two pools in a process
// compete for the cores and halve the speed of both.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_THREADS_H
#define REMAT_LIB_RUNTIME_THREADS_H

#include <cstdint>

namespace remat {

/// Threads that a step has by default, at least 1: the cores that this process
/// may use, but no more than OpenMP would give this thread, so that
/// OMP_NUM_THREADS and omp_set_num_threads say what they say elsewhere.
int availableThreads();

/// As many as OpenMP would ever give: of more, some would never run.
int atMostThreads(int threads);

/// Whether the system lets this process have so many threads at once: libgomp
/// ends the process if it does not.
bool canStartThreads(int threads);

/// Whether a call from here gets more than one thread. It does not inside of a
/// parallel region of the caller's. oneDNN's gradients of filters then wait for
/// the others without end.
bool mayHaveThreads();

/// Threads that are worth waking for so many multiplications and additions, at
/// most `threads`. Waking one costs microseconds on an idle machine, and the
/// turn of a whole time slice on a busy one.
inline int usefulThreads(int threads, double work) {
  constexpr double workPerThread = 1 << 20;
  double useful = work / workPerThread;
  return useful >= threads ? threads : useful <= 1 ? 1 : int(useful);
}

/// Whether to run on one thread, because other processes use the cores
/// (CoreWatch.h). It is looked up from time to time.
bool coresAreBusy();

/// Sets the size of the pool for the calls made in this scope from this thread,
/// which OpenMP is not to change, and gives the caller's settings back at its
/// end.
class ThreadScope {
public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope &) = delete;
  ThreadScope &operator=(const ThreadScope &) = delete;

private:
  int previous, wasDynamic;
};

/// Runs body(context, part, parts) for each part on its own thread; there may
/// be fewer parts than `threads`, when this is already inside of the pool, or
/// one where other processes use the cores (CoreWatch.h).
using ParallelBody = void (*)(void *context, int part, int parts);
void parallel(int threads, ParallelBody body, void *context);

/// Splits [0, extent) into contiguous ranges of at least `grain` (but for the
/// last ones) and runs function(begin, end, part) on each.
template <typename Function>
void parallelFor(int threads, int64_t extent, int64_t grain,
                 const Function &function) {
  if (extent <= 0)
    return;
  int64_t most = extent / (grain < 1 ? 1 : grain);
  int parts = most < 1 ? 1 : most < threads ? static_cast<int>(most) : threads;
  struct Context {
    const Function &function;
    int64_t extent;
  } context{function, extent};
  parallel(
      parts,
      [](void *data, int part, int parts) {
        auto &context = *static_cast<Context *>(data);
        // extent / parts first: extent * part could overflow.
        int64_t each = context.extent / parts, rest = context.extent % parts;
        int64_t begin = each * part + (part < rest ? part : rest);
        int64_t end = begin + each + (part < rest ? 1 : 0);
        if (begin < end)
          context.function(begin, end, part);
      },
      &context);
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_THREADS_H
