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
  /// Make the packed form of root value `id` from its device copy.
  Pack,
  /// Make a new device copy of root value `id` from its packed form, which dies
  /// after its last Unpack.
  Unpack,
  /// Recompute op `id` inside of the kernel that the next Run action starts.
  /// The results take no bytes; that kernel, and ops absorbed into it after
  /// this one, read them, nobody else does. The operands are read by the
  /// kernel: they are resident while it runs.
  Absorb,
};

struct Action {
  ActionKind kind = ActionKind::Run;
  /// An OpId for Run and Absorb, the ValueId of a root otherwise.
  uint32_t id = 0;

  bool operator==(const Action &other) const {
    return kind == other.kind && id == other.id;
  }
};

struct Plan {
  std::vector<Action> actions;

  void run(OpId op) { actions.push_back({ActionKind::Run, op}); }
  void offload(ValueId value) {
    actions.push_back({ActionKind::Offload, value});
  }
  void reload(ValueId value) { actions.push_back({ActionKind::Reload, value}); }
  void pack(ValueId value) { actions.push_back({ActionKind::Pack, value}); }
  void unpack(ValueId value) { actions.push_back({ActionKind::Unpack, value}); }
  void absorb(OpId op) { actions.push_back({ActionKind::Absorb, op}); }
  bool operator==(const Plan &other) const { return actions == other.actions; }
};

/// For every action, which run of its op it is: 0 for the first, k for the
/// k-th recomputation. Offloads and reloads count per value in the same way.
std::vector<unsigned> copyNumbers(const Problem &problem, const Plan &plan);

} // namespace remat::planning

#endif // REMAT_PLANNING_PLAN_H
