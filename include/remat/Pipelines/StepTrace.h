//===- StepTrace.h - a step on a time line ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trace event format of Chrome, which Perfetto reads, too. The planned and
// the measured step are two processes, in which an entry has the same id.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPTRACE_H
#define REMAT_PIPELINES_STEPTRACE_H

#include "remat/Pipelines/StepReport.h"
#include "remat/Runtime/Runtime.h"

#include "llvm/Support/raw_ostream.h"

namespace remat {

/// What it took to make a step, in seconds: to plan it, and all else.
struct BuildTimes {
  double plan, compile;
};

/// Writes the trace of a step. `measured` has when each entry ran, or is empty:
/// then there is the planned step alone. `built` is said beside it, if it is
/// known.
void writeTrace(const StepReport &report,
                llvm::ArrayRef<remat_entry_span> measured,
                llvm::raw_ostream &os,
                std::optional<BuildTimes> built = std::nullopt);

} // namespace remat

#endif // REMAT_PIPELINES_STEPTRACE_H
