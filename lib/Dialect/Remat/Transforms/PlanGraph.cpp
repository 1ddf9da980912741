//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans with fewer freedoms (no link, the order as it is) are plans with more,
// too, but a search with more may miss them. So there is a planner for each,
// and the best of their plans is taken.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "GraphPlanner.h"
#include "LoopSlots.h"
#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Planning/Releases.h"

using namespace mlir;
using namespace remat;
using planning::BudgetRequest;

/// A graph to plan has no decisions in it yet.
static llvm::Error checkUnplanned(GraphOp graph) {
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

llvm::Expected<planning::Problem>
remat::makeProblem(GraphOp graph, const PlanOptions &options) {
  if (llvm::Error error = checkUnplanned(graph))
    return std::move(error);
  RepeatedTasks repeated(graph);
  GraphProblem graphProblem(graph, options.reorder);
  repeated.undo();
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  return std::move(graphProblem.problem);
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

namespace {
/// A plan, and the planner that can apply it.
struct Chosen {
  GraphPlan plan;
  GraphPlanner *planner = nullptr;
};

/// The planners of all variants, on a graph with what regions ask for.
class Variants {
public:
  Variants(GraphOp graph, const PlanOptions &options);
  ~Variants() { repeated.undo(); }

  /// To be called before all that follows.
  llvm::Error prepare();
  /// Whether options.stored is a plan of this graph.
  bool isStoredPlan() const {
    return options.stored->isPlanOf(planners.front()->getProblem().problem);
  }
  /// The best plan of all variants. Of several errors that nothing fits, the
  /// one that comes closest.
  llvm::Expected<Chosen> plan(BudgetRequest budget,
                              std::optional<double> seconds);
  /// The plan of options.stored.
  llvm::Expected<Chosen> evaluateStored();
  llvm::Expected<planning::Frontier> computeFrontier(unsigned points);
  std::optional<double> getSecondsLeft() const;

private:
  bool isInterrupted() const {
    return options.solver.interrupt && *options.solver.interrupt;
  }

  GraphOp graph;
  const PlanOptions &options;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  RepeatedTasks repeated;
  SmallVector<std::unique_ptr<GraphPlanner>> planners;
};
} // namespace

Variants::Variants(GraphOp graph, const PlanOptions &options)
    : graph(graph), options(options), repeated(graph) {
  if (options.stored) {
    planners.push_back(std::make_unique<GraphPlanner>(graph, options));
    return;
  }
  for (const PlanOptions &variant :
       collectVariants(GraphProblem(graph), options))
    planners.push_back(std::make_unique<GraphPlanner>(graph, variant));
}

llvm::Error Variants::prepare() {
  for (auto &planner : planners)
    if (llvm::Error error = planner->prepare())
      return error;
  return llvm::Error::success();
}

std::optional<double> Variants::getSecondsLeft() const {
  if (!options.solver.timeLimitSeconds)
    return std::nullopt;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  return std::max(*options.solver.timeLimitSeconds - passed.count(), 0.0);
}

static bool isBetter(const GraphPlan &a, const GraphPlan &b, bool isSmallest) {
  if (isSmallest)
    return std::tie(a.arenaBytes, a.solution.time) <
           std::tie(b.arenaBytes, b.solution.time);
  return std::tie(a.solution.time, a.arenaBytes) <
         std::tie(b.solution.time, b.arenaBytes);
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
    if (left)
      planner->setTimeLimit(std::max(*getSecondsLeft() - until, 0.0) /
                            double(planners.size() - number));
    llvm::Expected<GraphPlan> found = planner->plan(budget);
    if (found) {
      if (!best || isBetter(*found, best->plan, isSmallest))
        best = Chosen{std::move(*found), planner.get()};
      if (isInterrupted() || (left && *getSecondsLeft() <= until))
        break;
      continue;
    }
    if (llvm::Error other = llvm::handleErrors(
            found.takeError(),
            [&](std::unique_ptr<planning::InfeasibleBudgetError> infeasible) {
              if (!failure || infeasible->getSmallestFeasible() <
                                  failure->getSmallestFeasible())
                failure = std::move(infeasible);
            }))
      return std::move(other);
  }
  if (best)
    return std::move(*best);
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

/// The fastest plan with an arena of at most `budget` bytes.
static const GraphPlan *findBest(ArrayRef<GraphPlan> pool, int64_t budget) {
  const GraphPlan *best = nullptr;
  for (const GraphPlan &plan : pool)
    if (plan.arenaBytes <= budget &&
        (!best || isBetter(plan, *best, /*isSmallest=*/false)))
      best = &plan;
  return best;
}

llvm::Expected<planning::Frontier> Variants::computeFrontier(unsigned points) {
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
  }
  return frontier;
}

/// The frontier of plans with all loops as they are.
static llvm::Expected<planning::Frontier>
computeFrontierOf(GraphOp graph, const PlanOptions &options, unsigned points) {
  Variants variants(graph, options);
  if (llvm::Error error = variants.prepare())
    return std::move(error);
  return variants.computeFrontier(points);
}

/// What is proven for the plans of `frontier` within `budget`; none if it says
/// nothing about so much memory.
static std::optional<int64_t> findBound(const planning::Frontier &frontier,
                                        int64_t budget) {
  for (const planning::FrontierPoint &point : frontier.points)
    if (point.budgetBytes >= budget)
      return point.solution.lowerBound;
  return std::nullopt;
}

/// The best plans of several frontiers, the first of which is that of the graph
/// with all loops as they are.
static planning::Frontier mergeFrontiers(ArrayRef<planning::Frontier> frontiers,
                                         unsigned points) {
  planning::Frontier merged;
  const planning::Solution &whole = frontiers.front().points.back().solution;
  std::vector<const planning::FrontierPoint *> pool;
  int64_t smallest = INT64_MAX;
  for (const planning::Frontier &frontier : frontiers) {
    merged.cutShort |= frontier.cutShort;
    for (const planning::FrontierPoint &point : frontier.points) {
      pool.push_back(&point);
      smallest = std::min(smallest, *point.arenaBytes);
    }
  }
  llvm::stable_sort(pool, [](auto *a, auto *b) {
    return std::tie(a->solution.time, *a->arenaBytes) <
           std::tie(b->solution.time, *b->arenaBytes);
  });
  for (int64_t budget : planning::spaceBudgets(
           smallest, frontiers.front().points.back().budgetBytes, points)) {
    planning::FrontierPoint &point = merged.points.emplace_back(
        **llvm::find_if(pool, [&](const planning::FrontierPoint *other) {
          return *other->arenaBytes <= budget;
        }));
    point.budgetBytes = budget;
    point.solution.baseCost = whole.baseCost;
    int64_t bound = point.solution.time;
    for (const planning::Frontier &frontier : frontiers)
      bound =
          std::min(bound, findBound(frontier, budget).value_or(whole.baseCost));
    point.solution.lowerBound = std::max(bound, whole.baseCost);
  }
  return merged;
}

llvm::Expected<planning::Frontier>
remat::computeFrontier(GraphOp graph, const PlanOptions &options,
                       unsigned points) {
  if (points < 2)
    return llvm::createStringError("a frontier needs at least 2 points, got " +
                                   Twine(points));
  if (llvm::Error error = checkUnplanned(graph))
    return std::move(error);
  LoopSlots slots(graph);
  PlanOptions part = options;
  if (part.solver.timeLimitSeconds)
    *part.solver.timeLimitSeconds /= slots.getNumLevels() + 1;
  SmallVector<planning::Frontier> frontiers;
  for (unsigned level = 0; level <= slots.getNumLevels(); ++level) {
    GraphOp copy = graph;
    if (level > 0)
      if (llvm::Error error = slots.make(level).moveInto(copy))
        return std::move(error);
    if (llvm::Error error = computeFrontierOf(copy, part, points)
                                .moveInto(frontiers.emplace_back()))
      return std::move(error);
  }
  if (frontiers.size() == 1)
    return std::move(frontiers.front());
  return mergeFrontiers(frontiers, points);
}

//===----------------------------------------------------------------------===//
// One budget
//===----------------------------------------------------------------------===//

/// Finds the plan with all loops as they are, and applies it to a copy of the
/// graph if `planned` is there.
static llvm::Expected<GraphPlan> findPlanOf(GraphOp graph,
                                            const PlanOptions &options,
                                            OwningOpRef<GraphOp> *planned) {
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
    if (options.explain)
      if (llvm::Error error = best->planner->explain(best->plan))
        return std::move(error);
    if (llvm::Error error = best->planner->apply(best->plan).moveInto(*planned))
      return std::move(error);
  }
  return std::move(best->plan);
}

