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

PlanWatch::PlanWatch(StringRef tool, bool shows, StringRef afterwards)
    : tool(tool), afterwards(afterwards) {
  interrupted = false;
  setInterruptFunction([] { interrupted = true; });
  if (shows)
    printer = std::thread([this] { printEachSecond(); });
}

PlanWatch::~PlanWatch() {
  // From here on there is nothing to cut short.
  setInterruptFunction(nullptr);
  if (printer.joinable()) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isEnded = true;
    }
    ended.notify_all();
    printer.join();
    if (isNews)
      printLine();
  }
  if (interrupted && !afterwards.empty())
    errs() << (tool + ": interrupted, " + afterwards + "\n");
}

bool PlanWatch::isInterrupted() { return interrupted; }

double PlanWatch::getSeconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void PlanWatch::attach(planning::SolverOptions &options) {
  options.interrupt = &interrupted;
  options.onProgress = [this](const planning::Progress &progress) {
    onProgress(progress);
  };
}

void PlanWatch::onProgress(const planning::Progress &progress) {
  if (!firstPlanSeconds)
    firstPlanSeconds = getSeconds();
  std::lock_guard<std::mutex> lock(mutex);
  latest = progress;
  planner = progress.solver.str();
  isNews = true;
}

void PlanWatch::printEachSecond() {
  std::unique_lock<std::mutex> lock(mutex);
  auto next = start;
  while (true) {
    next += std::chrono::seconds(1);
    if (ended.wait_until(lock, next, [this] { return isEnded; }))
      return;
    printLine();
  }
}

/// The mutex is held, or the thread that prints has ended.
void PlanWatch::printLine() {
  isNews = false;
  std::string line = formatv("{0}: {1:f1} s: ", tool, getSeconds());
  raw_string_ostream os(line);
  if (planner.empty()) {
    os << "no plan yet\n";
  } else {
    auto percent = [&](int64_t time) {
      return latest.baseCost > 0 ? 100.0 * double(time - latest.baseCost) /
                                       double(latest.baseCost)
                                 : 0.0;
    };
    double gap = latest.time > 0
                     ? 100.0 * double(latest.time - latest.lowerBound) /
                           double(latest.time)
                     : 0.0;
    os << formatv("{0}: time {1} (+{2:f3}%), bound {3} (+{4:f3}%), gap "
                  "{5:f3}%, peak {6} bytes\n",
                  planner, latest.time, percent(latest.time), latest.lowerBound,
                  percent(latest.lowerBound), gap, latest.peakBytes);
  }
  // In one piece.
  errs() << line;
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
