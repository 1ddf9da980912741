//===- ReportFlag.h - a page that shows a step ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --report of all tools that plan: the step that was asked for beside that with
// everything saved and some of the frontier.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_REPORTFLAG_H
#define REMAT_TOOLS_COMMON_REPORTFLAG_H

#include "remat/Pipelines/StepPlans.h"
#include "remat/Support/OutputFiles.h"

#include "llvm/Support/CommandLine.h"

namespace remat::tools {

class ReportFlag {
public:
  explicit ReportFlag(llvm::cl::OptionCategory &category);

  bool isGiven() const { return !file.empty(); }
  llvm::StringRef getFile() const { return file; }
  /// An error if it is given. `why` says why it has no effect.
  llvm::Error refuse(llvm::StringRef why) const;

  /// Adds the page of a model with this name.
  llvm::Error addTo(OutputFiles &files, llvm::ArrayRef<PlannedStep> plans,
                    llvm::StringRef title) const;
  /// The name of the model in this file, or in the standard input.
  static llvm::StringRef getTitle(llvm::StringRef inputFile);

private:
  llvm::cl::opt<std::string> file;
};

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_REPORTFLAG_H
