//===- GradCheck.cpp - derivatives against finite differences -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number that finite differences cannot tell is no agreement. The one-sided
// differences show it: they are not finite, or the derivative is between two
// that differ, as at a kink. Shorter steps are tried then, and other points.
// What is left is counted as skipped.
//
//===----------------------------------------------------------------------===//

#include "GradCheck.h"

#include "common/Driver.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// Larger arguments are varied in `numSamples` elements and along as many
/// directions.
static constexpr size_t maxElements = 64, numSamples = 8;
/// Everything is compared at so many points, and what was skipped there at
/// others.
static constexpr unsigned numPoints = 2, maxPoints = 6;
/// The step and those that are tried where it does not do.
static constexpr double stepFactors[] = {1, 0.1, 0.01};

static SmallVector<int64_t> getDifferentiable(mlir::TypeRange types) {
  SmallVector<int64_t> numbers;
  for (auto [number, type] : enumerate(types))
    if (isDifferentiableType(type))
      numbers.push_back(number);
  return numbers;
}

Expected<GradCheck> GradCheck::get(mlir::FunctionOpInterface entry,
                                   ArrayRef<int64_t> given, int order,
                                   bool forwardOnly) {
  GradCheck check;
  check.wrt = to_vector(given);
  if (check.wrt.empty())
    check.wrt = getDifferentiable(entry.getArgumentTypes());
  check.outputs = getDifferentiable(entry.getResultTypes());
  for (StringRef kind : {"argument", "result"})
    if ((kind == "argument" ? check.wrt : check.outputs).empty())
      return makeError("nothing to check: '" + entry.getName() + "' has no " +
                       kind + " of a floating-point type");
  check.hasGradients = !forwardOnly;
  int64_t numArguments = entry.getNumArguments();
  int64_t numResults = entry.getNumResults();
  check.numForOutputs = order - 1;
  auto add = [&](DifferentiateOptions::Mode mode) {
    DifferentiateOptions derivative;
    derivative.mode = mode;
    derivative.wrt = check.wrt;
    derivative.results = check.outputs;
    check.derivatives.push_back(derivative);
  };
  for (int i = 0; i < order; ++i) {
    if (i > 0) {
      // The gradients are functions of the cotangents, too.
      check.outputs = to_vector(seq<int64_t>(check.firstGradient, numResults));
      append_range(check.wrt, seq<int64_t>(check.firstCotangent, numArguments));
    }
    check.numArguments = numArguments;
    check.firstCotangent = numArguments;
    check.firstGradient = numResults;
    if (forwardOnly && i + 1 == order)
      break;
    add(DifferentiateOptions::Reverse);
    numArguments += check.outputs.size();
    numResults += check.wrt.size();
  }
  add(DifferentiateOptions::Forward);
  check.firstTangent = numArguments;
  check.firstProduct = numResults;
  return check;
}

namespace {
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
  BitVector open, known;
  GradComparison comparison;

  void settle(size_t variation) {
    open.reset(variation);
    known.set(variation);
  }
};

/// A derivative beside the differences to both sides.
struct Numbers {
  double analytic = 0, numeric = 0, least = 0, most = 0;

  /// Adds `weight` times what the result's element changes by, per `step`.
  void add(double weight, double low, double center, double high, double step) {
    double up = weight * (high - center) / step;
    double down = weight * (center - low) / step;
    numeric += weight * (high - low) / (2 * step);
    least += std::min(up, down);
    most += std::max(up, down);
  }
};

enum class Outcome { Same, Different, Unknown };

/// The results beside which others are compared.
using Tensors = std::vector<Tensor>;

/// Compares at one point after the other.
class Checker {
public:
  Checker(const GradCheck &check, const GradCheckOptions &options,
          Tensors &arguments, PointSampler &sampler, Evaluate evaluate,
          Evaluate evaluateOutputs);

  Expected<GradCheckReport> run();

private:
  Expected<Tensors> computeOutputs() {
    return evaluateOutputs(
        ArrayRef<Tensor>(arguments).take_front(check.numArguments));
  }
  Tensor &getCotangent(size_t output) {
    return arguments[check.firstCotangent + output];
  }
  Tensor &getTangent(size_t argument) {
    return arguments[check.firstTangent + argument];
  }
  Pair &getPair(std::optional<size_t> argument, size_t output, bool isForward) {
    size_t number = argument.value_or(check.wrt.size());
    return pairs[(number * check.outputs.size() + output) * 2 + isForward];
  }

