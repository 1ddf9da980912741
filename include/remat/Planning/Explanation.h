//===- Explanation.h - what a plan decided, value by value ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every value: what was decided, what it holds and costs, what the
// alternative would hold or cost, and whether a MUST left no choice.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_EXPLANATION_H
#define REMAT_PLANNING_EXPLANATION_H

#include "remat/Planning/Simulator.h"

#include "llvm/Support/JSON.h"

namespace remat::planning {

/// What a plan does with a value between the op that makes it and its last
/// reader.
enum class Decision : uint8_t {
  /// One copy, which does not wait: it does not cross from the forward to the
  /// backward phase or, where there are no phases, is read by the ops directly
  /// behind its own.
  ShortLived,
  /// One copy, which waits for its readers.
  Saved,
  /// Computed again, by runs of its op or inside of the kernels that read it.
  Recomputed,
  Absorbed,
  /// Kept in host memory or in packed form in between.
  Offloaded,
  Packed,
};
llvm::StringRef stringify(Decision decision);

/// What the plan decided on one value. A byte-time is a number of bytes in the
/// arena times the cost of what runs while they are there; waits for transfers
/// do not count.
struct ValueExplanation {
  /// A root value.
  ValueId value = noValue;
  Decision decision = Decision::ShortLived;
  int64_t bytes = 0;
  /// How often the value came back, by the way it did.
  unsigned recomputed = 0, absorbed = 0, reloaded = 0, unpacked = 0;
  /// The byte-time of the value under the plan, and under save-all.
  double byteTime = 0, saveAllByteTime = 0;
  /// The cost of its recomputations and its packing, and the time of its
  /// transfers. Other results of the same op share the recomputations.
  int64_t cost = 0, transferTime = 0;
  /// For a saved value: the cost of recomputing it, and all that is missing for
  /// that, right before the reader that it waits longest for. Unset if it
  /// cannot be recomputed.
  std::optional<int64_t> costIfDropped;
  /// For a value that comes back: the byte-time beyond `byteTime` that it would
  /// have if it had stayed in the arena in between.
  double byteTimeIfKept = 0;
  /// What left the planner no choice, such as "MUST_SAVE", "runs once" or
  /// "output"; empty if it had one.
  std::string forcedBy;
};

/// What a plan decided on all values.
struct Explanation {
  /// Sorted by the byte-time under save-all, largest first, then by id. Values
  /// of no bytes are left out unless they came back.
  std::vector<ValueExplanation> values;
};

/// Explains a plan that passed `verify`. Fails if save-all is no plan of the
/// problem.
llvm::Expected<Explanation> explain(const Problem &problem, const Plan &plan);

/// One line, such as "saved, 64 bytes; recomputing it would cost 12 ns". Costs
/// are in `unit`; those of an instance have none that is known.
std::string describe(const ValueExplanation &entry, llvm::StringRef unit = "");

/// {"decision", "bytes", "recomputed", ...}: what was decided of one value.
llvm::json::Object toJson(const ValueExplanation &entry);
/// [{"id", "value", "op", "decision", "bytes", "recomputed", ...}, ...]; the
/// ids are taken from `valueNodes`, one per value, or are the values' own if
/// that is empty.
llvm::json::Value toJson(const Problem &problem, const Explanation &explanation,
                         llvm::ArrayRef<int64_t> valueNodes = {});
/// An aligned table of the first `limit` values, with costs in `unit`.
void print(const Problem &problem, const Explanation &explanation,
           llvm::raw_ostream &os, llvm::StringRef unit = "", size_t limit = 50);

} // namespace remat::planning

#endif // REMAT_PLANNING_EXPLANATION_H
