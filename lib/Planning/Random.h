//===- Random.h - random choices --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_RANDOM_H
#define REMAT_LIB_PLANNING_RANDOM_H

#include <random>

namespace remat::planning {

/// A number from 0 to less than 1. What the standard library makes of a
/// generator differs from one implementation to the next; this does not.
inline double uniform(std::mt19937_64 &generator) {
  return double(generator() >> 11) * (1.0 / double(uint64_t(1) << 53));
}

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_RANDOM_H
