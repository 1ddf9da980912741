//===- StepMeasurement.h - what a step took when it ran ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPMEASUREMENT_H
#define REMAT_PIPELINES_STEPMEASUREMENT_H

#include "remat/Pipelines/StepReport.h"
#include "remat/Runtime/Runtime.h"

namespace remat {

/// For each entry of a step, the least time that it took in nanoseconds, and
/// when it ran last. They live as long as the step.
struct StepMeasurement {
  llvm::ArrayRef<int64_t> times;
  /// Of a step on a device, none.
  llvm::ArrayRef<int64_t> cpuTimes;
  llvm::ArrayRef<remat_entry_span> spans;
};

/// Takes these of `step`, which was loaded with REMAT_STEP_PROFILE and has run,
/// and says in its report what loops did. Fails if that is of another step.
llvm::Expected<StepMeasurement> readMeasurement(const remat_step *step,
                                                StepReport &report);

} // namespace remat

#endif // REMAT_PIPELINES_STEPMEASUREMENT_H
