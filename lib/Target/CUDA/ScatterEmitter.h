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
// in order, and each adds what all that is listed has for its own columns. Sums
// that are wider than the result are in shared memory, for a range that finds
// room there, until they are rounded.
//
// Where few points can reach an element, as where windows say where they have
// their maximum, each thread owns elements and looks at these points alone.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H
#define REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H

#include "Launch.h"

#include "remat/Codegen/LoopNest.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/ScatterWindows.h"

#include <optional>

namespace remat::cuda {

/// How the threads of a block share a range.
struct ScatterLists {
  /// Owned loops: those that coordinates depend on, of whose points each has
  /// blocks of its own, and the others.
  llvm::SmallVector<unsigned> batched, owned;
  int64_t batches = 1;
  /// Groups of neighbouring points along the others.
  int64_t allColumns = 1;
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
  /// The type of sums that are wider than the result, or null. They are in
  /// shared memory, or in registers of threads that look for windows, until all
  /// points are added, and rounded then.
  mlir::Type sums;
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
  /// By loop, if threads look for the points of their elements: which of them
  /// can be, where that is not all, and the dimension that says so.
  llvm::SmallVector<std::optional<ScatterWindow>> windows;
  llvm::SmallVector<int> windowDims;
  /// A value of the body of whose digits all coordinates are made that are no
  /// indices, or null. An element that is at no limit has one for each window.
  mlir::Value number;
  bool isEmpty = false;

  bool isWindowed() const { return !windows.empty(); }
};

mlir::FailureOr<ScatterPlan> planScatter(ScatterOp op);

/// Whether the result has its initial value before points are added.
bool isFilledBefore(const ScatterPlan &plan);
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

/// Lets threads look for the points of their elements, if these are few.
void planWindows(ScatterPlan &plan);
llvm::LogicalResult emitWindowedScatter(const ScatterPlan &plan,
                                        LaunchBuilder &launch,
                                        mlir::Value thread);

/// Adds all points to the result.
llvm::LogicalResult emitScatter(const ScatterPlan &plan, LaunchBuilder &launch);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SCATTEREMITTER_H
