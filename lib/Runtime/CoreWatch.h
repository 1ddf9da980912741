//===- CoreWatch.h - whether other processes use the cores ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that work together wait for the slowest. Where other processes want
// the same cores, that one is waiting for its turn, and the others burn their
// turns in waiting for it: two threads are then several times slower than one.
// The kernel counts how often it takes a core from a thread that had more to
// do. On a machine that is otherwise idle this hardly happens.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_COREWATCH_H
#define REMAT_LIB_RUNTIME_COREWATCH_H

#include <algorithm>
#include <cstdint>

namespace remat {

/// What a process has used so far.
struct CoreUsage {
  /// Nanoseconds of all its threads, and how often one lost its core.
  int64_t cpu = 0, switches = 0;
};

/// Decides, from what is looked up now and then, whether to run on one thread.
class CoreWatch {
public:
  /// When to look next, in nanoseconds.
  int64_t nextLook() const { return next; }
  bool isBusy() const { return busy; }

  void look(int64_t now, const CoreUsage &usage) {
    int64_t cpu = usage.cpu - last.cpu;
    int64_t switches = usage.switches - last.switches;
    last = usage;
    next = now + interval;
    if (busy) {
      // One thread was alone for a while. Threads try it together again.
      busy = false;
      freed = now;
      return;
    }
    if (switches < minSwitches || switches * cpuPerSwitch < cpu) {
      if (now - freed > calm)
        pause = firstPause;
      return;
    }
    // The longer this goes on, the more seldom it is tried.
    busy = true;
    next = now + pause;
    pause = std::min(2 * pause, lastPause);
  }

private:
  static constexpr int64_t millisecond = 1000000;
  /// Between two looks while all threads run.
  static constexpr int64_t interval = 20 * millisecond;
  /// A core was taken at least so often, and once in so much work: a turn on a
  /// busy core is some milliseconds long.
  static constexpr int64_t minSwitches = 2, cpuPerSwitch = 15 * millisecond;
  static constexpr int64_t firstPause = 80 * millisecond;
  static constexpr int64_t lastPause = 640 * millisecond;
  static constexpr int64_t calm = 1000 * millisecond;

  CoreUsage last;
  int64_t next = 0, freed = 0, pause = firstPause;
  bool busy = false;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_COREWATCH_H
