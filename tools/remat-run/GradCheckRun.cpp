//===- GradCheckRun.cpp - remat-run --gradcheck ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradCheck.h"
#include "Options.h"
#include "StepRunner.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// Where more elements are varied, --fast is the default.
static constexpr size_t maxSlowElements = 10000;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static void printLine(raw_ostream &os, StringRef kind, int64_t number,
                      ArrayRef<const GradComparison *> comparisons,
                      bool namesResult) {
  const GradComparison *worst = nullptr;
  size_t numSkipped = 0;
  for (const GradComparison *comparison : comparisons) {
    numSkipped += comparison->numSkipped;
    if (comparison->worst &&
        (!worst || comparison->getShare() > worst->getShare()))
      worst = comparison;
  }
  os << kind << ' ' << number << ": ";
  if (worst)
    os << "worst at " << (worst->worst->isDirection ? "direction " : "index ")
       << worst->worst->index
       << format(": %.9g, finite differences give %.9g", worst->worst->analytic,
                 worst->worst->numeric);
  else
    os << "nothing was compared";
  if (worst && namesResult)
    os << " (result " << worst->result << ")";
  if (numSkipped > 0)
    os << ", " << numSkipped << " comparisons skipped";
  os << '\n';
}

void GradCheckReport::print(raw_ostream &os) const {
  std::map<int64_t, SmallVector<const GradComparison *>> arguments, results;
  std::set<int64_t> numbers;
  for (const GradComparison &comparison : comparisons) {
    numbers.insert(comparison.result);
    if (comparison.isForward)
      results[comparison.result].push_back(&comparison);
    else
      arguments[*comparison.argument].push_back(&comparison);
  }
  for (const auto &[number, list] : arguments)
    printLine(os, "argument", number, list, numbers.size() > 1);
  for (const auto &[number, list] : results)
    printLine(os, "result", number, list, false);
}

/// JSON has no numbers that are not finite.
static json::Value toNumber(double value) {
  if (std::isfinite(value))
    return value;
  return formatv("{0}", value).str();
}

static json::Object toJson(const GradComparison &comparison) {
  json::Object object{{"kind", comparison.isForward ? "tangent" : "gradient"},
                      {"argument", comparison.argument
                                       ? json::Value(*comparison.argument)
                                       : json::Value("all")},
                      {"result", comparison.result},
                      {"compared", int64_t(comparison.numCompared)},
                      {"skipped", int64_t(comparison.numSkipped)}};
  if (const auto &worst = comparison.worst) {
    object["worst"] = json::Object{
        {worst->isDirection ? "direction" : "index", int64_t(worst->index)},
        {"analytic", toNumber(worst->analytic)},
        {"numeric", toNumber(worst->numeric)},
        {"error", toNumber(std::abs(worst->analytic - worst->numeric))},
        {"error_by_tolerance", toNumber(worst->share)}};
  }
  return object;
}

