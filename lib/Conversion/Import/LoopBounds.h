//===- LoopBounds.h - what an scf.for counts --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_LOOPBOUNDS_H
#define REMAT_LIB_CONVERSION_IMPORT_LOOPBOUNDS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace remat::import {

/// The bits of a counter of `type`, an integer or index.
unsigned getCounterWidth(mlir::Type type);

/// The iterations of a loop with these bounds; nothing if they are more than an
/// integer holds.
std::optional<int64_t> countIterations(mlir::scf::ForOp loop, int64_t low,
                                       int64_t high, int64_t step);

/// What a loop counts.
struct LoopBounds {
  int64_t low, step;
  /// The number of iterations, or the most that there may be; 0 for any number.
  int64_t trips;
  /// Whether it is known at run time only how many iterations there are. Then
  /// it is the upper bound of the loop, whose lower bound is 0 and step is 1.
  bool isRunTime = false;
};

/// The bounds of `loop` if they are constants that the compiler can count with:
/// the step is positive, and the counter has at most 64 bits.
std::optional<LoopBounds> getConstantBounds(mlir::scf::ForOp loop);

/// Whether the bounds of `loop` depend on more than constants, and the counters
/// of the loops around it, which are constants when these are unrolled; and
/// whether such a loop can stay one.
bool hasRunTimeBounds(mlir::scf::ForOp loop);

/// The bounds of a loop that countFromZero gives. `limit` is the most
/// iterations if neither the loop nor the program says so; 0 for any number.
LoopBounds getRunTimeBounds(mlir::scf::ForOp loop, int64_t limit);

/// The most iterations that `op`, a loop, may have by its attribute
/// `remat.max_trip_count`, or else `limit`.
int64_t getMaxTripCount(mlir::Operation *op, int64_t limit);

/// Replaces `loop`, which has run-time bounds, by one that counts from 0 by 1.
mlir::scf::ForOp countFromZero(mlir::scf::ForOp loop);

/// What a loop counts with in iteration `number`. Counters wrap around.
mlir::IntegerAttr getCounter(mlir::Type type, int64_t low, int64_t step,
                             int64_t number);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_LOOPBOUNDS_H
