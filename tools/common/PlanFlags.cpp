//===- PlanFlags.cpp - what to say of a plan ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/PlanFlags.h"

#include "common/Driver.h"

#include "remat/Cost/CostFile.h"
#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Pipelines/LoopDecisions.h"
#include "remat/Pipelines/SavedValues.h"
#include "remat/Support/InputFiles.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

//===----------------------------------------------------------------------===//
// Questions about a plan
//===----------------------------------------------------------------------===//

PlanFlags::PlanFlags(cl::OptionCategory &category)
    : frontier("frontier", cl::ValueOptional, cl::cat(category),
               cl::value_desc("N"),
               cl::desc("Plan N budgets (20 if not given) between the smallest "
                        "feasible one and the peak without rematerialization")),
      explain("explain", cl::cat(category),
              cl::desc("Say of each value what was decided and why")),
      printSaved(
          "print-saved", cl::cat(category),
          cl::desc("Print what a model saves for its backward computation")),
      progress(category, "planning, compiling or --gradcheck") {}

Error PlanFlags::check() const {
  unsigned points;
  if (!frontier.empty() &&
      (StringRef(frontier).getAsInteger(10, points) || points < 2))
    return makeError("--frontier must be a number of budgets, at least 2, got "
                     "'" +
                     frontier + "'");
  return Error::success();
}

Error PlanFlags::refuse(StringRef why) const {
  for (const cl::Option *option :
       {static_cast<const cl::Option *>(&frontier),
        static_cast<const cl::Option *>(&explain),
        static_cast<const cl::Option *>(&printSaved)})
    if (option->getNumOccurrences() > 0)
      return makeError("'--" + option->ArgStr + "' has no effect: " + why);
  return Error::success();
}

unsigned PlanFlags::getPoints() const {
  unsigned points = planning::FrontierOptions().points;
  if (!frontier.empty())
    StringRef(frontier).getAsInteger(10, points);
  return points;
}

Error PlanFlags::explainPlan(const planning::Problem &problem,
                             const planning::Plan &plan, PlanDetails &details,
                             StringRef costUnit,
                             ArrayRef<TaskDecision> decisions) const {
  if (!explain)
    return Error::success();
  Expected<planning::Explanation> explanation =
      planning::explain(problem, plan);
  if (!explanation)
    return explanation.takeError();
  details.explanation = std::move(*explanation);
  details.problem = problem;
  details.costUnit = costUnit.str();
  details.decisions = decisions.vec();
  return Error::success();
}

void PlanFlags::listSaved(GraphOp graph, PlanDetails &details) const {
  if (!printSaved)
    return;
  raw_string_ostream os(details.saved);
  printSavedValues(graph, os);
}

void PlanDetails::describeLink(const planning::Problem &problem,
                               const StepOptions &options) {
  linkBytesPerSecond = problem.linkBytesPerSecond;
  linkSource = "target";
  int64_t given = options.plan.linkBandwidth;
  if (given != 0 && given != targetBandwidth) {
    linkSource = "option";
  } else if (!options.costs.empty()) {
    Expected<CostFile> file = CostFile::load(options.costs);
    if (!file)
      consumeError(file.takeError());
    else if (file->link)
      linkSource = "costs";
  }
}

void PlanDetails::addTo(json::Object &object,
                        ArrayRef<int64_t> valueNodes) const {
  if (linkBytesPerSecond != 0)
    object["link"] = json::Object{{"bytes_per_second", linkBytesPerSecond},
                                  {"source", linkSource}};
  if (frontier)
    object["frontier"] = planning::toJson(*frontier);
  if (!explanation)
    return;
  json::Value values = planning::toJson(problem, *explanation, valueNodes);
  addLoopDecisions(decisions, *values.getAsArray());
  object["explanation"] = std::move(values);
}

void PlanDetails::print(raw_ostream &os) const {
  if (frontier)
    planning::print(*frontier, os);
  if (explanation) {
    planning::print(problem, *explanation, os, costUnit);
    printLoopDecisions(decisions, os);
  }
}

//===----------------------------------------------------------------------===//
// Stored plans
//===----------------------------------------------------------------------===//

StoredPlanFlag::StoredPlanFlag(cl::OptionCategory &category)
    : file("plan", cl::cat(category), cl::value_desc("file"),
           cl::desc("Run this schedule, which remat-plan -o wrote for the same "
                    "model, instead of planning")) {}

Error StoredPlanFlag::apply(const StepFlags &flags,
                            StepOptions &options) const {
  if (!isGiven())
    return Error::success();
  SmallVector<StringRef> names;
  for (const OptionInfo<PlanOptions> &row : getPlanOptionTable())
    if (flags.has(row.name))
      names.push_back(row.name);
  if (Error error = flags.refuse(names, "'--plan' says what to run"))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readTextFileOrInput(file);
  if (!buffer)
    return buffer.takeError();
  if (Error error = readStoredPlan((*buffer)->getBuffer(), options.plan))
    return createFileError(file, std::move(error));
  return Error::success();
}
