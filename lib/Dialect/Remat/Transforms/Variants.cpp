//===- Variants.cpp - plans with more and fewer freedoms ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variants.h"

#include "Tuning.h"

#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Planning/Releases.h"

using namespace mlir;
using namespace remat;
using planning::BudgetRequest;

llvm::Error remat::checkUnplanned(GraphOp graph) {
  bool decided = graph.isPlanned() || !graph.getOps<OffloadOp>().empty() ||
                 !graph.getOps<ReloadOp>().empty() ||
                 !graph.getOps<ReleaseOp>().empty() ||
                 llvm::any_of(graph.getOps<TaskOp>(),
                              [](TaskOp task) { return task.isClone(); });
  if (decided)
    return llvm::createStringError(
        "the graph has transfers or clones, expected one without a plan");
  return llvm::Error::success();
}

llvm::Error
remat::keepClosest(llvm::Error error,
                   std::unique_ptr<planning::InfeasibleBudgetError> &closest) {
  return llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<planning::InfeasibleBudgetError> infeasible) {
        if (!closest ||
            infeasible->getSmallestFeasible() < closest->getSmallestFeasible())
          closest = std::move(infeasible);
      });
}

/// The options with fewer and with all of the freedoms that they give (the link
/// to the host, the order of tasks), those with fewer first.
static SmallVector<PlanOptions, 4>
collectVariants(const GraphProblem &graphProblem, const PlanOptions &options) {
  bool mayDoWithoutLink = options.offload && options.linkBandwidth != 0 &&
                          !asksForOffload(graphProblem.problem);
  SmallVector<PlanOptions, 4> variants;
  for (bool link : {false, true}) {
    if (link && !mayDoWithoutLink)
      continue;
    for (bool reorder : {false, true}) {
      if (reorder && !options.reorder)
        continue;
      PlanOptions &variant = variants.emplace_back(options);
      if (mayDoWithoutLink && !link)
        variant.linkBandwidth = 0;
      variant.reorder = reorder;
    }
  }
  return variants;
}

Variants::Variants(GraphOp graph, const PlanOptions &options)
    : graph(graph), options(options), repeated(graph) {
  if (options.stored) {
    planners.push_back(std::make_unique<GraphPlanner>(graph, options, cache));
    return;
  }
  GraphProblem graphProblem(graph);
  for (const PlanOptions &variant : collectVariants(graphProblem, options)) {
    bool mayPack = !graphProblem.offers.empty() && !variant.reorder;
    bool mayAbsorb = !graphProblem.absorptions.empty();
    if (mayPack)
      planners.push_back(std::make_unique<GraphPlanner>(
          graph, variant, cache, /*mayPack=*/false, /*mayAbsorb=*/false));
    if (mayAbsorb)
      planners.push_back(std::make_unique<GraphPlanner>(
          graph, variant, cache, /*mayPack=*/true, /*mayAbsorb=*/false));
    planners.push_back(std::make_unique<GraphPlanner>(graph, variant, cache));
  }
  if (options.planner != "auto" || asksForOffload(graphProblem.problem))
    return;
  PlanOptions byStages = options;
  byStages.planner = "stages";
  byStages.reorder = false;
  byStages.linkBandwidth = 0;
  planners.push_back(std::make_unique<GraphPlanner>(graph, byStages, cache));
  stages = planners.back().get();
}

llvm::Error Variants::prepare() {
  for (auto &planner : planners)
    if (llvm::Error error = planner->prepare())
      return error;
  return llvm::Error::success();
}

bool Variants::isStoredPlan() const {
  return options.stored->isPlanOf(planners.front()->getProblem().problem);
}

std::optional<double> Variants::getSecondsLeft() const {
  if (!options.solver.timeLimitSeconds)
    return std::nullopt;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  return std::max(*options.solver.timeLimitSeconds - passed.count(), 0.0);
}

bool remat::isBetter(const GraphPlan &a, const GraphPlan &b, bool isSmallest) {
  if (isSmallest)
    return std::tie(a.arenaBytes, a.solution.time) <
           std::tie(b.arenaBytes, b.solution.time);
  return std::tie(a.solution.time, a.arenaBytes) <
         std::tie(b.solution.time, b.arenaBytes);
}

