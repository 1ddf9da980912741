//===- Plan.h - what a rematerialization planner returns --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is a sequence of actions, as plain data. Which copy an op reads and
// when a buffer dies follow from the sequence: every use reads the most recent
// copy, and a copy dies right after its last use. `Simulator` works that out.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_PLAN_H
#define REMAT_PLANNING_PLAN_H

#include "remat/Planning/Problem.h"

#include <vector>

namespace remat::planning {

/// What a plan can do.
enum class ActionKind : uint8_t {
  /// Run op `id`. The k-th run of an op (from 0) makes copy k of its results.
  Run,
  /// Copy root value `id` to the host. The device copy stays until its last
  /// use before the next copy.
  Offload,
  /// Make a new device copy of root value `id` from its host copy.
  Reload,
  /// Make the packed form of root value `id` from its device copy. The packed
  /// form is in the arena from here to its last Unpack.
  Pack,
  /// Make a new device copy of root value `id` from the most recent packed one.
  Unpack,
  /// Recompute op `id`, which has run before, inside of the kernel that the
  /// next Run action starts. That kernel, and ops absorbed into it after this
  /// one, read its results; at least one of them does. Nobody else sees these
  /// results: for all others the copies on the device stay the most recent
  /// ones. Neither results nor workspace take bytes. The operands are results
  /// absorbed into the same kernel before, otherwise the most recent copies at
  /// this action, and stay resident until the kernel has run.
  Absorb,
  /// Give back the memory of what the most recent Offload of root value `id`
  /// copied, once this transfer has ended. The device copy stays until here, so
  /// that what runs before need not wait for the transfer.
  Release,
};

inline constexpr unsigned numActionKinds = unsigned(ActionKind::Release) + 1;

/// Whether an action of this kind names an op; otherwise it names a value.
inline bool actsOnOp(ActionKind kind) {
  return kind == ActionKind::Run || kind == ActionKind::Absorb;
}

/// One step of a plan: what is done, and with which op or value.
struct Action {
  ActionKind kind = ActionKind::Run;
  /// An OpId for Run and Absorb, the ValueId of a root otherwise.
  uint32_t id = 0;

  bool operator==(const Action &other) const {
    return kind == other.kind && id == other.id;
  }
};

/// What runs and moves, in this order. Whether that is legal, and what it
/// needs, is for `verify` and the simulator to say.
struct Plan {
  std::vector<Action> actions;

  // Each appends an action.
  void run(OpId op) { actions.push_back({ActionKind::Run, op}); }
  void offload(ValueId value) {
    actions.push_back({ActionKind::Offload, value});
  }
  void reload(ValueId value) { actions.push_back({ActionKind::Reload, value}); }
  void pack(ValueId value) { actions.push_back({ActionKind::Pack, value}); }
  void unpack(ValueId value) { actions.push_back({ActionKind::Unpack, value}); }
  void absorb(OpId op) { actions.push_back({ActionKind::Absorb, op}); }
  void release(ValueId value) {
    actions.push_back({ActionKind::Release, value});
  }
  bool operator==(const Plan &other) const { return actions == other.actions; }
};

/// For every action, how many of its kind there were before it on the same op
/// or value. For a Run: 0 is the first one, k the k-th recomputation (absorbed
/// ones not counted). Expects ids in range.
std::vector<unsigned> copyNumbers(const Problem &problem, const Plan &plan);

} // namespace remat::planning

#endif // REMAT_PLANNING_PLAN_H
