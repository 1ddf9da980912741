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

namespace {
/// The command line. Made after LLVM's own options, some of which have the same
/// names, were dropped.
struct Options {
  cl::OptionCategory category{"remat-plan options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::cat(category), cl::desc("INSTANCE.json")};
  cl::opt<std::string> budget{"budget", cl::cat(category),
                              cl::value_desc("BYTES|N%|min"),
                              cl::desc("Bytes, a percentage of the save-all "
                                       "peak (\"60%\"), or \"min\"")};
  cl::opt<std::string> solver{"solver", cl::init("auto"), cl::cat(category),
                              cl::desc("Algorithm to plan with")};
  cl::opt<double> timeLimit{"time-limit", cl::cat(category),
                            cl::desc("Seconds to search")};
  cl::opt<uint64_t> seed{"seed", cl::init(1), cl::cat(category),
                         cl::desc("Random seed")};
  cl::opt<unsigned> threads{"threads", cl::init(1), cl::cat(category),
                            cl::desc("Threads to search with")};
  cl::opt<bool> reorder{"reorder", cl::cat(category),
                        cl::desc("Free order of first runs")};
  cl::opt<std::string> outputFile{"o", cl::cat(category),
                                  cl::value_desc("SCHEDULE.json"),
                                  cl::desc("Schedule to write")};
  cl::opt<std::string> reportFile{"json", cl::cat(category),
                                  cl::value_desc("REPORT.json"),
                                  cl::desc("Report to write")};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

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
                       const SolverOptions &solverOptions) {
  Expected<BudgetRequest> request = parseBudget(options().budget);
  if (!request)
    return request.takeError();
  if (request->kind == BudgetRequest::Kind::Unlimited)
    return Error::success();
  if (request->kind != BudgetRequest::Kind::Smallest) {
    problem.deviceBudget = request->resolve(peak);
    return Error::success();
  }
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, solverOptions);
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  return Error::success();
}

static json::Value report(const Problem &problem, const Solution &solution,
                          int64_t peak) {
  auto percent = [&](int64_t cost) {
    return solution.baseCost
               ? 100.0 * double(cost - solution.baseCost) / solution.baseCost
               : 0.0;
  };
  json::Object object{{"instance", problem.name},
                      {"valid", true},
                      {"solver", solution.solver},
                      {"save_all_peak_bytes", peak},
                      {"peak_bytes", solution.peakBytes},
                      {"host_peak_bytes", solution.hostPeakBytes},
                      {"cost", solution.cost},
                      {"time", solution.time},
                      {"base_cost", solution.baseCost},
                      {"tdi_percent", solution.overheadPercent()},
                      {"lower_bound_tdi_percent", percent(solution.lowerBound)},
                      {"gap", solution.gap()},
                      {"optimal", solution.optimal()},
                      {"time_to_best", solution.secondsToBest},
                      {"cut_short", solution.cutShort},
                      {"seconds", solution.seconds}};
  if (problem.deviceBudget)
    object["budget_bytes"] = *problem.deviceBudget;
  return object;
}

static Error run() {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(options().inputFile);
  if (!file)
    return createFileError(options().inputFile, file.getError());
  Expected<Instance> instance = parseInstance((*file)->getBuffer());
  if (!instance)
    return createFileError(options().inputFile, instance.takeError());
  Problem &problem = instance->problem;
  Expected<int64_t> peak = saveAllPeak(problem);
  if (!peak)
    return peak.takeError();
  SolverOptions solverOptions;
  if (options().timeLimit.getNumOccurrences())
    solverOptions.timeLimitSeconds = options().timeLimit;
  solverOptions.seed = options().seed;
  solverOptions.threads = options().threads;
  problem.freeOrder = options().reorder;
  if (Error error = setBudget(problem, *peak, solverOptions))
    return error;
  Expected<Solution> solution = solve(problem, options().solver, solverOptions);
  if (!solution)
    return solution.takeError();

  outs() << formatv("{0}: {1}, peak {2} of {3} bytes, cost {4} (+{5:f2}%), "
                    "gap {6:f2}%, {7:f3} s\n",
                    problem.name, solution->solver, solution->peakBytes, *peak,
                    solution->cost, solution->overheadPercent(),
                    100.0 * solution->gap(), solution->seconds);
  if (!options().outputFile.empty())
    if (Error error =
            writeJson(options().outputFile, toJson(*instance, solution->plan)))
      return error;
  if (!options().reportFile.empty())
    return writeJson(options().reportFile, report(problem, *solution, *peak));
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ResetCommandLineParser();
  cl::HideUnrelatedOptions(options().category);
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
