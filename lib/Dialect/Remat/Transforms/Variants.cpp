//===- Variants.cpp - plans with more and fewer freedoms ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variants.h"

#include "Tuning.h"

#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Planning/Releases.h"
#include "remat/Utils/Parallel.h"

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

void remat::keepFirst(llvm::Error error, llvm::Error &first) {
  if (first)
    llvm::consumeError(std::move(error));
  else
    first = std::move(error);
}

void Variants::add(const PlanOptions &planOptions, Freedoms freedoms,
                   bool byStages) {
  variants.push_back(
      {freedoms, byStages,
       std::make_unique<GraphPlanner>(graph, planOptions, cache, freedoms.pack,
                                      freedoms.absorb)});
}

/// Adds a planner by stages, which neither moves tasks nor offloads.
void Variants::addStages(bool mayPack) {
  PlanOptions byStages = options;
  byStages.planner = "stages";
  byStages.reorder = false;
  byStages.linkBandwidth = 0;
  Freedoms freedoms;
  freedoms.pack = mayPack;
  freedoms.absorb = true;
  add(byStages, freedoms, /*byStages=*/true);
}

Variants::Variants(GraphOp graph, const PlanOptions &options)
    : graph(graph), options(options), repeated(graph) {
  if (options.stored) {
    add(options, {true, options.reorder, true, true});
    return;
  }
  GraphProblem graphProblem(graph);
  bool hasOffers = !graphProblem.offers.empty();
  bool hasAbsorptions = !graphProblem.absorptions.empty();
  bool asksForLink = asksForOffload(graphProblem.problem);
  bool hasLink = options.offload && options.linkBandwidth != 0;
  for (bool link : {false, true}) {
    if (link ? !hasLink && !asksForLink : asksForLink)
      continue;
    for (bool reorder : {false, true}) {
      if (reorder && !options.reorder)
        continue;
      PlanOptions limited = options;
      if (!link)
        limited.linkBandwidth = 0;
      limited.reorder = reorder;
      for (bool pack : {false, true}) {
        // A free order has no packed forms.
        if (pack && (!hasOffers || reorder))
          continue;
        for (bool absorb : {false, true})
          if (!absorb || hasAbsorptions)
            add(limited, {link, reorder, pack, absorb});
      }
    }
  }
  if (options.planner != "auto" || asksForLink)
    return;
  addStages(/*mayPack=*/false);
  if (hasOffers)
    addStages(/*mayPack=*/true);
}

/// MLIR finds out in which order the operations of a block are when it is first
/// asked: here, so that threads that ask later only read it.
static void settleOrder(Operation *root) {
  root->walk([](Block *block) {
    for (Operation &op : *block)
      if (Operation *next = op.getNextNode())
        (void)op.isBeforeInBlock(next);
  });
}

llvm::Error Variants::prepare() {
  settleOrder(graph);
  if (auto module = graph->getParentOfType<ModuleOp>())
    for (auto kernel : module.getOps<func::FuncOp>())
      settleOrder(kernel);
  for (Variant &variant : variants)
    if (llvm::Error error = variant.planner->prepare())
      return error;
  return llvm::Error::success();
}

