//===- SumTails.h - what follows a sum in its launch ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SUMTAILS_H
#define REMAT_LIB_TARGET_CUDA_SUMTAILS_H

#include "NestEmitter.h"

namespace remat::cuda {

/// A nest and its division, and where squares about the mean go that are added
/// up beside it, or null.
struct PlannedNest {
  const LoopNest *nest;
  const NestPlan *plan;
  const Access *squares = nullptr;
};

/// The number of the nest `behind` a sum that adds up the squares of its terms
/// about their mean, if the sum can do so itself, and write them before the
/// nests between are carried out.
std::optional<size_t> findSquares(PlannedNest sum,
                                  llvm::ArrayRef<PlannedNest> behind);

/// How many of the nests `behind` a sum can be carried out by the blocks that
/// have its results, each for the elements in the places of its own results.
size_t countTails(PlannedNest sum, llvm::ArrayRef<PlannedNest> behind);

/// Emits them behind the sum, whose results are divided by `plan` in this
/// launch.
llvm::LogicalResult emitTails(const NestPlan &plan,
                              llvm::ArrayRef<LoopNest> tails,
                              LaunchBuilder &launch);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SUMTAILS_H
