//===- WhatIf.h - plans of a model under other conditions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_WHATIF_H
#define REMAT_TOOLS_REMAT_PLAN_WHATIF_H

#include "Input.h"

#include "common/PlanFlags.h"

#include "remat/Pipelines/WhatIf.h"

namespace remat::plan {

/// --what-if: a row for each combination of batches, budgets, types of numbers
/// and links to the host.
class WhatIfFlag {
public:
  explicit WhatIfFlag(llvm::cl::OptionCategory &category);

  bool isGiven() const { return !values.empty(); }
  /// Reads the model and plans it once for each row. `options` say everything
  /// that a condition does not.
  llvm::Expected<std::vector<WhatIfRow>> run(llvm::StringRef path,
                                             llvm::StringRef manifest,
                                             const tools::StepFlags &flags,
                                             const StepOptions &options,
                                             const tools::PlanFlags &plan);

private:
  llvm::cl::list<std::string> values;
};

/// A table with a column for each condition.
void print(llvm::ArrayRef<WhatIfRow> rows, llvm::raw_ostream &os);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_WHATIF_H
