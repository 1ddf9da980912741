//===- SharedLimit.h - the time of several searches -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_SHAREDLIMIT_H
#define REMAT_PLANNING_SHAREDLIMIT_H

#include "remat/Planning/Algorithms.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace remat::planning {

/// The time in `seconds` from now. What lies further than the clock reaches, or
/// is negative, is the latest or the present time.
inline std::chrono::steady_clock::time_point deadlineAfter(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double mostSeconds = 1e9;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(
                                std::clamp(seconds, 0.0, mostSeconds)));
}

/// The time limit of several searches in a row, in seconds from when it is
/// made. Without one, nothing is limited.
class SharedLimit {
public:
  explicit SharedLimit(const SolverOptions &options)
      : seconds(options.timeLimitSeconds) {}

  /// Gives a search a share of the time that is left.
  SolverOptions give(SolverOptions options, double share = 1) const {
    if (seconds)
      options.timeLimitSeconds = *getSecondsLeft() * share;
    return options;
  }
  std::optional<double> getSecondsLeft() const {
    if (!seconds)
      return std::nullopt;
    std::chrono::duration<double> passed = Clock::now() - start;
    return std::max(*seconds - passed.count(), 0.0);
  }

private:
  using Clock = std::chrono::steady_clock;
  std::optional<double> seconds;
  Clock::time_point start = Clock::now();
};

} // namespace remat::planning

#endif // REMAT_PLANNING_SHAREDLIMIT_H
