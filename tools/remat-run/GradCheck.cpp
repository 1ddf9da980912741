//===- GradCheck.cpp - derivatives against finite differences -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradCheck.h"

#include "common/Driver.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <random>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// Arguments of more elements are checked along this many directions.
static constexpr size_t maxElements = 64, numDirections = 16;
static constexpr double step = 1e-6;

static SmallVector<int64_t> getFloats(mlir::TypeRange types) {
  SmallVector<int64_t> numbers;
  for (auto [number, type] : enumerate(types))
    if (isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type)))
      numbers.push_back(number);
  return numbers;
}

GradCheck GradCheck::get(mlir::FunctionOpInterface entry,
                         ArrayRef<int64_t> given, int order) {
  GradCheck check;
  check.wrt = to_vector(given);
  if (check.wrt.empty())
    check.wrt = getFloats(entry.getArgumentTypes());
  check.outputs = getFloats(entry.getResultTypes());
  int64_t numArguments = entry.getNumArguments();
  int64_t numResults = entry.getNumResults();
  check.numForOutputs = order - 1;
  for (int i = 0; i < order; ++i) {
    if (i > 0) {
      // The gradients are functions of the cotangents, too.
      check.outputs = to_vector(seq<int64_t>(check.firstGradient, numResults));
      append_range(check.wrt, seq<int64_t>(check.firstCotangent, numArguments));
    }
    DifferentiateOptions derivative;
    derivative.mode = DifferentiateOptions::Reverse;
    derivative.wrt = check.wrt;
    derivative.results = check.outputs;
    check.derivatives.push_back(derivative);
    check.firstCotangent = numArguments;
    check.firstGradient = numResults;
    numArguments += check.outputs.size();
    numResults += check.wrt.size();
  }
  DifferentiateOptions derivative;
  derivative.mode = DifferentiateOptions::Forward;
  derivative.wrt = check.wrt;
  derivative.results = check.outputs;
  if (!check.wrt.empty() && !check.outputs.empty())
    check.derivatives.push_back(derivative);
  check.firstTangent = numArguments;
  check.firstProduct = numResults;
  return check;
}

void run::fillRandom(Tensor &tensor, uint64_t seed, double least) {
  std::mt19937_64 random(seed);
  bool isFloat = tensor.getDtype() == REMAT_F64;
  for (size_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = least + 0.8 * double(random() >> 11) * 0x1p-53;
    tensor.set(i, isFloat ? value : double(random() & 1));
  }
}

Expected<bool> run::isDefined(const GradCheck &check,
                              ArrayRef<Tensor> arguments, Evaluate evaluate) {
  Expected<std::vector<Tensor>> results = evaluate(arguments);
  if (!results)
    return results.takeError();
  for (int64_t output : check.outputs)
    for (size_t i = 0; i < (*results)[output].getNumElements(); ++i)
      if (std::isnan((*results)[output].get(i)))
        return false;
  return true;
}

namespace {
/// One comparison.
struct Comparison {
  /// Number of the argument, or of the result if `isTangent`.
  size_t number = 0, index = 0;
  bool isDirection = false, isTangent = false;
  double analytic = 0, numeric = 0;

  double getError() const {
    double allowed = 1e-5 + 1e-3 * std::abs(numeric);
    double error = std::abs(analytic - numeric) / allowed;
    // Where the function is not defined, nothing is known.
    if (!std::isfinite(numeric))
      return 0;
    return std::isnan(error) ? INFINITY : error;
  }
  void print(raw_ostream &os) const {
    os << (isTangent ? "result " : "argument ") << number << ": worst at "
       << (isDirection ? "direction " : "index ") << index
       << format(": %.9g, finite differences give %.9g\n", analytic, numeric);
  }
  Error report() const;
};

/// Runs the comparisons of one argument after the other.
class Checker {
public:
  Checker(const GradCheck &check, std::vector<Tensor> &arguments,
          Evaluate evaluate, Evaluate evaluateOutputs)
      : check(check), arguments(arguments), evaluate(evaluate),
        evaluateOutputs(evaluateOutputs) {}

  Error run();

private:
  Expected<std::vector<Tensor>> computeOutputs() {
    return evaluateOutputs(
        ArrayRef<Tensor>(arguments).take_front(check.firstCotangent));
  }
  Expected<double> weigh(Tensor &tensor, ArrayRef<double> center,
                         ArrayRef<double> direction, double distance);
  Expected<Comparison> compare(size_t number, const Tensor &gradient,
                               ArrayRef<double> direction);
  Expected<Comparison> checkArgument(size_t number, const Tensor &gradient);
  Expected<std::vector<Tensor>> moveAlongTangents(double distance);
  Error checkTangents(ArrayRef<Tensor> results);
  void note(const Comparison &comparison);

  const GradCheck &check;
  std::vector<Tensor> &arguments;
  Evaluate evaluate, evaluateOutputs;
  std::optional<Comparison> worst;
};
} // namespace

Error Comparison::report() const {
  std::string text;
  raw_string_ostream os(text);
  os << (isTangent ? "the tangent of result "
                   : "the gradient with respect to "
                     "argument ")
     << number << (isDirection ? " along direction " : " at index ") << index
     << format(" is %.9g, finite differences give %.9g", analytic, numeric);
  return makeError(text);
}

