//===- remat-run.cpp - compile and run a training step --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole way at once: reads a model, differentiates, plans, compiles and
// runs it, and reports the bytes it was promised and the bytes it used.
//
// Exit status: 0; 1 on bad input, with a diagnostic; 3 when the budget is
// infeasible, with the smallest feasible one.
//
//===----------------------------------------------------------------------===//

#include "CostProfile.h"
#include "ErrorSearch.h"
#include "Evaluation.h"
#include "GradCheck.h"
#include "Options.h"
#include "Products.h"
#include "StepData.h"

#include "remat/Support/OutputFiles.h"
#include "remat/Utils/Utf8.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include <cstring>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

Options &run::options() {
  static Options options;
  return options;
}

SmallVector<OutputFlag> run::getOutputFlags() {
  SmallVector<OutputFlag> flags = {{"--json", options().jsonFile},
                                   {"--profile-costs", options().profileCosts}};
  append_range(flags, options().seeing.getOutputFlags());
  return flags;
}

namespace {
/// The model, brought to tasks, and what is known of it as it was read.
struct Model {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Products products;
  double compileSeconds = 0;
  /// Where errors of gradients are bounded.
  std::optional<ExactGradients> exact;
};
} // namespace

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static Error applyBenchmark() {
  if (options().benchmark.getNumOccurrences() == 0)
    return Error::success();
  if (options().steps.getNumOccurrences() > 0)
    return makeError("'--steps' has no effect: '--benchmark' says how many");
  StringRef text = options().benchmark;
  options().benchmarkSteps = 20;
  if (!text.empty() && (text.getAsInteger(10, options().benchmarkSteps) ||
                        options().benchmarkSteps < 1))
    return makeError("--benchmark: expected a number of steps, 1 or more, got "
                     "'" +
                     text + "'");
  return Error::success();
}

/// Takes over what the flags say. Everything that can be said of them without
/// the model is said now.
static Error applyFlags() {
  if (Error error = options().flags.apply(options().step))
    return error;
  for (const std::string &budget : options().budgets)
    if (Error error = planning::parseBudget(budget).takeError())
      return prefixError("--budget", std::move(error));
  if (options().budgets.size() > 1 && is_contained(options().budgets, ""))
    return makeError("--budget: expected a budget between commas, got none; a "
                     "step without a budget is one of another run");
  if (Error error = options().plan.check())
    return error;
  if (options().storedPlan.isGiven() && !options().budgets.empty())
    return makeError("'--budget' has no effect: '--plan' says what to run");
  if (Error error = options().seeing.check(options().budgets.size()))
    return error;
  if (Error error = options().storedPlan.apply(options().flags, options().step))
    return error;
  if (Error error = applyBenchmark())
    return error;
  if (options().steps < 1)
    return makeError("--steps is " + Twine(options().steps) +
                     ", expected 1 or more");
  return Error::success();
}

/// Refuses what says what to differentiate beside `chosen`, which does so too.
static Error checkDerivatives(StringRef chosen) {
  return options().flags.refuse(
      {"differentiate", "result", "cotangents", "tangents", "accumulate",
       "optimizer"},
      ("'" + chosen + "' says what to differentiate").str());
}

/// Refuses flags of the tool, which `why` says have no effect.
static Error
refuse(std::initializer_list<std::reference_wrapper<const cl::Option>> flags,
       StringRef why) {
  for (const cl::Option &flag : flags)
    if (flag.getNumOccurrences() > 0)
      return makeError("'--" + flag.ArgStr + "' has no effect: " + why);
  return Error::success();
}

static Error checkOptions() {
  bool hasManifest = !options().manifestFile.empty();
  if (hasManifest && !options().inputDirectory.empty())
    return makeError("'--inputs' has no effect: the manifest says what the "
                     "arguments are");
  if (!hasManifest && options().inputDirectory.empty())
    return makeError("give the arguments by --manifest or by --inputs");
  if (hasManifest)
    if (Error error = refuse({options().emit},
                             "a manifest asks for the loss and the gradients, "
                             "which '--wrt', '--result' and '--no-gradients' "
                             "choose"))
      return error;
  if (hasManifest)
    return options().flags.refuse({"tangents"},
                                  "a manifest has no values for these "
                                  "arguments, give them by --inputs");
  if (options().outputDirectory.empty())
    return makeError("--inputs needs --outputs");
  return options().emit.empty() ? Error::success() : checkDerivatives("--emit");
}

/// A check compares numbers, and has no use for what says how to run a step.
static Error refuseBesideGradCheck() {
  return refuse({options().manifestFile, options().emit,
                 options().outputDirectory, options().budgets,
                 options().profileCosts, options().anomaly,
                 options().benchmark},
                "'--gradcheck' runs the function in f64 on its own arguments");
}

