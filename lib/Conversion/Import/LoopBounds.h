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

/// What a loop of constant bounds counts.
struct LoopBounds {
  int64_t low, step;
  /// The number of iterations.
  int64_t trips;
};

/// The bounds of `loop` if they are constants that the compiler can count with:
/// the step is positive, and the counter has at most 64 bits.
std::optional<LoopBounds> getConstantBounds(mlir::scf::ForOp loop);

/// What a loop counts with in iteration `number`. Counters wrap around.
mlir::IntegerAttr getCounter(mlir::Type type, int64_t low, int64_t step,
                             int64_t number);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_LOOPBOUNDS_H
