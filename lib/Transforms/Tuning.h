//===- Tuning.h - the numbers of heuristics on L1 ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which passes on the joint function weigh what they do, one
// struct per pass. They decide how fast a step is and how long it takes to
// compile, never what it computes. Sizes and speeds of a machine are not among
// them: these are `#remat.target`.
//
// The size of a body is its number of scalar operations.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_TUNING_H
#define REMAT_LIB_TRANSFORMS_TUNING_H

#include <cstddef>
#include <cstdint>

namespace remat {

/// `remat-fuse-elementwise`.
struct FusionTuning {
  /// Bodies larger than this take nothing more in: the time to compile a body
  /// grows faster than its size.
  static constexpr int64_t maxBodySize = 256;
  /// An operation without inputs of at most this size, as a causal mask is, is
  /// computed anew by each of its users.
  static constexpr int64_t maxMaskSize = 16;
  /// The gradient of what is used many times is a sum of as many terms. One sum
  /// would hold all of them; parts are added to, in place, as the terms are
  /// made.
  static constexpr int64_t maxTerms = 4;
  /// Moving reshapes out of the way and fusing alternate at most this often.
  static constexpr unsigned maxRounds = 4;
  /// An operation of at most this size that reads one large tensor is computed
  /// anew by all of its users, who then read that tensor instead of its result.
  static constexpr int64_t maxCheapSize = 4;
  /// The size up to which that is done where some users read the operands
  /// anyway and so make up for those that do not.
  static constexpr int64_t maxSparingSize = 24;
  /// The size of an operation that only narrows what it reads, perhaps with a
  /// bias: twice as much as is cheap, for the cast and the bias.
  static constexpr int64_t maxNarrowingSize = 2 * maxCheapSize;
  /// More users than this are not asked what they read: each of them would ask
  /// for all of them.
  static constexpr unsigned maxUsers = 256;
  /// Users that compute for themselves what takes time, and by how much what
  /// they do not read has to take longer. Estimates of arithmetic are rough.
  static constexpr int64_t maxComputingUsers = 4;
  static constexpr double leastGain = 2;
};

/// `remat-merge-contractions`.
struct MergeTuning {
  /// Fewer contractions are summed up in one kernel of additions, or where they
  /// are made.
  static constexpr size_t minProducts = 4;
  /// The results that are there less at a time: sums have four terms
  /// (`FusionTuning::maxTerms`), of which one becomes the result.
  static constexpr int64_t savedResults = 2;
};

/// `remat-split-elementwise`.
struct PartTuning {
  /// Smaller parts take less time than the kernels that more of them are.
  static constexpr int64_t minPartBytes = 16 << 10;
  /// The most parts that one operation is made of.
  static constexpr size_t maxParts = 16;
};

/// `remat-transpose-factors`.
struct TransposeTuning {
  /// Contractions of fewer products take less time than a copy's kernel.
  static constexpr uint64_t minProducts = 1 << 16;
};

/// `remat-pick-early` and `remat-sink-into-gathers`.
struct PickTuning {
  /// Smaller tensors may wait: one more task costs more than it saves.
  static constexpr int64_t minElements = 16384;
  /// What is picked is no more than one in so many elements.
  static constexpr int64_t leastPart = 64;
  /// The most operations that are written for what is picked at several places.
  static constexpr size_t mostWritten = 2000;
};

/// `remat-fuse-readers`.
struct ReaderTuning {
  /// Results that are at most this part of the largest tensor are fused in any
  /// case: they are not what decides about a budget.
  static constexpr int64_t littleShare = 256;
};

/// `remat-fuse-sibling-reductions`.
struct SiblingTuning {
  /// Results of a merged operation: each is a sum in a vector register or two.
  static constexpr unsigned maxResults = 8;
  /// The size of its body, as of fused ones.
  static constexpr int64_t maxBodySize = FusionTuning::maxBodySize;
  /// Reductions that are asked closely whether they can join an earlier one, so
  /// that the pass takes linear time.
  static constexpr unsigned maxTried = 16;
  /// Operations that are moved to let one join: more would be a computation of
  /// its own.
  static constexpr unsigned maxMoved = 16;
};

/// `remat-fold-layers`.
struct FoldingTuning {
  /// Fewer layers are hardly less to plan as a loop, and a loop takes copies of
  /// what it carries.
  static constexpr unsigned fewestLayers = 4;
  /// Operations of a layer. One alone, such as one of many equal sums, is none;
  /// those of large layers are more than most models have.
  static constexpr unsigned fewestOps = 2, mostOps = 4096;
  /// Parts of a program that are looked at closely. The largest is first.
  static constexpr unsigned mostTried = 32;
  /// Bytes of a constant of which each layer has another: the step writes them
  /// each time.
  static constexpr int64_t mostConstantBytes = 4096;
};

/// `remat-reassociate-row-sums`.
struct ProductTuning {
  /// Factors that are looked at. Those of a softmax, its gradient and a dropout
  /// are half as many.
  static constexpr size_t maxFactors = 16;
};

/// `remat-slice-rows`.
struct SliceTuning {
  /// How far apart the operations that are sliced may stand in the program, and
  /// so how many there may be.
  static constexpr unsigned maxDistance = 128;
  /// Slices, and those of a batch that has no such divisor. Each is some tasks
  /// that have to be planned.
  static constexpr int64_t maxSlices = 32, maxBatchSlices = 128;
  /// Slices to choose from beside those that the target asks for have this many
  /// times fewer rows: few sizes, and far apart, since each is a function more
  /// to plan.
  static constexpr int64_t finerSlices[] = {4};
  /// What slices read of the forward computation is little if it is at most
  /// this part of what is never there as a whole.
  static constexpr int64_t littleShare = 64;
};

/// `remat-offer-absorption`.
struct AbsorptionTuning {
  /// Smaller values cost less than what there is to decide about them.
  static constexpr int64_t minBytes = 4096;
  /// Values that are looked at for one reader, and that it may absorb. Each set
  /// of the latter is a kernel.
  static constexpr size_t maxCandidates = 8, maxAbsorbed = 3;
};

/// `remat-split-batch`.
struct SplitTuning {
  /// Numbers of parts to choose from: each is a function more to plan.
  static constexpr size_t maxAlternatives = 3;
  /// What parts add up to is kept for each of them if that is at most this part
  /// of the largest value of a part.
  static constexpr int64_t littleShare = 8;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_TUNING_H
