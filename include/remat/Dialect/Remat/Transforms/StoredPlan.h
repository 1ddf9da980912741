//===- StoredPlan.h - plans of graphs in files ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan that was found once can be kept, and run without a search:
//
//   {"schema": "remat.schedule/1", "graph": name, "fingerprint": hex digits,
//    "options": {name: text, ...}, "peak_bytes", "arena_bytes",
//    "sequence": [...]}
//
// The options are those of the table of PlanOptionTable.h that the step depends
// on. The sequence has the node ids of the planning problem as an instance
// (remat/Planning/Serialization.h).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_STOREDPLAN_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_STOREDPLAN_H

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "llvm/Support/JSON.h"

namespace remat {

/// A plan that was read from a file. It fits any graph with its fingerprint.
struct StoredPlan {
  /// What the plan is of, for messages.
  std::string graph;
  std::string fingerprint;
  int64_t peakBytes = 0, arenaBytes = 0;
  /// See GraphPlan.
  unsigned loopLevel = 0;
  int64_t loopFewer = 0, loopSplit = 0;
  /// The object of the file, as text.
  std::string text;

  /// Whether the fingerprints are the same.
  bool isPlanOf(const planning::Problem &problem) const;
  /// The plan, if `problem` is what it is a plan of.
  llvm::Expected<planning::Plan> get(const planning::Problem &problem) const;
  /// Checks that the step needs what was promised, and has it.
  llvm::Error check(const GraphPlan &plan) const;
};

/// What a plan depends on, as hex digits: the tasks, what they read and the
/// bytes that they make and need, the policies; not costs and limits.
std::string getFingerprint(const planning::Problem &problem);

/// A plan to be stored.
llvm::json::Value toJson(const GraphPlan &plan);

/// Sets `options` to what a stored plan was made with, and the plan to run.
/// An error says what is wrong with the text.
llvm::Error readStoredPlan(llvm::StringRef text, PlanOptions &options);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_STOREDPLAN_H