/// Of the graph with all loops as they are and its copies, the one that
/// options.stored is a plan of; `graph` itself if it is a plan of none.
static llvm::Expected<GraphOp>
findStoredGraph(GraphOp graph, const PlanOptions &options, LoopSlots &slots) {
  for (unsigned level = 0; level <= slots.getNumLevels(); ++level) {
    GraphOp copy = graph;
    if (level > 0)
      if (llvm::Error error = slots.make(level).moveInto(copy))
        return std::move(error);
    if (llvm::Error error = checkUnplanned(copy))
      return std::move(error);
    Variants variants(copy, options);
    if (llvm::Error error = variants.prepare())
      return std::move(error);
    if (variants.isStoredPlan())
      return copy;
  }
  return graph;
}

/// Of two errors that nothing fits the budget, the one that comes closest; else
/// one that is about something else.
static llvm::Error chooseError(llvm::Error a, llvm::Error b) {
  using planning::InfeasibleBudgetError;
  std::unique_ptr<InfeasibleBudgetError> best;
  auto keep = [&](std::unique_ptr<InfeasibleBudgetError> error) {
    if (!best || error->getSmallestFeasible() < best->getSmallestFeasible())
      best = std::move(error);
  };
  llvm::Error others = llvm::joinErrors(llvm::handleErrors(std::move(a), keep),
                                        llvm::handleErrors(std::move(b), keep));
  return others ? std::move(others) : llvm::Error(std::move(best));
}

