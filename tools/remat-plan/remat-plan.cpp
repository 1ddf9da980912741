//===- remat-plan.cpp - plans instances and models ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a planning instance or a model, runs one algorithm, writes the schedule
// and a report. Ctrl-C ends the search, and the best plan so far is written; a
// second one ends the tool.
//
// Exit status: 0 planned, 1 bad input, 3 no plan within the budget: the report
// is written then too. Files are written at the end, whole or not at all.
//
//===----------------------------------------------------------------------===//

#include "FastMemory.h"
#include "Planning.h"
#include "WhatIf.h"

#include "common/ChoiceParser.h"
#include "common/OutputFlags.h"
#include "common/ReportFlag.h"

#include "remat/Cost/CostFile.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Pipelines/StepCompiler.h"
#include "remat/Pipelines/StepSnapshot.h"
#include "remat/Pipelines/StepTrace.h"
#include "remat/Support/OutputFiles.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::planning;
using remat::tools::makeError;

namespace {
/// The command line.
struct Options {
  cl::OptionCategory category{"remat-plan options"};
  cl::opt<std::string> inputFile{
      cl::Positional, cl::Required,
      cl::desc("<instance.json|problem.json|model.mlir>"), cl::cat(category)};
  /// All that matters for a plan. `explain` is a part of the report.
  tools::StepFlags step{
      category, ImportStage | JointStage | TasksStage | PlanStage, {"explain"}};
  /// What `--planner` was called once, for scripts that still say so.
  cl::alias solver{"solver", cl::Hidden, cl::aliasopt(step.getFlag("planner"))};
  cl::opt<std::string> manifestFile{
      "manifest", cl::cat(category), cl::value_desc("file"),
      cl::desc("Which arguments of a model are parameters: these are "
               "differentiated with respect to")};
  tools::ChoiceFlag<BudgetCounts> budgetCounts{
      "budget-counts", cl::init(BudgetCounts::Arena), cl::cat(category),
      cl::desc("What the budget of an instance bounds, if not what it says "
               "itself;\nthat of a model is its arena"),
      cl::values(clEnumValN(BudgetCounts::Arena, "arena",
                            "what its copies are packed into (default)"),
                 clEnumValN(BudgetCounts::Peak, "peak",
                            "the bytes that live together (default where "
                            "'stats' has a peak)"))};
  cl::opt<std::string> scheduleFile{
      "o", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write the schedule, as JSON; that of a "
               "model is for --plan of\nremat-run and remat-compile")};
  cl::opt<std::string> reportFile{"json", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a report, as JSON")};
  cl::opt<std::string> instanceFile{
      "instance", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write the problem, as a JSON instance; that of a model "
               "counts what values occupy outside of the arena, too")};
  cl::opt<std::string> traceFile{
      "trace", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write a trace of a model's planned step for Perfetto or "
               "chrome://tracing")};
  cl::opt<std::string> snapshotFile{
      "memory-snapshot", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write the arena of a model's planned step as a memory "
               "snapshot of PyTorch")};
  tools::ReportFlag report{category};
  WhatIfFlag whatIf{category};
  FastMemoryFlags fastMemory{category};
  tools::PlanFlags plan{category};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static std::array<tools::OutputFlag, 6> getOutputFlags() {
  return {{{"-o", options().scheduleFile},
           {"--json", options().reportFile},
           {"--instance", options().instanceFile},
           {"--trace", options().traceFile},
           {"--memory-snapshot", options().snapshotFile},
           {"--report", options().report.getFile()}}};
}

