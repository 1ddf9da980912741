//===- StepPlans.cpp - one step under several plans -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepPlans.h"

#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Pipelines/StepCompiler.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace remat;

/// With which part of the effort a budget of the frontier is planned: as many
/// as a comparison has by default take about as long as the plan that was asked
/// for.
static constexpr double reportEffort = 0.25;

StringRef remat::stringify(PlanOrigin origin) {
  switch (origin) {
  case PlanOrigin::SaveAll:
    return "save-all";
  case PlanOrigin::Chosen:
    return "chosen";
  case PlanOrigin::Frontier:
    return "frontier";
  }
  llvm_unreachable("unknown origin");
}

bool PlannedStep::isSameAs(const PlannedStep &other) const {
  return report.arenaBytes == other.report.arenaBytes &&
         report.getHash() == other.report.getHash();
}

PlannedStep remat::makePlannedStep(PlanOrigin origin, StepReport report,
                                   const GraphPlan &plan) {
  PlannedStep step;
  step.origin = origin;
  step.report = std::move(report);
  step.planner = plan.solution.solver;
  step.isOptimal = plan.solution.optimal();
  step.baseTime = plan.solution.baseCost;
  step.time = plan.solution.time;
  step.lowerBound = plan.solution.lowerBound;
  step.microbatchOrder = plan.microbatchOrder;
  step.batchParts = plan.batchParts;
  step.sliceRows = plan.sliceRows;
  step.slicesHidden = plan.slicesHidden;
  step.foldedLayers = plan.foldedLayers;
  return step;
}

/// Plans a copy of `tasks` with `plan`, and describes the step.
static llvm::Expected<PlannedStep> carryOut(PlanOrigin origin, ModuleOp tasks,
                                            const StepOptions &options,
                                            PlanOptions plan) {
  OwningOpRef<ModuleOp> copy(tasks.clone());
  GraphPlan found;
  // Other plans are no news: their remarks would be taken for those of the
  // step.
  plan.explain = false;
  plan.listsDecisions = true;
  llvm::Expected<StepSummary> summary = planModule(*copy, plan, &found);
  if (!summary)
    return summary.takeError();
  FailureOr<StepReport> report =
      makeStepReport(getOnlyGraph(*copy), options,
                     found.problem.linkBytesPerSecond, found.decisions);
  if (failed(report))
    return llvm::createStringError("could not describe the step");
  return makePlannedStep(origin, std::move(*report), found);
}

llvm::Expected<std::vector<PlannedStep>>
remat::carryOutPlans(ModuleOp tasks, const StepOptions &options,
                     ArrayRef<GraphPlan> frontier) {
  std::vector<PlannedStep> steps;
  PlanOptions saveAll = options.plan;
  saveAll.planner = "save-all";
  saveAll.budget = {};
  saveAll.regionBudgets.clear();
  saveAll.stored = nullptr;
  llvm::Expected<PlannedStep> first =
      carryOut(PlanOrigin::SaveAll, tasks, options, saveAll);
  if (!first)
    return first.takeError();
  steps.push_back(std::move(*first));
  for (const GraphPlan &point : frontier) {
    PlanOptions plan = options.plan;
    if (llvm::Error error =
            readStoredPlan(llvm::formatv("{0}", toJson(point)).str(), plan))
      return std::move(error);
    // The bodies of loops are planned again.
    plan.solver.effort = point.options.solver.effort;
    llvm::Expected<PlannedStep> step =
        carryOut(PlanOrigin::Frontier, tasks, options, plan);
    if (!step)
      return step.takeError();
    // A stored plan does not say how it was found, and what is proven of it.
    step->planner = point.solution.solver;
    step->isOptimal = point.solution.optimal();
    step->lowerBound = point.solution.lowerBound;
    bool isKnown = llvm::any_of(
        steps, [&](const PlannedStep &other) { return other.isSameAs(*step); });
    if (!isKnown)
      steps.push_back(std::move(*step));
  }
  return steps;
}

llvm::Expected<std::vector<PlannedStep>>
remat::collectPlans(ModuleOp tasks, const StepOptions &options,
                    const planning::SolverOptions &search,
                    ArrayRef<GraphPlan> frontier, PlannedStep chosen,
                    unsigned points) {
  std::vector<GraphPlan> found;
  if (frontier.empty() && points > 0) {
    GraphOp graph = getOnlyGraph(tasks);
    if (!graph)
      return llvm::createStringError("the module holds no step");
    PlanOptions plan = options.plan;
    plan.stored = nullptr;
    plan.solver = search;
    plan.solver.effort *= reportEffort;
    if (llvm::Error error =
            computeFrontier(graph, plan, points, &found).takeError())
      return std::move(error);
    frontier = found;
  }
  llvm::Expected<std::vector<PlannedStep>> plans =
      carryOutPlans(tasks, options, frontier);
  if (!plans)
    return plans;
  llvm::erase_if(*plans, [&](const PlannedStep &other) {
    return other.origin == PlanOrigin::Frontier && other.isSameAs(chosen);
  });
  plans->insert(plans->begin() + 1, std::move(chosen));
  return plans;
}
