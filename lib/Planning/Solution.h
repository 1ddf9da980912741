//===- Solution.h - from a plan to a verified solution ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all algorithms share: the way a plan becomes a `Solution`, and how much
// work a search has done.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SOLUTION_H
#define REMAT_LIB_PLANNING_SOLUTION_H

#include "Graph.h"
#include "SearchTuning.h"
#include "remat/Planning/Algorithms.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace remat::planning {

/// Measures wall-clock time.
class Stopwatch {
public:
  double seconds() const {
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Tells a search when to stop. Without a time limit that is after a number of
/// elementary steps, so that the same input gives the same plan on every
/// machine and under any load.
class WorkMeter {
public:
  /// Both outlive the meter.
  WorkMeter(const SolverOptions &options, const Stopwatch &watch)
      : WorkMeter(options, watch, options.effort) {}
  /// With another effort than that of the options.
  WorkMeter(const SolverOptions &options, const Stopwatch &watch, double effort)
      : options(options), watch(watch), limit(toSteps(effort)),
        overdraft(toSteps(options.overdraft)),
        mostBeyond(std::max(overdraft, toSteps(1))) {}

  void add(uint64_t steps) { done += steps; }
  /// Steps that the effort is not measured by. They count once it is exhausted:
  /// there are at most so many as the overdraft has, or as one unit of effort.
  void addBeyondEffort(uint64_t steps) {
    if (done >= limit)
      beyond += steps;
  }
  /// Whether a search that has a plan should stop.
  bool exhausted() {
    return interrupted() || (!options.timeLimitSeconds && done >= limit);
  }
  /// Whether even a search that has to come up with something should stop.
  bool overdrawn() {
    return interrupted() || counted() >= cap ||
           (!options.timeLimitSeconds &&
            (done >= limit + overdraft || beyond >= mostBeyond));
  }
  /// Lets a part of a search that has to come up with nothing stop after so
  /// many steps of both kinds from now on; without a number, it may go on.
  void setCap(std::optional<uint64_t> steps) {
    cap = steps ? counted() + *steps : std::numeric_limits<uint64_t>::max();
  }
  /// The same for the larger of a share of the effort and one of the overdraft.
  /// A time limit sets none.
  void setCap(double effortShare, double overdraftShare) {
    if (!options.timeLimitSeconds)
      setCap(uint64_t(std::max(effortShare * double(limit),
                               overdraftShare * double(overdraft))));
  }
  /// Whether this share of the work, or of the time, is done.
  bool spent(double share) const {
    return options.timeLimitSeconds
               ? watch.seconds() > share * *options.timeLimitSeconds
               : double(done) >= share * double(limit);
  }
  /// The share of the work, or of the time, that is done.
  double getSpent() const {
    return options.timeLimitSeconds
               ? watch.seconds() / *options.timeLimitSeconds
               : double(done) / double(limit);
  }
  /// Counts from here on, as if nothing had been done.
  void restart() { done = beyond = 0; }
  /// Whether the clock or the caller said stop.
  bool wasCutShort() const { return cutShort; }
  uint64_t steps() const { return done; }
  uint64_t stepsBeyond() const { return beyond; }
  /// Steps of both kinds.
  uint64_t counted() const { return done + beyond; }

private:
  static uint64_t toSteps(double effort) {
    return uint64_t(std::clamp(effort, 0.0, 1e6) * WorkTuning::stepsPerSecond);
  }
  bool interrupted() {
    if (options.isInterrupted())
      cutShort = true;
    if (options.timeLimitSeconds && watch.seconds() > *options.timeLimitSeconds)
      cutShort = true;
    return cutShort;
  }

  const SolverOptions &options;
  const Stopwatch &watch;
  uint64_t limit, overdraft, mostBeyond;
  uint64_t done = 0, beyond = 0;
  uint64_t cap = std::numeric_limits<uint64_t>::max();
  bool cutShort = false;
};

/// Simulates and verifies `plan`. A plan above the device budget is an
/// InfeasibleBudgetError with the plan's peak. Any other violation is a mistake
/// of the algorithm, and an error that names the algorithm and the violation.
llvm::Expected<Solution> makeSolution(const Graph &graph, Plan plan,
                                      llvm::StringRef solver,
                                      const Stopwatch &watch);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SOLUTION_H