bool Variants::isStoredPlan() const {
  return options.stored->isPlanOf(front().getProblem().problem);
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

/// Whether so much runs again in `plan` that one from checkpoints of stages is
/// looked for.
static bool repeatsMuch(const planning::Solution &solution) {
  return double(solution.time - solution.baseCost) >
         StagesTuning::leastOverhead * double(solution.baseCost);
}

/// Whether a plan of `variant` may be better than those in `found`. One that
/// absorbs hardly is where nothing runs again that could be absorbed.
bool Variants::isWorthwhile(const Variant &variant, ArrayRef<Found> found) {
  const Found *best = nullptr;
  for (const Found &other : found)
    if (variant.freedoms.contain(other.variant->freedoms) &&
        !other.variant->byStages &&
        (!best || isBetter(other.plan, best->plan, /*isSmallest=*/false)))
      best = &other;
  if (variant.byStages)
    return best && repeatsMuch(best->plan.solution);
  return !variant.freedoms.absorb || !best ||
         repeatsAbsorbable(variant.planner->getProblem().problem,
                           best->plan.solution.plan);
}

llvm::Expected<Chosen> Variants::plan(BudgetRequest budget,
                                      std::optional<double> seconds) {
  // Percentages mean the same for all.
  if (budget.kind == BudgetRequest::Kind::Percent)
    budget = {BudgetRequest::Kind::Bytes,
              budget.resolve(front().getSaveAllBytes())};
  llvm::Expected<Chosen> found = search(budget, seconds);
  if (found || getSecondsLeft() || isInterrupted() ||
      budget.kind != BudgetRequest::Kind::Bytes ||
      !found.errorIsA<planning::InfeasibleBudgetError>())
    return found;
  return takeSettled(budget.bytes, found.takeError());
}

/// The smallest plan as it is once packed for all work, where that may fit
/// `bytes`, which no search found a plan for.
llvm::Expected<Chosen> Variants::takeSettled(int64_t bytes, llvm::Error none) {
  int64_t known = 0;
  std::string evidence;
  llvm::handleAllErrors(std::move(none),
                        [&](const planning::InfeasibleBudgetError &error) {
                          known = error.getSmallestFeasible();
                          evidence = error.getEvidence();
                        });
  if (double(bytes) >= SettlingTuning::leastShare * double(known)) {
    llvm::Expected<Chosen> smallest =
        search({BudgetRequest::Kind::Smallest}, std::nullopt);
    if (!smallest)
      return smallest;
    GraphPlan &plan = smallest->plan;
    if (plan.arenaBytes <= bytes) {
      plan.budget = bytes;
      return smallest;
    }
    if (plan.arenaBytes < known) {
      known = plan.arenaBytes;
      if (llvm::Error error =
              smallest->planner->explain(plan).moveInto(evidence))
        return std::move(error);
    }
  }
  return llvm::make_error<planning::InfeasibleBudgetError>(bytes, known,
                                                           evidence);
}

/// The variants whose smallest arena may be the smallest of all: all of them
/// under a time limit. An error only if no variant has a plan.
llvm::Expected<llvm::SmallPtrSet<const Variants::Variant *, 8>>
Variants::findSmallest() {
  std::vector<const Variant *> asked;
  for (const Variant &variant : variants)
    if (!variant.byStages)
      asked.push_back(&variant);
  llvm::SmallPtrSet<const Variant *, 8> candidates;
  if (getSecondsLeft()) {
    candidates.insert_range(asked);
    return candidates;
  }
  using Estimate = llvm::Expected<std::optional<int64_t>>;
  std::vector<std::optional<Estimate>> estimates(asked.size());
  forEachInParallel(graph.getContext(), asked.size(), [&](size_t i) {
    if (i == 0 || !isInterrupted())
      estimates[i].emplace(asked[i]->planner->estimateSmallest());
  });
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  llvm::Error error = llvm::Error::success();
  std::vector<std::pair<const Variant *, std::optional<int64_t>>> known;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (auto [variant, estimate] : llvm::zip(asked, estimates)) {
    if (!estimate)
      continue;
    if (!*estimate) {
      keepFirst(keepClosest(estimate->takeError(), failure), error);
      continue;
    }
    known.emplace_back(variant, **estimate);
    if (**estimate)
      least = std::min(least, ***estimate);
  }
  if (error)
    return std::move(error);
  if (failure && known.empty())
    return llvm::Error(std::move(failure));
  for (auto [variant, bytes] : known)
    if (!bytes || *bytes - least <= least / SmallestTuning::margin)
      candidates.insert(variant);
  return candidates;
}

/// The best plan of all variants, whose arena may become smaller than that of
/// the smallest one known when it is packed for all work in the end.
llvm::Expected<Chosen> Variants::search(BudgetRequest budget,
                                        std::optional<double> seconds) {
  bool isSmallest = budget.kind == BudgetRequest::Kind::Smallest;
  std::vector<Found> found;
  bool isCutShort = false;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  std::optional<double> left = getSecondsLeft();
  double until = left && seconds ? std::max(*left - *seconds, 0.0) : 0;
  size_t numByStages = llvm::count_if(
      variants, [](const Variant &variant) { return variant.byStages; });
  llvm::SmallPtrSet<const Variant *, 8> smallest;
  if (isSmallest)
    if (llvm::Error error = findSmallest().moveInto(smallest))
      return std::move(error);
  // Without a clock, the smallest plans of all do not wait for each other.
  const bool atOnce = isSmallest && !left;
  std::vector<std::optional<llvm::Expected<GraphPlan>>> plans(variants.size());
  if (atOnce) {
    auto candidates = llvm::to_vector(
        llvm::make_filter_range(llvm::seq(variants.size()), [&](size_t i) {
          return smallest.contains(&variants[i]);
        }));
    forEachInParallel(graph.getContext(), candidates.size(), [&](size_t i) {
      size_t number = candidates[i];
      if (i == 0 || !isInterrupted())
        plans[number].emplace(variants[number].planner->plan(budget));
    });
  }
  llvm::Error error = llvm::Error::success();
  for (auto [number, variant] : llvm::enumerate(variants)) {
    bool isSkipped = isSmallest ? !smallest.contains(&variant)
                                : !isWorthwhile(variant, found);
    if (isSkipped)
      continue;
    // Stages, which are seldom looked for, have the time that is left.
    size_t waiting =
        variants.size() - number - (variant.byStages ? 0 : numByStages);
    if (left)
      variant.planner->setTimeLimit(std::max(*getSecondsLeft() - until, 0.0) /
                                    double(waiting));
    if (atOnce && !plans[number]) {
      isCutShort = true;
      continue;
    }
    if (!plans[number])
      plans[number].emplace(variant.planner->plan(budget));
    llvm::Expected<GraphPlan> &plan = *plans[number];
    if (plan) {
      found.push_back({&variant, std::move(*plan)});
      if (!atOnce &&
          (isInterrupted() || (left && *getSecondsLeft() <= until))) {
        isCutShort = waiting > 1;
        break;
      }
      continue;
    }
    // Stages are not for every graph.
    if (variant.byStages)
      llvm::consumeError(plan.takeError());
    else
      keepFirst(keepClosest(plan.takeError(), failure), error);
    if (error && !atOnce)
      break;
  }
  if (error)
    return std::move(error);
  if (!found.empty()) {
    Found *best = &found.front();
    for (Found &other : found)
      if (isBetter(other.plan, best->plan, isSmallest))
        best = &other;
    best->plan.solution.cutShort |= isCutShort;
    GraphPlanner &planner = *best->variant->planner;
    if (llvm::Error error = planner.settle(best->plan))
      return std::move(error);
    if (isSmallest)
      best->plan.budget = best->plan.arenaBytes;
    return Chosen{std::move(best->plan), &planner};
  }
  if (isInterrupted())
    return llvm::createStringError(
        "interrupted before a plan within the budget was found");
  return llvm::Error(std::move(failure));
}

llvm::Expected<Chosen> Variants::evaluateStored() {
  GraphPlanner &planner = front();
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
  llvm::Expected<std::optional<GraphPlan>> saveAll = front().planSaveAll();
  if (!saveAll)
    return saveAll.takeError();
  if (*saveAll)
    pool.push_back(std::move(**saveAll));

  std::vector<int64_t> budgets =
      planning::spaceBudgets(smallest, front().getSaveAllArena(), points);
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
