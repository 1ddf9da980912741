//===- Benchmark.h - how long a step takes ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_BENCHMARK_H
#define REMAT_TOOLS_REMAT_RUN_BENCHMARK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace remat::run {

/// What is known of the time of a step.
struct Benchmark {
  /// Steps before those that are measured.
  static constexpr int warmupSteps = 3;

  size_t steps = 0;
  /// Seconds. Of few steps, the percentiles are the nearest ones.
  double median = 0, p10 = 0, p90 = 0;
  /// The cores that other processes used meanwhile; unset if the system does
  /// not say.
  std::optional<double> otherCores;

  /// Whether other processes were in the way.
  bool wasDisturbed() const;
  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJson() const;
};

/// Takes the percentiles; leaves the rest unset.
Benchmark summarizeTimes(llvm::ArrayRef<double> seconds);

/// Sees how busy the machine is beside this process.
class MachineWatch {
public:
  /// Begins to watch.
  MachineWatch();
  std::optional<double> getOtherCores() const;

private:
  struct Usage {
    double wall = 0, own = 0;
    /// Of all processes.
    std::optional<double> all;
  };
  static Usage look();

  Usage begin;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_BENCHMARK_H
