//===- Tuning.h - the numbers of heuristics on graphs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which passes weigh how they cut a joint function into tasks,
// and order and place these, one struct per pass. They decide how fast a step
// is, how small, and how long it takes to compile, never what it computes.
// Sizes and speeds of a machine are not among them: these are `#remat.target`.
// The planner's numbers are in lib/Planning/SearchTuning.h.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TUNING_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TUNING_H

#include <cstdint>

namespace remat {

/// Clusters of operations that become one kernel (ClusterGrower.cpp).
struct ClusterTuning {
  /// Operations of a cluster, and how far apart they may stand in the program.
  /// Whether one may join is asked of all that stand between.
  static constexpr unsigned maxMembers = 32, maxDistance = 128;
  /// Elements of a plane that is read several times: where there are fewer,
  /// walking from plane to plane costs more than reading again saves.
  static constexpr int64_t minPlane = 64;
  /// Where tiles of rows are cut into tiles of columns, these are multiples of
  /// the side of a tensor core.
  static constexpr int64_t tileColumns = 16;
  /// Rows of a block whose rows are too long for more to fit into fast memory,
  /// and how many times that it may take. Most of what it holds is read soon
  /// behind its making.
  static constexpr int64_t longBlockRows = 32, longBlocks = 4;
  /// The most bytes of such a block, which is on the stack of a thread.
  static constexpr int64_t longBlockBytes = 3 << 19;
  /// Operations on an element of a factor that each tile of rows makes again:
  /// conversions and a scale, which are nothing beside the contraction.
  static constexpr int64_t maxFactorOps = 8;
  /// Results of a sum up to which what is made of them is one kernel with it.
  /// Such a kernel takes less time than it takes to start another.
  static constexpr int64_t maxTail = 16 << 10;
};

/// `remat-order-tasks`.
struct OrderTuning {
  /// Tasks that make fewer bytes do not wait: a page is hardly worth it.
  static constexpr int64_t minBytes = 4096;
};

/// Values in the buffers of results (ResultBuffers.cpp).
struct ResultBufferTuning {
  /// Buffers that are looked at for one value. More would hardly find more
  /// room, and make the search quadratic in deep models.
  static constexpr unsigned maxTried = 256;
};

/// Loops that stay loops (LoopCosts.cpp, SpreadStacks.cpp, Thinnings.cpp).
struct LoopTuning {
  /// The iterations that are counted for a loop without a limit. Nobody knows;
  /// it has no stacks, so plans hardly depend on its time.
  static constexpr int64_t iterationsWithoutLimit = 100;
  /// Each choice of stacks has at least a fifth less than the one before: each
  /// is a graph to plan.
  static constexpr int64_t leastThinning = 5;
  /// Stacks that are all rated anew whenever one of them is dropped.
  static constexpr size_t mostRatedStacks = 32;
  /// Choices one after the other that make the smallest arena no smaller, until
  /// no more are planned.
  static constexpr unsigned mostWithoutGain = 3;
  /// Plans without a budget by which the place is found where loops are split:
  /// bytes are nearly proportional to the iterations of either part.
  static constexpr unsigned mostSplitTrials = 4;
  /// Elements of stacks have buffers of their own if they are a hundredth of
  /// what an iteration stacks: each buffer is one more to plan and to place.
  static constexpr int64_t leastSpread = 100;
};

/// Alternatives to a graph (PlanGraph.cpp).
struct AlternativeTuning {
  /// A plan that takes at most this much longer than the graph without
  /// rematerialization ends the search among alternatives: none is faster by
  /// more, and each takes as long to plan as the first.
  static constexpr double leastGain = 0.02;
};

/// Variants that are asked for the smallest plan (Variants.cpp).
struct SmallestTuning {
  /// Where the smallest arena that is known is larger than another one by more
  /// than one part in so many, the search for the best plan in it is not worth
  /// its time: it hardly finds a smaller one.
  static constexpr int64_t margin = 16;
};

/// The smallest plan, packed for all work (Variants.cpp).
struct SettlingTuning {
  /// The least part of the smallest arena that a search knows which more work
  /// may pack its plan into. Below, another search would be for nothing.
  static constexpr double leastShare = 0.9;
};

/// Plans from checkpoints of stages beside others (Variants.cpp).
struct StagesTuning {
  /// How much of the time without recomputation others' plans take in addition,
  /// at least. With less, single evictions lead to plans that are as good.
  static constexpr double leastOverhead = 1;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TUNING_H