/// The sum of all outputs, weighed by the cotangents, when `tensor` is
/// `center` + `distance` * `direction`.
Expected<double> Checker::weigh(Tensor &tensor, ArrayRef<double> center,
                                ArrayRef<double> direction, double distance) {
  for (size_t i = 0; i < center.size(); ++i)
    tensor.set(i, center[i] + distance * direction[i]);
  Expected<std::vector<Tensor>> results = computeOutputs();
  for (size_t i = 0; i < center.size(); ++i)
    tensor.set(i, center[i]);
  if (!results)
    return results.takeError();
  double sum = 0;
  for (auto [number, output] : enumerate(check.outputs)) {
    const Tensor &value = (*results)[output];
    const Tensor &weight = arguments[check.firstCotangent + number];
    for (size_t i = 0; i < value.getNumElements(); ++i)
      sum += value.get(i) * weight.get(i);
  }
  return sum;
}

Expected<Comparison> Checker::compare(size_t number, const Tensor &gradient,
                                      ArrayRef<double> direction) {
  Tensor &tensor = arguments[check.wrt[number]];
  std::vector<double> center;
  for (size_t i = 0; i < tensor.getNumElements(); ++i)
    center.push_back(tensor.get(i));
  Expected<double> high = weigh(tensor, center, direction, step);
  if (!high)
    return high.takeError();
  Expected<double> low = weigh(tensor, center, direction, -step);
  if (!low)
    return low.takeError();
  Comparison comparison;
  comparison.number = check.wrt[number];
  comparison.numeric = (*high - *low) / (2 * step);
  for (size_t i = 0; i < center.size(); ++i)
    if (direction[i] != 0)
      comparison.analytic += gradient.get(i) * direction[i];
  return comparison;
}

/// The worst comparison of an argument.
Expected<Comparison> Checker::checkArgument(size_t number,
                                            const Tensor &gradient) {
  size_t count = gradient.getNumElements();
  bool byElement = count <= maxElements;
  std::mt19937_64 random(number);
  Comparison most;
  most.number = check.wrt[number];
  for (size_t i = 0, e = byElement ? count : numDirections; i < e; ++i) {
    std::vector<double> direction(count, 0.0);
    if (byElement)
      direction[i] = 1;
    else
      for (double &value : direction)
        value = double(random() >> 11) * 0x1p-52 - 1;
    Expected<Comparison> comparison = compare(number, gradient, direction);
    if (!comparison)
      return comparison.takeError();
    comparison->index = i;
    comparison->isDirection = !byElement;
    if (i == 0 || comparison->getError() > most.getError())
      most = *comparison;
  }
  return most;
}

/// The results where each argument has moved along its tangent.
Expected<std::vector<Tensor>> Checker::moveAlongTangents(double distance) {
  std::vector<std::vector<double>> centers;
  for (auto [number, argument] : enumerate(check.wrt)) {
    Tensor &tensor = arguments[argument];
    const Tensor &tangent = arguments[check.firstTangent + number];
    std::vector<double> &center = centers.emplace_back();
    for (size_t i = 0; i < tensor.getNumElements(); ++i) {
      center.push_back(tensor.get(i));
      tensor.set(i, center[i] + distance * tangent.get(i));
    }
  }
  Expected<std::vector<Tensor>> results = computeOutputs();
  for (auto [number, argument] : enumerate(check.wrt))
    for (size_t i = 0; i < centers[number].size(); ++i)
      arguments[argument].set(i, centers[number][i]);
  return results;
}

void Checker::note(const Comparison &comparison) {
  comparison.print(outs());
  if (!worst || comparison.getError() > worst->getError())
    worst = comparison;
}

Error Checker::checkTangents(ArrayRef<Tensor> results) {
  Expected<std::vector<Tensor>> high = moveAlongTangents(step);
  if (!high)
    return high.takeError();
  Expected<std::vector<Tensor>> low = moveAlongTangents(-step);
  if (!low)
    return low.takeError();
  for (auto [number, output] : enumerate(check.outputs)) {
    Comparison most;
    most.isTangent = true;
    most.number = output;
    for (size_t i = 0; i < results[output].getNumElements(); ++i) {
      Comparison comparison = most;
      comparison.index = i;
      comparison.analytic = results[check.firstProduct + number].get(i);
      comparison.numeric =
          ((*high)[output].get(i) - (*low)[output].get(i)) / (2 * step);
      if (i == 0 || comparison.getError() > most.getError())
        most = comparison;
    }
    note(most);
  }
  return Error::success();
}

Error Checker::run() {
  if (check.wrt.empty() || check.outputs.empty())
    return Error::success();
  Expected<std::vector<Tensor>> results = evaluate(arguments);
  if (!results)
    return results.takeError();
  for (size_t number = 0; number < check.wrt.size(); ++number) {
    const Tensor &gradient = (*results)[check.firstGradient + number];
    Expected<Comparison> comparison = checkArgument(number, gradient);
    if (!comparison)
      return comparison.takeError();
    note(*comparison);
  }
  if (Error error = checkTangents(*results))
    return error;
  return worst->getError() <= 1 ? Error::success() : worst->report();
}

Error run::checkGradients(const GradCheck &check,
                          std::vector<Tensor> &arguments, Evaluate evaluate,
                          Evaluate evaluateOutputs) {
  return Checker(check, arguments, evaluate, evaluateOutputs).run();
}
