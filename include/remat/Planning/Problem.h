//===- Problem.h - what a rematerialization planner is given ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planning problem as plain data: a straight line of ops, the values that
// they read and write, and the limits. Clients fill it in, algorithms only
// read it. Nothing here knows of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_PROBLEM_H
#define REMAT_PLANNING_PROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remat::planning {

using OpId = uint32_t;
using ValueId = uint32_t;
/// "No op", the producer of an argument.
inline constexpr OpId noOp = ~OpId(0);
inline constexpr ValueId noValue = ~ValueId(0);
/// A link on which transfers take no time.
inline constexpr int64_t infiniteBandwidth = INT64_MAX;

/// What the user asked for a value. A MUST is a constraint that `verify`
/// enforces; a PREFER only orders the candidates of the algorithms.
///
///  * MustSave: the producing op runs exactly once and the value is never
///    offloaded or packed.
///  * MustRecompute: in the backward phase, no op reads a copy of the value
///    that was computed in the forward phase, wherever that copy was kept in
///    between. This also holds for ops that run again to compute other values.
///    An op that is absorbed in the backward phase computes the value anew.
///  * MustCpuOffload: the producing op runs exactly once, the value is never
///    packed, and every backward op reads a copy that came back from the host.
enum class Policy : uint8_t {
  None,
  MustSave,
  PreferSave,
  MustRecompute,
  PreferRecompute,
  MustCpuOffload,
  PreferCpuOffload,
};

/// Whether a plan that does otherwise is illegal; PREFER policies are wishes.
inline bool isMust(Policy policy) {
  return policy == Policy::MustSave || policy == Policy::MustRecompute ||
         policy == Policy::MustCpuOffload;
}

/// The spelling used in instance files and messages, e.g. "MUST_SAVE".
llvm::StringRef stringify(Policy policy);
/// The inverse of `stringify`.
std::optional<Policy> parsePolicy(llvm::StringRef text);

/// A second, smaller form of a value that a codec can make.
struct PackedForm {
  /// Bytes in the arena while the packed form is resident.
  int64_t bytes = 0;
  /// What making it and turning it back cost, in the unit of Op::cost.
  int64_t packCost = 0, unpackCost = 0;
  /// Whether what is unpacked is not quite the value. Then it is only unpacked
  /// in the backward phase, and only of values that no forward op needs there,
  /// so that forward ops make what they always did.
  bool lossy = false;

  bool operator==(const PackedForm &other) const {
    return bytes == other.bytes && packCost == other.packCost &&
           unpackCost == other.unpackCost && lossy == other.lossy;
  }
};

/// A value: one buffer, or a view of one.
struct Value {
  /// For messages only.
  std::string name;
  /// Bytes it occupies in the arena while it is resident. 0 for what lives
  /// elsewhere (arguments, results in the caller's buffers) and for views.
  int64_t bytes = 0;
  /// Bytes that an offload moves and the host holds; `bytes` unless the value
  /// lives outside of the arena.
  int64_t transferBytes = 0;
  /// The value whose buffer this one looks into; `noValue` for a buffer of its
  /// own. A view has no op: using it is using its root, and whatever brings
  /// the root back brings the view back, at no cost.
  ValueId viewOf = noValue;
  /// The op that computes it; `noOp` for arguments and views.
  OpId producer = noOp;
  Policy policy = Policy::None;
  bool recomputable = true;
  bool offloadable = true;
  /// Set if the value may be kept in packed form while nobody reads it. Only
  /// for roots that an op computes. A MUST_SAVE or MUST_CPU_OFFLOAD on the root
  /// or a view of it rules it out again.
  std::optional<PackedForm> packed;
  /// Resident from the start. No op computes it.
  bool isArgument = false;
  /// Resident at the end.
  bool isOutput = false;
};

