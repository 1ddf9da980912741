//===- Simulator.h - what a plan costs and occupies -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows what a plan costs and how many bytes are live
// during each action. Integers throughout. `verify` is the one legality
// predicate: every plan of every algorithm passes through it, in release
// builds too.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_SIMULATOR_H
#define REMAT_PLANNING_SIMULATOR_H

#include "remat/Planning/Plan.h"

namespace remat::planning {

/// One copy of a root value on the device. Arguments are copies made before
/// the first action.
struct Copy {
  static constexpr uint32_t beforeStart = ~uint32_t(0);

  ValueId value = noValue;
  /// The action that made it, or `beforeStart`.
  uint32_t def = beforeStart;
  /// The last action during which it is resident: its last reader, an offload
  /// that reads it, its own `def` if nothing does, or the last action of the
  /// plan for an output.
  uint32_t lastUse = 0;
  /// The action that runs the op which computed these bits: `def`, or for a
  /// reloaded copy the run that made what was offloaded.
  uint32_t origin = beforeStart;
};

/// The outcome of simulating a plan.
///
/// While an action runs, what is resident is: everything that some later
/// action still reads, its operands, its results (all of them, used or not),
/// and its workspace. A copy dies right after its last use.
///
/// Time: ops run one after the other; transfers run one after the other on the
/// link, beside the ops. A transfer starts when it is issued and the link is
/// free. An op waits for the reloads of its operands; the action after an
/// offloaded copy's last use waits for that offload; the plan ends when both
/// are idle.
struct Simulation {
  /// Copies in the order of their definition.
  std::vector<Copy> copies;
  /// For each action, the copies it reads: indices into `copies`, one per
  /// distinct root operand. Stored back to back; action i owns
  /// [readBegin[i], readBegin[i + 1]).
  std::vector<uint32_t> reads;
  std::vector<uint32_t> readBegin;
  /// Bytes in the arena during each action, workspace included.
  std::vector<int64_t> liveBytes;

  int64_t peakBytes = 0;
  /// The first action at which `peakBytes` is reached.
  uint32_t peakAction = 0;
  int64_t hostPeakBytes = 0;
  /// Summed cost of the ops run, in the unit of Op::cost.
  int64_t cost = 0;
  /// Length of the schedule, waits for transfers included.
  int64_t time = 0;
  /// The first action of the backward phase: the first run of a backward op,
  /// and the recomputations and reloads directly before it. The number of
  /// actions if there is none.
  uint32_t backwardBegin = 0;

  llvm::ArrayRef<uint32_t> readsOf(size_t action) const {
    return llvm::ArrayRef(reads).slice(
        readBegin[action], readBegin[action + 1] - readBegin[action]);
  }
  /// The values resident during `action`, largest first, ties by id.
  std::vector<ValueId> residentAt(const Problem &problem,
                                  uint32_t action) const;
};

/// Simulates `plan`. Fails with a message that names the action when an id is
/// out of range, an operand has no copy on the device, a reload has no copy on
/// the host, or an output has no copy at the end.
llvm::Expected<Simulation> simulate(const Problem &problem, const Plan &plan);

/// Solution constraints: everything `simulate` needs; every op runs; ops that
/// cannot be recomputed run once and in their given order; the MUST policies;
/// values that may not be recomputed or offloaded; the device and host
/// budgets. Each violation has its own message.
llvm::Error verify(const Problem &problem, const Plan &plan);
/// As above, for a simulation at hand.
llvm::Error verify(const Problem &problem, const Plan &plan,
                   const Simulation &simulation);

} // namespace remat::planning

#endif // REMAT_PLANNING_SIMULATOR_H
