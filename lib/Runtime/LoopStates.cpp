//===- LoopStates.cpp - runs loops in reverse -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An iteration of a derivative reads the states before it, last first. Those
// that are not kept are made again by the advance, in the order of Revolve;
// some are copied to the host and back beside what is computed.
//
//===----------------------------------------------------------------------===//

#include "LoopRunner.h"
#include "remat/Schedules/Revolve.h"

#include <algorithm>
#include <array>
#include <optional>

using namespace remat;

namespace {
/// Copies of a loop's states to the host and back, beside what iterations
/// compute: of a thread, which makes one after the other, or of the device.
class StateCopies {
public:
  /// Of a thread without a `device`. Failures are said in `error`.
  StateCopies(CopyQueue &queue, DeviceStep *device, std::string &error)
      : device(device), error(error) {
    if (!device)
      run.emplace(queue);
  }

  /// Passes a copy on, which begins behind the copies `after`. `number` says
  /// which it is; 0 is none.
  remat_status copy(char *to, const char *from, uint64_t bytes, bool isToHost,
                    std::array<uint64_t, 2> after, uint64_t &number) {
    if (run)
      number = run->copy(from, to, bytes);
    else if (!device->copyBeside(to, from, bytes, isToHost, after, number,
                                 error))
      return REMAT_DEVICE_ERROR;
    last[isToHost] = number;
    return REMAT_OK;
  }
  /// Lets what is computed from now on wait for a copy.
  remat_status wait(uint64_t number) {
    if (run)
      run->wait(number);
    else if (!device->waitBeside(number, error))
      return REMAT_DEVICE_ERROR;
    return REMAT_OK;
  }
  /// The same for all copies.
  remat_status waitForAll() {
    for (uint64_t number : last)
      if (remat_status status = wait(number))
        return status;
    return REMAT_OK;
  }

private:
  DeviceStep *device;
  std::string &error;
  /// Whatever ends the loop, no copy is left behind.
  std::optional<CopyQueue::Run> run;
  uint64_t last[2] = {};
};
} // namespace

/// Lets the body have the states that begin at `states`, or, if it is null,
/// those at first.
void LoopRunner::haveStates(char *states) {
  for (uint64_t i = 0; i < stateCount(); ++i) {
    body.boundArguments[firstState(loop) + i].data =
        states ? states : advanceOperands[i];
    if (states)
      states += padded(advancing->resultBytes[i]);
  }
}

/// Places the states for an iteration of the advance with `left` behind it, the
/// last of which writes to `target`. The first reads what the body has, which
/// is not overwritten: it may be a checkpoint.
remat_status LoopRunner::placeStates(char *target, int64_t left, bool isFirst) {
  char *even = workspace + parts.states, *odd = workspace + parts.otherStates;
  for (uint32_t i = 0; i < stateCount(); ++i) {
    void *current = body.boundArguments[firstState(loop) + i].data;
    void *&from = advancing->boundArguments[i].data;
    void *&to = advancing->boundResults[i].data;
    uint64_t bytes = padded(advancing->resultBytes[i]);
    if (isInPlace(advancing->table, i)) {
      if (isFirst)
        if (remat_status status =
                step.copy(current, target, advancing->resultBytes[i]))
          return status;
      from = to = target;
    } else {
      from = isFirst ? current : left % 2 ? even : odd;
      to = left == 0 ? target : left % 2 ? odd : even;
      odd += bytes;
    }
    target += bytes;
    even += bytes;
  }
  return REMAT_OK;
}

/// Makes the states before position `to` from those before `from`, at `target`.
remat_status LoopRunner::advance(int64_t from, int64_t to, char *target) {
  for (int64_t position = from; position < to; ++position) {
    int64_t iteration = iterationAt(position);
    if (remat_status status =
            placeStates(target, to - 1 - position, position == from))
      return status;
    uint64_t first = stateCount() + loop.advance_invariants;
    placeParts(advanceOperands + first, uint64_t(loop.slices) + loop.stacks,
               loop.advance_slices, iteration, advancing->argumentBytes,
               advancing->boundArguments, first);
    if (remat_status status =
            runBody(*advancing, iteration, " of its advance: "))
      return status;
  }
  haveStates(target);
  return REMAT_OK;
}

