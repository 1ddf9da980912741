//===- LoopSimulator.h - what the actions of a reversal do ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of tests about loops: carries actions out on single iterations,
// with what is stored by name, and counts them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_LOOPSIMULATOR_H
#define REMAT_TEST_UNIT_PLANNING_LOOPSIMULATOR_H

#include "remat/Schedules/Revolve.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <optional>
#include <set>

namespace remat::planning {

/// What actions add up to.
struct LoopTotals {
  /// Iterations that Advance actions run.
  int64_t advances = 0;
  /// The most checkpoints kept at a time.
  int64_t peakSlots = 0;
};

class LoopSimulator {
public:
  explicit LoopSimulator(int64_t iterations)
      : iterations(iterations), nextBackward(iterations) {}

  /// State 0 is the current one at the start. Every iteration has to run
  /// backward once, the last one first; what is stored, advanced or run
  /// backward has to be the current state; what is restored was stored.
  llvm::Expected<LoopTotals> run(llvm::ArrayRef<LoopAction> actions) {
    for (size_t i = 0; i < actions.size(); ++i) {
      if (llvm::Error error = step(actions[i]))
        return llvm::createStringError("action " + llvm::Twine(i) + ": " +
                                       toString(std::move(error)));
      // A checkpoint stays until its last Restore before it is stored again.
      if (!isRestored(actions.drop_front(i + 1), actions[i].from))
        stored.erase(actions[i].from);
    }
    if (nextBackward > 0)
      return llvm::createStringError("iteration " +
                                     llvm::Twine(nextBackward - 1) +
                                     " never runs backward");
    return totals;
  }

private:
  static bool isRestored(llvm::ArrayRef<LoopAction> ahead, int64_t state) {
    for (const LoopAction &action : ahead)
      if (action.from == state && action.kind == LoopActionKind::Restore)
        return true;
      else if (action.from == state && action.kind == LoopActionKind::Store)
        return false;
    return false;
  }

  llvm::Error step(const LoopAction &action) {
    using llvm::createStringError, llvm::Twine;
    int64_t from = action.from;
    if (action.kind == LoopActionKind::Restore) {
      if (!stored.count(from))
        return createStringError("state " + Twine(from) + " is not stored");
      current = from;
    } else if (current != from) {
      return createStringError("state " + Twine(from) +
                               " is not the current one");
    }
    switch (action.kind) {
    case LoopActionKind::Restore:
      break;
    case LoopActionKind::Store:
      stored.insert(from);
      totals.peakSlots = std::max<int64_t>(totals.peakSlots, stored.size());
      break;
    case LoopActionKind::Advance:
      if (action.to <= from || action.to > iterations)
        return createStringError("advances from " + Twine(from) + " to " +
                                 Twine(action.to) + " of " + Twine(iterations));
      totals.advances += action.to - from;
      current = action.to;
      break;
    case LoopActionKind::Backward:
      if (from != nextBackward - 1)
        return createStringError("iteration " + Twine(from) +
                                 " runs backward, expected " +
                                 Twine(nextBackward - 1));
      nextBackward = from;
      current.reset();
      break;
    }
    return llvm::Error::success();
  }

  int64_t iterations, nextBackward;
  std::set<int64_t> stored;
  std::optional<int64_t> current = 0;
  LoopTotals totals;
};

inline llvm::Expected<LoopTotals>
simulateLoop(int64_t iterations, llvm::ArrayRef<LoopAction> actions) {
  return LoopSimulator(iterations).run(actions);
}

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_LOOPSIMULATOR_H
