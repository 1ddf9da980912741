//===- GradCheck.cpp - derivatives against finite differences -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradChecker.h"

#include "common/Driver.h"
#include "common/ProgressLine.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

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
        "is not finite, too large or not smooth at {3}; give arguments by "
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
  // Other points are only for what finite differences say nothing about.
  std::atomic<size_t> done = 0;
  size_t total = variations.size() * (options.isGiven ? 1 : numPoints);
  ProgressLine line("remat-run", options.showsProgress, [&] {
    size_t now = done;
    return ProgressState{
        formatv("{0} of {1} differences compared", now, std::max(now, total)),
        double(now) / double(std::max(now, total))};
  });
  for (unsigned point = 0; point < (options.isGiven ? 1 : maxPoints); ++point) {
    if (point == numPoints)
      for (Pair &pair : pairs)
        pair.open.reset(pair.known);
    if (point >= numPoints && !hasOpenPairs())
      break;
    if (Error error = startPoint(point))
      return std::move(error);
    for (size_t number = 0; number < variations.size(); ++number, ++done)
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