Error GradCheckReport::write(StringRef path,
                             const GradCheckOptions &options) const {
  json::Array array;
  for (const GradComparison &comparison : comparisons)
    array.push_back(toJson(comparison));
  json::Value value =
      json::Object{{"mode", mode},
                   {"eps", options.eps},
                   {"atol", options.atol},
                   {"rtol", options.rtol},
                   {"nondet_tol", options.nondetTol},
                   {"seed", int64_t(options.seed)},
                   {"points", int64_t(numPoints)},
                   {"compared", int64_t(numCompared)},
                   {"skipped", int64_t(numSkipped)},
                   {"holds", failure.empty()},
                   {"failure", failure.empty() ? json::Value(nullptr)
                                               : json::Value(failure)},
                   {"comparisons", std::move(array)}};
  return writeOutputFile(
      path, [&](raw_ostream &os) { os << formatv("{0:2}", value) << '\n'; });
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static std::string print(double value) {
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

Error run::checkGradCheckFlags() {
  Options &flags = options();
  if (flags.gradcheck.getNumOccurrences() > 0 && flags.gradgradcheck)
    return makeError("'--gradgradcheck' is '--gradcheck=2', give one of them");
  bool isCheck = flags.gradcheck.getNumOccurrences() > 0 || flags.gradgradcheck;
  const cl::Option *given[] = {&flags.eps,           &flags.atol,
                               &flags.rtol,          &flags.nondetTol,
                               &flags.gradcheckSeed, &flags.fast,
                               &flags.forwardOnly,   &flags.allowSkipped};
  for (const cl::Option *option : given)
    if (!isCheck && option->getNumOccurrences() > 0)
      return makeError("'--" + option->ArgStr +
                       "' has no effect without '--gradcheck'");
  if (!(flags.eps > 0) || !std::isfinite(flags.eps))
    return makeError("--eps: expected a number above 0, got '" +
                     print(flags.eps) + "'");
  for (tools::NumberFlag<double> *option :
       {&flags.atol, &flags.rtol, &flags.nondetTol})
    if (!(*option >= 0) || !std::isfinite(*option))
      return makeError("--" + option->ArgStr +
                       ": expected a number, 0 or more, got '" +
                       print(*option) + "'");
  return Error::success();
}

static GradCheckOptions getOptions() {
  const Options &flags = options();
  GradCheckOptions result;
  result.eps = flags.eps;
  result.atol = flags.atol;
  result.rtol = flags.rtol;
  result.nondetTol = flags.nondetTol;
  result.seed = flags.gradcheckSeed;
  result.fast = flags.fast;
  result.allowSkipped = flags.allowSkipped;
  result.showsProgress = flags.plan.showsProgress();
  result.isGiven = !flags.inputDirectory.empty();
  return result;
}

/// Whether so much is varied that it is done along random directions.
static bool isFast(const GradCheck &check, ArrayRef<Tensor> arguments) {
  size_t count = 0;
  for (int64_t argument : check.wrt)
    count += arguments[argument].getNumScalars();
  if (options().fast.getNumOccurrences() > 0 || count <= maxSlowElements)
    return options().fast;
  getTextStream(getOutputFlags())
      << "the arguments have " << count << " elements, more than "
      << maxSlowElements
      << ": each is varied along one random direction (--fast); "
         "--fast=false also varies single elements\n";
  return true;
}

//===----------------------------------------------------------------------===//
// Steps and their arguments
//===----------------------------------------------------------------------===//

/// Reads an argument of the model.
static Error readArgument(Tensor &tensor, size_t index) {
  SmallString<128> path(StringRef(options().inputDirectory));
  sys::path::append(path, "arg" + Twine(index) + ".npy");
  Expected<Tensor> given = readNpy(path);
  if (!given)
    return given.takeError();
  if (given->getShape() != tensor.getShape())
    return makeError(path + ": the shape is not that of argument " +
                     Twine(index));
  if (isComplex(given->getDtype()) != isComplex(tensor.getDtype()))
    return makeError(path + ": has elements of type " +
                     getDtypeName(given->getDtype()) + ", argument " +
                     Twine(index) + " of type " +
                     getDtypeName(tensor.getDtype()));
  for (size_t i = 0; i < tensor.getNumScalars(); ++i)
    tensor.set(i, given->get(i));
  return Error::success();
}

/// The arguments of a step: those from files, the others random. The sampler
/// makes others of the latter.
static Expected<std::vector<Tensor>>
makeArguments(const remat_step *step, size_t numGiven, uint64_t seed) {
  std::vector<Tensor> arguments;
  for (size_t i = 0, e = remat_step_argument_count(step); i < e; ++i) {
    remat_tensor_info info;
    remat_step_argument(step, i, &info);
    Tensor tensor(info);
    if (!tensor.isAllocated())
      return makeError("no memory for argument '" + Twine(info.name) + "'");
    RandomNumbers random{seed, i};
    for (size_t k = 0; k < tensor.getNumScalars(); ++k)
      tensor.set(k, random.getWeight());
    if (i < numGiven)
      if (Error error = readArgument(tensor, i))
        return std::move(error);
    arguments.push_back(std::move(tensor));
  }
  return std::move(arguments);
}

/// Compiles the input file in double precision, with `derivatives`.
static Expected<LoadedStep>
compileWide(ArrayRef<DifferentiateOptions> derivatives) {
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  StepOptions step = options().step;
  step.derivatives.emplace(derivatives.begin(), derivatives.end());
  step.widen = true;
  if (failed(compileToTasks(**module, step)))
    return makeError("could not compile " + options().inputFile);
  RunReport report;
  return compile(**module, "", report);
}

Error run::runGradCheck(int order) {
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  const StepOptions &step = options().step;
  auto entry = findEntry(**module, step.function);
  if (!entry) {
    (void)reportNoEntry(**module, step.function);
    return makeError("could not compile " + options().inputFile);
  }
  Expected<GradCheck> check =
      GradCheck::get(entry, step.wrt, order, options().forwardOnly);
  if (!check)
    return check.takeError();
  size_t numArguments = entry.getNumArguments();
  Expected<LoadedStep> loaded = compileWide(check->derivatives);
  if (!loaded)
    return loaded.takeError();
  // Differences need many evaluations, but none of the derivatives.
  Expected<LoadedStep> forOutputs = compileWide(
      ArrayRef(check->derivatives).take_front(check->numForOutputs));
  if (!forOutputs)
    return forOutputs.takeError();
  RunReport report;
  auto evaluate = [&](ArrayRef<Tensor> given) {
    return execute(loaded->step.get(), given, report);
  };
  auto evaluateOutputs = [&](ArrayRef<Tensor> given) {
    return execute(forOutputs->step.get(), given, report);
  };
  GradCheckOptions checkOptions = getOptions();
  Expected<std::vector<Tensor>> arguments =
      makeArguments(loaded->step.get(), checkOptions.isGiven ? numArguments : 0,
                    checkOptions.seed);
  if (!arguments)
    return arguments.takeError();
  checkOptions.fast = isFast(*check, *arguments);
  PointSampler sampler(checkOptions.seed, check->numArguments);
  Expected<GradCheckReport> result = checkGradients(
      *check, checkOptions, *arguments, sampler, evaluate, evaluateOutputs);
  if (!result)
    return result.takeError();
  result->print(getTextStream(getOutputFlags()));
  if (!options().jsonFile.empty())
    if (Error error = result->write(options().jsonFile, checkOptions))
      return error;
  return result->failure.empty() ? Error::success()
                                 : makeError(result->failure);
}