/// What to compute of `entry`, and where its arguments come from.
static Expected<Products> planProducts(mlir::FunctionOpInterface entry,
                                       const Manifest *manifest) {
  const StepOptions &step = options().step;
  if (manifest || options().emit.empty())
    return run::planProducts(entry, step);
  return run::planProducts(entry, options().emit, step.wrt);
}

/// Measures what packed forms do to the gradients of the model, which is no
/// graph yet, on its arguments, and writes it to the file of errors. Without
/// such a file there is one as long as the tool runs. Measured is what the
/// plans of the budgets take; all forms, if there is none or a frontier of
/// them; and none beside what a stored plan was made with.
static Error measureErrors(Model &model, const Manifest *manifest) {
  StepOptions &step = options().step;
  GradientErrors errors;
  if (step.gradientErrors.empty()) {
    SmallString<128> path;
    if (std::error_code code =
            sys::fs::createTemporaryFile("gradient-errors", "json", path))
      return makeError("a file for errors of gradients: " + code.message());
    static FileRemover remover;
    remover.setFile(path);
    step.gradientErrors = std::string(path);
  } else if (OutputFiles::isStream(step.gradientErrors)) {
    return makeError("'--gradient-errors' is '" + step.gradientErrors +
                     "', expected a file that can be read again: the plan "
                     "follows what was measured");
  } else if (sys::fs::exists(step.gradientErrors)) {
    if (Error error =
            GradientErrors::load(step.gradientErrors).moveInto(errors))
      return error;
  }
  // A step that keeps everything, whatever is asked for.
  StepOptions asked = step;
  step.plan = PlanOptions();
  step.maxGradientError = 0;
  step.gradientErrors.clear();
  step.separateBackward = false;
  scope_exit restore([&] { step = asked; });
  mlir::OwningOpRef<mlir::ModuleOp> tasks(model.module->clone());
  if (failed(compileToTasks(*tasks, step)))
    return makeError("could not compile " + options().inputFile);
  RunReport report;
  Expected<LoadedStep> loaded = compile(*tasks, "", report);
  if (!loaded)
    return loaded.takeError();
  Expected<std::vector<Tensor>> arguments =
      makeArguments(loaded->step.get(), model.products, manifest);
  if (!arguments)
    return arguments.takeError();
  GraphOp kept = getOnlyGraph(*tasks);
  Expected<ErrorProfile> profile =
      ErrorProfile::create(loaded->step.get(), kept, *arguments);
  if (!profile)
    return profile.takeError();
  ArrayRef<std::string> budgets = options().budgets;
  bool isMadeFor = asked.plan.stored && !errors.values.empty();
  if (budgets.empty() || options().plan.wantsFrontier()) {
    if (!isMadeFor)
      if (Error error = profile->measure(findForms(kept, asked.compress),
                                         asked.maxGradientError, errors))
        return error;
  } else if (Error error = searchErrors(*model.module, kept, asked, budgets,
                                        *profile, errors)) {
    return error;
  }
  model.exact = profile->takeExact();
  return writeOutputFile(asked.gradientErrors,
                         [&](raw_ostream &os) { errors.print(os); });
}

static Expected<Model> loadModel(ModelReader &reader,
                                 const Manifest *manifest) {
  double start = now();
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  Model model;
  model.module = std::move(*module);
  StepOptions &step = options().step;
  if (manifest) {
    if (Error error =
            applyManifest(*manifest, options().flags, *model.module, step))
      return std::move(error);
    // No numbers would stand for all arguments.
    step.differentiate &= !step.wrt.empty();
  }
  if (auto entry = findEntry(*model.module, step.function)) {
    Expected<Products> products = planProducts(entry, manifest);
    if (!products)
      return products.takeError();
    model.products = std::move(*products);
    step.derivatives = model.products.derivatives;
  }
  if (step.maxGradientError > 0)
    if (Error error = measureErrors(model, manifest))
      return std::move(error);
  if (failed(compileToTasks(*model.module, step)))
    return makeError("could not compile " + options().inputFile);
  if (!step.optimizer.empty()) {
    GraphOp graph = getOnlyGraph(*model.module);
    addOptimizerFiles(graph.getNumArguments(), graph.getNumResults(),
                      model.products);
  }
  model.compileSeconds = now() - start;
  return std::move(model);
}