/// An op: what runs as a unit. All of its results are computed together.
struct Op {
  /// For messages only.
  std::string name;
  /// Nanoseconds (or any integer unit, the same for all ops and for
  /// `Problem::linkBytesPerSecond`'s transfers, which are counted in 1e-9 s).
  int64_t cost = 0;
  /// Scratch bytes in the arena while the op runs.
  int64_t workspace = 0;
  /// Bytes on the host while the op runs, between which and the arena it moves
  /// values itself: then nothing else uses the link, and `cost` has the waits.
  int64_t hostWorkspace = 0;
  /// Set if a kernel that reads the results can compute them itself: what a
  /// recomputation there costs (its arithmetic, without its traffic). Only for
  /// recomputable ops; a MUST that an op runs once rules it out again.
  std::optional<int64_t> absorbedCost;
  /// The ops whose kernels can, in ascending order; any op's if there is none.
  /// A kernel that can absorb several ops can absorb any set of them.
  std::vector<OpId> absorbers;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  /// Whether the op belongs to the backward phase.
  bool backward = false;
  /// False for random and effectful ops: they run exactly once, in their
  /// given relative order.
  bool recomputable = true;
};

/// Values that share a limit on what is kept of them.
struct Region {
  std::string name;
  /// Bound on the bytes of the region's forward values that are carried into
  /// the backward phase, in whatever form and for whatever purpose; not what
  /// comes back from the host there, and no outputs, which stay in any case.
  int64_t budget = 0;
  std::vector<ValueId> values;
};

/// Ops in a valid order, values, and limits.
struct Problem {
  std::string name;
  std::vector<Op> ops;
  std::vector<Value> values;

  /// Whether ops may run for the first time in another order than that of
  /// `ops`. Ops that are not recomputable keep their relative order anyway.
  bool freeOrder = false;

  /// Bound on the arena's live bytes; unset means unbounded.
  std::optional<int64_t> deviceBudget;
  /// Bound on the bytes held on the host; unset means unbounded.
  std::optional<int64_t> hostBudget;
  /// Values may be in several regions, and each bounds them.
  std::vector<Region> regions;
  /// Speed of the link to the host; 0 means that nothing can be offloaded,
  /// `infiniteBandwidth` that transfers take no time.
  int64_t linkBytesPerSecond = 0;
  /// Whether transfers in both directions run at the same time, each at that
  /// speed; else all transfers follow one another.
  bool duplexLink = false;

  // Builders, for clients and tests. Each returns the id of what it added.

  /// A value that is there before the first op.
  ValueId addArgument(llvm::StringRef name, int64_t bytes = 0);
  /// An op behind all others, without results as yet.
  OpId addOp(llvm::StringRef name, int64_t cost,
             llvm::ArrayRef<ValueId> operands, bool backward = false);
  /// The next result of `op`, in a buffer of its own.
  ValueId addResult(OpId op, llvm::StringRef name, int64_t bytes);
  /// Another name for the buffer of `of`, which takes no bytes.
  ValueId addView(ValueId of, llvm::StringRef name);

  /// The value that owns the buffer of `value`; itself unless it is a view.
  ValueId rootOf(ValueId value) const {
    while (values[value].viewOf != noValue)
      value = values[value].viewOf;
    return value;
  }
  /// That of each value. Of a long chain of views `rootOf` takes a step for
  /// each.
  std::vector<ValueId> findRoots() const;
  /// Nanoseconds to move `bytes` over the link, rounded up; INT64_MAX if they
  /// do not fit. Needs a link.
  int64_t transferTime(int64_t bytes) const;
  /// What values may take of the host budget beside any op; INT64_MAX if there
  /// is no budget.
  int64_t hostRoom() const;
  /// The summed cost of all ops: what a plan without recomputation costs.
  int64_t baseCost() const;

  /// What all costs may add up to, so that those of a plan fit 64 bits in which
  /// each op runs as often as there are ops. Transfers, of which a plan has no
  /// more, may take as long beside them.
  int64_t costLimit() const;
};

/// Checks what every algorithm expects of a problem: ids in range, operands
/// defined before use, no negative number, sums that fit 63 bits, views that
/// end in a root, packed forms only of roots that are computed, absorption only
/// of what may run again and into ops that follow, regions of different names
/// with values, and policies that can be met together: a MUST that needs an op
/// to run again on an op that cannot, or two MUSTs on results of one op (or on
/// a value and its views) that exclude each other, is an error that names both
/// sides.
llvm::Error check(const Problem &problem);

} // namespace remat::planning

#endif // REMAT_PLANNING_PROBLEM_H
