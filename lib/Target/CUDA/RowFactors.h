//===- RowFactors.h - factors in shared memory ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all rows of a run share (RowSchedule.h), such as attention's keys and
// values, a block makes for itself in shared memory: as a whole, or for a tile
// of columns. It is laid out as it comes from memory, with a gap behind each
// line, so that threads read it in either direction from different banks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_ROWFACTORS_H
#define REMAT_LIB_TARGET_CUDA_ROWFACTORS_H

#include "Launch.h"

#include "remat/Codegen/RowSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace remat::cuda {

/// Where a factor of a schedule lies in the shared memory of a block.
class FactorLayout {
public:
  /// The layout of the factor as a whole; none if more than two loops walk what
  /// there is for one run.
  static std::optional<FactorLayout> get(const RowStep &factor,
                                         unsigned number);

  /// Keeps only a tile of columns, those of `loop` of the factor.
  void cut(unsigned loop, int64_t tileColumns);

  int64_t countElements() const;
  int64_t countBytes() const;

  /// Gives it its place in the shared memory of a launch.
  void allocate(LaunchBuilder &launch) const;

  /// Lets an access of a contraction be one of the factor in shared memory.
  void address(const LoopNest &nest, Access &access) const;

  /// Makes the factor of a run, or the tile of it that begins with
  /// `columnBegin` and ends before `columnEnd`. There is no barrier behind it.
  llvm::LogicalResult emit(LaunchBuilder &launch, const RowSchedule &schedule,
                           mlir::Value run, mlir::Value columnBegin = {},
                           mlir::Value columnEnd = {}) const;

  /// The allocation that it stands for.
  mlir::Value root;
  /// Among the factors of the schedule.
  unsigned number = 0;

private:
  struct Side {
    /// The loop of the factor, or -1; its points; its coefficient in the
    /// allocation; and in shared memory.
    int loop = -1;
    int64_t size = 1, coefficient = 0, stride = 0;
  };
  int64_t getPitch() const;
  void setStrides();

  /// The loop whose points are next to each other, and the other one.
  Side line, other;
  int columnLoop = -1;
  mlir::Type elementType;
};

/// The factors of a schedule in shared memory, in its order; none if one has no
/// layout.
std::optional<llvm::SmallVector<FactorLayout>>
layOutFactors(const RowSchedule &schedule);

/// The one that lies in `root`; null if there is none.
const FactorLayout *findFactor(llvm::ArrayRef<FactorLayout> factors,
                               mlir::Value root);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_ROWFACTORS_H
