//===- PlanFlags.h - what to say of a plan ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The flags that all tools that plan have beside the options of a step, and
// what they ask for.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_PLANFLAGS_H
#define REMAT_TOOLS_COMMON_PLANFLAGS_H

#include "common/PlanWatch.h"
#include "common/ProgressFlag.h"
#include "common/StepFlags.h"

#include "remat/Planning/Explanation.h"
#include "remat/Planning/Frontier.h"

namespace remat::tools {

/// What a plan is asked about.
struct PlanDetails {
  std::optional<planning::Frontier> frontier;
  /// Those of the frontier, if a report is to show them.
  std::vector<GraphPlan> frontierPlans;
  std::optional<planning::Explanation> explanation;
  /// Of a model, with those inside of its loops.
  std::vector<TaskDecision> decisions;
  /// What the explanation is of, and the unit of its costs.
  planning::Problem problem;
  std::string costUnit;
  /// Bytes per second of the link to host memory, 0 without one, and who said
  /// so: "option", "costs", "target" or "instance".
  int64_t linkBytesPerSecond = 0;
  llvm::StringRef linkSource;
  /// What a model saves for its backward computation, in lines.
  std::string saved;

  /// Says where the link of `problem`, a model planned with `options`, comes
  /// from.
  void describeLink(const planning::Problem &problem,
                    const StepOptions &options);
  /// Adds the key `link` if there is one, and the keys `frontier` and
  /// `explanation`. Values have these node ids, or their own.
  void addTo(llvm::json::Object &object,
             llvm::ArrayRef<int64_t> valueNodes = {}) const;
  /// The same as tables.
  void print(llvm::raw_ostream &os) const;
};

class PlanFlags {
public:
  explicit PlanFlags(llvm::cl::OptionCategory &category);

  /// An error if a value is malformed.
  llvm::Error check() const;
  /// An error if any of the flags that are about a plan was given. `why` says
  /// why it has no effect.
  llvm::Error refuse(llvm::StringRef why) const;

  bool wantsFrontier() const { return frontier.getNumOccurrences() > 0; }
  /// Only after `check`.
  unsigned getPoints() const;
  bool wantsExplanation() const { return explain; }
  bool wantsSaved() const { return printSaved; }
  /// Whether to say how far something is: by default on a terminal.
  bool showsProgress() const { return progress.shows(); }

  /// Adds the explanation of a plan, if that is asked for. Costs of a model are
  /// in nanoseconds, those of an instance in whatever it has.
  llvm::Error explainPlan(const planning::Problem &problem,
                          const planning::Plan &plan, PlanDetails &details,
                          llvm::StringRef costUnit = "ns",
                          llvm::ArrayRef<TaskDecision> decisions = {}) const;

  /// Adds what the planned `graph` saves for its backward computation, if that
  /// is asked for.
  void listSaved(GraphOp graph, PlanDetails &details) const;

private:
  llvm::cl::opt<std::string> frontier;
  llvm::cl::opt<bool> explain, printSaved;
  ProgressFlag progress;
};

/// --plan: a stored plan to run.
class StoredPlanFlag {
public:
  explicit StoredPlanFlag(llvm::cl::OptionCategory &category);

  bool isGiven() const { return !file.empty(); }
  /// Reads the plan, if the flag is given. `flags` may not say how to plan
  /// then.
  llvm::Error apply(const StepFlags &flags, StepOptions &options) const;

private:
  llvm::cl::opt<std::string> file;
};

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_PLANFLAGS_H
