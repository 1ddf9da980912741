//===- GradCheckCompare.cpp - derivatives beside differences --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradChecker.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// The step and those that are tried where it does not do.
static constexpr double stepFactors[] = {1, 0.1, 0.01};

/// What a variation adds to an argument, empty if it does not change it.
std::vector<double> Checker::getDirection(const Variation &variation,
                                          size_t argument,
                                          unsigned point) const {
  if (variation.argument && *variation.argument != argument)
    return {};
  std::vector<double> direction(arguments[check.wrt[argument]].getNumScalars(),
                                0.0);
  if (!variation.isDirection) {
    direction[variation.index] = 1;
    return direction;
  }
  RandomNumbers random{options.seed, point, argument, variation.index, 2};
  for (double &value : direction)
    value = random.getWeight();
  return direction;
}

/// The results where the arguments have moved along `directions`.
Expected<Tensors> Checker::move(ArrayRef<std::vector<double>> directions,
                                double distance) {
  std::vector<Tensor> old;
  for (auto [number, direction] : enumerate(directions)) {
    Tensor &tensor = arguments[check.wrt[number]];
    old.push_back(direction.empty() ? Tensor(REMAT_F64, 0) : tensor.copy());
    for (size_t i = 0; i < direction.size(); ++i)
      if (direction[i] != 0)
        tensor.set(i, tensor.get(i) + distance * direction[i]);
  }
  Expected<Tensors> results = computeOutputs();
  for (auto [number, direction] : enumerate(directions))
    if (!direction.empty())
      arguments[check.wrt[number]] = std::move(old[number]);
  return results;
}

Outcome Checker::judge(const Numbers &numbers) const {
  if (!std::isfinite(numbers.numeric) || !std::isfinite(numbers.least) ||
      !std::isfinite(numbers.most))
    return Outcome::Unknown;
  double allowed = options.atol + options.rtol * std::abs(numbers.numeric);
  if (std::abs(numbers.analytic - numbers.numeric) <= allowed)
    return Outcome::Same;
  allowed += numbers.noise;
  return numbers.analytic >= numbers.least - allowed &&
                 numbers.analytic <= numbers.most + allowed
             ? Outcome::Unknown
             : Outcome::Different;
}

void Checker::note(GradComparison &comparison, size_t index, bool isDirection,
                   const Numbers &numbers) {
  ++comparison.numCompared;
  double allowed = options.atol + options.rtol * std::abs(numbers.numeric);
  double share = std::abs(numbers.analytic - numbers.numeric) / allowed;
  if (std::isnan(share))
    share = INFINITY;
  if (!comparison.worst || share > comparison.worst->share)
    comparison.worst = {index, isDirection, numbers.analytic, numbers.numeric,
                        share};
}

Outcome Checker::compareGradient(const Variation &variation, size_t output,
                                 ArrayRef<std::vector<double>> directions,
                                 const Tensors &low, const Tensors &high,
                                 double step) {
  int64_t result = check.outputs[output];
  const Tensor &weight = weights[output];
  Numbers numbers;
  bool isKnown = false;
  for (size_t i = 0; i < weight.getNumScalars(); ++i)
    if (weight.get(i) != 0) {
      numbers.add(weight.get(i), low[result].get(i), center[result].get(i),
                  high[result].get(i), step);
      isKnown = true;
    }
  const Tensor &gradient = gradients[output][*variation.argument];
  ArrayRef<double> direction = directions[*variation.argument];
  for (size_t i = 0; i < direction.size(); ++i)
    if (direction[i] != 0)
      numbers.analytic += gradient.get(i) * direction[i];
  Outcome outcome = isKnown ? judge(numbers) : Outcome::Unknown;
  found = {variation.index, numbers};
  return outcome;
}

