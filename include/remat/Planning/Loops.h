//===- Loops.h - checkpointing over the iterations of a loop ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The backward pass of a loop needs the state at the start of every iteration,
// the last one first. With fewer checkpoints than iterations, states are
// computed again from the nearest checkpoint before. These functions say which
// states to keep, and when.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_LOOPS_H
#define REMAT_PLANNING_LOOPS_H

#include "remat/Schedules/Revolve.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace remat::planning {

// The run time knows these, too.
using remat::binomialReach;
using remat::fewestAdvances;
using remat::LoopAction;
using remat::LoopActionKind;

/// A loop whose iteration i makes state i + 1 from state i. Costs are in any
/// integer unit, the same for all.
struct Loop {
  int64_t iterations = 0;
  /// Bytes of one state, that is, of one checkpoint.
  int64_t stateBytes = 0;
  /// The cost of one iteration, forward and backward. The forward cost is that
  /// of a run which keeps nothing but the state that it makes. The backward
  /// cost does not include the forward run that has to come directly before.
  int64_t forwardCost = 1, backwardCost = 1;
  /// If not empty: the forward cost of each iteration instead.
  std::vector<int64_t> forwardCosts;

  int64_t forwardCostOf(int64_t iteration) const {
    return forwardCosts.empty() ? forwardCost : forwardCosts[iteration];
  }
};

/// The most iterations that a schedule is made for.
inline constexpr int64_t loopIterationLimit = int64_t(1) << 20;
/// The most iterations of different costs.
inline constexpr int64_t unevenLoopLimit = 128;

/// Actions, and what they add up to. State 0 is the current one at the start.
/// Like any other state, it takes a slot if it has to be restored.
struct LoopSchedule {
  std::vector<LoopAction> actions;
  /// The most checkpoints kept at a time, and their bytes.
  int64_t peakSlots = 0, peakBytes = 0;
  /// Iterations that Advance actions run.
  int64_t advances = 0;
  /// The cost of all actions, with the forward runs of Backward actions.
  int64_t cost = 0;
};

/// How many checkpoints fit `budgetBytes`: INT64_MAX if they take no bytes.
int64_t loopSlots(const Loop &loop, int64_t budgetBytes);

/// The one legality predicate for schedules: every iteration runs backward
/// once, the last one first; what is stored, advanced, or run backward is the
/// current state; what is restored was stored. Fills in what the actions add up
/// to. Fails with a message that names the action, and for loops with negative
/// numbers or a wrong number of costs.
llvm::Expected<LoopSchedule> simulateLoop(const Loop &loop,
                                          std::vector<LoopAction> actions);

/// The schedule of Revolve: optimal for every number of iterations and slots
/// among all schedules with equal forward costs. Takes O(n log n) time and O(n)
/// space. Fails without a slot for two or more iterations, and on
/// forward costs that differ.
llvm::Expected<LoopSchedule> planLoopRevolve(const Loop &loop, int64_t slots);

/// About sqrt(n) segments whose lengths differ by at most one; keeps the state
/// at the start of each, and the states of one segment at a time [Chen, Xu,
/// Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost, 2016,
/// section 4.1, there for chains]. Any number of iterations; less than 2
/// sqrt(n) slots; no iteration is advanced more than twice.
llvm::Expected<LoopSchedule> planLoopSqrt(const Loop &loop);

/// Segments as above, with lengths that use all slots: what a segment kept is
/// free when those before it run backward, so that earlier segments may be
/// longer. Reverses up to binomialReach(slots, 2) iterations, none advanced
/// more than twice and with as few advances as Revolve, in two nested loops
/// instead of a recursion. Fails beyond.
llvm::Expected<LoopSchedule> planLoopSegments(const Loop &loop, int64_t slots);

/// Optimal for forward costs that differ: dynamic programming over (first
/// iteration, end, slots), the recurrence of [Walther, Griewank: Advantages of
/// binomial checkpointing for memory-reduced adjoint calculations, 2004] and
/// of chain checkpointing. O(n^3 s) time; fails beyond `unevenLoopLimit`.
llvm::Expected<LoopSchedule> planLoopUneven(const Loop &loop, int64_t slots);

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

#endif // REMAT_PLANNING_LOOPS_H
