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
/// the first action; one that no op reads and that is no output has none.
struct Copy {
  static constexpr uint32_t beforeStart = ~uint32_t(0);

  /// What ops read; what only an Unpack reads; what an absorbed op computes and
  /// only its kernel sees, at no bytes.
  enum class Form : uint8_t { Full, Packed, Absorbed };

  ValueId value = noValue;
  /// The action that made it, or `beforeStart`.
  uint32_t def = beforeStart;
  /// The last action during which it is resident: its last reader (for what an
  /// absorbed op reads, the run of its kernel), its own `def` if nothing reads
  /// it, or the last action of the plan for an output.
  uint32_t lastUse = 0;
  /// The action that runs or absorbs the op which computed these bits: `def`,
  /// or for a reloaded, packed or unpacked copy the origin of its source.
  uint32_t origin = beforeStart;
  Form form = Form::Full;

  /// What it occupies in the arena.
  int64_t bytes(const Problem &problem) const;
  /// Whether it occupies them during `action`.
  bool isResident(uint32_t action) const {
    return (def == beforeStart || def <= action) && action <= lastUse;
  }
};

/// One copy of a root value on the host, from its offload to its last reload.
struct HostCopy {
  ValueId value = noValue;
  /// The actions; `lastReload` is `offload` if it never comes back.
  uint32_t offload = 0, lastReload = 0;
  /// The device copy that was offloaded.
  uint32_t source = 0;
};

/// The outcome of simulating a plan.
///
/// While an action runs, what is resident is: everything that some later
/// action still reads, what it reads, what it makes (all results, used or not;
/// during a Pack or Unpack that is both forms), and its workspace. A copy dies
/// right after its last use.
///
/// Time: runs (with what they absorb), packs and unpacks follow one another on
/// the compute engine; transfers follow one another on the link, beside it, or
/// on a duplex link those of each direction. A transfer starts when all before
/// it on the compute engine is done and its direction of the link is free, a
/// reload also behind its offload, and an offload behind the reloads after
/// which a host copy is gone. Whatever runs on the compute engine waits for the
/// reloads of what it reads. Memory is not reused while the link is at work in
/// it: the action after the last use of an offloaded copy, which may be its
/// release, waits for that offload, the action after a reload that nobody reads
/// waits for that reload. The plan ends when all are idle.
struct Simulation {
  /// Copies in the order of their definition.
  std::vector<Copy> copies;
  /// In the order of the offloads.
  std::vector<HostCopy> hostCopies;
  /// For each action, the copies it reads: indices into `copies`, one per
  /// distinct root operand; none for a reload. Stored back to back; action i
  /// owns [readBegin[i], readBegin[i + 1]).
  std::vector<uint32_t> reads;
  std::vector<uint32_t> readBegin;
  /// Bytes in the arena during each action, workspace included.
  std::vector<int64_t> liveBytes;

  int64_t peakBytes = 0;
  /// The first action at which `peakBytes` is reached.
  uint32_t peakAction = 0;
  int64_t hostPeakBytes = 0;
  /// Summed cost of what is run, absorbed, packed and unpacked, in the unit of
  /// Op::cost.
  int64_t cost = 0;
  /// Length of the schedule, waits for transfers included.
  int64_t time = 0;
  /// Where the backward phase begins: behind the last action that runs an op
  /// for the first time before any backward op runs, and what is offloaded and
  /// packed right after it. What stands between the two (recomputations,
  /// reloads) belongs to it. The number of actions if no
  /// backward op runs.
  uint32_t backwardBegin = 0;

  llvm::ArrayRef<uint32_t> readsOf(size_t action) const {
    return llvm::ArrayRef(reads).slice(
        readBegin[action], readBegin[action + 1] - readBegin[action]);
  }
  /// The values resident during `action` in whatever form, each once, largest
  /// first, ties by id.
  std::vector<ValueId> residentAt(const Problem &problem,
                                  uint32_t action) const;
};

/// Simulates `plan`. Fails with a message that names the action when an id is
/// out of range, an operand has no copy on the device, a reload has no copy on
/// the host, an unpack has no packed copy, an absorbed op has not run before or
/// is not read by the kernel that follows, a value has no packed form, an op
/// cannot be absorbed; or when an output has no copy at the end, or the cost or
/// time do not fit 64 bits.
llvm::Expected<Simulation> simulate(const Problem &problem, const Plan &plan);

/// Solution constraints: everything `simulate` needs; every op runs; ops that
/// cannot be recomputed run once, absorbed runs included, and in their given
/// order; without `Problem::freeOrder`, all ops run for the first time in their
/// given order; the MUST policies; values that may not be recomputed, offloaded
/// or packed; the device, host and regions' budgets. Each violation has its own
/// message.
llvm::Error verify(const Problem &problem, const Plan &plan);
/// As above, for a simulation at hand.
llvm::Error verify(const Problem &problem, const Plan &plan,
                   const Simulation &simulation);

/// Numbers that someone else states about a plan: an algorithm that counts by
/// itself, or a file. What is not set is not stated.
struct PlanClaims {
  std::optional<int64_t> peakBytes, hostPeakBytes, cost, time;
};
/// Fails at the first stated number that differs from what was simulated.
llvm::Error verifyClaims(const Simulation &simulation,
                         const PlanClaims &claims);

} // namespace remat::planning

#endif // REMAT_PLANNING_SIMULATOR_H
