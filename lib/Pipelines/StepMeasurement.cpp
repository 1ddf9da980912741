//===- StepMeasurement.cpp - what a step took when it ran -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepMeasurement.h"

using namespace llvm;
using namespace remat;

Expected<StepMeasurement> remat::readMeasurement(const remat_step *step,
                                                 StepReport &report) {
  size_t count = remat_step_entry_count(step);
  if (count != report.entries.size())
    return createStringError("the step has " + Twine(count) +
                             " entries, expected " +
                             Twine(report.entries.size()));
  const int64_t *times = remat_step_entry_times(step);
  const remat_entry_span *spans = remat_step_entry_spans(step);
  if (count > 0 && (!times || !spans))
    return createStringError("the step does not take times, expected one that "
                             "was loaded with REMAT_STEP_PROFILE");
  for (size_t i = 0; i < count; ++i) {
    size_t bodies = 0, timed = 0;
    const int64_t *inner = remat_step_body_times(step, i, &timed);
    if (const uint64_t *runs = remat_step_body_runs(step, i, &bodies))
      report.setBodyRuns(i, ArrayRef(runs, bodies), ArrayRef(inner, timed));
  }
  const int64_t *cpuTimes = remat_step_entry_cpu_times(step);
  return StepMeasurement{ArrayRef(times, count),
                         ArrayRef(cpuTimes, cpuTimes ? count : 0),
                         ArrayRef(spans, count)};
}
