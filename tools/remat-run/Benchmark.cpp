//===- Benchmark.cpp - how long a step takes ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmark.h"

#include "StepRunner.h"

#include "common/Driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <cmath>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using tools::now;

/// Less than this is a system's own housekeeping.
static constexpr double quietCores = 0.25;

/// Seconds in which a system that counts in ticks of 10 ms has counted enough.
static constexpr double shortestWatch = 0.1;

Benchmark run::summarizeTimes(ArrayRef<double> seconds) {
  std::vector<double> sorted = seconds.vec();
  llvm::sort(sorted);
  auto percentile = [&](double share) {
    auto rank = size_t(std::ceil(share * double(sorted.size())));
    return sorted[std::max<size_t>(rank, 1) - 1];
  };
  Benchmark benchmark;
  benchmark.steps = sorted.size();
  size_t middle = sorted.size() / 2;
  benchmark.median = sorted.size() % 2
                         ? sorted[middle]
                         : (sorted[middle - 1] + sorted[middle]) / 2;
  benchmark.p10 = percentile(0.1);
  benchmark.p90 = percentile(0.9);
  return benchmark;
}

bool Benchmark::wasDisturbed() const {
  return otherCores && *otherCores > quietCores;
}

void Benchmark::print(raw_ostream &os) const {
  os << "step of " << format("%.3f", median * 1e3) << " ms (median; p10 "
     << format("%.3f", p10 * 1e3) << ", p90 " << format("%.3f", p90 * 1e3)
     << "), " << steps << " steps after " << warmupSteps << '\n';
}

json::Object Benchmark::toJson() const {
  return json::Object{{"warmup_steps", warmupSteps},
                      {"steps", int64_t(steps)},
                      {"median_seconds", median},
                      {"p10_seconds", p10},
                      {"p90_seconds", p90},
                      {"other_cores", otherCores ? json::Value(*otherCores)
                                                 : json::Value(nullptr)}};
}

MachineWatch::MachineWatch() : begin(look()) {}

MachineWatch::Usage MachineWatch::look() {
  Usage usage;
  usage.wall = now();
  usage.own = cpuNow();
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileAsStream("/proc/stat");
  if (!file)
    return usage;
  // cpu user nice system idle iowait irq softirq steal ..., in ticks.
  SmallVector<StringRef> words;
  SplitString((*file)->getBuffer().split('\n').first, words);
  if (words.size() < 9 || words.front() != "cpu")
    return usage;
  uint64_t ticks = 0;
  for (size_t number : {1, 2, 3, 6, 7, 8}) {
    uint64_t count = 0;
    if (words[number].getAsInteger(10, count))
      return usage;
    ticks += count;
  }
  usage.all = double(ticks) / double(sysconf(_SC_CLK_TCK));
  return usage;
}

std::optional<double> MachineWatch::getOtherCores() const {
  // Who was busy in less than that is not counted: then it is seen who still
  // is.
  double missing = shortestWatch - (now() - begin.wall);
  if (missing > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(missing));
  Usage end = look();
  double wall = end.wall - begin.wall;
  if (!begin.all || !end.all || wall <= 0)
    return std::nullopt;
  double others = (*end.all - *begin.all) - (end.own - begin.own);
  // A count of whole ticks says nothing of a shorter time.
  if (others < 3.0 / double(sysconf(_SC_CLK_TCK)))
    return 0;
  return others / wall;
}
