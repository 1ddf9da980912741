//===- LoopSlots.h - loops with fewer checkpoints ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H

#include "GraphPlanner.h"
#include "LoopPairs.h"

namespace remat {

/// What the loops of a copy keep.
struct LoopChoice {
  /// 0 for all stacks.
  unsigned level = 0;
  /// By how many bytes the arenas of bodies are smaller.
  int64_t fewer = 0;
  /// Of loops that can be split, how many of the iterations that the reverse
  /// loop comes to last are of this level, in parts of
  /// `LoopSlots::getMostSplits`; the others are of the level before. 0 if all
  /// iterations are of this level.
  int64_t split = 0;
};

/// Copies of a graph whose reverse loops keep checkpoints in place of stacks
/// and run the other loops' iterations again. Bodies and kernels that they need
/// are put into the module.
class LoopSlots {
public:
  LoopSlots(GraphOp graph, const PlanOptions &options);
  /// Erases the copies, and what none but them used.
  ~LoopSlots();
  LoopSlots(const LoopSlots &) = delete;
  LoopSlots &operator=(const LoopSlots &) = delete;

  /// Whether the copy of this level has checkpoints.
  bool hasCheckpoints(unsigned level) const { return level > numThinnings; }
  /// Whether it has some of them in host memory.
  bool isOnHost(unsigned level) const { return level > numLevels; }

  /// Copies that keep ever less. In the last, each iteration runs again eight
  /// times at most, on the average.
  unsigned getNumLevels() const { return numLevels; }

  /// Further levels with checkpoints in host memory, too, and ever fewer in the
  /// arena, at last one. None without a link.
  unsigned getNumHostLevels() const { return numHostLevels; }

  /// Lets the plans of the bodies of a copy take so many seconds together.
  void setTimeLimit(double seconds) { timeLimit = seconds; }

  /// The graph to plan where loops keep all stacks: that of level 0.
  llvm::Expected<GraphOp> getWhole();

  /// Whether elements of stacks may lie in buffers of results.
  bool canSpread() const { return maySpread; }

  /// Whether the graph has loops at all.
  bool hasLoops() const { return isLooping; }

  /// The iterations of the longest loop that can be split, or 0.
  int64_t getMostSplits() const { return mostSplits; }

  /// Whether the loops of a level can be split from those of the level before.
  bool maySplitLevel(unsigned level) const {
    return mostSplits > 1 && level > 0 && level <= numThinnings;
  }

  /// The copy for a choice: level 0 has all stacks, the next ones ever fewer,
  /// of which iterations make the others, then comes a checkpoint for each
  /// iteration, and at each further level half of those of the one before; then
  /// those with checkpoints in host memory, at each a quarter in the arena.
  /// Bodies are planned with arenas that are smaller by `fewer` bytes, or as
  /// small as they can be. Only levels without checkpoints can be split. The
  /// copy stands beside the graph and has its name.
  /// Elements of stacks that may lie in buffers of results are values of their
  /// own in it.
  llvm::Expected<GraphOp> make(const LoopChoice &choice);

  /// What was decided in the bodies that were planned for the last copy.
  llvm::ArrayRef<TaskDecision> getDecisions() const { return decisions; }

  /// Bytes of the arena that a copy takes whatever its plan is, if nothing is
  /// offloaded: stacks that are live together.
  int64_t getLeastArena(GraphOp copy) const { return leastArenas.lookup(copy); }
  /// The same for any plan: the most scratch bytes that a task has, as those of
  /// a loop are its checkpoints and what an iteration needs.
  static int64_t getMostWorkspace(GraphOp copy);

private:
  /// A body that was planned within less, and what was decided in it.
  struct SmallerBody {
    GraphOp graph;
    std::vector<TaskDecision> decisions;
  };

  int64_t countLeastArena(GraphOp copy);
  llvm::Expected<SmallerBody *> makeSmaller(GraphOp body, int64_t fewer,
                                            int64_t hostBudget);
  int64_t getDelay(LoopOp loop, GraphOp body, GraphOp smaller) const;
  llvm::Error replan(TaskOp task, int64_t fewer);
  llvm::DenseSet<int64_t> split(GraphOp copy, int64_t late);
  llvm::Error thin(GraphOp copy, unsigned level,
                   const llvm::DenseSet<int64_t> &before = {});
  llvm::Error keepCheckpoints(GraphOp copy, unsigned level);
  void keepSymbols(const LoopPair &pair);

  GraphOp graph;
  PlanOptions options;
  std::optional<double> timeLimit;
  bool isLooping = false;
  /// Whether elements of stacks may have buffers of their own.
  bool maySpread = false;
  /// The copy of level 0, if that is not the graph.
  GraphOp whole;
  /// For copies, see `getLeastArena`.
  llvm::DenseMap<mlir::Operation *, int64_t> leastArenas;
  mlir::ModuleOp module;
  unsigned numLevels = 0, numThinnings = 0, numHostLevels = 0;
  int64_t mostSplits = 0;
  /// Unset if values must not go to the host.
  std::optional<HostLink> link;
  llvm::SmallVector<GraphOp> copies;
  std::vector<TaskDecision> decisions;
  MadeBodies bodies;
  /// By the body, by how many bytes less, and what it may have on the host.
  std::map<std::tuple<mlir::Operation *, int64_t, int64_t>, SmallerBody>
      smallerBodies;
  /// What may be unused at the end.
  llvm::SetVector<mlir::Operation *> symbols;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H
