//===- IterationTimes.h - what entries of a loop take -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A clock that is read before and after each entry takes longer than many an
// entry of an iteration does. So only some iterations are timed if iterations
// are short: as many as a small part of the time of all pays for. The others
// count as those that were timed before them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_ITERATIONTIMES_H
#define REMAT_LIB_RUNTIME_ITERATIONTIMES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace remat {

/// Times of the entries of a body, in nanoseconds, iteration by iteration.
class IterationTimes {
public:
  IterationTimes() = default;
  /// Reading the clock once takes `clockCost` nanoseconds.
  IterationTimes(size_t entries, int64_t clockCost)
      : times(entries), earlier(entries), typical(entries),
        clockCost(clockCost) {}

  size_t size() const { return times.size(); }

  /// The next iteration is the first of a run.
  void restart() { left = pause = timed = 0; }

  /// Begins an iteration.
  void begin() {
    isOn = left == 0;
    if (isOn)
      std::swap(times, earlier);
    else
      --left;
  }
  /// Whether the entries of this iteration are timed.
  bool isTimed() const { return isOn; }
  /// The clock has gone on by `time` from before entry `index` to behind it.
  void record(size_t index, int64_t time) {
    times[index] = std::max<int64_t>(time - clockCost, 0);
  }
  /// Ends an iteration that was timed.
  void end() {
    // An iteration that was interrupted, or the first, which fetches what the
    // others have in caches, stands for itself alone.
    for (size_t i = 0; i < times.size(); ++i)
      typical[i] = timed > 0 ? std::min(times[i], earlier[i]) : times[i];
    ++timed;
    int64_t work = std::accumulate(typical.begin(), typical.end(), int64_t(0));
    int64_t clocks = 2 * clockCost * static_cast<int64_t>(times.size());
    // It takes some iterations to know what one takes.
    pause = std::min(clocks * workPerClock / std::max<int64_t>(work, 1),
                     std::min(2 * pause + (timed > 1), longestPause));
    left = pause;
  }
  /// What entries took in the iteration that was timed last.
  const std::vector<int64_t> &getLatest() const { return times; }
  /// What they are taken to have taken in those behind it that are not timed.
  const std::vector<int64_t> &getTypical() const { return typical; }

private:
  /// Clocks may add a hundredth to what entries take.
  static constexpr int64_t workPerClock = 100;
  static constexpr int64_t longestPause = 1000;

  /// Of this iteration or the last that was timed, of the one that was timed
  /// before it, and of one that is not timed.
  std::vector<int64_t> times, earlier, typical;
  int64_t clockCost = 0;
  /// Iterations until the next that is timed, and how many there were at first.
  int64_t left = 0, pause = 0;
  int64_t timed = 0;
  bool isOn = false;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_ITERATIONTIMES_H
