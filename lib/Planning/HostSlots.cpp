//===- HostSlots.cpp - checkpoints of a loop on the host ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state on the host costs no time while the link is faster than a segment. So
// the question is how long segments are. Each length that is worth it is tried
// out on the clock.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/HostSlots.h"
#include "SearchTuning.h"
#include "remat/Schedules/Revolve.h"

#include <set>
#include <tuple>

using namespace llvm;

namespace remat::planning {

namespace {
/// Times may be as large as 64 bits, and are added up.
using Time = __int128;

/// Walks over the segments.
class HostClock {
public:
  HostClock(const HostLoop &loop, int64_t hostSlots, int64_t period)
      : loop(loop), period(period),
        segments(segmentsOf(loop.iterations, period)),
        slots(std::min(hostSlots + 1, segments)), isThere(slots, 0) {}

  HostSchedule run() {
    LoopReversal reversal(segments, slots);
    LoopAction action, ahead;
    for (bool hasMore = reversal.next(action, cutOfRevolve); hasMore;
         action = ahead) {
      int64_t slot = reversal.getSlot();
      hasMore = reversal.next(ahead, cutOfRevolve);
      int64_t nextSlot = hasMore ? reversal.getSlot() : 0;
      step(action, slot, nextSlot);
    }
    schedule.hostSlots = slots - 1;
    schedule.period = period;
    schedule.advances =
        fewestAdvances(loop.iterations, loop.slots, slots - 1, period);
    schedule.time = int64_t(std::min<Time>(now, INT64_MAX));
    return schedule;
  }

private:
  /// A copy that begins when its queue, `source` and the stage are free.
  void transfer(Time &queue, Time source) {
    queue = std::max({queue, now, source, free[stage]}) + loop.transferTime;
    free[stage] = queue;
  }

  void step(const LoopAction &action, int64_t slot, int64_t nextSlot) {
    Time &out = loop.duplexLink ? outbound : in;
    switch (action.kind) {
    case LoopActionKind::Store:
      if (slot == 0)
        break;
      transfer(out, 0);
      isThere[slot] = out;
      ++schedule.offloads;
      break;
    case LoopActionKind::Restore:
      if (slot > 0)
        now = std::max(now, free[stage]);
      break;
    case LoopActionKind::Advance:
      stage ^= 1;
      now = std::max(now, free[stage]) +
            Time(action.to - action.from) * period * loop.advanceTime;
      break;
    case LoopActionKind::Backward: {
      stage ^= 1;
      if (nextSlot > 0)
        transfer(in, isThere[nextSlot]);
      int64_t length = std::min(period, loop.iterations - action.from * period);
      now += Time(fewestAdvances(length, loop.slots)) * loop.advanceTime +
             Time(length) * loop.backwardTime;
      break;
    }
    }
  }

  const HostLoop &loop;
  const int64_t period, segments, slots;
  HostSchedule schedule;
  Time now = 0;
  /// Until when each direction is at work; if they are one, all is in `in`.
  Time in = 0, outbound = 0;
  /// When the state in each slot is there, and each stage can be written.
  std::vector<Time> isThere;
  Time free[2] = {0, 0};
  unsigned stage = 0;
};
} // namespace

HostSchedule simulateHostSlots(const HostLoop &loop, int64_t hostSlots,
                               int64_t period) {
  return HostClock(loop, hostSlots, std::min(period, loop.iterations)).run();
}

/// Lengths of segments: all short ones, then ever longer ones; what the slots
/// of the arena reverse with each number of repetitions; and what makes as many
/// segments as there are slots for.
static std::set<int64_t> collectPeriods(const HostLoop &loop,
                                        int64_t mostHostSlots) {
  std::set<int64_t> periods;
  for (int64_t period = 1; period < loop.iterations;
       period += std::max<int64_t>(period / HostSlotTuning::finestPeriod, 1))
    periods.insert(period);
  for (int64_t repetitions = 1;; ++repetitions) {
    int64_t reach = binomialReach(loop.slots, repetitions);
    if (reach >= loop.iterations ||
        repetitions > HostSlotTuning::mostRepetitions)
      break;
    periods.insert(reach);
  }
  // The first segment and the last take no slot.
  if (mostHostSlots < loop.iterations - 2)
    periods.insert(segmentsOf(loop.iterations, mostHostSlots + 2));
  return periods;
}

std::optional<HostSchedule> planHostSlots(const HostLoop &loop,
                                          int64_t mostHostSlots) {
  // Two segments need no slot.
  if (loop.iterations < 3 || mostHostSlots < 1)
    return std::nullopt;
  std::optional<HostSchedule> best;
  Time limit =
      Time(loop.iterations) * loop.backwardTime +
      Time(fewestAdvances(loop.iterations, loop.slots)) * loop.advanceTime;
  for (int64_t period : collectPeriods(loop, mostHostSlots)) {
    int64_t segments = segmentsOf(loop.iterations, period);
    int64_t hostSlots = std::min(mostHostSlots, segments - 2);
    if (hostSlots < 1 || segments > loopIterationLimit ||
        fewestAdvances(segments, hostSlots + 1) / segments >
            HostSlotTuning::mostRepetitions)
      continue;
    HostSchedule found = simulateHostSlots(loop, hostSlots, period);
    if (found.time < limit &&
        (!best || std::tie(found.time, found.hostSlots) <
                      std::tie(best->time, best->hostSlots)))
      best = found;
  }
  return best;
}

} // namespace remat::planning
