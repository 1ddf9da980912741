//===- WhatIf.h - plans of a model under other conditions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_WHATIF_H
#define REMAT_TOOLS_REMAT_PLAN_WHATIF_H

#include "Input.h"

#include "common/PlanFlags.h"

namespace remat::plan {

/// What a model needs under some condition. Bytes and nanoseconds.
struct WhatIfRow {
  /// What was asked for, each with its value: {"batch", "16"}.
  std::vector<std::pair<std::string, std::string>> conditions;
  int64_t saveAllPeak = 0, smallestFeasible = 0;
  /// Of arguments and results, which the caller has beside the arena.
  int64_t callersBytes = 0;
  /// The budget, if there is one, and what a plan within it needs; no peak if
  /// there is none.
  std::optional<int64_t> budget, peak;
  double overheadPercent = 0;
  std::string planner;
};

/// --what-if: a row for each combination of batches, budgets, types of numbers
/// and links to the host.
class WhatIfFlag {
public:
  explicit WhatIfFlag(llvm::cl::OptionCategory &category);

  bool isGiven() const { return !values.empty(); }
  /// Reads and plans the model once for each row. `options` say everything that
  /// a condition does not.
  llvm::Expected<std::vector<WhatIfRow>> run(llvm::StringRef path,
                                             llvm::StringRef manifest,
                                             const tools::StepFlags &flags,
                                             const StepOptions &options,
                                             const tools::PlanFlags &plan);

private:
  llvm::cl::list<std::string> values;
};

/// {"schema": "remat.what-if/1", "rows": [{"batch": "16", "budget_bytes",
/// ...}]}
llvm::json::Value toJson(llvm::ArrayRef<WhatIfRow> rows);
void print(llvm::ArrayRef<WhatIfRow> rows, llvm::raw_ostream &os);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_WHATIF_H
