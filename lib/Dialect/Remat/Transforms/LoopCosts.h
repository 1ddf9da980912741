//===- LoopCosts.h - what tasks that run loops take -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Planning/HostSlots.h"
#include "remat/Schedules/Revolve.h"

namespace remat {

/// The time of one iteration of a body, in nanoseconds.
int64_t getIterationCost(GraphOp body);

/// The iterations of `loop` that are counted in its cost: the most that it may
/// run, or an estimate if there is no limit.
int64_t getIterations(LoopOp loop);

/// Scratch bytes of `loop`, whose bodies are placed graphs: the larger arena of
/// both; a buffer for each carried value that the body does not update in
/// place; if it makes states again, two buffers for the current ones and one
/// for each slot but the first, which is an operand; and if some of them are in
/// host memory, two buffers more for those that come and go, in which they are
/// made if all are there.
int64_t getWorkspaceBytes(LoopOp loop);

/// The same in host memory: the states of all slots there.
int64_t getHostWorkspaceBytes(LoopOp loop);

/// Bytes that loops in `body` move to the host in an iteration.
int64_t getOffloadedWithin(GraphOp body);

/// The link to host memory, and the room there.
struct HostLink {
  int64_t bytesPerSecond = 0;
  bool isDuplex = false;
  int64_t budget = INT64_MAX;
};

/// The checkpoints in host memory that save `count` iterations of `body` the
/// most time, if any do: states are made again by `advance`, with `slots` in
/// the arena.
std::optional<planning::HostSchedule>
planHostSlots(GraphOp body, GraphOp advance, int64_t count, int64_t slots,
              const HostLink &link);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPCOSTS_H
