//===- Intervals.h - which values an integer can have -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_INTERVALS_H
#define REMAT_UTILS_INTERVALS_H

#include <cstdint>

#include "mlir/IR/Value.h"

namespace remat {

/// The integers from `low` to `high`, both included.
struct Interval {
  int64_t low;
  int64_t high;

  /// All integers: what is known of a value of which nothing is known.
  static Interval getAll() { return {INT64_MIN, INT64_MAX}; }

  bool isWithin(Interval other) const {
    return low >= other.low && high <= other.high;
  }
};

/// An interval that holds all values that `value`, an index or a signed
/// integer in the body of a structured operation, can have; or the elements of
/// a tensor.
Interval getInterval(mlir::Value value);

} // namespace remat

#endif // REMAT_UTILS_INTERVALS_H
