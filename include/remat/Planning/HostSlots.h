//===- HostSlots.h - checkpoints of a loop on the host ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The backward pass of a loop needs the state at the start of every iteration,
// the last one first. With fewer checkpoints than iterations, states are
// computed again from the nearest checkpoint before (Schedules/Revolve.h). What
// is here says when checkpoints on the host, besides those in the arena, make
// that faster.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_HOSTSLOTS_H
#define REMAT_PLANNING_HOSTSLOTS_H

#include <cstdint>
#include <optional>

namespace remat::planning {

/// The most iterations that a schedule is made for.
inline constexpr int64_t loopIterationLimit = int64_t(1) << 20;

/// A loop that is reversed with checkpoints on two levels, in the arena and on
/// the host: see remat_loop in StepTable.h. Times are in any integer unit, the
/// same for all.
struct HostLoop {
  int64_t iterations = 0;
  /// Checkpoints in the arena.
  int64_t slots = 1;
  /// An iteration of the advance, and one that runs backward, with all that it
  /// makes again itself.
  int64_t advanceTime = 0, backwardTime = 0;
  /// One state over the link, and whether both directions are used at a time.
  int64_t transferTime = 0;
  bool duplexLink = false;
};

/// Checkpoints on the host, and what the loop takes with them.
struct HostSchedule {
  int64_t hostSlots = 0, period = 0;
  int64_t advances = 0;
  /// States that leave for the host, which may be more than there are slots.
  int64_t offloads = 0;
  /// With what the loop waits for the link.
  int64_t time = 0;
};

/// The clock of such a loop, as the run time carries it out: a state leaves for
/// the host while the next segment advances, and comes back while the segment
/// behind is reversed. Needs a slot of each kind, a period, and no more
/// segments than `loopIterationLimit`.
HostSchedule simulateHostSlots(const HostLoop &loop, int64_t hostSlots,
                               int64_t period);

/// The fastest schedule with at most `mostHostSlots`, of those the one with the
/// fewest. Nothing if it is not faster than Revolve with the slots of the arena
/// alone. With a slot for each segment but the first and the last, the states
/// of all leave once, in one period, which is optimal in the long run [Aupy,
/// Herrmann: Periodicity in optimal hierarchical checkpointing schemes for
/// adjoint computations, OMS 2017]; with fewer, segments advance again.
std::optional<HostSchedule> planHostSlots(const HostLoop &loop,
                                          int64_t mostHostSlots);

} // namespace remat::planning

#endif // REMAT_PLANNING_HOSTSLOTS_H
