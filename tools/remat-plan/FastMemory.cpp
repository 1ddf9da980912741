//===- FastMemory.cpp - problems of the MLSys 2026 contest ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMemory.h"

#include "common/Driver.h"

#include "remat/Support/InputFiles.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::planning::fastmemory;
using remat::planning::SolverOptions;
using remat::tools::makeError;

FastMemoryFlags::FastMemoryFlags(cl::OptionCategory &category)
    : tiles("tiles", cl::init(TileRule::Native), cl::cat(category),
            cl::desc("Which tiles a problem of a fast memory allows"),
            cl::values(
                clEnumValN(TileRule::Native, "native",
                           "up to the native granularity (default)"),
                clEnumValN(TileRule::AnyDepth, "any-depth", "any depth, too"),
                clEnumValN(TileRule::Passes, "passes",
                           "larger ones, too, which take a pass for each "
                           "native tile"),
                clEnumValN(TileRule::OnePass, "one-pass",
                           "larger ones, too, which cost what a native tile "
                           "does"))),
      costPerNativeDepth(
          "cost-per-native-depth", cl::cat(category),
          cl::desc("The costs of products in a problem of a fast memory are "
                   "those of the native depth, not of all of a reduction")),
      scheduleFile("check-schedule", cl::cat(category), cl::value_desc("file"),
                   cl::desc("Check and measure this schedule of a problem of a "
                            "fast memory; search for none")) {}

Error FastMemoryFlags::refuse(StringRef why) const {
  for (const cl::Option *option :
       {static_cast<const cl::Option *>(&tiles),
        static_cast<const cl::Option *>(&costPerNativeDepth),
        static_cast<const cl::Option *>(&scheduleFile)})
    if (option->getNumOccurrences() > 0)
      return makeError("'--" + option->ArgStr + "' has no effect: " + why);
  return Error::success();
}

/// Reads a schedule, and checks it and the latencies that it says.
static Expected<Schedule> readSchedule(StringRef path, const Problem &problem,
                                       const Rules &rules) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readTextFileOrInput(path);
  if (!file)
    return file.takeError();
  Expected<Schedule> schedule = parseSchedule((*file)->getBuffer());
  if (!schedule)
    return createFileError(path, schedule.takeError());
  Schedule measured = *schedule;
  if (Error error = evaluate(problem, rules, measured))
    return createFileError(path, std::move(error));
  for (auto [i, groups] : enumerate(zip(schedule->groups, measured.groups))) {
    auto [said, is] = groups;
    // Rounded to a tenth, as the contest's examples are.
    if (std::abs(said.latency - is.latency) > 0.05 + 1e-9 * is.latency)
      return createFileError(
          path, makeError(formatv("group {0}: 'subgraph_latencies' says {1:f2},"
                                  " and it takes {2:f2}",
                                  i, said.latency, is.latency)));
  }
  return measured;
}

Expected<Found> FastMemoryFlags::run(const Problem &problem,
                                     const SolverOptions &options) const {
  Rules rules;
  rules.tiles = tiles;
  rules.costIsPerNativeDepth = costPerNativeDepth;
  if (scheduleFile.getNumOccurrences() == 0)
    return findSchedule(problem, rules, options);
  Found found;
  if (Error error =
          readSchedule(scheduleFile, problem, rules).moveInto(found.schedule))
    return std::move(error);
  found.lowerBound = computeLowerBound(problem, rules);
  return found;
}

static double getGap(const Found &found) {
  double latency = found.schedule.getLatency();
  // Rounding may put a latency that is the bound below it.
  return latency > 0 ? std::max(latency - found.lowerBound, 0.0) / latency : 0;
}

void plan::print(const Found &found, raw_ostream &os) {
  os << formatv("latency {0:f2} in {1} groups (bound {2:f2}, gap {3:f2}%)",
                found.schedule.getLatency(), found.schedule.groups.size(),
                found.lowerBound, 100 * getGap(found));
  if (found.seconds > 0)
    os << formatv("; {0:f2} s, the best after {1:f2} s{2}", found.seconds,
                  found.secondsToBest, found.isCutShort ? ", cut short" : "");
  os << '\n';
}

json::Value plan::toJson(const Found &found) {
  return json::Object{
      {"latency", found.schedule.getLatency()},
      {"lower_bound", found.lowerBound},
      {"gap", getGap(found)},
      {"groups", static_cast<int64_t>(found.schedule.groups.size())},
      {"seconds", found.seconds},
      {"time_to_best", found.secondsToBest},
      {"cut_short", found.isCutShort}};
}