static Error writeOutputs(const Outcome &outcome) {
  OutputFiles files;
  auto add = [&](StringRef path, const json::Value &contents) {
    return files.add(path, [&](raw_ostream &os) {
      os << formatv("{0:2}", contents) << '\n';
    });
  };
  if (!options().scheduleFile.empty() && outcome.solution)
    if (Error error = add(options().scheduleFile, outcome.schedule))
      return error;
  if (!options().reportFile.empty())
    if (Error error = add(options().reportFile, plan::toJson(outcome)))
      return error;
  if (!options().instanceFile.empty()) {
    Problem problem = outcome.instance.problem;
    // The budget of a model bounds another number.
    if (outcome.isModel)
      problem.deviceBudget.reset();
    BudgetCounts counts = outcome.instance.budgetCounts;
    if (Error error = add(options().instanceFile, toJson(problem, counts)))
      return error;
  }
  if (!outcome.plans.empty())
    if (Error error = options().report.addTo(
            files, outcome.plans,
            tools::ReportFlag::getTitle(options().inputFile)))
      return error;
  if (outcome.step && !options().traceFile.empty())
    if (Error error = files.add(options().traceFile, [&](raw_ostream &os) {
          writeTrace(*outcome.step, /*measured=*/{}, os);
        }))
      return error;
  if (outcome.step && !options().snapshotFile.empty())
    if (Error error = files.add(options().snapshotFile, [&](raw_ostream &os) {
          writeMemorySnapshot(*outcome.step, os);
        }))
      return error;
  if (Error error = files.commit())
    return error;
  print(outcome, tools::getTextStream(getOutputFlags()));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The tool
//===----------------------------------------------------------------------===//

/// The step of `outcome` beside other plans of `tasks`.
static Error collectPlans(mlir::ModuleOp tasks, const Model &model,
                          GraphPlan found, Outcome &outcome) {
  // A stored plan does not say how it was found, and what is proven of it.
  found.solution.solver = outcome.solution->solver;
  found.solution.proof = outcome.solution->proof;
  found.solution.lowerBound = outcome.solution->lowerBound;
  tools::PlanWatch watch("remat-plan", options().plan.showsProgress(),
                         "the report has the plans so far", "ns",
                         /*further=*/"plans for the report");
  planning::SolverOptions search = model.options.plan.solver;
  watch.attach(search);
  return remat::collectPlans(
             tasks, model.options, search, outcome.details.frontierPlans,
             makePlannedStep(PlanOrigin::Chosen, *outcome.step, found))
      .moveInto(outcome.plans);
}

/// Carries the plan out on the model, and describes the step that it gives.
static Error describeStep(const Model &model, PlanOptions plan,
                          Outcome &outcome) {
  bool isShown = options().report.isGiven();
  mlir::OwningOpRef<mlir::ModuleOp> tasks;
  if (isShown)
    tasks = mlir::ModuleOp(*model.module).clone();
  GraphPlan found;
  if (Error error =
          readStoredPlan(formatv("{0}", outcome.schedule).str(), plan))
    return error;
  plan.listsDecisions = isShown || options().plan.wantsExplanation();
  Expected<StepSummary> summary = planModule(*model.module, plan, &found);
  if (!summary)
    return summary.takeError();
  outcome.details.decisions = found.decisions;
  GraphOp graph = getOnlyGraph(*model.module);
  if (!graph)
    return makeError("could not plan " + options().inputFile);
  options().plan.listSaved(graph, outcome.details);
  if (options().traceFile.empty() && options().snapshotFile.empty() && !isShown)
    return Error::success();
  mlir::FailureOr<StepReport> report = makeStepReport(
      graph, model.options, outcome.instance.problem.linkBytesPerSecond,
      found.decisions);
  if (failed(report))
    return makeError("could not describe the step");
  outcome.step = std::move(*report);
  return isShown ? collectPlans(*tasks, model, std::move(found), outcome)
                 : Error::success();
}

/// Everything that was asked for.
static Expected<Outcome> makeOutcome(Input input, const PlanOptions &plan) {
  bool isShown = options().report.isGiven();
  StringRef view = isShown ? "report" : "";
  for (const cl::Option *option :
       {static_cast<const cl::Option *>(&options().traceFile),
        static_cast<const cl::Option *>(&options().snapshotFile)})
    if (option->getNumOccurrences() > 0)
      view = option->ArgStr;
  if (options().plan.wantsSaved())
    view = "print-saved";
  bool isDescribed = !view.empty();
  if (auto *model = std::get_if<Model>(&input)) {
    if (options().budgetCounts == BudgetCounts::Peak &&
        options().budgetCounts.getNumOccurrences() > 0)
      return makeError("'--budget-counts=peak' has no effect: the input is a "
                       "model, whose budget bounds the arena");
    Expected<Outcome> outcome =
        planModel(model->graph, plan, options().plan, isShown);
    // What is decided inside of loops is known where the plan is carried out.
    bool hasLoops = !findLoopKernels(*model->module).empty();
    if (options().plan.wantsExplanation() && hasLoops)
      isDescribed = true;
    if (outcome && outcome->solution && isDescribed)
      if (Error error = describeStep(*model, plan, *outcome))
        return std::move(error);
    return outcome;
  }
  if (isDescribed)
    return makeError("'--" + view +
                     "' has no effect: the input is an instance, no model");
  Instance instance = std::move(std::get<Instance>(input));
  if (options().budgetCounts.getNumOccurrences() > 0)
    instance.budgetCounts = options().budgetCounts;
  return planInstance(std::move(instance), plan, options().plan,
                      /*packs=*/!options().reportFile.empty());
}

/// Unless `--threads` says it, the step runs on as many threads as its costs
/// were measured with.
static Error applyCostThreads(StepOptions &step) {
  if (step.costs.empty() || options().step.isGiven("threads"))
    return Error::success();
  Expected<CostFile> file = CostFile::load(step.costs);
  if (!file)
    return file.takeError();
  step.threads = file->getThreads();
  return Error::success();
}

/// An instance has no step that could run: `--threads` are of the search there.
static void applySearchThreads(StepOptions &step) {
  if (options().step.isGiven("threads") &&
      !options().step.isGiven("search-threads"))
    step.plan.solver.threads = step.threads;
}

/// A table of plans in place of one plan.
static Error runWhatIf(const StepOptions &step) {
  StringLiteral why = "'--what-if' makes several plans";
  for (const tools::OutputFlag &flag : getOutputFlags())
    if (flag.flag != "--json" && !flag.path.empty())
      return makeError("'" + flag.flag + "' has no effect: " + why);
  if (Error error = options().plan.refuse(why))
    return error;
  Expected<std::vector<WhatIfRow>> rows =
      options().whatIf.run(options().inputFile, options().manifestFile,
                           options().step, step, options().plan);
  if (!rows)
    return rows.takeError();
  if (!options().reportFile.empty())
    if (Error error =
            writeOutputFile(options().reportFile, [&](raw_ostream &os) {
              os << formatv("{0:2}", remat::toJson(*rows)) << '\n';
            }))
      return error;
  print(*rows, tools::getTextStream(getOutputFlags()));
  return Error::success();
}

/// A schedule of a graph that is run in tiles.
static Error runFastMemory(const fastmemory::Problem &problem,
                           SolverOptions search) {
  StringLiteral why = "the input is a problem of a fast memory";
  for (const cl::Option *option :
       {static_cast<const cl::Option *>(&options().budgetCounts),
        static_cast<const cl::Option *>(&options().instanceFile),
        static_cast<const cl::Option *>(&options().traceFile),
        static_cast<const cl::Option *>(&options().snapshotFile)})
    if (option->getNumOccurrences() > 0)
      return makeError("'--" + option->ArgStr + "' has no effect: " + why);
  if (options().report.isGiven())
    return makeError("'--report' has no effect: " + why);
  if (Error error = options().plan.refuse(why))
    return error;
  tools::PlanWatch watch("remat-plan", options().plan.showsProgress(),
                         "writing the best schedule so far", /*costUnit=*/"");
  watch.attach(search);
  Expected<fastmemory::Found> found = options().fastMemory.run(problem, search);
  if (!found)
    return found.takeError();
  OutputFiles files;
  auto add = [&](StringRef path, const json::Value &contents) {
    return path.empty() ? Error::success()
                        : files.add(path, [&](raw_ostream &os) {
                            os << contents << '\n';
                          });
  };
  if (Error error =
          add(options().scheduleFile, fastmemory::toJson(found->schedule)))
    return error;
  if (Error error = add(options().reportFile, plan::toJson(*found)))
    return error;
  if (Error error = files.commit())
    return error;
  print(*found, tools::getTextStream(getOutputFlags()));
  return Error::success();
}

static Error runTool() {
  if (Error error = tools::checkFileNames(
          getOutputFlags(), {options().inputFile, options().manifestFile}))
    return error;
  StepOptions step;
  if (Error error = options().step.apply(step))
    return error;
  if (Error error = applyCostThreads(step))
    return error;
  if (Error error = options().plan.check())
    return error;
  if (options().whatIf.isGiven())
    return runWhatIf(step);
  Expected<Input> input = readInput(options().inputFile, options().manifestFile,
                                    options().step, step);
  if (!input)
    return input.takeError();
  if (auto *problem = std::get_if<fastmemory::Problem>(&*input))
    return runFastMemory(*problem, step.plan.solver);
  if (std::holds_alternative<Instance>(*input))
    applySearchThreads(step);
  if (Error error = options().fastMemory.refuse(
          "the input is no problem of a fast memory"))
    return error;
  Expected<Outcome> outcome = makeOutcome(std::move(*input), step.plan);
  if (!outcome)
    return handleErrors(outcome.takeError(), [](const ErrorInfoBase &error) {
      return createFileError(options().inputFile, makeError(error.message()));
    });
  tools::PlanDetails &details = outcome->details;
  details.describeLink(outcome->instance.problem, step);
  if (!outcome->isModel && details.linkSource == "target")
    details.linkSource = "instance";
  if (options().step.isGiven("budget"))
    outcome->requestedBudget = options().step.getText("budget");
  if (Error error = writeOutputs(*outcome))
    return error;
  if (outcome->solution)
    return Error::success();
  if (tools::PlanWatch::isInterrupted() || !outcome->smallestFeasible)
    return makeError(outcome->failure);
  return make_error<InfeasibleBudgetError>(
      *outcome->instance.problem.deviceBudget, *outcome->smallestFeasible,
      outcome->evidence);
}

int main(int argc, char **argv) {
  return tools::runMain(
      argc, argv, "remat-plan",
      "Plan what to keep and what to recompute in a budget\n",
      []() -> cl::OptionCategory & { return options().category; }, runTool);
}
