//===- ArenaAnnealing.h - annealing of runs and addresses -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The smallest arena, whatever it costs. A state is a legal sequence of runs
// together with addresses of its copies, which never overlap, but may end above
// the arena that is wanted. A change of the sequence only gives new addresses
// to the copies that it changes, so that it is worth what it does to the arena,
// not to the peak.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_ARENAANNEALING_H
#define REMAT_LIB_PLANNING_ARENAANNEALING_H

#include "RunAnnealing.h"
#include "remat/Planning/Packing.h"

namespace remat::planning {

class ArenaAnnealing : private RunAnnealing::Judge {
public:
  /// All outlive the annealing. No MUST keeps a value of the graph from
  /// crossing into the backward phase.
  ArenaAnnealing(const Graph &graph, Timeline &timeline, Evictor &evictor,
                 WorkMeter &work);

  /// Starts from a plan without releases, and from offsets for what
  /// `findLiveRanges` lists for it.
  void load(const Plan &plan, llvm::ArrayRef<int64_t> offsets);
  /// Makes the arena smaller until a share of the effort is spent, or until
  /// `patience` rounds have got nowhere.
  void lowerArena(double share, size_t patience);
  /// Makes the plan faster within that arena, up to a share of the effort.
  void lowerCost(double share);

  /// The plan with the smallest arena so far, and the fastest of those.
  const Plan &getPlan() const { return best; }
  int64_t getArena() const { return bestArena; }
  /// Offsets for what `findLiveRanges` lists for it.
  std::vector<int64_t> getOffsets() const;

private:
  /// A copy, or the workspace of a step, with its address.
  struct Item {
    /// A value or packed form; for a workspace `noValue`.
    ValueId form;
    StepId def, last;
    uint64_t from, to;
    int64_t bytes, offset;
    int64_t top() const { return offset + bytes; }
  };
  using Items = std::vector<Item>;

  bool accepts(StepId moved) override;
  StepId pickStep() override;

  bool isOver(double share) const {
    return work.overdrawn() || work.spent(share);
  }
  size_t below(size_t limit) { return generator() % limit; }
  template <typename Visitor>
  void forEachItem(Visitor visit) const;
  void takeItems(StepId moved);
  void index();
  void setWanted(int64_t bytes);
  void collectInTheWay(const Item &item);
  int64_t findPlace(const Item &item, int64_t usual);
  void placeAll();
  void tryAddress();
  bool decide();
  double measure(const Items &items, int64_t &arena) const;
  void keep(int64_t arena);
  void restart();
  void wantLess();
  void anneal(double firstHeat, bool lowersArena, double share);

  const Graph &graph;
  Timeline &timeline;
  WorkMeter &work;
  std::mt19937_64 &generator;
  RunAnnealing runs;
  std::vector<OpId> withWorkspace;

  /// With those of one value, or of workspaces, in the order of the timeline.
  Items current, next;
  /// Those of `next` that have no address, and the ones that they had.
  std::vector<std::pair<uint32_t, int64_t>> unplaced;
  /// The items of `current` that each step makes: one of them, and the next of
  /// each.
  std::vector<uint32_t> firstOfStep, nextOfItem;
  /// Those that stick out.
  std::vector<uint32_t> high;
  std::vector<std::pair<int64_t, int64_t>> inTheWay;
  double energy = 0, heat = 0, costPrice = 0;
  /// What is above this sticks out.
  int64_t wanted = 0;

  Plan best;
  Items bestItems;
  int64_t bestArena = 0, bestCost = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_ARENAANNEALING_H
