//===- PlanWatch.h - a search that the user watches -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_PLANWATCH_H
#define REMAT_TOOLS_COMMON_PLANWATCH_H

#include "common/ProgressLine.h"

#include "remat/Planning/Algorithms.h"

#include <chrono>
#include <mutex>

namespace remat::tools {

/// As long as it lives, Ctrl-C ends the search and leaves it with its best plan
/// so far; a second one ends the tool. Says once a second how far the search
/// is, on standard error. Only one at a time.
class PlanWatch {
public:
  /// Without `shows`, nothing is said of the progress. `afterwards` is what the
  /// tool does with the plan after Ctrl-C, for a note; empty for none. Costs of
  /// models are in nanoseconds, those of instances in no unit that is known.
  /// `further` plans, behind that of the step, are called so. A Ctrl-C that has
  /// ended the search before ends theirs, too.
  PlanWatch(llvm::StringRef tool, bool shows, llvm::StringRef afterwards = "",
            llvm::StringRef costUnit = "ns", llvm::StringRef further = "");
  ~PlanWatch();
  PlanWatch(const PlanWatch &) = delete;

  /// Lets searches with these options tell the watch and be ended by it. They
  /// may run in several threads.
  void attach(planning::SolverOptions &options);

  static bool isInterrupted();
  double getSeconds() const { return line.getSeconds(); }
  /// When the first plan was there.
  std::optional<double> getFirstPlanSeconds() const { return firstPlanSeconds; }

private:
  void onProgress(const planning::Progress &progress);
  ProgressState describe();

  std::string tool, afterwards, costUnit, further;
  /// Whether there was nothing left to search for.
  bool isOver;
  std::optional<double> firstPlanSeconds;

  /// Guards what is below, which the thread that prints reads.
  std::mutex mutex;
  bool isNews = false;
  std::string planner;
  planning::Progress latest;
  /// The last member: its thread ends before what it reads.
  ProgressLine line;
};

/// The time limit of a command that plans several times, one after the other.
/// What one plan leaves of its part is for those that follow.
class PlanTime {
public:
  PlanTime() = default;
  /// All that is planned takes `parts` parts of the limit, if there is one.
  PlanTime(std::optional<double> seconds, unsigned parts)
      : left(seconds), partsLeft(parts) {}

  /// The time in which something is planned.
  class Turn {
  public:
    /// Limits `options` to so many parts of the time.
    Turn(PlanTime &time, planning::SolverOptions &options, unsigned parts = 1);
    ~Turn();
    Turn(const Turn &) = delete;

  private:
    PlanTime &time;
    unsigned parts;
    std::chrono::steady_clock::time_point start =
        std::chrono::steady_clock::now();
  };

private:
  std::optional<double> left;
  unsigned partsLeft = 1;
};

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_PLANWATCH_H
