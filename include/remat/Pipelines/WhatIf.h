//===- WhatIf.h - plans of a model under other conditions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much memory a model would take with another batch, in another type, for
// another budget or with another link to host memory.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_WHATIF_H
#define REMAT_PIPELINES_WHATIF_H

#include "remat/Pipelines/StepOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace remat {

/// What a model needs under some conditions, in bytes.
struct WhatIfRow {
  /// What was asked for, each with its value: {"batch", "16"}.
  std::vector<std::pair<std::string, std::string>> conditions;
  int64_t saveAllPeak = 0, smallestFeasible = 0;
  /// What percentages of a budget refer to.
  int64_t saveAllBytes = 0;
  /// Of arguments and results, which the caller has beside the arena.
  int64_t callersBytes = 0;
  /// The budget, if there is one, and what a plan within it needs; no peak if
  /// there is none.
  std::optional<int64_t> budget, peak;
  double overheadPercent = 0;
  std::string planner;
  /// Whether the search was interrupted: another plan may be better, and there
  /// may be one where none was found.
  bool isInterrupted = false;
};

/// Lists of values that conditions have, and all combinations of them.
class WhatIf {
public:
  struct Condition;

  /// Takes "batch=8,16" and the like, for the keys `batch`, `dtype`, `link` and
  /// `budget`. All that can be said of a value without a model is said now.
  static llvm::Expected<WhatIf> parse(llvm::ArrayRef<std::string> lists);

  /// Sets what the first row changes of the model. What else a tool takes over
  /// into `options` can then be checked against that.
  llvm::Error setFirst(StepOptions &options) const;

  /// Plans `module` once for each combination, the last key changing first. It
  /// is a function (L0), which stays as it is, or a graph of tasks (L2), whose
  /// batch and types are settled. `options` say everything that a condition
  /// does not. `goesOnWith` gets the options of each search before it begins
  /// and when it has ended; it ends the table with the rows so far by returning
  /// false. The search that it ends is the last row, with the best that was
  /// found until then, if anything was.
  ///
  /// A budget that has no plan is a row, and no error.
  llvm::Expected<std::vector<WhatIfRow>>
  run(mlir::ModuleOp module, const StepOptions &options,
      llvm::function_ref<bool(planning::SolverOptions &)> goesOnWith) const;

private:
  /// A condition and the values that it has.
  struct Choice {
    const Condition *condition;
    std::vector<std::string> values;
  };
  std::vector<Choice> choices;
};

/// {"schema": "remat.what-if/1", "rows": [{"batch": "16", "budget_bytes",
/// ...}]}
llvm::json::Value toJson(llvm::ArrayRef<WhatIfRow> rows);

} // namespace remat

#endif // REMAT_PIPELINES_WHATIF_H
