//===- Evaluation.cpp - loss and gradients of a run -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include "Options.h"

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// The loss among the model's own results: the one that is differentiated.
static Expected<const Tensor *> findLoss(ArrayRef<Tensor> results) {
  int64_t number = options().step.result;
  auto isNumber = [](const Tensor &result) {
    return result.getDtype() < REMAT_I1 && result.getNumElements() == 1;
  };
  if (number < 0) {
    // Behind the loss may be state.
    size_t end = results.size();
    while (end > 1 && results[end - 1].getDtype() >= REMAT_I1)
      --end;
    // As where it is differentiated.
    bool isOnly = number == -1 && end > 0 && !isNumber(results[end - 1]) &&
                  count_if(results, isNumber) == 1;
    number = isOnly ? find_if(results, isNumber) - results.begin()
                    : int64_t(end) + number;
  }
  if (number < 0 || number >= int64_t(results.size()))
    return makeError("the model returns no loss");
  const Tensor &loss = results[number];
  if (loss.getNumElements() != 1)
    return makeError("the loss, the model's result " + Twine(number) +
                     ", has " + Twine(loss.getNumElements()) +
                     " elements, expected one");
  return &loss;
}

/// Takes loss and gradients by their roles out of the results of a model that
/// is differentiated already.
static Error evaluateByRoles(const Manifest &manifest, const Products &products,
                             ArrayRef<Tensor> results, RunReport &report) {
  // Behind them are the updates of an optimizer.
  if (products.ownResults < results.size())
    results = results.take_front(products.ownResults);
  SmallVector<ManifestResult> infos;
  for (auto [number, info] : enumerate(manifest.results))
    if (!products.used.contains(number))
      infos.push_back(info);
  if (infos.size() != results.size())
    return makeError("the model has " + Twine(results.size()) +
                     " results, the manifest " + Twine(infos.size()));
  for (auto [info, result] : zip(infos, results)) {
    if (info.role == "gradient")
      report.gradients.push_back({info.of, summarize(result, nullptr),
                                  result.hash(), /*exists=*/true});
    if (info.role != "loss")
      continue;
    if (result.getNumElements() != 1)
      return makeError("the loss '" + info.name + "' has " +
                       Twine(result.getNumElements()) +
                       " elements, expected one");
    report.loss = result.get(0);
  }
  return Error::success();
}

Error run::evaluate(const remat_step *step, const Manifest &manifest,
                    const Products &products, ArrayRef<Tensor> results,
                    RunReport &report) {
  if (manifest.isDifferentiated)
    return evaluateByRoles(manifest, products, results, report);
  ArrayRef<int64_t> wrt = options().step.wrt;
  if (!options().step.optimizer.empty()) {
    wrt = {};
    results = results.take_front(products.ownResults);
  }
  size_t numGradients = options().step.differentiate ? wrt.size() : 0;
  if (results.size() <= numGradients)
    return makeError("the model returns no loss");
  ArrayRef<Tensor> gradients = results.take_back(numGradients);
  // With cotangents, all results are differentiated, and none is a loss.
  if (!options().step.cotangents) {
    Expected<const Tensor *> loss = findLoss(results.drop_back(numGradients));
    if (!loss)
      return loss.takeError();
    report.loss = (*loss)->get(0);
    if (manifest.loss)
      report.maxRelativeError = std::abs(*report.loss - *manifest.loss) /
                                std::max(std::abs(*manifest.loss), 1e-30);
  }
  size_t index = results.size() - numGradients;
  for (auto [number, gradient] : zip(wrt, gradients)) {
    remat_tensor_info info;
    remat_step_result(step, index++, &info);
    std::string name = "argument " + std::to_string(number);
    if (size_t(number) < manifest.arguments.size())
      name = manifest.arguments[number].name;
    const GradientSummary *golden = manifest.findGradient(name);
    GradientSummary sum;
    if (golden && options().step.accumulate) {
      sum = multiply(*golden, double(report.stepSeconds.size()));
      golden = &sum;
    }
    report.gradients.push_back({name, summarize(gradient, golden),
                                gradient.hash(),
                                !(info.flags & REMAT_TENSOR_ABSENT)});
    if (golden)
      report.maxRelativeError =
          std::max(report.maxRelativeError.value_or(0),
                   compare(report.gradients.back().summary, *golden));
  }
  return Error::success();
}
