//===- GradCheckPoints.cpp - arguments, and the gradients there -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradChecker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// Larger arguments are varied in `numSamples` elements and along as many
/// directions.
static constexpr size_t maxElements = 64, numSamples = 8;

Checker::Checker(const GradCheck &check, const GradCheckOptions &options,
                 Tensors &arguments, PointSampler &sampler, Evaluate evaluate,
                 Evaluate evaluateOutputs)
    : check(check), options(options), arguments(arguments), sampler(sampler),
      evaluate(evaluate), evaluateOutputs(evaluateOutputs) {}

void Checker::listVariations() {
  variations.push_back({std::nullopt, 0, true, true, false});
  bool isReverse = check.hasGradients;
  for (size_t argument = 0; argument < check.wrt.size(); ++argument) {
    size_t count = arguments[check.wrt[argument]].getNumScalars();
    if (count == 0)
      continue;
    // With gradients to compare, one direction is enough for the tangents.
    bool isSmall = count <= maxElements;
    size_t numDirections = options.fast || isSmall ? 1 : numSamples;
    for (size_t i = 0; i < numDirections; ++i)
      variations.push_back(
          {argument, i, true, i == 0 || !isReverse, isReverse});
    if (options.fast)
      continue;
    RandomNumbers random{options.seed, argument};
    for (size_t i = 0, e = isSmall ? count : numSamples; i < e; ++i)
      variations.push_back({argument, isSmall ? i : random.getBelow(count),
                            false, !isReverse, isReverse});
  }
  pairs.resize((check.wrt.size() + 1) * check.outputs.size() * 2);
  for (size_t number = 0; number <= check.wrt.size(); ++number)
    for (auto [output, result] : enumerate(check.outputs))
      for (bool isForward : {false, true}) {
        std::optional<size_t> argument;
        if (number < check.wrt.size())
          argument = number;
        Pair &pair = getPair(argument, output, isForward);
        pair.open.resize(variations.size());
        pair.known.resize(variations.size());
        pair.comparison.isForward = isForward;
        pair.comparison.result = result;
        if (argument)
          pair.comparison.argument = check.wrt[*argument];
      }
}

/// Makes everything an open question, at the first points.
Error Checker::startPoint(unsigned point) {
  double largest = 0;
  auto countUndefined = [&]() -> Expected<size_t> {
    Expected<Tensors> results = computeOutputs();
    if (!results)
      return results.takeError();
    size_t count = 0;
    largest = 0;
    for (int64_t output : check.outputs)
      for (size_t i = 0; i < (*results)[output].getNumScalars(); ++i) {
        double value = (*results)[output].get(i);
        count += !std::isfinite(value);
        if (std::isfinite(value))
          largest = std::max(largest, std::abs(value));
      }
    center = std::move(*results);
    return count;
  };
  do {
    if (!options.isGiven)
      if (Error error = sampler.sample(
              MutableArrayRef(arguments).take_front(check.numArguments), point,
              countUndefined))
        return error;
    // The last of a search is not always what it kept.
    if (Error error = countUndefined().takeError())
      return error;
  } while (!options.isGiven && largest > PointSampler::maxResult &&
           sampler.shrink());
  ++report.numPoints;
  wasFinite.resize(check.outputs.size());
  for (auto [output, number] : enumerate(check.outputs)) {
    const Tensor &result = center[number];
    wasFinite[output].resize(result.getNumScalars());
    for (size_t i = 0; i < result.getNumScalars(); ++i)
      if (std::isfinite(result.get(i)))
        wasFinite[output].set(i);
    if (result.getNumScalars() == 0 || point >= numPoints)
      continue;
    for (auto [number, variation] : enumerate(variations)) {
      if (variation.isForward)
        getPair(variation.argument, output, true).open.set(number);
      if (variation.isReverse)
        getPair(variation.argument, output, false).open.set(number);
    }
  }
  return computeGradients(point);
}

/// The gradients of each output for itself: another that is not finite, or
/// much larger, would hide it.
Error Checker::computeGradients(unsigned point) {
  for (size_t argument = 0; argument < check.wrt.size(); ++argument)
    clear(getTangent(argument));
  gradients.clear();
  weights.clear();
  if (!check.hasGradients)
    return Error::success();
  for (size_t output = 0; output < check.outputs.size(); ++output)
    clear(getCotangent(output));
  for (size_t output = 0; output < check.outputs.size(); ++output) {
    Tensor &cotangent = getCotangent(output);
    const Tensor &result = center[check.outputs[output]];
    RandomNumbers random{options.seed, point, output, 1};
    for (size_t i = 0; i < cotangent.getNumScalars(); ++i) {
      double weight = random.getWeight();
      cotangent.set(i, std::isfinite(result.get(i)) ? weight : 0);
    }
    Expected<Tensors> results = evaluate(arguments);
    if (!results)
      return results.takeError();
    if (point == 0 && output == 0)
      if (Error error = checkRepetition(*results))
        return error;
    weights.push_back(cotangent.copy());
    Tensors &kept = gradients.emplace_back();
    for (size_t argument = 0; argument < check.wrt.size(); ++argument)
      kept.push_back(std::move((*results)[check.firstGradient + argument]));
    clear(cotangent);
  }
  if (point > 0)
    return Error::success();
  Expected<Tensors> results = evaluate(arguments);
  return results ? checkZeroCotangents(*results) : results.takeError();
}

/// Without any cotangent there is no gradient.
Error Checker::checkZeroCotangents(const Tensors &results) {
  for (const BitVector &finite : wasFinite)
    if (!finite.all())
      return Error::success();
  for (auto [number, argument] : enumerate(check.wrt)) {
    const Tensor &gradient = results[check.firstGradient + number];
    for (size_t i = 0; i < gradient.getNumScalars(); ++i)
      if (gradient.get(i) != 0)
        fail(formatv("the gradient with respect to argument {0} at index {1} "
                     "is {2} where all cotangents are zero",
                     argument, i, gradient.get(i)));
  }
  return Error::success();
}

/// The derivatives are the same each time.
Error Checker::checkRepetition(const Tensors &first) {
  Expected<Tensors> second = evaluate(arguments);
  if (!second)
    return second.takeError();
  for (auto [number, argument] : enumerate(check.wrt)) {
    const Tensor &a = first[check.firstGradient + number];
    const Tensor &b = (*second)[check.firstGradient + number];
    for (size_t i = 0; i < a.getNumScalars(); ++i)
      if (std::abs(a.get(i) - b.get(i)) > options.nondetTol)
        fail(formatv("the gradient with respect to argument {0} at index {1} "
                     "is {2}, then {3} at the same point: it is not "
                     "deterministic (--nondet-tol={4})",
                     argument, i, a.get(i), b.get(i), options.nondetTol));
  }
  return Error::success();
}
