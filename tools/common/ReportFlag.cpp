//===- ReportFlag.cpp - a page that shows a step --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/ReportFlag.h"

#include "common/Driver.h"

#include "remat/Pipelines/StepPage.h"

#include "llvm/Support/Path.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

/// How many budgets of the frontier a report shows, and with which part of the
/// effort each is planned: together they take about as long as the plan that
/// was asked for.
static constexpr unsigned reportPoints = 5;
static constexpr double reportEffort = 0.25;

ReportFlag::ReportFlag(cl::OptionCategory &category)
    : file("report", cl::cat(category), cl::value_desc("file"),
           cl::desc("Write a page in HTML, which needs no network: memory over "
                    "the step before\nand after planning, each value with what "
                    "was decided and why, and plans for\nother budgets")) {}

Error ReportFlag::refuse(StringRef why) const {
  return isGiven() ? makeError("'--report' has no effect: " + why)
                   : Error::success();
}

Expected<std::vector<PlannedStep>>
ReportFlag::collectPlans(mlir::ModuleOp tasks, const StepOptions &options,
                         const planning::SolverOptions &search,
                         ArrayRef<GraphPlan> frontier,
                         PlannedStep chosen) const {
  std::vector<GraphPlan> found;
  if (frontier.empty()) {
    GraphOp graph = getOnlyGraph(tasks);
    if (!graph)
      return makeError("the module holds no step");
    PlanOptions plan = options.plan;
    plan.stored = nullptr;
    plan.solver = search;
    plan.solver.effort *= reportEffort;
    if (Error error =
            computeFrontier(graph, plan, reportPoints, &found).takeError())
      return std::move(error);
    frontier = found;
  }
  Expected<std::vector<PlannedStep>> plans =
      carryOutPlans(tasks, options, frontier);
  if (!plans)
    return plans;
  erase_if(*plans, [&](const PlannedStep &other) {
    return other.origin == PlanOrigin::Frontier && other.isSameAs(chosen);
  });
  plans->insert(plans->begin() + 1, std::move(chosen));
  return plans;
}

Error ReportFlag::addTo(OutputFiles &files, ArrayRef<PlannedStep> plans,
                        StringRef title) const {
  if (!isGiven())
    return Error::success();
  return files.add(file, [&](raw_ostream &os) { writePage(plans, title, os); });
}

StringRef ReportFlag::getTitle(StringRef inputFile) {
  return inputFile == "-" ? "model" : sys::path::stem(inputFile);
}