/// Whether `plan` runs something again that a reader of this copy could make in
/// its own kernel.
static bool repeatsAbsorbable(const planning::Problem &problem,
                              const planning::Plan &plan) {
  std::vector<unsigned> copies = planning::copyNumbers(problem, plan);
  // Of the copy that comes next, from the end of the plan.
  std::vector<char> hasAbsorber(problem.ops.size(), false);
  for (size_t at = plan.actions.size(); at-- > 0;) {
    const planning::Action &action = plan.actions[at];
    if (action.kind != planning::ActionKind::Run)
      continue;
    if (copies[at] > 0 && hasAbsorber[action.id])
      return true;
    hasAbsorber[action.id] = false;
    for (planning::ValueId operand : problem.ops[action.id].operands) {
      planning::OpId producer =
          problem.values[problem.rootOf(operand)].producer;
      if (producer != planning::noOp)
        hasAbsorber[producer] |=
            llvm::is_contained(problem.ops[producer].absorbers, action.id);
    }
  }
  return false;
}

/// Whether what absorbs others is not looked for beside `plan`: it would hardly
/// save anything.
static bool hasNothingToAbsorb(const planning::Problem &problem,
                               const planning::Plan &plan) {
  return llvm::any_of(
             problem.ops,
             [](const planning::Op &op) { return !op.absorbers.empty(); }) &&
         !repeatsAbsorbable(problem, plan);
}

/// Whether so much runs again in `plan` that one from checkpoints of stages is
/// looked for.
static bool repeatsMuch(const planning::Solution &solution) {
  return double(solution.time - solution.baseCost) >
         StagesTuning::leastOverhead * double(solution.baseCost);
}

llvm::Expected<Chosen> Variants::plan(BudgetRequest budget,
                                      std::optional<double> seconds) {
  // Percentages mean the same for all.
  if (budget.kind == BudgetRequest::Kind::Percent)
    budget = {BudgetRequest::Kind::Bytes,
              budget.resolve(planners.front()->getSaveAllPeak())};
  bool isSmallest = budget.kind == BudgetRequest::Kind::Smallest;
  std::optional<Chosen> best;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  std::optional<double> left = getSecondsLeft();
  double until = left && seconds ? std::max(*left - *seconds, 0.0) : 0;
  for (auto [number, planner] : llvm::enumerate(planners)) {
    bool isStages = planner.get() == stages;
    if (isStages && (isSmallest || !best || !repeatsMuch(best->plan.solution)))
      continue;
    if (!isStages && best && !isSmallest &&
        hasNothingToAbsorb(planner->getProblem().problem,
                           best->plan.solution.plan))
      continue;
    // Stages, which are seldom looked for, have the time that is left.
    size_t waiting = planners.size() - number - (stages && !isStages ? 1 : 0);
    if (left)
      planner->setTimeLimit(std::max(*getSecondsLeft() - until, 0.0) /
                            double(waiting));
    llvm::Expected<GraphPlan> found = planner->plan(budget);
    if (found) {
      if (!best || isBetter(*found, best->plan, isSmallest))
        best = Chosen{std::move(*found), planner.get()};
      if (isInterrupted() || (left && *getSecondsLeft() <= until)) {
        best->plan.solution.cutShort |= waiting > 1;
        break;
      }
      continue;
    }
    // Stages are not for every graph.
    if (isStages)
      llvm::consumeError(found.takeError());
    else if (llvm::Error other = keepClosest(found.takeError(), failure))
      return std::move(other);
  }
  if (best) {
    if (llvm::Error error = best->planner->settle(best->plan))
      return std::move(error);
    return std::move(*best);
  }
  if (isInterrupted())
    return llvm::createStringError(
        "interrupted before a plan within the budget was found");
  return llvm::Error(std::move(failure));
}

llvm::Expected<Chosen> Variants::evaluateStored() {
  GraphPlanner &planner = *planners.front();
  llvm::Expected<planning::Plan> plan =
      options.stored->get(planner.getProblem().problem);
  if (!plan)
    return plan.takeError();
  std::optional<int64_t> budget;
  if (options.budget.kind == BudgetRequest::Kind::Bytes)
    budget = options.budget.bytes;
  llvm::Expected<GraphPlan> found =
      planner.evaluate(std::move(*plan), budget, options.planner);
  if (!found)
    return found.takeError();
  if (llvm::Error error = options.stored->check(*found))
    return std::move(error);
  return Chosen{std::move(*found), &planner};
}

//===----------------------------------------------------------------------===//
// The frontier
//===----------------------------------------------------------------------===//

