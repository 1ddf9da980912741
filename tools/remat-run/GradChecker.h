//===- GradChecker.h - the parts of a gradient check ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What GradCheck.cpp (the order of things), GradCheckPoints.cpp (arguments,
// and the gradients there) and GradCheckCompare.cpp (derivatives beside
// differences) share.
//
// A number that finite differences cannot tell is no agreement. The one-sided
// differences show it: they are not finite, or the derivative is between two
// that differ, as at a kink, or the results are so large that their rounding is
// what is seen. Shorter steps are tried then, and other points.
// What is left is counted as skipped.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_GRADCHECKER_H
#define REMAT_TOOLS_REMAT_RUN_GRADCHECKER_H

#include "GradCheck.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace remat::run {

/// Everything is compared at so many points, and what was skipped there at
/// others.
constexpr unsigned numPoints = 2, maxPoints = 6;

/// A change of one argument, or of all.
struct Variation {
  /// The position in `wrt`, or none for all.
  std::optional<size_t> argument;
  /// The element, or the number of a random direction.
  size_t index = 0;
  bool isDirection = false;
  /// Whether the tangents are compared, and whether the gradients are.
  bool isForward = false, isReverse = true;
};

/// What of a result is not known yet, for each variation of an argument.
struct Pair {
  /// Of the variations: what is to be compared, and what has been.
  llvm::BitVector open, known;
  GradComparison comparison;

  void settle(size_t variation) {
    open.reset(variation);
    known.set(variation);
  }
};

/// A derivative beside the differences to both sides.
struct Numbers {
  double analytic = 0, numeric = 0, least = 0, most = 0;
  /// What the rounding of the results makes of the difference, at most.
  double noise = 0;

  /// Adds `weight` times what the result's element changes by, per `step`.
  void add(double weight, double low, double center, double high, double step) {
    double up = weight * (high - center) / step;
    double down = weight * (center - low) / step;
    numeric += weight * (high - low) / (2 * step);
    least += std::min(up, down);
    most += std::max(up, down);
    noise += 16 * 0x1p-52 * std::abs(weight * center) / step;
  }
};

enum class Outcome { Same, Different, Unknown };

/// The results beside which others are compared.
using Tensors = std::vector<tools::Tensor>;

inline void clear(tools::Tensor &tensor) {
  for (size_t i = 0; i < tensor.getNumScalars(); ++i)
    tensor.set(i, 0);
}

/// Compares at one point after the other.
class Checker {
public:
  Checker(const GradCheck &check, const GradCheckOptions &options,
          Tensors &arguments, PointSampler &sampler, Evaluate evaluate,
          Evaluate evaluateOutputs);

  llvm::Expected<GradCheckReport> run();

private:
  llvm::Expected<Tensors> computeOutputs() {
    return evaluateOutputs(llvm::ArrayRef<tools::Tensor>(arguments).take_front(
        check.numArguments));
  }
  tools::Tensor &getCotangent(size_t output) {
    return arguments[check.firstCotangent + output];
  }
  tools::Tensor &getTangent(size_t argument) {
    return arguments[check.firstTangent + argument];
  }
  Pair &getPair(std::optional<size_t> argument, size_t output, bool isForward) {
    size_t number = argument.value_or(check.wrt.size());
    return pairs[(number * check.outputs.size() + output) * 2 + isForward];
  }

  void listVariations();
  llvm::Error startPoint(unsigned point);
  llvm::Error computeGradients(unsigned point);
  llvm::Error checkZeroCotangents(const Tensors &results);
  llvm::Error checkRepetition(const Tensors &first);
  std::vector<double> getDirection(const Variation &variation, size_t argument,
                                   unsigned point) const;
  llvm::Error vary(size_t number, unsigned point);
  llvm::Expected<Tensors>
  computeTangents(llvm::ArrayRef<std::vector<double>> directions);
  llvm::Expected<Tensors> move(llvm::ArrayRef<std::vector<double>> directions,
                               double distance);
  Outcome judge(const Numbers &numbers) const;
  Outcome compareGradient(const Variation &variation, size_t output,
                          llvm::ArrayRef<std::vector<double>> directions,
                          const Tensors &low, const Tensors &high, double step);
  Outcome compareTangents(size_t output, const Tensors &products,
                          const Tensors &low, const Tensors &high, double step);
  void note(GradComparison &comparison, size_t index, bool isDirection,
            const Numbers &numbers);
  void fail(const llvm::Twine &message) {
    if (report.failure.empty())
      report.failure = message.str();
  }
  bool hasOpenPairs() const {
    return llvm::any_of(pairs,
                        [](const Pair &pair) { return pair.open.any(); });
  }
  void finish();

  const GradCheck &check;
  const GradCheckOptions &options;
  Tensors &arguments;
  PointSampler &sampler;
  Evaluate evaluate, evaluateOutputs;

  std::vector<Variation> variations;
  std::vector<Pair> pairs;
  /// The elements of each output that were finite somewhere.
  std::vector<llvm::BitVector> wasFinite;
  GradCheckReport report;

  // At the present point.
  Tensors center;
  /// The cotangents of each output, and the gradients that they give.
  std::vector<Tensors> gradients;
  Tensors weights;
  /// Numbers of the last comparison that was not the same.
  std::optional<std::pair<size_t, Numbers>> found;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_GRADCHECKER_H
