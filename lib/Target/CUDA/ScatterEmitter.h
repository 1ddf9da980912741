//===- ScatterEmitter.h - remat.scatter on a GPU ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Points that may select the same element are added in order: each thread owns
// a part of the result, goes over all points, and adds those that fall into its
// part. A dimension whose coordinate is itself an index of the points is
// divided by that index, the first of the others in ranges.
//
// Where the other coordinates are the same for all of what is divided by an
// index, as the row of an embedding is for all of its columns, the threads of a
// block own a range together. They look for its points side by side, list them
// in order, and each adds what all that is listed has for its own columns.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H
#define REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H

#include "Launch.h"

#include "remat/Codegen/LoopNest.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include <optional>

namespace remat::cuda {

/// How the threads of a block share a range.
struct ScatterLists {
  /// Groups of neighbouring points that a block has side by side, and how many
  /// blocks share a range for that.
  int64_t columns = 1, parts = 1;
  /// Threads that have the same columns. Each adds to other rows of the range.
  int64_t slots = 1;
  /// Threads of a block.
  int64_t threads = 1;
};

struct ScatterPlan {
  ScatterOp op;
  BufferView result;
  /// As functions of the loops.
  llvm::SmallVector<Access> inputs;
  /// What all of the result is set to before, or null.
  mlir::TypedAttr init;
  /// For each loop the dimension of the result whose index it is, or -1.
  llvm::SmallVector<int> ownedDims;
  /// Loops of which each thread has one point, the fastest last, and those that
  /// it goes through.
  llvm::SmallVector<unsigned> owned, ordered;
  /// The dimension that is divided in ranges of `rangeSize`, or -1.
  int rangeDim = -1;
  int64_t rangeSize = 1, ranges = 1;
  /// The owned loop of which a thread has `width` neighbouring points, or -1.
  int vectorLoop = -1;
  int64_t width = 1;
  /// Threads in all, if each has a range of its own.
  int64_t threads = 1;
  std::optional<ScatterLists> list;
  bool isEmpty = false;
};

mlir::FailureOr<ScatterPlan> planScatter(ScatterOp op);

/// Sets the result to the initial value. A thread has one element, or as many
/// as 16 bytes hold.
void emitScatterFill(const ScatterPlan &plan, LaunchBuilder &launch);
int64_t countFillThreads(const ScatterPlan &plan);

/// The blocks that add the points, and the threads of each.
std::pair<int64_t, int64_t> countScatterThreads(const ScatterPlan &plan);

/// Lets blocks share ranges, if the points have coordinates for that.
std::optional<ScatterLists> planLists(ScatterPlan &plan);
llvm::LogicalResult emitListedScatter(const ScatterPlan &plan,
                                      LaunchBuilder &launch);

/// Adds all points to the result.
llvm::LogicalResult emitScatter(const ScatterPlan &plan, LaunchBuilder &launch);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H
