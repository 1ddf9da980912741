//===- ErrorSearch.cpp - the packed forms that plans take -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has many values, each of which has several forms, and to measure one
// takes two runs of the step. A plan packs a few of them. Only what is measured
// is offered in the end, so a guess here may cost time, or leave a form out,
// but never breaks the bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorSearch.h"

#include "Options.h"

#include "common/PlanWatch.h"

#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Pipelines/StepCompiler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// How often forms are measured. Most searches take two or three rounds; what
/// is not measured when they end is not packed.
static constexpr unsigned maxRounds = 8;

//===----------------------------------------------------------------------===//
// Guesses
//===----------------------------------------------------------------------===//

/// By how much a codec changes a tensor of normally distributed elements,
/// relative to its 2-norm.
static double getTypicalError(ElementCodec codec) {
  switch (codec) {
  case ElementCodec::BF16:
    return 0.0017;
  case ElementCodec::Int8:
    return 0.006;
  case ElementCodec::FP8:
    return 0.026;
  case ElementCodec::Int4:
    return 0.11;
  }
  llvm_unreachable("unknown codec");
}

/// The errors that are known and, of other forms, what they are likely to be if
/// that alone is within `bound`: a form is to another one of the same value, or
/// else to the median of all that are known, as their typical errors are.
static GradientErrors guessErrors(ArrayRef<ValueForm> forms,
                                  const GradientErrors &known, double bound) {
  std::vector<double> ratios;
  std::map<std::string, double> ownRatios;
  for (const ValueForm &form : forms) {
    std::optional<double> error = known.find(form.value, form.codec);
    if (!error || !std::isfinite(*error))
      continue;
    ratios.push_back(*error / getTypicalError(form.codec));
    ownRatios[GradientErrors::getName(form.value)] = ratios.back();
  }
  double ratio = 1;
  if (!ratios.empty()) {
    auto middle = ratios.begin() + ratios.size() / 2;
    std::nth_element(ratios.begin(), middle, ratios.end());
    ratio = *middle;
  }
  GradientErrors errors = known;
  for (const ValueForm &form : forms) {
    if (isHopeless(known, form, bound))
      continue;
    std::string name = GradientErrors::getName(form.value);
    auto own = ownRatios.find(name);
    double guess = getTypicalError(form.codec) *
                   (own == ownRatios.end() ? ratio : own->second);
    if (guess * gradientErrorMargin <= bound)
      errors.values[name].try_emplace(form.codec, guess);
  }
  return errors;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {
/// A value, by the number of the task and of its result.
using ValueKey = std::pair<int64_t, unsigned>;
/// What plans pack, and in which forms.
using Taken = std::map<ValueKey, std::set<ElementCodec>>;

/// Makes plans of a model as if its forms had certain errors.
class TrialPlans {
public:
  TrialPlans(mlir::ModuleOp model, const StepOptions &options,
             ArrayRef<std::string> budgets, StringRef path)
      : model(model), options(options), budgets(budgets) {
    this->options.gradientErrors = path.str();
  }

  /// What they pack if the forms in `errors` are offered within `bound`.
  Expected<Taken> findTaken(const GradientErrors &errors, double bound);

private:
  mlir::ModuleOp model;
  StepOptions options;
  ArrayRef<std::string> budgets;
};
} // namespace

static ValueKey getKey(mlir::OpResult value) {
  return {cast<TaskOp>(value.getOwner()).getId(), value.getResultNumber()};
}

/// Adds to `taken` what a planned graph packs.
static void addPacked(GraphOp graph, Taken &taken) {
  for (auto task : graph.getOps<TaskOp>()) {
    auto codec = task->getAttrOfType<mlir::StringAttr>(packsAttrName);
    if (!codec)
      continue;
    auto value = dyn_cast<mlir::OpResult>(getViewRoot(task.getOperand(0)));
    if (value && isa<TaskOp>(value.getOwner()))
      taken[getKey(value)].insert(*parseElementCodec(codec.getValue()));
  }
}

Expected<Taken> TrialPlans::findTaken(const GradientErrors &errors,
                                      double bound) {
  if (Error error = writeOutputFile(options.gradientErrors,
                                    [&](raw_ostream &os) { errors.print(os); }))
    return std::move(error);
  options.maxGradientError = bound;
  mlir::OwningOpRef<mlir::ModuleOp> tasks(model.clone());
  if (failed(compileToTasks(*tasks, options)))
    return makeError("could not compile the model");
  Taken taken;
  for (const std::string &budget : budgets) {
    PlanOptions plan = options.plan;
    if (Error error = planning::parseBudget(budget).moveInto(plan.budget))
      return std::move(error);
    // The limit is for the plans that run.
    plan.solver.timeLimitSeconds.reset();
    PlanWatch watch("remat-run", run::options().plan.showsProgress(), "", "ns",
                    /*further=*/"plans to measure errors of gradients for");
    watch.attach(plan.solver);
    mlir::OwningOpRef<mlir::ModuleOp> planned(tasks->clone());
    Error error = planModule(*planned, plan, nullptr).takeError();
    if (error.isA<planning::InfeasibleBudgetError>()) {
      consumeError(std::move(error));
      continue;
    }
    if (error)
      return std::move(error);
    addPacked(getOnlyGraph(*planned), taken);
  }
  return taken;
}

/// What a run of a step that keeps all takes by the costs of its tasks.
static double estimateSeconds(GraphOp kept) {
  double nanoseconds = 0;
  for (auto task : kept.getOps<TaskOp>())
    if (!task->hasAttr(packsAttrName) && !task->hasAttr(unpacksAttrName))
      nanoseconds += double(task.getCost());
  return nanoseconds * 1e-9;
}

Error run::searchErrors(mlir::ModuleOp model, GraphOp kept,
                        const StepOptions &options,
                        ArrayRef<std::string> budgets, ErrorProfile &profile,
                        GradientErrors &errors) {
  std::vector<ValueForm> forms = findForms(kept, options.compress);
  double bound = options.maxGradientError;
  if (2 * double(forms.size()) * estimateSeconds(kept) <=
      options.plan.solver.effort)
    return profile.measure(forms, bound, errors);
  SmallString<128> path;
  if (std::error_code code =
          sys::fs::createTemporaryFile("gradient-errors", "json", path))
    return makeError("a file for errors of gradients: " + code.message());
  FileRemover remover(path);
  TrialPlans plans(model, options, budgets, path);
  // What is packed where each value may be, and where the forms that save most
  // for their error may be: nothing else takes from the bound. Both follow from
  // typical errors, so that they do not depend on what is known.
  GradientErrors typical = guessErrors(forms, GradientErrors(), bound);
  Taken candidates;
  for (double limit : {std::numeric_limits<double>::max(), bound}) {
    Expected<Taken> taken = plans.findTaken(typical, limit);
    if (!taken)
      return taken.takeError();
    candidates.insert(taken->begin(), taken->end());
  }
  erase_if(forms, [&](const ValueForm &form) {
    return !candidates.count(getKey(form.value));
  });
  for (unsigned round = 0; round < maxRounds; ++round) {
    Expected<Taken> taken =
        plans.findTaken(guessErrors(forms, errors, bound), bound);
    if (!taken)
      return taken.takeError();
    std::vector<ValueForm> unknown;
    for (const ValueForm &form : forms)
      if ((*taken)[getKey(form.value)].count(form.codec) &&
          !errors.find(form.value, form.codec))
        unknown.push_back(form);
    if (unknown.empty() || PlanWatch::isInterrupted())
      break;
    if (Error error = profile.measure(unknown, bound, errors))
      return error;
    // The step may never have had a value.
    erase_if(forms, [&](const ValueForm &form) {
      return is_contained(unknown, form) &&
             !errors.find(form.value, form.codec);
    });
  }
  return Error::success();
}
