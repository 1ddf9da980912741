//===- PlanWatch.cpp - a search that the user watches ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/PlanWatch.h"

#include "common/Interrupts.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

/// Set by Ctrl-C.
static std::atomic<bool> interrupted = false;

PlanWatch::PlanWatch(StringRef tool, bool shows, StringRef afterwards,
                     StringRef costUnit, StringRef further)
    : tool(tool), afterwards(afterwards),
      costUnit(costUnit.empty() ? "" : " " + costUnit.str()),
      further(further.empty() ? "" : further.str() + ": "),
      isOver(!further.empty() && interrupted),
      line(tool, shows, [this] { return describe(); }) {
  interrupted = isOver;
  setInterruptFunction([] { interrupted = true; });
}

PlanWatch::~PlanWatch() {
  // From here on there is nothing to cut short.
  setInterruptFunction(nullptr);
  bool isNewer;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isNewer = isNews;
  }
  if (isNewer)
    line.finish();
  else
    line.clear();
  // If there is no plan, that is an error, which says so.
  if (interrupted && !afterwards.empty() && (isOver || !planner.empty()))
    errs() << (tool + ": interrupted, " + afterwards + "\n");
}

bool PlanWatch::isInterrupted() { return interrupted; }

void PlanWatch::attach(planning::SolverOptions &options) {
  options.interrupt = &interrupted;
  options.onProgress = [this](const planning::Progress &progress) {
    onProgress(progress);
  };
}

void PlanWatch::onProgress(const planning::Progress &progress) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!firstPlanSeconds)
    firstPlanSeconds = getSeconds();
  latest = progress;
  planner = progress.solver.str();
  isNews = true;
}

ProgressState PlanWatch::describe() {
  std::lock_guard<std::mutex> lock(mutex);
  isNews = false;
  if (planner.empty())
    return {further + "no plan yet", std::nullopt};
  auto percent = [&](int64_t time) {
    return latest.baseCost > 0 ? 100.0 * double(time - latest.baseCost) /
                                     double(latest.baseCost)
                               : 0.0;
  };
  double gap = latest.time > 0 ? double(latest.time - latest.lowerBound) /
                                     double(latest.time)
                               : 0.0;
  std::string text = formatv(
      "{0}: time {1}{7} (+{2:f3}%), bound {3}{7} (+{4:f3}%), gap "
      "{5:f3}%, peak {6} bytes",
      planner, latest.time, percent(latest.time), latest.lowerBound,
      percent(latest.lowerBound), 100 * gap, latest.peakBytes, costUnit);
  return {further + text, 1 - gap};
}

PlanTime::Turn::Turn(PlanTime &time, planning::SolverOptions &options,
                     unsigned parts)
    : time(time), parts(std::min(parts, time.partsLeft)) {
  // More may turn out to be planned than was known.
  double share =
      time.partsLeft == 0 ? 1 : double(this->parts) / double(time.partsLeft);
  if (time.left)
    options.timeLimitSeconds = *time.left * share;
}

PlanTime::Turn::~Turn() {
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  if (time.left)
    time.left = std::max(*time.left - passed.count(), 0.0);
  time.partsLeft -= parts;
}
