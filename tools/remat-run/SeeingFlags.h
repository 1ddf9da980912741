//===- SeeingFlags.h - what to show of a run --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The flags that ask for views of a step and of the time that it took.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_SEEINGFLAGS_H
#define REMAT_TOOLS_REMAT_RUN_SEEINGFLAGS_H

#include "Report.h"

#include "common/ChoiceParser.h"
#include "common/OutputFlags.h"
#include "common/ReportFlag.h"

#include "remat/Support/OutputFiles.h"

namespace remat::run {

class SeeingFlags {
public:
  explicit SeeingFlags(llvm::cl::OptionCategory &category);

  /// An error if a flag has no effect, or none with so many budgets.
  llvm::Error check(size_t budgets) const;
  /// An error if any of the flags was given. `why` says why it has no effect.
  llvm::Error refuse(llvm::StringRef why) const;

  /// Whether the entries of the step are to be described and measured.
  bool isAsked() const {
    return profile || !trace.empty() || !snapshot.empty() || report.isGiven();
  }
  const tools::ReportFlag &getReport() const { return report; }
  /// Adds what the last run of `step` took.
  llvm::Error measure(const remat_step *step, RunReport &report) const;
  /// Adds the files that were asked for. `plans` are those of --report.
  llvm::Error write(const RunReport &run, llvm::ArrayRef<PlannedStep> plans,
                    OutputFiles &files) const;
  std::array<tools::OutputFlag, 4> getOutputFlags() const {
    return {{{"--trace", trace},
             {"--profile-csv", csv},
             {"--memory-snapshot", snapshot},
             {"--report", report.getFile()}}};
  }

private:
  llvm::cl::opt<bool> profile;
  tools::ChoiceFlag<ProfileGroup> group;
  tools::ChoiceFlag<ProfileSort> sort;
  llvm::cl::opt<std::string> csv, trace, snapshot;
  tools::ReportFlag report;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_SEEINGFLAGS_H