/// Runs the model at one budget, and adds the results to `files` unless that is
/// null.
static Expected<RunReport> runOnce(const Model &model, const Manifest *manifest,
                                   StringRef budget, OutputFiles *files) {
  RunReport report;
  report.model = manifest
                     ? manifest->model
                     : toUtf8(sys::path::stem(options().inputFile.getValue()));
  report.planner = options().step.plan.planner;
  report.requestedBudget = budget.empty() ? "none" : budget.str();
  report.compileSeconds = model.compileSeconds;
  Expected<LoadedStep> loaded = compile(*model.module, budget, report);
  if (!loaded)
    return loaded.takeError();
  remat_step *step = loaded->step.get();
  Expected<std::vector<Tensor>> arguments =
      makeArguments(step, model.products, manifest);
  if (!arguments)
    return arguments.takeError();
  ArrayRef<double> rates;
  if (manifest)
    rates = manifest->learningRates;
  if (rates.size() > 1 && rates.size() < size_t(options().steps))
    return makeError("the manifest has " + Twine(rates.size()) +
                     " learning rates, expected one for each of " +
                     Twine(options().steps) + " steps");
  Expected<std::vector<Tensor>> results =
      execute(step, *arguments, report, rates);
  if (!results)
    return results.takeError();
  if (model.exact)
    report.gradientError = model.exact->compare(*results);
  if (!options().profileCosts.empty())
    if (Error error = profileCosts(step, *model.module, budget, *arguments))
      return std::move(error);
  for (const Tensor &result : *results)
    report.resultHash = report.resultHash * 0x100000001b3 ^ result.hash();
  if (manifest)
    if (Error error =
            evaluate(step, *manifest, model.products, *results, report))
      return std::move(error);
  if (files && !options().outputDirectory.empty())
    if (Error error = writeResults(*results, model.products, *files))
      return std::move(error);
  return report;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// What a table shows for a budget that failed with `error`: if it is
/// infeasible, the smallest one that is not.
static Expected<RunReport> runSmallest(const Model &model,
                                       const Manifest *manifest,
                                       const std::string &budget, Error error,
                                       OutputFiles *files) {
  RunReport::Infeasible infeasible;
  error = handleErrors(std::move(error),
                       [&](const planning::InfeasibleBudgetError &found) {
                         infeasible.budget = found.getBudget();
                       });
  if (error)
    return std::move(error);
  Expected<RunReport> report = runOnce(model, manifest, "min", files);
  if (report) {
    report->requestedBudget = budget;
    infeasible.smallestFeasible = report->summary.budget;
    report->infeasible = infeasible;
  }
  return report;
}

/// The table's last line: whether the budget changed any bit of the results. In
/// another order of the parts of a batch, with other slices of wide values, or
/// where layers that share a weight are a loop, terms of sums have another
/// order, too. Packed values change gradients, other ones by other errors.
static void printVerdict(raw_ostream &os, ArrayRef<RunReport> runs) {
  size_t exact = count_if(
      runs, [](const RunReport &run) { return run.summary.packedValues == 0; });
  if (exact < 2)
    return;
  StringMap<uint64_t> hashes;
  bool same = all_of(runs, [&](const RunReport &run) {
    std::string order = run.summary.microbatchOrder + " " +
                        std::to_string(run.summary.batchParts) + " " +
                        std::to_string(run.summary.sliceRows) + " " +
                        std::to_string(run.summary.slicesHidden) + " " +
                        std::to_string(run.summary.foldedLayers);
    return run.summary.packedValues > 0 ||
           hashes.try_emplace(order, run.resultHash).first->second ==
               run.resultHash;
  });
  os << "the results are " << (same ? "" : "NOT ")
     << "bit-identical across the budgets";
  if (exact < runs.size())
    os << " at which nothing is packed";
  if (hashes.size() > 1)
    os << " of each order of microbatches, number of parts, size of slices and "
          "form of layers";
  os << "\n";
}

/// What the step takes for other budgets, if that is asked for.
static Error addFrontier(const Model &model, RunReport &report) {
  if (!options().plan.wantsFrontier())
    return Error::success();
  PlanOptions plan = options().step.plan;
  PlanWatch watch("remat-run", options().plan.showsProgress(),
                  "the frontier is that of the plans so far");
  watch.attach(plan.solver);
  unsigned points = options().plan.getPoints();
  PlanTime::Turn turn(options().planTime, plan.solver, points);
  std::vector<GraphPlan> *plans = options().seeing.getReport().isGiven()
                                      ? &report.details.frontierPlans
                                      : nullptr;
  return computeFrontier(getOnlyGraph(*model.module), plan, points, plans)
      .moveInto(report.details.frontier);
}

/// The plans that --report shows.
static Expected<std::vector<PlannedStep>> collectPlans(const Model &model,
                                                       RunReport &report) {
  if (!report.chosen)
    return std::vector<PlannedStep>();
  planning::SolverOptions search = options().step.plan.solver;
  PlanWatch watch("remat-run", options().plan.showsProgress(),
                  "the report has the plans so far", "ns",
                  /*further=*/"plans for the report");
  watch.attach(search);
  PlanTime::Turn turn(options().planTime, search);
  return remat::collectPlans(*model.module, options().step, search,
                             report.details.frontierPlans,
                             std::move(*report.chosen));
}

/// Writes the files that were asked for: all, or none if one cannot be.
static Error writeReports(ArrayRef<RunReport> reports,
                          ArrayRef<PlannedStep> plans, OutputFiles &files) {
  if (Error error = options().seeing.write(reports.front(), plans, files))
    return error;
  if (!options().jsonFile.empty())
    if (Error error = files.add(options().jsonFile, [&](raw_ostream &os) {
          os << formatv("{0:2}", json::Value(makeJson(reports))) << '\n';
        }))
      return error;
  return files.commit();
}

/// Compares derivatives with differences, in place of a step.
static Error checkGradients() {
  StringRef order =
      options().gradgradcheck ? StringRef("2") : StringRef(options().gradcheck);
  if (order != "" && order != "1" && order != "2")
    return makeError("--gradcheck is '" + order + "', expected 1 or 2");
  if (Error error = checkDerivatives("--gradcheck"))
    return error;
  if (Error error = refuseBesideGradCheck())
    return error;
  StringLiteral ofOneStep = "'--gradcheck' compiles other steps";
  if (Error error = options().plan.refuse(ofOneStep))
    return error;
  if (Error error = options().seeing.refuse(ofOneStep))
    return error;
  if (options().storedPlan.isGiven())
    return makeError("'--plan' has no effect: " + ofOneStep);
  return runGradCheck(order == "2" ? 2 : 1);
}

static Error runTool() {
  if (Error error = checkFileNames(
          getOutputFlags(), {options().inputFile, options().manifestFile}))
    return error;
  if (Error error = applyFlags())
    return error;
  if (Error error = checkGradCheckFlags())
    return error;
  if (options().gradcheck.getNumOccurrences() > 0 || options().gradgradcheck)
    return checkGradients();
  if (Error error = checkOptions())
    return error;
  std::optional<Manifest> manifest;
  if (!options().manifestFile.empty()) {
    Expected<Manifest> loaded = loadManifest(options().manifestFile);
    if (!loaded)
      return loaded.takeError();
    manifest = std::move(*loaded);
  }
  ModelReader reader;
  const Manifest *known = manifest ? &*manifest : nullptr;
  Expected<Model> model = loadModel(reader, known);
  if (!model)
    return model.takeError();
  std::vector<std::string> wanted(options().budgets.begin(),
                                  options().budgets.end());
  if (wanted.empty())
    wanted.push_back("");
  const PlanFlags &plan = options().plan;
  unsigned points = plan.wantsFrontier() ? plan.getPoints() : 0;
  options().planTime =
      PlanTime(options().step.plan.solver.timeLimitSeconds,
               wanted.size() + points + options().seeing.getReport().isGiven());
  std::vector<RunReport> reports;
  OutputFiles files;
  for (const std::string &budget : wanted) {
    // Each budget's results would have the same names.
    OutputFiles *results = &budget == &wanted.back() ? &files : nullptr;
    Expected<RunReport> report = runOnce(*model, known, budget, results);
    // In a table, an infeasible row shows the smallest feasible budget.
    if (!report && wanted.size() > 1)
      report = runSmallest(*model, known, budget, report.takeError(), results);
    if (!report)
      return report.takeError();
    reports.push_back(std::move(*report));
  }
  if (Error error = addFrontier(*model, reports.front()))
    return error;
  Expected<std::vector<PlannedStep>> plans =
      collectPlans(*model, reports.front());
  if (!plans)
    return plans.takeError();
  if (Error error = writeReports(reports, *plans, files))
    return error;
  raw_ostream &os = getTextStream(getOutputFlags());
  printTable(os, reports);
  printVerdict(os, reports);
  for (const RunReport &report : reports)
    if (report.benchmark && report.benchmark->wasDisturbed())
      WithColor::warning(errs(), "remat-run")
          << "other processes used "
          << format("%.1f", *report.benchmark->otherCores)
          << " cores meanwhile: times are not those of a quiet machine\n";
  return Error::success();
}

int main(int argc, char **argv) {
  return runMain(
      argc, argv, "remat-run",
      "Compile and run a training step under a byte budget\n",
      []() -> cl::OptionCategory & { return options().category; }, runTool);
}
