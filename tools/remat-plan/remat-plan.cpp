//===- remat-plan.cpp - plans instances from files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a planning instance, runs one algorithm, writes the schedule and a
// report. Exit status: 0 planned, 1 bad input, 3 no plan within the budget.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Budget.h"
#include "remat/Planning/Serialization.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace remat::planning;

static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("INSTANCE.json"));
static cl::opt<std::string>
    budgetText("budget",
               cl::desc("Bytes, a percentage of the save-all peak "
                        "(\"60%\"), or \"min\""),
               cl::value_desc("BYTES|N%|min"));
static cl::opt<std::string> solverName("solver", cl::init("auto"),
                                       cl::desc("Algorithm to plan with"));
static cl::opt<double> timeLimit("time-limit", cl::desc("Seconds to search"));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("Random seed"));
static cl::opt<std::string> outputFile("o", cl::desc("Schedule to write"),
                                       cl::value_desc("SCHEDULE.json"));
static cl::opt<std::string> reportFile("json", cl::desc("Report to write"),
                                       cl::value_desc("REPORT.json"));

static constexpr int infeasibleExit = 3;

static Error writeJson(StringRef path, const json::Value &value) {
  std::error_code status;
  ToolOutputFile file(path, status, sys::fs::OF_Text);
  if (status)
    return createFileError(path, status);
  file.os() << formatv("{0:2}", value) << "\n";
  file.keep();
  return Error::success();
}

/// The peak that percentages refer to.
static Expected<int64_t> saveAllPeak(Problem problem) {
  problem.deviceBudget.reset();
  Expected<Solution> solution = solve(problem, "save-all");
  if (!solution)
    return solution.takeError();
  return solution->peakBytes;
}

static Error setBudget(Problem &problem, int64_t peak,
                       const SolverOptions &options) {
  Expected<BudgetRequest> request = parseBudget(budgetText);
  if (!request)
    return request.takeError();
  if (request->kind == BudgetRequest::Kind::Unlimited)
    return Error::success();
  if (request->kind != BudgetRequest::Kind::Smallest) {
    problem.deviceBudget = request->resolve(peak);
    return Error::success();
  }
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, options);
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  return Error::success();
}

static json::Value report(const Problem &problem, const Solution &solution,
                          int64_t peak) {
  json::Object object{{"instance", problem.name},
                      {"solver", solution.solver},
                      {"save_all_peak", peak},
                      {"peak", solution.peakBytes},
                      {"host_peak", solution.hostPeakBytes},
                      {"cost", solution.cost},
                      {"time", solution.time},
                      {"base_cost", solution.baseCost},
                      {"overhead_percent", solution.overheadPercent()},
                      {"lower_bound", solution.lowerBound},
                      {"gap", solution.gap()},
                      {"optimal", solution.optimal()},
                      {"actions", int64_t(solution.plan.actions.size())},
                      {"seconds", solution.seconds}};
  if (problem.deviceBudget)
    object["budget"] = *problem.deviceBudget;
  return object;
}

static Error run() {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(inputFile);
  if (!file)
    return createFileError(inputFile, file.getError());
  Expected<Instance> instance = parseInstance((*file)->getBuffer());
  if (!instance)
    return createFileError(inputFile, instance.takeError());
  Problem &problem = instance->problem;
  Expected<int64_t> peak = saveAllPeak(problem);
  if (!peak)
    return peak.takeError();
  SolverOptions options;
  if (timeLimit.getNumOccurrences())
    options.timeLimitSeconds = timeLimit;
  options.seed = seed;
  if (Error error = setBudget(problem, *peak, options))
    return error;
  Expected<Solution> solution = solve(problem, solverName, options);
  if (!solution)
    return solution.takeError();

  outs() << formatv("{0}: {1}, peak {2} of {3} bytes, cost {4} (+{5:f2}%), "
                    "gap {6:f2}%, {7:f3} s\n",
                    problem.name, solution->solver, solution->peakBytes, *peak,
                    solution->cost, solution->overheadPercent(),
                    100.0 * solution->gap(), solution->seconds);
  if (!outputFile.empty())
    if (Error error = writeJson(outputFile, toJson(*instance, solution->plan)))
      return error;
  if (!reportFile.empty())
    return writeJson(reportFile, report(problem, *solution, *peak));
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "remat's planner\n");
  int status = 0;
  handleAllErrors(
      run(),
      [&](const InfeasibleBudgetError &error) {
        status = infeasibleExit;
        WithColor::error(errs(), "remat-plan") << error.message() << "\n";
      },
      [&](const ErrorInfoBase &error) {
        status = 1;
        WithColor::error(errs(), "remat-plan") << error.message() << "\n";
      });
  return status;
}