/// Reverses the positions [from, to), which begin with the states at `base`:
/// runs the actions of Revolve. States are made where they are to be kept, so
/// that storing them is no action of its own.
remat_status LoopRunner::reverseSegment(int64_t from, int64_t to, char *base) {
  auto placeOf = [&](int64_t slot) {
    return slot == 0 ? base
                     : workspace + parts.slots +
                           static_cast<uint64_t>(slot - 1) * parts.slotBytes;
  };
  LoopReversal reversal(to - from, std::min(loop.slots, to - from));
  LoopAction action, ahead;
  for (bool hasMore = reversal.next(action, cutOfRevolve); hasMore;
       action = ahead) {
    int64_t slot = reversal.getSlot();
    hasMore = reversal.next(ahead, cutOfRevolve);
    remat_status status = REMAT_OK;
    if (action.kind == LoopActionKind::Restore)
      haveStates(placeOf(slot));
    else if (action.kind == LoopActionKind::Advance)
      status = advance(from + action.from, from + action.to,
                       ahead.kind == LoopActionKind::Store
                           ? placeOf(reversal.getSlot())
                           : workspace + parts.states);
    else if (action.kind == LoopActionKind::Backward)
      status = runPosition(from + action.from);
    if (status != REMAT_OK)
      return status;
  }
  return REMAT_OK;
}

/// Reverses all, segment by segment. The states that a segment begins with are
/// in one of two stages: from where they leave for the host while the next
/// segment advances, and where they arrive while the one behind is reversed.
remat_status LoopRunner::runReversal() {
  haveStates(nullptr);
  int64_t period = loop.host_slots > 0 ? std::min(loop.period, trips) : trips;
  int64_t segments = trips > 0 ? segmentsOf(trips, period) : 0;
  auto placeOf = [&](int64_t slot) {
    return hostWorkspace + parts.hostSlots +
           static_cast<uint64_t>(slot - 1) * parts.slotBytes;
  };
  auto stageAt = [&](unsigned stage) {
    return workspace + parts.stages + stage * parts.slotBytes;
  };
  // The last copy to or from each stage and to each slot, and the stage in
  // which the states are.
  uint64_t copies[2] = {};
  std::vector<uint64_t> offloads(static_cast<size_t>(loop.host_slots) + 1);
  unsigned stage = 0;
  char *base = nullptr;
  StateCopies moving(step.loopCopies, step.device, step.error);
  LoopReversal reversal(segments, std::min(loop.host_slots + 1, segments));
  LoopAction action, ahead;
  for (bool hasMore = reversal.next(action, cutOfRevolve); hasMore;
       action = ahead) {
    int64_t slot = reversal.getSlot();
    hasMore = reversal.next(ahead, cutOfRevolve);
    remat_status status = REMAT_OK;
    if (action.kind == LoopActionKind::Store && slot > 0) {
      status =
          moving.copy(placeOf(slot), base, parts.slotBytes, /*isToHost=*/true,
                      {copies[stage], 0}, copies[stage]);
      offloads[static_cast<size_t>(slot)] = copies[stage];
      step.stats.offloaded_bytes += parts.slotBytes;
    } else if (action.kind == LoopActionKind::Restore) {
      base = slot == 0 ? nullptr : stageAt(stage);
      status = moving.wait(copies[stage]);
      haveStates(base);
    } else if (action.kind == LoopActionKind::Advance) {
      stage ^= 1;
      base = stageAt(stage);
      status = moving.wait(copies[stage]);
      if (status == REMAT_OK)
        status = advance(action.from * period, action.to * period, base);
    } else if (action.kind == LoopActionKind::Backward) {
      stage ^= 1;
      if (int64_t next = hasMore ? reversal.getSlot() : 0; next > 0)
        status = moving.copy(
            stageAt(stage), placeOf(next), parts.slotBytes, /*isToHost=*/false,
            {copies[stage], offloads[static_cast<size_t>(next)]},
            copies[stage]);
      if (status == REMAT_OK)
        status =
            reverseSegment(action.from * period,
                           std::min((action.from + 1) * period, trips), base);
    }
    if (status != REMAT_OK)
      return status;
  }
  return moving.waitForAll();
}
