//===- SqueakyWheel.h - orders that make packings smaller -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Squeaky wheel optimization [Joslin and Clements, 1999] of the order in which
// live ranges are put at their lowest free address: those that stick out of the
// arena that is wanted come earlier in the next round.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SQUEAKYWHEEL_H
#define REMAT_LIB_PLANNING_SQUEAKYWHEEL_H

#include "remat/Planning/Packing.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <random>

namespace remat::planning {

class SqueakyWheel {
public:
  /// `isOver` is asked every now and then whether to stop. There are no rounds
  /// without an order to start from.
  SqueakyWheel(llvm::ArrayRef<LiveRange> ranges,
               llvm::SmallVector<std::vector<uint32_t>> starts,
               std::function<bool()> isOver);

  /// Whether `work` is enough for a round.
  bool canRun(int64_t work) const {
    return !starts.empty() && perRound <= work;
  }

  /// Goes on for so much work, in visits of a range, and ends when an arena has
  /// `wanted` bytes or fewer. What all calls do together depends on their
  /// work and their `wanted` alone. Whether it has a smaller arena than
  /// `knownBytes`; its addresses are in `getOffsets` then.
  bool run(int64_t wanted, int64_t knownBytes, int64_t work);

  llvm::ArrayRef<int64_t> getOffsets() const { return bestOffsets; }

private:
  /// What ranges move by at most, in 1/64 of all ranges. A small step settles,
  /// a large one wanders; which is better depends on the ranges.
  static constexpr int64_t steps[] = {3, 10, 1, 26};

  void begin();
  int64_t placeAll();
  void moveForward(int64_t wanted);

  llvm::ArrayRef<LiveRange> ranges;
  llvm::SmallVector<std::vector<uint32_t>> starts;
  std::function<bool()> isOver;
  /// What lives together with each range: one list behind the other.
  std::vector<uint32_t> neighbours;
  std::vector<size_t> firstNeighbours;
  /// The work of one round.
  int64_t perRound = 0;

  std::mt19937_64 generator{1};
  std::vector<uint32_t> order;
  /// Of each range: larger values come first.
  std::vector<int64_t> priorities;
  std::vector<int64_t> offsets, bestOffsets;
  std::vector<char> isPlaced;
  std::vector<std::pair<int64_t, int64_t>> inTheWay;
  int64_t bestBytes = std::numeric_limits<int64_t>::max();
  /// Of what began with the last start: how many rounds ago its smallest arena
  /// was found, and how large that is.
  unsigned fruitless = 0;
  int64_t smallest = 0;
  /// How often it began anew.
  size_t begun = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SQUEAKYWHEEL_H
