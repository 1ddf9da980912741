//===- Instance.cpp - plans of instances without IR -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Serialization.h"

using namespace llvm;
using namespace remat;
using namespace remat::capi;
using namespace remat::planning;

/// The peak that percentages refer to.
static Expected<int64_t> findSaveAllPeak(Problem problem) {
  problem.deviceBudget.reset();
  problem.regions.clear();
  Expected<Solution> solution = solve(problem, "save-all", {});
  if (!solution)
    return solution.takeError();
  return solution->peakBytes;
}

/// Replaces the limits of the instance where the options have one.
static Error setLimits(const PlanOptions &plan, int64_t saveAllPeak,
                       Problem &problem) {
  problem.freeOrder |= plan.reorder;
  if (plan.hostBudget)
    problem.hostBudget = plan.hostBudget;
  if (plan.linkBandwidth == targetBandwidth)
    return createStringError("link-bandwidth is 'target', and an instance has "
                             "none; say how fast the link is");
  if (plan.linkBandwidth)
    problem.linkBytesPerSecond = plan.linkBandwidth;
  if (!plan.offload)
    problem.linkBytesPerSecond = 0;
  if (plan.budget.kind == BudgetRequest::Kind::Unlimited)
    return Error::success();
  if (plan.budget.kind != BudgetRequest::Kind::Smallest) {
    problem.deviceBudget = plan.budget.resolve(saveAllPeak);
    return Error::success();
  }
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, plan.solver);
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  return Error::success();
}

/// What shows that a budget is feasible is a plan for it, if a search finds
/// none.
static Expected<Solution> findPlan(const Problem &problem,
                                   const PlanOptions &plan) {
  Expected<Solution> solution = solve(problem, plan.planner, plan.solver);
  if (solution)
    return solution;
  std::optional<Plan> smallest;
  Error rest = handleErrors(
      solution.takeError(),
      [&](std::unique_ptr<InfeasibleBudgetError> error) -> Error {
        const FeasibilityCertificate *found = error->getCertificate();
        if (plan.planner != "auto" || !found || !problem.deviceBudget ||
            found->smallestFeasible > *problem.deviceBudget)
          return Error(std::move(error));
        smallest = found->plan;
        return Error::success();
      });
  if (rest)
    return std::move(rest);
  return evaluatePlan(problem, std::move(*smallest), "smallest");
}

static Expected<json::Value> planInstance(StringRef text,
                                          const PlanOptions &plan) {
  Expected<Instance> instance = parseInstance(text);
  if (!instance)
    return instance.takeError();
  if (Error error = check(instance->problem))
    return std::move(error);
  Expected<int64_t> saveAllPeak = findSaveAllPeak(instance->problem);
  if (!saveAllPeak)
    return saveAllPeak.takeError();
  if (Error error = setLimits(plan, *saveAllPeak, instance->problem))
    return std::move(error);
  Expected<Solution> solution = findPlan(instance->problem, plan);
  if (!solution)
    return solution.takeError();
  json::Value schedule = planning::toJson(*instance, solution->plan);
  json::Object &object = *schedule.getAsObject();
  object["schema"] = "remat.instance-plan/1";
  object["peak_bytes"] = solution->peakBytes;
  object["save_all_peak_bytes"] = *saveAllPeak;
  if (instance->problem.deviceBudget)
    object["budget_bytes"] = *instance->problem.deviceBudget;
  return schedule;
}

RematStatus rematInstancePlan(RematOptions options, const char *data,
                              size_t size, RematBytes *json) {
  return runCall(__func__, options, {{"data", data}, makeOutput("json", json)},
                 [&](Call &call, OptionsState &state) {
                   Expected<json::Value> plan =
                       planInstance(StringRef(data, size), state.step.plan);
                   if (!plan)
                     return call.fail(REMAT_STATUS_PARSE_ERROR,
                                      plan.takeError());
                   giveJson(std::move(*plan), json);
                   return REMAT_STATUS_OK;
                 });
}