/// Compares the elements of an output's tangent. `found` is the worst one.
Outcome Checker::compareTangents(size_t output, const Tensors &products,
                                 const Tensors &low, const Tensors &high,
                                 double step) {
  int64_t result = check.outputs[output];
  const Tensor &product = products[check.firstProduct + output];
  Outcome outcome = Outcome::Same;
  double most = -1;
  bool isKnown = false;
  for (size_t i = 0; i < product.getNumScalars(); ++i) {
    if (!std::isfinite(center[result].get(i)))
      continue;
    Numbers numbers;
    numbers.add(1, low[result].get(i), center[result].get(i),
                high[result].get(i), step);
    numbers.analytic = product.get(i);
    Outcome one = judge(numbers);
    isKnown = true;
    if (one == Outcome::Unknown) {
      if (outcome == Outcome::Same)
        outcome = one;
      continue;
    }
    double error = std::abs(numbers.analytic - numbers.numeric) /
                   (options.atol + options.rtol * std::abs(numbers.numeric));
    if (std::isnan(error))
      error = INFINITY;
    // A difference is of more interest than what is the same.
    if (one == Outcome::Different) {
      if (outcome != Outcome::Different)
        most = -1;
      outcome = one;
    }
    if (error > most && (one == outcome || outcome != Outcome::Different)) {
      most = error;
      found = {i, numbers};
    }
  }
  return isKnown ? outcome : Outcome::Unknown;
}

/// The results of the step with the tangents `directions`.
Expected<Tensors>
Checker::computeTangents(ArrayRef<std::vector<double>> directions) {
  for (auto [argument, direction] : enumerate(directions))
    for (size_t i = 0; i < direction.size(); ++i)
      getTangent(argument).set(i, direction[i]);
  Expected<Tensors> products = evaluate(arguments);
  for (auto [argument, direction] : enumerate(directions))
    if (!direction.empty())
      clear(getTangent(argument));
  return products;
}

/// Compares what is open of a variation, with shorter steps where the first
/// does not do. A difference that no step confirms is the first one's.
Error Checker::vary(size_t number, unsigned point) {
  const Variation &variation = variations[number];
  struct Question {
    Pair *pair;
    size_t output;
    /// What the first step found.
    Outcome outcome = Outcome::Unknown;
    std::optional<std::pair<size_t, Numbers>> found = std::nullopt;
  };
  SmallVector<Question> questions;
  bool needsProducts = false;
  for (size_t output = 0; output < check.outputs.size(); ++output)
    for (bool isForward : {false, true}) {
      Pair &pair = getPair(variation.argument, output, isForward);
      if (!pair.open.test(number))
        continue;
      questions.push_back({&pair, output});
      needsProducts |= isForward;
    }
  if (questions.empty())
    return Error::success();
  std::vector<std::vector<double>> directions;
  for (size_t argument = 0; argument < check.wrt.size(); ++argument)
    directions.push_back(getDirection(variation, argument, point));
  Tensors products;
  if (needsProducts)
    if (Error error = computeTangents(directions).moveInto(products))
      return error;
  for (double factor : stepFactors) {
    double step = factor * options.eps;
    Expected<Tensors> high = move(directions, step);
    if (!high)
      return high.takeError();
    Expected<Tensors> low = move(directions, -step);
    if (!low)
      return low.takeError();
    SmallVector<Question> rest;
    for (Question &question : questions) {
      GradComparison &comparison = question.pair->comparison;
      found.reset();
      Outcome outcome =
          comparison.isForward
              ? compareTangents(question.output, products, *low, *high, step)
              : compareGradient(variation, question.output, directions, *low,
                                *high, step);
      if (outcome == Outcome::Same && found) {
        note(comparison, found->first,
             !comparison.isForward && variation.isDirection, found->second);
        question.pair->settle(number);
        continue;
      }
      if (factor == 1) {
        question.outcome = outcome;
        question.found = found;
      }
      rest.push_back(question);
    }
    questions = std::move(rest);
    if (questions.empty())
      return Error::success();
  }
  for (Question &question : questions) {
    if (question.outcome != Outcome::Different)
      continue;
    GradComparison &comparison = question.pair->comparison;
    note(comparison, question.found->first,
         !comparison.isForward && variation.isDirection,
         question.found->second);
    question.pair->settle(number);
  }
  return Error::success();
}