  void listVariations();
  Error startPoint(unsigned point);
  Error computeGradients(unsigned point);
  Error checkZeroCotangents(const Tensors &results);
  Error checkRepetition(const Tensors &first);
  std::vector<double> getDirection(const Variation &variation, size_t argument,
                                   unsigned point) const;
  Error vary(size_t number, unsigned point);
  Expected<Tensors> move(ArrayRef<std::vector<double>> directions,
                         double distance);
  Outcome judge(const Numbers &numbers) const;
  Outcome compareGradient(const Variation &variation, size_t output,
                          ArrayRef<std::vector<double>> directions,
                          const Tensors &low, const Tensors &high, double step);
  Outcome compareTangents(size_t output, const Tensors &products,
                          const Tensors &low, const Tensors &high, double step);
  void note(GradComparison &comparison, size_t index, bool isDirection,
            const Numbers &numbers);
  void fail(const Twine &message) {
    if (report.failure.empty())
      report.failure = message.str();
  }
  bool hasOpenPairs() const {
    return any_of(pairs, [](const Pair &pair) { return pair.open.any(); });
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
  std::vector<BitVector> wasFinite;
  GradCheckReport report;

  // At the present point.
  Tensors center;
  /// The cotangents of each output, and the gradients that they give.
  std::vector<Tensors> gradients;
  Tensors weights;
  /// Numbers of the last comparison that was not the same.
  std::optional<std::pair<size_t, Numbers>> found;
};
} // namespace

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

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
  auto countUndefined = [&]() -> Expected<size_t> {
    Expected<Tensors> results = computeOutputs();
    if (!results)
      return results.takeError();
    size_t count = 0;
    for (int64_t output : check.outputs)
      for (size_t i = 0; i < (*results)[output].getNumScalars(); ++i)
        count += !std::isfinite((*results)[output].get(i));
    center = std::move(*results);
    return count;
  };
  if (!options.isGiven)
    if (Error error = sampler.sample(
            MutableArrayRef(arguments).take_front(check.numArguments), point,
            countUndefined))
      return error;
  // The last of a search is not always what it kept.
  if (Error error = countUndefined().takeError())
    return error;
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

static void clear(Tensor &tensor) {
  for (size_t i = 0; i < tensor.getNumScalars(); ++i)
    tensor.set(i, 0);
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

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

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
  if (needsProducts) {
    for (auto [argument, direction] : enumerate(directions))
      for (size_t i = 0; i < direction.size(); ++i)
        getTangent(argument).set(i, direction[i]);
    if (Error error = evaluate(arguments).moveInto(products))
      return error;
    for (auto [argument, direction] : enumerate(directions))
      if (!direction.empty())
        clear(getTangent(argument));
  }
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

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static std::string describe(const GradComparison &comparison) {
  std::string text;
  raw_string_ostream os(text);
  if (comparison.isForward) {
    os << "the tangent of result " << comparison.result << " by ";
    if (comparison.argument)
      os << "argument " << *comparison.argument;
    else
      os << "all arguments";
  } else {
    os << "the gradient of result " << comparison.result
       << " with respect to argument " << *comparison.argument;
  }
  return text;
}

void Checker::finish() {
  std::string skipped;
  for (Pair &pair : pairs) {
    GradComparison &comparison = pair.comparison;
    pair.open.reset(pair.known);
    comparison.numSkipped = pair.open.count();
    if (comparison.numCompared + comparison.numSkipped == 0)
      continue;
    if (comparison.numSkipped > 0 && skipped.empty())
      skipped = describe(comparison);
    report.comparisons.push_back(comparison);
    report.numCompared += comparison.numCompared;
    report.numSkipped += comparison.numSkipped;
  }
  for (auto [output, finite] : enumerate(wasFinite)) {
    size_t count = finite.size() - finite.count();
    report.numSkipped += count;
    if (count > 0)
      skipped = formatv("result {0} has {1} of {2} elements that are not "
                        "finite anywhere",
                        check.outputs[output], count, finite.size());
  }
  const GradComparison *worst = nullptr;
  for (const GradComparison &comparison : report.comparisons)
    if (!worst || comparison.getShare() > worst->getShare())
      worst = &comparison;
  if (worst && worst->getShare() > 1) {
    std::string text;
    raw_string_ostream(text)
        << describe(*worst)
        << (worst->worst->isDirection ? " along direction " : " at index ")
        << worst->worst->index
        << format(" is %.9g, finite differences give %.9g",
                  worst->worst->analytic, worst->worst->numeric);
    report.failure = text;
    return;
  }
  if (report.numSkipped > 0 &&
      (!options.allowSkipped || report.numCompared == 0))
    fail(formatv(
        "skipped {0} of {1} comparisons, among them {2}: the function "
        "is not finite or not smooth at {3}; give arguments by "
        "--inputs{4}",
        report.numSkipped, report.numSkipped + report.numCompared, skipped,
        options.isGiven ? "the given arguments"
                        : "any of the points that were tried",
        report.numCompared == 0 ? "" : ", or allow this by --allow-skipped"));
  else if (report.numCompared == 0)
    fail("nothing to check: the arguments or the results have no elements");
}

Expected<GradCheckReport> Checker::run() {
  report.mode = options.fast ? "fast" : "slow";
  listVariations();
  for (unsigned point = 0; point < (options.isGiven ? 1 : maxPoints); ++point) {
    if (point == numPoints)
      for (Pair &pair : pairs)
        pair.open.reset(pair.known);
    if (point >= numPoints && !hasOpenPairs())
      break;
    if (Error error = startPoint(point))
      return std::move(error);
    for (size_t number = 0; number < variations.size(); ++number)
      if (Error error = vary(number, point))
        return std::move(error);
  }
  finish();
  return std::move(report);
}

Expected<GradCheckReport>
run::checkGradients(const GradCheck &check, const GradCheckOptions &options,
                    std::vector<Tensor> &arguments, PointSampler &sampler,
                    Evaluate evaluate, Evaluate evaluateOutputs) {
  return Checker(check, options, arguments, sampler, evaluate, evaluateOutputs)
      .run();
}
