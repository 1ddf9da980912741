//===- AddressSearch.h - exact search for addresses -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether live ranges fit into an arena of a given size, by branch and bound.
// Ranges are placed in the order of their addresses, each on top of what is
// below it [Moffitt, MiniMalloc: a lightweight memory allocator for
// hardware-accelerated machine learning, 2023].
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_ADDRESSSEARCH_H
#define REMAT_LIB_PLANNING_ADDRESSSEARCH_H

#include "Random.h"
#include "SearchTuning.h"
#include "remat/Planning/Packing.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <random>

namespace remat::planning {

class AddressSearch {
public:
  /// What is tried first among ranges that could be at one address: a measure
  /// comes before those behind it, and the larger value first. The crowd of a
  /// range is the most bytes that live together with it; its area is that of
  /// bytes and life.
  enum class Order {
    CrowdLifeArea,
    CrowdAreaLife,
    /// With the number of positions where a range begins as the length of life.
    CrowdBeginsArea,
    CrowdAreaBegins,
    LifeAreaCrowd,
    /// A product of powers of crowd, life and bytes with some noise. The
    /// powers are drawn anew whenever the search begins again, which it soon
    /// does [cf. Gomes et al., Boosting combinatorial search through
    /// randomization, 1998].
    Drawn
  };
  /// Those whose search ends with a packing or a proof, given enough work.
  static constexpr Order exhaustiveOrders[] = {
      Order::CrowdLifeArea, Order::CrowdAreaLife, Order::CrowdBeginsArea,
      Order::CrowdAreaBegins, Order::LifeAreaCrowd};

  enum class Outcome {
    Fits,
    /// Proven: there is no way to place them.
    DoesNotFit,
    Stopped
  };

  /// Arenas and what divides all sizes, alignments and fixed offsets must leave
  /// a factor of at most 2^52 beside a power of two.
  /// `isOver` is asked every now and then whether to stop.
  AddressSearch(llvm::ArrayRef<LiveRange> ranges, std::function<bool()> isOver);

  /// Looks for addresses in an arena of `arenaBytes`, and takes its work, in
  /// visits of a range or of a position, off `work`. Stops when none is left,
  /// or when it is over.
  Outcome run(int64_t arenaBytes, Order order, int64_t &work);

  /// The work after which orders that are drawn are drawn anew.
  int64_t getWorkPerDraw() const {
    return int64_t(neighbours.size() + ranges.size()) *
           PackingTuning::placementsPerDraw;
  }
  /// Of what fits.
  llvm::ArrayRef<int64_t> getOffsets() const { return offsets; }

private:
  /// A live range, with positions renumbered: only those where one begins
  /// count. `end` is included.
  struct Range {
    int64_t bytes, alignment, fixedOffset, life;
    uint32_t begin, end;
    /// Where it is in what was given.
    uint32_t index;
  };
  /// A span of positions, without `end`, such that nothing that is left to
  /// place lives both in it and beyond.
  struct Part {
    uint32_t begin, end;
    /// The choice to change if the part has no solution.
    uint32_t failTo;
    /// The part to solve after it.
    uint32_t next;
    /// What is placed comes at no lower address, and at this one it has no
    /// lower precedence.
    int64_t leastOffset = 0;
    int64_t leastPrecedence = 0;
    bool needsRanks = false;
  };
  /// What may be placed next in a part, and what of it has been tried.
  struct Choice {
    uint32_t part, numParts, numPlaced;
    uint32_t nextCandidate, endCandidate;
    /// What is left in the part, in `leftOfChoices`.
    size_t beginLeft, endLeft;
  };
  /// A floor or precedence that was overwritten.
  struct Overwritten {
    int64_t *variable;
    int64_t value;
  };
  struct Placement {
    uint32_t range;
    size_t trailSize;
  };
  static constexpr uint32_t none = ~uint32_t(0);

  void reset();
  uint32_t makeRootParts();
  Outcome search(int64_t maxSpent);
  bool isCutShort();
  void openPart(uint32_t part);
  void rank(const Part &part);
  void drawPowers();
  void listLeft(const Part &part);
  void recallLeft();
  bool place(uint32_t range, const Part &part);
  bool raiseNeighbours(uint32_t range);
  void sortLeft(uint32_t placed);
  bool leavesRoom(const Part &part, int64_t lowest,
                  llvm::ArrayRef<uint32_t> toPlace);
  uint32_t split(uint32_t range, uint32_t choice);
  void retract();
  void overwrite(int64_t &variable, int64_t value);

  llvm::ArrayRef<uint32_t> getNeighbours(uint32_t range) const {
    return llvm::ArrayRef(neighbours)
        .slice(firstNeighbours[range],
               firstNeighbours[range + 1] - firstNeighbours[range]);
  }
  /// By floor, then by precedence.
  bool isBefore(uint32_t a, uint32_t b) const {
    return floors[a] != floors[b] ? floors[a] < floors[b]
                                  : precedence[a] < precedence[b];
  }

  /// Those with bytes, by the position where they begin.
  std::vector<Range> ranges;
  uint32_t numPositions = 0;
  /// The first range that begins at a position or behind it.
  std::vector<uint32_t> firstRanges;
  /// What lives together with each range: one list behind the other.
  std::vector<uint32_t> neighbours;
  std::vector<size_t> firstNeighbours;

  std::function<bool()> isOver;
  /// What will have been spent when that is asked for the next time.
  int64_t nextQuestion = 0;

  int64_t arena = 0;
  Order order = Order::CrowdLifeArea;
  /// The lowest address of each range above what is placed.
  std::vector<int64_t> floors;
  std::vector<int64_t> precedence;
  std::vector<char> isPlaced;
  /// By the index of what was given.
  std::vector<int64_t> offsets;
  /// At each position, the bytes that are left to place, and how many of the
  /// ranges that are left live at the next position, too.
  std::vector<int64_t> rest;
  std::vector<uint32_t> crossings;
  /// How high each position gets at least: twice the arena at most, and exact
  /// as the caller sees to it that arenas are of at most 2^52 units of a power
  /// of two.
  std::vector<double> heights;
  /// The exponents of crowd, life and bytes, and noise.
  std::mt19937_64 generator;
  double crowdPower = 0, lifePower = 0, bytesPower = 0, noise = 0;

  std::vector<Part> parts;
  std::vector<Choice> choices;
  /// Of all choices, one after the other.
  std::vector<uint32_t> candidates;
  llvm::SmallVector<Placement> placements;
  std::vector<Overwritten> trail;
  /// What is left in the part of the last choice, by floor and precedence, and
  /// what is left of it after a placement.
  std::vector<uint32_t> left, leftAfter;
  /// What is left where each choice was opened, one after the other.
  std::vector<uint32_t> leftOfChoices;
  /// Of what is left, what the placement raised.
  std::vector<uint32_t> raised;
  std::vector<char> isRaised;
  int64_t spent = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_ADDRESSSEARCH_H