const GraphPlan *remat::findBest(ArrayRef<GraphPlan> pool, int64_t budget) {
  const GraphPlan *best = nullptr;
  for (const GraphPlan &plan : pool)
    if (plan.arenaBytes <= budget &&
        (!best || isBetter(plan, *best, /*isSmallest=*/false)))
      best = &plan;
  return best;
}

llvm::Expected<planning::Frontier>
Variants::computeFrontier(unsigned points, std::vector<GraphPlan> *plans) {
  auto share = [&](size_t parts) -> std::optional<double> {
    if (std::optional<double> left = getSecondsLeft())
      return *left / double(parts);
    return std::nullopt;
  };
  std::vector<GraphPlan> pool;
  auto add = [&](Chosen chosen) {
    // Without its releases it may fit less.
    const planning::Solution &solution = chosen.plan.solution;
    if (planning::countReleases(solution.plan) > 0) {
      llvm::Expected<GraphPlan> plan =
          chosen.planner->evaluate(planning::keepReleases(solution.plan, 0),
                                   std::nullopt, solution.solver);
      if (plan)
        pool.push_back(std::move(*plan));
      else
        llvm::consumeError(plan.takeError());
    }
    pool.push_back(std::move(chosen.plan));
  };
  llvm::Expected<Chosen> tightest =
      plan({BudgetRequest::Kind::Smallest}, share(points));
  if (!tightest)
    return tightest.takeError();
  int64_t smallest = tightest->plan.arenaBytes;
  planning::Frontier frontier;
  frontier.cutShort = tightest->plan.solution.cutShort;
  add(std::move(*tightest));
  llvm::Expected<std::optional<GraphPlan>> saveAll =
      planners.front()->planSaveAll();
  if (!saveAll)
    return saveAll.takeError();
  if (*saveAll)
    pool.push_back(std::move(**saveAll));

  std::vector<int64_t> budgets = planning::spaceBudgets(
      smallest, planners.front()->getSaveAllArena(), points);
  std::vector<int64_t> bounds(budgets.size(), 0);
  for (size_t i = budgets.size(); i-- > 1;) {
    if (isInterrupted() || share(1) == 0.0) {
      frontier.cutShort = true;
      break;
    }
    llvm::Expected<Chosen> found =
        plan({BudgetRequest::Kind::Bytes, budgets[i]}, share(i));
    if (found) {
      frontier.cutShort |= found->plan.solution.cutShort;
      bounds[i] = found->plan.solution.lowerBound;
      add(std::move(*found));
      continue;
    }
    // A planner may find none where the smallest budget has one.
    if (llvm::Error error = llvm::handleErrors(
            found.takeError(), [](const planning::InfeasibleBudgetError &) {}))
      return std::move(error);
  }
  // What is proven for a budget holds for all smaller ones.
  for (size_t i = budgets.size() - 1; i-- > 0;)
    bounds[i] = std::max(bounds[i], bounds[i + 1]);
  for (auto [budget, bound] : llvm::zip(budgets, bounds)) {
    const GraphPlan *best = findBest(pool, budget);
    planning::FrontierPoint &point = frontier.points.emplace_back();
    point.budgetBytes = budget;
    point.solution = best->solution;
    point.arenaBytes = best->arenaBytes;
    point.solution.lowerBound =
        std::clamp(bound, point.solution.baseCost, point.solution.time);
    if (plans)
      plans->push_back(*best);
  }
  return frontier;
}

//===----------------------------------------------------------------------===//
// One budget
//===----------------------------------------------------------------------===//

llvm::Expected<GraphPlan> remat::findPlanOf(GraphOp graph,
                                            const PlanOptions &options,
                                            PlannedGraph *planned) {
  if (llvm::Error error = checkUnplanned(graph))
    return std::move(error);
  Variants variants(graph, options);
  if (llvm::Error error = variants.prepare())
    return std::move(error);
  llvm::Expected<Chosen> best =
      options.stored ? variants.evaluateStored()
                     : variants.plan(options.budget, variants.getSecondsLeft());
  if (!best)
    return best.takeError();
  if (planned) {
    // Without anybody who listens, the explanation need not be made.
    if (options.explain || options.listsDecisions ||
        graph.getContext()->getRemarkEngine())
      if (llvm::Error error = best->planner->collectDecisions(best->plan)
                                  .moveInto(planned->decisions))
        return std::move(error);
    if (llvm::Error error =
            best->planner->apply(best->plan).moveInto(planned->graph))
      return std::move(error);
  }
  return std::move(best->plan);
}
