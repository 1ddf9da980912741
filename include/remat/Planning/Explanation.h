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

/// Byte-times are bytes in the arena times the cost of what runs meanwhile
/// (waits for transfers are not in it).
struct ValueExplanation {
  /// A root value.
  ValueId value = noValue;
  Decision decision = Decision::ShortLived;
  int64_t bytes = 0;
  /// How often it came back, by kind.
  unsigned recomputed = 0, absorbed = 0, reloaded = 0, unpacked = 0;
  /// What it holds under the plan, and under save-all.
  double byteTime = 0, saveAllByteTime = 0;
  /// What its recomputations, its packing and its transfers take. Other results
  /// of the same op share the recomputations.
  int64_t cost = 0, transferTime = 0;
  /// For a saved value: what it would take to recompute it for the reader that
  /// it waits longest for, together with all that is not resident there. Unset
  /// if it cannot be recomputed.
  std::optional<int64_t> costIfDropped;
  /// For a value that comes back: what it would hold beyond `byteTime` if it
  /// had stayed in between.
  double byteTimeIfKept = 0;
  /// What left no choice: "MUST_SAVE", "runs once", "output"; else empty.
  std::string forcedBy;
};

struct Explanation {
  /// By what save-all would hold, largest first, then by id. Values without
  /// bytes that nobody decided on are left out.
  std::vector<ValueExplanation> values;
};

/// Explains a plan that passed `verify`. Fails if save-all is no plan of the
/// problem.
llvm::Expected<Explanation> explain(const Problem &problem, const Plan &plan);

/// One line, such as "saved, 64 bytes; recomputing it would cost 12".
std::string describe(const ValueExplanation &entry);

/// [{"id", "value", "op", "decision", "bytes", "recomputed", ...}, ...]; the
/// ids are taken from `valueNodes`, one per value, or are the values' own if
/// that is empty.
llvm::json::Value toJson(const Problem &problem, const Explanation &explanation,
                         llvm::ArrayRef<int64_t> valueNodes = {});
/// An aligned table of the first `limit` values.
void print(const Problem &problem, const Explanation &explanation,
           llvm::raw_ostream &os, size_t limit = 50);

} // namespace remat::planning

#endif // REMAT_PLANNING_EXPLANATION_H
