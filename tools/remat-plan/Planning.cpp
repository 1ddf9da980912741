//===- Planning.cpp - the searches of remat-plan --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances are planned as they are. Models are planned as the tools that
// compile do it, so that what is said of them is true of the step that runs.
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Planning/PlanPacking.h"
#include "remat/Planning/SharedLimit.h"

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::planning;
using namespace remat::tools;

static constexpr StringLiteral interruptedEarly =
    "interrupted before a plan within the budget was found";

/// The share of the time of what comes before the frontier, if that is asked
/// for: it is one budget of many.
static double getFirstShare(const PlanFlags &flags) {
  return flags.wantsFrontier() ? 1.0 / (1 + flags.getPoints()) : 1;
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

/// The peak that percentages refer to.
static Expected<int64_t> findSaveAllPeak(Problem problem) {
  problem.deviceBudget.reset();
  problem.regions.clear();
  Expected<Solution> solution = solve(problem, "save-all");
  if (!solution)
    return solution.takeError();
  return solution->peakBytes;
}

static Error setBudget(const PlanOptions &plan, const SolverOptions &search,
                       Outcome &outcome) {
  Problem &problem = outcome.instance.problem;
  if (plan.budget.kind == BudgetRequest::Kind::Unlimited)
    return Error::success();
  if (plan.budget.kind != BudgetRequest::Kind::Smallest) {
    problem.deviceBudget = plan.budget.resolve(outcome.saveAllPeak);
    return Error::success();
  }
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, search);
  if (!certificate)
    return certificate.takeError();
  problem.deviceBudget = certificate->smallestFeasible;
  outcome.smallestFeasible = certificate->smallestFeasible;
  outcome.certificate = std::move(*certificate);
  return Error::success();
}

/// Addresses for the copies of a plan, as good as the time that is left allows.
static Expected<Packing> packPlan(const Problem &problem, const Plan &plan,
                                  std::optional<double> secondsLeft) {
  PackingOptions options;
  // All of the work takes about a second.
  if (PlanWatch::isInterrupted())
    options.maxWork = 0;
  else if (secondsLeft)
    options.maxWork = static_cast<int64_t>(double(options.maxWork) *
                                           std::min(*secondsLeft, 1.0));
  return planning::packPlan(problem, plan, options);
}

static Error packSolution(std::optional<double> secondsLeft, Outcome &outcome) {
  return packPlan(outcome.instance.problem, outcome.solution->plan, secondsLeft)
      .moveInto(outcome.packing);
}

/// A plan whose arena is within the budget. The smallest one asked for is that
/// of the plan with the smallest arena, or of a faster plan that fits there.
static Error findPackedSolution(const PlanOptions &plan,
                                const SolverOptions &options,
                                Outcome &outcome) {
  SharedLimit limit(options);
  Problem &problem = outcome.instance.problem;
  std::optional<SmallestPlans> known;
  if (outcome.certificate) {
    Expected<PackedSolution> smallest = findSmallestArena(
        problem, *outcome.certificate, limit.give(options, 0.5));
    if (!smallest)
      return smallest.takeError();
    problem.deviceBudget = outcome.smallestFeasible =
        outcome.certificate->arenaBytes = smallest->packing.totalBytes;
    outcome.solution = smallest->solution;
    outcome.packing = smallest->packing;
    known = {*outcome.certificate, std::move(*smallest)};
  }
  Expected<PackedSolution> found = solveWithinArena(
      problem, plan.planner, limit.give(options), known ? &*known : nullptr);
  if (found) {
    outcome.cutShort = found->solution.cutShort;
    outcome.solution = std::move(found->solution);
    outcome.packing = std::move(found->packing);
    return Error::success();
  }
  return handleErrors(
      found.takeError(), [&](const InfeasibleBudgetError &error) {
        outcome.cutShort = PlanWatch::isInterrupted();
        // With the smallest budget there is a plan already.
        if (outcome.solution)
          return;
        if (const FeasibilityCertificate *certificate = error.getCertificate())
          outcome.certificate = *certificate;
        if (error.getSmallestFeasible() != 0 || error.getCertificate())
          outcome.smallestFeasible = error.getSmallestFeasible();
        outcome.evidence = error.getEvidence();
        outcome.failure =
            outcome.cutShort ? interruptedEarly.str() : error.message();
      });
}

/// Solves the problem.
static Error findSolution(const PlanOptions &plan, const SolverOptions &search,
                          Outcome &outcome) {
  const Problem &problem = outcome.instance.problem;
  Expected<Solution> solution = solveOrTakeSmallest(
      problem, plan.planner, search,
      outcome.certificate ? &*outcome.certificate : nullptr);
  if (solution) {
    outcome.cutShort = solution->cutShort;
    outcome.solution = std::move(*solution);
    return Error::success();
  }
  auto fail = [&](const InfeasibleBudgetError &error) {
    if (const FeasibilityCertificate *found = error.getCertificate())
      if (!outcome.certificate ||
          found->smallestFeasible < outcome.certificate->smallestFeasible)
        outcome.certificate = *found;
    outcome.cutShort = PlanWatch::isInterrupted();
    if (outcome.certificate) {
      outcome.smallestFeasible = outcome.certificate->smallestFeasible;
      outcome.evidence = outcome.certificate->describe(problem);
    }
    outcome.failure =
        PlanWatch::isInterrupted() ? interruptedEarly.str() : error.message();
  };
  return handleErrors(solution.takeError(), fail);
}