/// The same with as many checkpoints of loops as are best. What is slower than
/// with more of them is not looked at any further.
static llvm::Expected<GraphPlan> findPlan(GraphOp graph, PlanOptions options,
                                          LoopSlots &slots,
                                          OwningOpRef<GraphOp> *planned) {
  BudgetRequest &budget = options.budget;
  if (slots.getNumLevels() == 0 ||
      (!options.stored && budget.kind == BudgetRequest::Kind::Unlimited))
    return findPlanOf(graph, options, planned);
  PlanOptions unlimited = options;
  unlimited.budget = BudgetRequest();
  unlimited.stored = nullptr;
  llvm::Expected<GraphPlan> whole = findPlanOf(graph, unlimited, nullptr);
  if (!whole)
    return whole.takeError();
  // What plans of copies are compared with is the graph itself.
  auto compareWithWhole = [&](GraphPlan &plan) {
    plan.saveAllPeak = whole->saveAllPeak;
    plan.solution.baseCost = whole->solution.baseCost;
  };
  if (options.stored) {
    llvm::Expected<GraphOp> copy = findStoredGraph(graph, options, slots);
    if (!copy)
      return copy.takeError();
    llvm::Expected<GraphPlan> plan = findPlanOf(*copy, options, planned);
    if (plan)
      compareWithWhole(*plan);
    return plan;
  }
  // Percentages mean the same for all.
  if (budget.kind == BudgetRequest::Kind::Percent)
    budget = {BudgetRequest::Kind::Bytes, budget.resolve(whole->saveAllPeak)};
  bool isSmallest = budget.kind == BudgetRequest::Kind::Smallest;
  llvm::Expected<GraphPlan> best = findPlanOf(graph, options, planned);
  for (unsigned level = 1; level <= slots.getNumLevels(); ++level) {
    llvm::Expected<GraphOp> copy = slots.make(level);
    if (!copy) {
      llvm::consumeError(best.takeError());
      return copy.takeError();
    }
    OwningOpRef<GraphOp> applied;
    llvm::Expected<GraphPlan> plan =
        findPlanOf(*copy, options, planned ? &applied : nullptr);
    bool isLast = best && plan && !isSmallest && !isBetter(*plan, *best, false);
    if (!best && !plan) {
      best = chooseError(best.takeError(), plan.takeError());
    } else if (plan && (!best || isBetter(*plan, *best, isSmallest))) {
      compareWithWhole(*plan);
      llvm::consumeError(best.takeError());
      best = std::move(plan);
      if (planned)
        *planned = std::move(applied);
    } else {
      llvm::consumeError(plan.takeError());
    }
    if (isLast)
      break;
  }
  return best;
}

llvm::Expected<GraphPlan> remat::findPlan(GraphOp graph,
                                          const PlanOptions &options) {
  LoopSlots slots(graph);
  return ::findPlan(graph, options, slots, nullptr);
}

llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options,
                             GraphPlan *found) {
  // Ends when the planned graph is in its place.
  LoopSlots slots(graph);
  OwningOpRef<GraphOp> planned;
  llvm::Expected<GraphPlan> plan = ::findPlan(graph, options, slots, &planned);
  if (!plan)
    return plan.takeError();
  GraphOp replacement = planned.release();
  // That of the graph with all loops as they are.
  replacement.setSaveAllPeak(plan->saveAllPeak);
  if (found)
    *found = std::move(*plan);
  if (graph->getBlock()) {
    graph->getBlock()->getOperations().insert(graph->getIterator(),
                                              replacement);
    // Where it stands says it now.
    if (!graph->hasAttr(targetAttrName))
      replacement->removeAttr(targetAttrName);
  }
  graph.erase();
  graph = replacement;
  return llvm::Error::success();
}
