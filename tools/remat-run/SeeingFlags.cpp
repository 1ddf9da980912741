//===- SeeingFlags.cpp - what to show of a run ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeeingFlags.h"

#include "common/Driver.h"

#include "remat/Pipelines/StepMeasurement.h"
#include "remat/Pipelines/StepSnapshot.h"
#include "remat/Pipelines/StepTrace.h"

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

SeeingFlags::SeeingFlags(cl::OptionCategory &category)
    : profile("profile", cl::cat(category),
              cl::desc("Print where the time of the step goes")),
      group("profile-group", cl::cat(category), cl::init(ProfileGroup::Op),
            cl::desc("With --profile, what a row is about:"),
            cl::values(
                clEnumValN(ProfileGroup::Op, "op", "a kind of work (default)"),
                clEnumValN(ProfileGroup::Kernel, "kernel", "a kernel"),
                clEnumValN(ProfileGroup::Name, "name",
                           "an entry of the schedule, equal layers "
                           "together"),
                clEnumValN(ProfileGroup::Layer, "layer",
                           "a layer, equal ones together"),
                clEnumValN(ProfileGroup::Label, "label",
                           "a name that the program gave operations"),
                clEnumValN(ProfileGroup::Phase, "phase",
                           "forward, backward, recompute, update or "
                           "transfer"))),
      sort("profile-sort", cl::cat(category), cl::init(ProfileSort::Self),
           cl::desc("With --profile, what comes first:"),
           cl::values(
               clEnumValN(ProfileSort::Self, "self",
                          "the most time, what is in a group not "
                          "counted (default)"),
               clEnumValN(ProfileSort::Total, "total", "the most time"),
               clEnumValN(ProfileSort::Calls, "calls", "the most calls"),
               clEnumValN(ProfileSort::Bytes, "bytes",
                          "the most bytes read and written"),
               clEnumValN(ProfileSort::Flops, "flops", "the most arithmetic"),
               clEnumValN(ProfileSort::Name, "name",
                          "the first in the alphabet"))),
      csv("profile-csv", cl::cat(category), cl::value_desc("file"),
          cl::desc("With --profile, write its rows, separated by commas")),
      trace("trace", cl::cat(category), cl::value_desc("file"),
            cl::desc("Write a trace of the planned and the measured step for "
                     "Perfetto or chrome://tracing")),
      snapshot("memory-snapshot", cl::cat(category), cl::value_desc("file"),
               cl::desc("Write the planned arena as a memory snapshot of "
                        "PyTorch")),
      report(category) {}

Error SeeingFlags::check(size_t budgets) const {
  for (const cl::Option *option : {static_cast<const cl::Option *>(&group),
                                   static_cast<const cl::Option *>(&sort),
                                   static_cast<const cl::Option *>(&csv)})
    if (option->getNumOccurrences() > 0 && !profile)
      return makeError("'--" + option->ArgStr +
                       "' has no effect without '--profile'");
  for (const OutputFlag &flag : getOutputFlags())
    if (!flag.path.empty() && budgets > 1)
      return makeError("'" + flag.flag +
                       "' is of one step, but '--budget' has " +
                       Twine(budgets) + " values, expected at most one");
  return Error::success();
}

Error SeeingFlags::refuse(StringRef why) const {
  for (const cl::Option *option : {static_cast<const cl::Option *>(&profile),
                                   static_cast<const cl::Option *>(&trace),
                                   static_cast<const cl::Option *>(&snapshot)})
    if (option->getNumOccurrences() > 0)
      return makeError("'--" + option->ArgStr + "' has no effect: " + why);
  return report.refuse(why);
}

Error SeeingFlags::measure(const remat_step *step, RunReport &report) const {
  Expected<StepMeasurement> measured = readMeasurement(step, report.step);
  if (!measured)
    return measured.takeError();
  if (profile)
    report.profile = makeProfile(report.step, *measured, group, sort);
  report.spans = measured->spans.vec();
  if (report.chosen) {
    // It is known now how often loops ran.
    report.chosen->report = report.step;
    report.chosen->measured = report.spans;
  }
  return Error::success();
}

Error SeeingFlags::write(const RunReport &run, ArrayRef<PlannedStep> plans,
                         OutputFiles &files) const {
  auto add = [&](StringRef path, auto print) {
    return path.empty() ? Error::success() : files.add(path, print);
  };
  if (Error error =
          add(csv, [&](raw_ostream &os) { run.profile->printCsv(os); }))
    return error;
  if (Error error = add(trace, [&](raw_ostream &os) {
        writeTrace(run.step, run.spans, os,
                   BuildTimes{run.planSeconds, run.compileSeconds});
      }))
    return error;
  if (Error error = add(snapshot, [&](raw_ostream &os) {
        writeMemorySnapshot(run.step, os);
      }))
    return error;
  return report.addTo(files, plans, run.model);
}
