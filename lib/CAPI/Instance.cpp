//===- Instance.cpp - plans of instances without IR -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Planning/PlanPacking.h"
#include "remat/Planning/Serialization.h"
#include "remat/Planning/SharedLimit.h"

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

/// Replaces the limits of the instance where the options have one. The smallest
/// budget comes with all that is known of it.
static Error setLimits(const PlanOptions &plan, int64_t saveAllPeak,
                       const SharedLimit &limit, Instance &instance,
                       std::optional<FeasibilityCertificate> &lowest,
                       std::optional<SmallestPlans> &known) {
  Problem &problem = instance.problem;
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
      smallestFeasibleBudget(problem, limit.give(plan.solver, 0.5));
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  if (instance.budgetCounts == BudgetCounts::Peak) {
    lowest = std::move(*certificate);
    return Error::success();
  }
  Expected<PackedSolution> packed =
      findSmallestArena(problem, *certificate, limit.give(plan.solver, 0.5));
  if (!packed)
    return packed.takeError();
  problem.deviceBudget = packed->packing.totalBytes;
  known = {std::move(*certificate), std::move(*packed)};
  return Error::success();
}

namespace {
struct Found {
  Solution solution;
  /// Where the budget bounds the arena.
  std::optional<int64_t> arenaBytes;
};
} // namespace

static Expected<Found> search(const Instance &instance, const PlanOptions &plan,
                              const FeasibilityCertificate *lowest,
                              const SmallestPlans *known) {
  const Problem &problem = instance.problem;
  if (problem.deviceBudget && instance.budgetCounts == BudgetCounts::Arena) {
    Expected<PackedSolution> packed =
        solveWithinArena(problem, plan.planner, plan.solver, known);
    if (!packed)
      return packed.takeError();
    return Found{std::move(packed->solution), packed->packing.totalBytes};
  }
  Expected<Solution> solution =
      solveOrTakeSmallest(problem, plan.planner, plan.solver, lowest);
  if (!solution)
    return solution.takeError();
  return Found{std::move(*solution), std::nullopt};
}

/// For the smallest budget there is a plan, whatever a search finds.
static Expected<Found> findPlan(const Instance &instance,
                                const PlanOptions &plan,
                                const FeasibilityCertificate *lowest,
                                const SmallestPlans *known) {
  Expected<Found> found = search(instance, plan, lowest, known);
  const Plan *smallest = known    ? &known->smallestArena.solution.plan
                         : lowest ? &lowest->plan
                                  : nullptr;
  if (found || !smallest || !found.errorIsA<InfeasibleBudgetError>())
    return found;
  consumeError(found.takeError());
  Expected<Solution> solution =
      evaluatePlan(instance.problem, *smallest, "smallest");
  if (!solution)
    return solution.takeError();
  // With the smallest arena, the budget is that of this plan.
  return Found{std::move(*solution),
               known ? instance.problem.deviceBudget : std::nullopt};
}

static Expected<json::Value> planInstance(StringRef text, PlanOptions plan) {
  SharedLimit limit(plan.solver);
  Expected<Instance> instance = parseInstance(text);
  if (!instance)
    return instance.takeError();
  if (Error error = check(instance->problem))
    return std::move(error);
  Expected<int64_t> saveAllPeak = findSaveAllPeak(instance->problem);
  if (!saveAllPeak)
    return saveAllPeak.takeError();
  std::optional<FeasibilityCertificate> lowest;
  std::optional<SmallestPlans> known;
  if (Error error =
          setLimits(plan, *saveAllPeak, limit, *instance, lowest, known))
    return std::move(error);
  plan.solver = limit.give(plan.solver);
  Expected<Found> found = findPlan(*instance, plan, lowest ? &*lowest : nullptr,
                                   known ? &*known : nullptr);
  if (!found)
    return found.takeError();
  json::Value schedule = planning::toJson(*instance, found->solution.plan);
  json::Object &object = *schedule.getAsObject();
  object["schema"] = "remat.instance-plan/1";
  object["peak_bytes"] = found->solution.peakBytes;
  if (found->arenaBytes)
    object["arena_bytes"] = *found->arenaBytes;
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
