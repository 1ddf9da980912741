//===- GradPoint.h - where derivatives are compared -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_GRADPOINT_H
#define REMAT_TOOLS_REMAT_RUN_GRADPOINT_H

#include "common/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <random>
#include <utility>

namespace remat::run {

using Evaluate = llvm::function_ref<llvm::Expected<std::vector<tools::Tensor>>(
    llvm::ArrayRef<tools::Tensor>)>;

/// Numbers that are the same everywhere for the same seed.
class RandomNumbers {
public:
  explicit RandomNumbers(std::initializer_list<uint64_t> seed);

  /// From 0 to 1, without 1.
  double getUniform() { return double(random() >> 11) * 0x1p-53; }
  double getUniform(double low, double high) {
    return low + (high - low) * getUniform();
  }
  /// From 0.1 to 0.9, of either sign.
  double getWeight();
  bool getBit() { return random() >> 63; }
  size_t getBelow(size_t limit) { return random() % limit; }

private:
  std::mt19937_64 random;
};

/// What the elements of an argument are drawn from. A function with a domain,
/// such as a logarithm, is defined in one of them.
enum class ValueRange {
  /// Both signs, magnitudes from 1/16 to 4.
  Mixed,
  /// Both signs, magnitudes from 0.1 to 0.9.
  Unit,
  Positive,
  AboveOne,
  Negative,
  BelowMinusOne
};

/// Chooses the arguments of a step at random, so that its results are finite.
class PointSampler {
public:
  PointSampler(uint64_t seed, size_t numArguments)
      : seed(seed), ranges(numArguments, ValueRange::Mixed) {}

  /// Where a result's magnitude is above `maxResult`, its digits end before
  /// what a difference changes. Then matrices are drawn as a network's weights
  /// are, smaller the more elements a row has.
  static constexpr double maxResult = 1e6;
  /// Draws so from the next point on. False if it does already.
  bool shrink() { return !std::exchange(isShrunk, true); }

  /// Fills the arguments for point number `point`. If `countUndefined` finds
  /// results that are not finite there, looks for ranges of the arguments, and
  /// then for elements, where it finds fewer, and keeps the ranges for further
  /// points. This ends after a bounded number of calls.
  llvm::Error
  sample(llvm::MutableArrayRef<tools::Tensor> arguments, unsigned point,
         llvm::function_ref<llvm::Expected<size_t>()> countUndefined);

private:
  struct Search;

  uint64_t seed;
  std::vector<ValueRange> ranges;
  /// What the last search could not avoid.
  size_t leastUndefined = 0;
  bool isShrunk = false;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_GRADPOINT_H
