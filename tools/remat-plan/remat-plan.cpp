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

#include "Input.h"
#include "Report.h"

#include "common/Interrupts.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <chrono>

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::planning;
using remat::tools::makeError;

namespace {
/// The command line.
struct Options {
  cl::OptionCategory category{"remat-plan options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<instance.json|model.mlir>"),
                                 cl::cat(category)};
  /// All that matters for a plan. Threads are those of the search here, and
  /// `explain` is a part of the report.
  tools::StepFlags step{category,
                        ImportStage | JointStage | TasksStage | PlanStage,
                        {"threads", "explain"}};
  cl::alias threads{"threads", cl::NotHidden,
                    cl::desc("Same as --search-threads"),
                    cl::aliasopt(step.getFlag("search-threads"))};
  /// What `--planner` was called once, for scripts that still say so.
  cl::alias solver{"solver", cl::Hidden, cl::aliasopt(step.getFlag("planner"))};
  cl::opt<std::string> manifestFile{
      "manifest", cl::cat(category), cl::value_desc("file"),
      cl::desc("Which arguments of a model are parameters: these are "
               "differentiated with respect to")};
  cl::opt<std::string> scheduleFile{"o", cl::cat(category),
                                    cl::value_desc("file"),
                                    cl::desc("Write the schedule, as JSON")};
  cl::opt<std::string> reportFile{"json", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a report, as JSON")};
  cl::opt<std::string> instanceFile{
      "instance", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write the problem, as a JSON instance")};
  cl::opt<std::string> frontier{
      "frontier", cl::ValueOptional, cl::cat(category), cl::value_desc("N"),
      cl::desc("Plan N budgets (20 if not given) between the smallest feasible "
               "one and the peak without rematerialization")};
  cl::opt<bool> explain{"explain", cl::cat(category),
                        cl::desc("Say of each value what was decided and why")};
  cl::opt<bool> progress{"progress", cl::cat(category),
                         cl::desc("Report improvements on standard error even "
                                  "if that is not a terminal")};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

/// Set by Ctrl-C.
static std::atomic<bool> interrupted = false;

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

namespace {
/// Watches a search: its clock and its improvements.
class Watch {
public:
  explicit Watch(int64_t baseCost) : baseCost(baseCost) {}

  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void onProgress(const Progress &progress);
  std::optional<double> firstPlanSeconds;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  int64_t baseCost;
  double lastPrinted = -1;
};
} // namespace

void Watch::onProgress(const Progress &progress) {
  double now = seconds();
  if (!firstPlanSeconds)
    firstPlanSeconds = now;
  bool show = options().progress || sys::Process::StandardErrIsDisplayed();
  // Readable, and no burden on searches that improve often.
  if (!show || (lastPrinted >= 0 && now < lastPrinted + 0.1))
    return;
  lastPrinted = now;
  double percent =
      baseCost ? 100.0 * double(progress.time - baseCost) / double(baseCost)
               : 0.0;
  errs() << formatv("remat-plan: {0:f2} s, {1}: +{2:f3}%, peak {3} bytes\n",
                    now, progress.solver, percent, progress.peakBytes);
}

/// The peak that percentages refer to.
static Expected<int64_t> findSaveAllPeak(Problem problem) {
  problem.deviceBudget.reset();
  problem.regions.clear();
  Expected<Solution> solution = solve(problem, "save-all");
  if (!solution)
    return solution.takeError();
  return solution->peakBytes;
}

static Error setBudget(Problem &problem, const PlanOptions &plan,
                       Outcome &outcome) {
  if (plan.budget.kind == BudgetRequest::Kind::Unlimited)
    return Error::success();
  if (plan.budget.kind != BudgetRequest::Kind::Smallest) {
    problem.deviceBudget = plan.budget.resolve(outcome.saveAllPeak);
    return Error::success();
  }
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, plan.solver);
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  outcome.certificate = std::move(*certificate);
  return Error::success();
}

/// Solves the problem. That there is no plan is an outcome, not an error.
static Error findPlan(const Problem &problem, const PlanOptions &plan,
                      Outcome &outcome) {
  Expected<Solution> solution = solve(problem, plan.planner, plan.solver);
  if (solution) {
    outcome.cutShort = solution->cutShort;
    outcome.solution = std::move(*solution);
    return Error::success();
  }
  auto fail = [&](const InfeasibleBudgetError &error) -> Error {
    if (const FeasibilityCertificate *found = error.getCertificate())
      if (!outcome.certificate ||
          found->smallestFeasible < outcome.certificate->smallestFeasible)
        outcome.certificate = *found;
    outcome.cutShort = interrupted;
    // What shows that a budget is feasible is a plan for it.
    if (plan.planner == "auto" && outcome.certificate &&
        outcome.certificate->smallestFeasible <= *problem.deviceBudget) {
      Expected<Solution> smallest =
          evaluatePlan(problem, outcome.certificate->plan, "smallest");
      if (!smallest)
        return smallest.takeError();
      outcome.solution = std::move(*smallest);
      return Error::success();
    }
    outcome.failure =
        interrupted ? "interrupted before a plan within the budget was found"
                    : error.message();
    return Error::success();
  };
  return handleErrors(solution.takeError(), fail);
}

static Expected<unsigned> parsePoints(StringRef text) {
  unsigned points = FrontierOptions().points;
  if (!text.empty() && (text.getAsInteger(10, points) || points < 2))
    return makeError("--frontier must be a number of budgets, at least 2, got "
                     "'" +
                     text + "'");
  return points;
}

/// Everything that was asked for.
static Expected<Outcome> makeOutcome(Problem &problem, PlanOptions plan,
                                     unsigned frontierPoints) {
  if (Error error = check(problem))
    return createFileError(options().inputFile, std::move(error));
  Expected<int64_t> peak = findSaveAllPeak(problem);
  if (!peak)
    return peak.takeError();
  Outcome outcome;
  outcome.saveAllPeak = *peak;

  Watch watch(problem.baseCost());
  plan.solver.interrupt = &interrupted;
  plan.solver.onProgress = [&](const Progress &progress) {
    watch.onProgress(progress);
  };
  if (Error error = setBudget(problem, plan, outcome))
    return std::move(error);
  if (Error error = findPlan(problem, plan, outcome))
    return std::move(error);
  outcome.seconds = watch.seconds();
  outcome.firstPlanSeconds = watch.firstPlanSeconds.value_or(outcome.seconds);

  if (options().frontier.getNumOccurrences()) {
    FrontierOptions frontier{plan.planner, frontierPoints, plan.solver};
    frontier.search.onProgress = nullptr;
    Expected<Frontier> computed = computeFrontier(problem, frontier);
    if (!computed)
      return computed.takeError();
    outcome.frontier = std::move(*computed);
  }
  if (options().explain && outcome.solution) {
    Expected<Explanation> explanation =
        explain(problem, outcome.solution->plan);
    if (!explanation)
      return explanation.takeError();
    outcome.explanation = std::move(*explanation);
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static Error checkFileNames() {
  std::pair<StringRef, StringRef> files[] = {
      {"-o", options().scheduleFile},
      {"--json", options().reportFile},
      {"--instance", options().instanceFile}};
  for (auto [option, name] : files)
    for (auto [other, otherName] : files)
      if (option != other && !name.empty() && name == otherName)
        return makeError("'" + option + "' and '" + other +
                         "' name the same file '" + name + "'");
  return Error::success();
}

static Error writeOutputs(const Instance &instance, const Outcome &outcome) {
  OutputFiles files;
  bool isPiped = false;
  auto add = [&](StringRef path, const json::Value &contents) {
    isPiped |= OutputFiles::isStandardOutput(path);
    return files.add(path, [&](raw_ostream &os) {
      os << formatv("{0:2}", contents) << '\n';
    });
  };
  if (!options().scheduleFile.empty() && outcome.solution)
    if (Error error = add(options().scheduleFile,
                          toJson(instance, outcome.solution->plan)))
      return error;
  if (!options().reportFile.empty())
    if (Error error =
            add(options().reportFile, plan::toJson(instance, outcome)))
      return error;
  if (!options().instanceFile.empty())
    if (Error error = add(options().instanceFile, toJson(instance.problem)))
      return error;
  if (Error error = files.commit())
    return error;
  print(instance.problem, outcome, isPiped ? errs() : outs());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The tool
//===----------------------------------------------------------------------===//

static Error runTool() {
  if (Error error = checkFileNames())
    return error;
  StepOptions step;
  if (Error error = options().step.apply(step))
    return error;
  Expected<unsigned> points = parsePoints(options().frontier);
  if (!points)
    return points.takeError();
  Expected<Instance> instance = readInput(
      options().inputFile, options().manifestFile, options().step, step);
  if (!instance)
    return instance.takeError();

  tools::setInterruptFunction([] { interrupted = true; });
  Expected<Outcome> outcome =
      makeOutcome(instance->problem, step.plan, *points);
  // From here on there is nothing to cut short.
  tools::setInterruptFunction(nullptr);
  if (!outcome)
    return outcome.takeError();
  if (options().step.isGiven("budget"))
    outcome->requestedBudget = options().step.getText("budget");
  if (Error error = writeOutputs(*instance, *outcome))
    return error;
  if (outcome->solution)
    return Error::success();
  if (interrupted || !outcome->certificate)
    return makeError(outcome->failure);
  return make_error<InfeasibleBudgetError>(
      *instance->problem.deviceBudget, outcome->certificate->smallestFeasible,
      outcome->certificate->describe(instance->problem));
}

int main(int argc, char **argv) {
  return tools::runMain(
      argc, argv, "remat-plan",
      "Plan what to keep and what to recompute in a budget\n",
      []() -> cl::OptionCategory & { return options().category; }, runTool);
}