Expected<Outcome> plan::planInstance(Instance instance,
                                     const PlanOptions &options,
                                     const PlanFlags &flags, bool packs) {
  Outcome outcome;
  outcome.instance = std::move(instance);
  const Problem &problem = outcome.instance.problem;
  if (Error error = check(problem))
    return std::move(error);
  Expected<int64_t> peak = findSaveAllPeak(problem);
  if (!peak)
    return peak.takeError();
  outcome.saveAllPeak = *peak;

  PlanWatch watch("remat-plan", flags.showsProgress(), /*afterwards=*/"",
                  /*costUnit=*/"");
  SolverOptions search = options.solver;
  watch.attach(search);
  SharedLimit limit(search);
  double share = getFirstShare(flags);
  // What shows how small the budget can get finds no good plan.
  if (Error error = setBudget(options, limit.give(search, share / 2), outcome))
    return std::move(error);
  bool countsArena = outcome.instance.budgetCounts == BudgetCounts::Arena;
  outcome.boundsArena = countsArena && problem.deviceBudget;
  if (Error error =
          outcome.boundsArena
              ? findPackedSolution(options, limit.give(search, share), outcome)
              : findSolution(options, limit.give(search, share), outcome))
    return std::move(error);
  outcome.seconds = watch.getSeconds();
  outcome.firstPlanSeconds =
      watch.getFirstPlanSeconds().value_or(outcome.seconds);

  if (flags.wantsFrontier()) {
    FrontierOptions frontier{options.planner, flags.getPoints(), countsArena,
                             limit.give(search)};
    frontier.search.onProgress = nullptr;
    Expected<Frontier> computed = planning::computeFrontier(problem, frontier);
    if (!computed)
      return computed.takeError();
    outcome.details.frontier = std::move(*computed);
  }
  if (!outcome.solution)
    return outcome;
  if (packs && !outcome.packing)
    if (Error error = packSolution(limit.getSecondsLeft(), outcome))
      return std::move(error);
  if (outcome.packing)
    outcome.arenaBytes = outcome.packing->totalBytes;
  outcome.schedule = planning::toJson(outcome.instance, outcome.solution->plan);
  if (Error error = flags.explainPlan(problem, outcome.solution->plan,
                                      outcome.details, ""))
    return std::move(error);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// What can be said of a model that has no plan within the budget.
static Error describeFailure(GraphOp graph, PlanOptions options,
                             const InfeasibleBudgetError &error,
                             Outcome &outcome) {
  Expected<Problem> problem = makeProblem(graph, options);
  if (!problem)
    return problem.takeError();
  outcome.instance = makeInstance(std::move(*problem));
  options.budget = {};
  options.planner = "save-all";
  options.regionBudgets.clear();
  Expected<GraphPlan> saveAll = remat::findPlan(graph, options);
  if (!saveAll)
    return saveAll.takeError();
  outcome.saveAllPeak = saveAll->saveAllPeak;
  outcome.instance.problem.deviceBudget = error.getBudget();
  outcome.smallestFeasible = error.getSmallestFeasible();
  outcome.failure = error.message();
  outcome.evidence = error.getEvidence();
  return Error::success();
}

static void record(GraphPlan plan, Outcome &outcome) {
  outcome.schedule = remat::toJson(plan);
  outcome.instance = makeInstance(std::move(plan.problem));
  outcome.instance.problem.deviceBudget = plan.budget;
  outcome.saveAllPeak = plan.saveAllPeak;
  outcome.arenaBytes = plan.arenaBytes;
  outcome.microbatchOrder = plan.microbatchOrder;
  outcome.batchParts = plan.batchParts;
  outcome.sliceRows = plan.sliceRows;
  outcome.slicesHidden = plan.slicesHidden;
  outcome.foldedLayers = plan.foldedLayers;
  outcome.cutShort = plan.solution.cutShort;
  if (plan.options.budget.kind == BudgetRequest::Kind::Smallest)
    outcome.smallestFeasible = plan.budget;
  outcome.solution = std::move(plan.solution);
}

Expected<Outcome> plan::planModel(GraphOp graph, const PlanOptions &options,
                                  const PlanFlags &flags,
                                  bool keepsFrontierPlans) {
  Outcome outcome;
  outcome.isModel = true;
  PlanWatch watch("remat-plan", flags.showsProgress());
  PlanOptions search = options;
  watch.attach(search.solver);
  SharedLimit limit(search.solver);
  search.solver = limit.give(search.solver, getFirstShare(flags));
  Expected<GraphPlan> found = remat::findPlan(graph, search);
  if (found)
    record(std::move(*found), outcome);
  else if (Error error = handleErrors(
               found.takeError(), [&](const InfeasibleBudgetError &error) {
                 return describeFailure(graph, options, error, outcome);
               }))
    return std::move(error);
  outcome.seconds = watch.getSeconds();
  outcome.firstPlanSeconds =
      watch.getFirstPlanSeconds().value_or(outcome.seconds);
  if (flags.wantsFrontier()) {
    search.solver = limit.give(options.solver);
    watch.attach(search.solver);
    Expected<Frontier> computed = remat::computeFrontier(
        graph, search, flags.getPoints(),
        keepsFrontierPlans ? &outcome.details.frontierPlans : nullptr);
    if (!computed)
      return computed.takeError();
    outcome.details.frontier = std::move(*computed);
  }
  if (outcome.solution)
    if (Error error = flags.explainPlan(
            outcome.instance.problem, outcome.solution->plan, outcome.details))
      return std::move(error);
  return outcome;
}
