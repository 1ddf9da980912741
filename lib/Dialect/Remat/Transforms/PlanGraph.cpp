//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans with fewer freedoms (no link, no packed forms, the order as it is) are
// plans with more, too, but a search with more may miss them. So there is a
// planner for each, and the best of their plans is taken.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "GraphPlanner.h"
#include "LoopSlots.h"
#include "Tuning.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/StoredPlan.h"
#include "remat/Planning/Releases.h"
#include "remat/Utils/Utf8.h"

#include <chrono>
#include <deque>

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
  llvm::Expected<planning::Frontier>
  computeFrontier(unsigned points, std::vector<GraphPlan> *plans);
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
  GraphProblem graphProblem(graph);
  for (const PlanOptions &variant : collectVariants(graphProblem, options)) {
    if (!graphProblem.offers.empty() && !variant.reorder)
      planners.push_back(
          std::make_unique<GraphPlanner>(graph, variant, /*mayPack=*/false));
    planners.push_back(std::make_unique<GraphPlanner>(graph, variant));
  }
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

/// Finds the plan with all loops as they are, and applies it if `planned` is
/// there.
static llvm::Expected<GraphPlan>
findPlanOf(GraphOp graph, const PlanOptions &options, PlannedGraph *planned) {
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

namespace {
/// The best plan of a graph with loops: with stacks or with checkpoints, and
/// with what their bodies need at a time.
class LoopSearch {
public:
  LoopSearch(const PlanOptions &options, LoopSlots &slots, bool applies)
      : options(options), slots(slots), applies(applies),
        stored(options.stored) {
    this->options.stored = nullptr;
    limit = options.solver.timeLimitSeconds;
  }

  llvm::Expected<GraphPlan> run(GraphOp graph, PlannedGraph *planned);

private:
  bool isSmallest() const {
    return options.budget.kind == BudgetRequest::Kind::Smallest;
  }
  bool isOver() const;
  void shareTime(unsigned plans);
  llvm::Error add(GraphOp graph);
  llvm::Error addLevel(GraphOp graph, unsigned level, int64_t fewer);
  llvm::Error searchLevels(GraphOp graph, ArrayRef<unsigned> levels,
                           unsigned numLater);
  llvm::Error search(GraphOp graph);
  bool isHopeless(GraphOp copy, unsigned level);
  llvm::Expected<bool> addStored(GraphOp graph);

  PlanOptions options;
  LoopSlots &slots;
  bool applies;
  std::optional<double> limit;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  /// If set, the plan of one of the copies: no other is looked for.
  std::shared_ptr<const StoredPlan> stored;
  bool hasStored = false;
  std::optional<GraphPlan> best;
  PlannedGraph bestGraph;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  /// Of what was added last: whether it has a plan, whether that is the best,
  /// and by how much it does not fit.
  bool hasPlan = false, isBest = false;
  int64_t excess = 0;
};
} // namespace

/// Whether there is no time for another plan, and there need not be.
bool LoopSearch::isOver() const {
  bool isInterrupted = options.solver.interrupt && *options.solver.interrupt;
  return best &&
         (isInterrupted || (limit && *options.solver.timeLimitSeconds <= 0));
}

/// Gives the next plan, and the plans of bodies for it, a share of what is left
/// of the time for `plans` more.
void LoopSearch::shareTime(unsigned plans) {
  if (!limit)
    return;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  double share = std::max(*limit - passed.count(), 0.0) / std::max(plans, 1u);
  options.solver.timeLimitSeconds = share;
  slots.setTimeLimit(share);
}

/// Takes the stored plan if it is one of `graph`.
llvm::Expected<bool> LoopSearch::addStored(GraphOp graph) {
  PlanOptions given = options;
  given.stored = stored;
  Variants variants(graph, given);
  if (llvm::Error error = variants.prepare())
    return std::move(error);
  if (!variants.isStoredPlan())
    return false;
  llvm::Expected<GraphPlan> plan =
      findPlanOf(graph, given, applies ? &bestGraph : nullptr);
  if (!plan)
    return plan.takeError();
  best = std::move(*plan);
  return true;
}

/// Plans `graph`, in which it is decided what loops keep.
llvm::Error LoopSearch::add(GraphOp graph) {
  if (stored) {
    if (llvm::Error error = addStored(graph).moveInto(hasStored))
      return error;
    if (hasStored)
      return llvm::Error::success();
  }
  PlannedGraph applied;
  llvm::Expected<GraphPlan> plan =
      findPlanOf(graph, options, applies ? &applied : nullptr);
  hasPlan = bool(plan);
  isBest = plan && (!best || isBetter(*plan, *best, isSmallest()));
  excess = 0;
  if (isBest) {
    best = std::move(*plan);
    bestGraph = std::move(applied);
    llvm::append_range(bestGraph.decisions, slots.getDecisions());
    return llvm::Error::success();
  }
  return llvm::handleErrors(
      plan.takeError(),
      [&](std::unique_ptr<planning::InfeasibleBudgetError> infeasible) {
        excess = infeasible->getSmallestFeasible() - infeasible->getBudget();
        if (!failure ||
            infeasible->getSmallestFeasible() < failure->getSmallestFeasible())
          failure = std::move(infeasible);
      });
}

/// Whether stacks alone are too much for any plan of `copy`. The last level is
/// planned in any case, and says what is missing.
bool LoopSearch::isHopeless(GraphOp copy, unsigned level) {
  bool mayOffload =
      options.offload && options.linkBandwidth != 0 && options.hostBudget != 0;
  if (slots.isOnHost(level) && !stored && best &&
      options.budget.kind == BudgetRequest::Kind::Bytes)
    return llvm::any_of(copy.getOps<TaskOp>(), [&](TaskOp task) {
      return int64_t(task.getWorkspace()) > options.budget.bytes;
    });
  if (stored || mayOffload || level == slots.getNumLevels())
    return false;
  if (isSmallest())
    return best && slots.getLeastArena(copy) > best->arenaBytes;
  return options.budget.kind == BudgetRequest::Kind::Bytes &&
         slots.getLeastArena(copy) > options.budget.bytes;
}

/// Plans the copy of a level whose bodies take `fewer` bytes less.
llvm::Error LoopSearch::addLevel(GraphOp graph, unsigned level, int64_t fewer) {
  hasPlan = isBest = false;
  excess = 0;
  llvm::Expected<GraphOp> copy = level == 0 && fewer == 0
                                     ? llvm::Expected<GraphOp>(graph)
                                     : slots.make(level, fewer);
  if (!copy)
    return copy.takeError();
  if (isHopeless(*copy, level))
    return llvm::Error::success();
  llvm::Error error = add(*copy);
  if (isBest || hasStored) {
    best->loopLevel = level;
    best->loopFewer = fewer;
  }
  // Checkpoints are a plan, too, that of Revolve.
  if (isBest && slots.hasCheckpoints(level) &&
      best->solution.solver == "save-all")
    best->solution.solver =
        slots.isOnHost(level) ? "two-level-revolve" : "revolve";
  return error;
}

/// Plans the copies of `levels`, which keep ever less, or ever more if that is
/// asked for which keeps the least. Behind them come `numLater` others.
llvm::Error LoopSearch::searchLevels(GraphOp graph, ArrayRef<unsigned> levels,
                                     unsigned numLater) {
  unsigned withoutGain = 0;
  for (auto [step, level] : llvm::enumerate(levels)) {
    unsigned plansLeft = 3 * (levels.size() - step + numLater);
    shareTime(plansLeft);
    if (isOver())
      break;
    if (llvm::Error error = addLevel(graph, level, 0))
      return error;
    bool isGain = isBest;
    // Fewer stacks than are needed cost more.
    bool isSlower =
        slots.isOnHost(level) ? hasPlan && !isBest : best && !isBest;
    if (hasStored || (isSlower && !isSmallest() && !stored))
      break;
    shareTime(plansLeft - 1);
    if (isOver())
      break;
    SmallVector<int64_t, 2> smaller;
    if (excess > 0 && !isSmallest())
      smaller.push_back(excess);
    if (isSmallest() || stored)
      smaller.push_back(INT64_MAX);
    for (int64_t fewer : smaller) {
      if (llvm::Error error = addLevel(graph, level, fewer))
        return error;
      isGain |= isBest;
      if (hasStored)
        return llvm::Error::success();
    }
    // What keeps more rarely takes less.
    withoutGain = isGain ? 0 : withoutGain + 1;
    if (isSmallest() && !stored && withoutGain == LoopTuning::mostWithoutGain)
      break;
  }
  return llvm::Error::success();
}

llvm::Error LoopSearch::search(GraphOp graph) {
  unsigned numLevels = slots.getNumLevels();
  // A stored plan says of which copy it is. Those of other copies may be it,
  // too.
  if (stored && stored->loopLevel <= numLevels + slots.getNumHostLevels()) {
    llvm::Error error = addLevel(graph, stored->loopLevel, stored->loopFewer);
    if (error || hasStored)
      return error;
  }
  auto levels = llvm::to_vector(llvm::seq(0u, numLevels + 1));
  auto onHost = llvm::to_vector(
      llvm::seq(numLevels + 1, numLevels + slots.getNumHostLevels() + 1));
  if (isSmallest()) {
    std::reverse(levels.begin(), levels.end());
    std::reverse(onHost.begin(), onHost.end());
  }
  if (llvm::Error error = searchLevels(graph, levels, onHost.size()))
    return error;
  return hasStored ? llvm::Error::success()
                   : searchLevels(graph, onHost, /*numLater=*/0);
}

llvm::Expected<GraphPlan> LoopSearch::run(GraphOp graph,
                                          PlannedGraph *planned) {
  // Percentages mean the same for all.
  PlanOptions unlimited = options;
  unlimited.budget = BudgetRequest();
  llvm::Expected<GraphPlan> whole = findPlanOf(graph, unlimited, nullptr);
  if (!whole)
    return whole.takeError();
  if (options.budget.kind == BudgetRequest::Kind::Percent)
    options.budget = {BudgetRequest::Kind::Bytes,
                      options.budget.resolve(whole->saveAllPeak)};
  if (llvm::Error error = search(graph))
    return std::move(error);
  // Says that the stored plan is of another graph.
  if (stored && !hasStored) {
    options.stored = stored;
    return findPlanOf(graph, options, planned);
  }
  if (!best)
    return llvm::Error(std::move(failure));
  best->saveAllPeak = whole->saveAllPeak;
  // What is proven of one copy is not of the others.
  planning::Solution &solution = best->solution;
  solution.baseCost = solution.lowerBound = whole->solution.baseCost;
  solution.proof = planning::Solution().proof;
  if (planned)
    *planned = std::move(bestGraph);
  return std::move(*best);
}

static llvm::Expected<GraphPlan> findPlan(GraphOp graph,
                                          const PlanOptions &options,
                                          LoopSlots &slots,
                                          PlannedGraph *planned) {
  bool isFree = options.budget.kind == BudgetRequest::Kind::Unlimited;
  if (!slots.hasLoops() || (isFree && !options.stored))
    return findPlanOf(graph, options, planned);
  return LoopSearch(options, slots, planned != nullptr).run(graph, planned);
}

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

namespace {
/// Plans a graph and its alternatives, if it has any.
class StepPlanner {
public:
  StepPlanner(GraphOp graph, const PlanOptions &options) : graph(graph) {
    choices.emplace_back(graph, options);
    for (FunctionOpInterface found : findAlternatives(graph))
      if (auto other = dyn_cast<GraphOp>(found.getOperation()))
        choices.emplace_back(other, options);
  }

  bool hasLoops() const {
    return hasAlternatives() || choices.front().slots.hasLoops();
  }
  bool hasAlternatives() const { return choices.size() > 1; }
  /// Copies that are planned have the name of theirs.
  SmallVector<GraphOp> getAlternatives() const {
    SmallVector<GraphOp> others;
    for (const Choice &choice : llvm::drop_begin(choices))
      others.push_back(choice.graph);
    return others;
  }

  /// The best plan of all; without a budget, that of the graph, if the other
  /// one is no loop of layers that takes no more.
  llvm::Expected<GraphPlan> find(const PlanOptions &options,
                                 PlannedGraph *planned);

private:
  struct Choice {
    Choice(GraphOp graph, const PlanOptions &options)
        : graph(graph), slots(graph, options) {}
    GraphOp graph;
    LoopSlots slots;
  };

  llvm::Expected<GraphPlan> findOne(Choice &choice, const PlanOptions &options,
                                    PlannedGraph *planned);
  llvm::Expected<GraphPlan> findStored(const PlanOptions &options,
                                       PlannedGraph *planned);
  llvm::Expected<GraphPlan> findUnlimited(const PlanOptions &options,
                                          PlannedGraph *planned);
  /// Whether the alternative is the graph with loops of its layers.
  bool isFolded() {
    return choices.size() == 2 &&
           choices.back().graph->hasAttr(foldedLayersAttrName);
  }

  GraphOp graph;
  // These end when the planned graph is in its place.
  std::deque<Choice> choices;
};
} // namespace

llvm::Expected<GraphPlan> StepPlanner::findOne(Choice &choice,
                                               const PlanOptions &options,
                                               PlannedGraph *planned) {
  llvm::Expected<GraphPlan> plan =
      ::findPlan(choice.graph, options, choice.slots, planned);
  if (!plan)
    return plan;
  // Whatever it is a plan of has the name of the graph.
  plan->problem.name = toUtf8(GraphOp(graph).getName());
  if (auto order = choice.graph->getAttrOfType<StringAttr>(
          RematDialect::microbatchOrderAttrName))
    plan->microbatchOrder = order.str();
  if (auto parts = choice.graph->getAttrOfType<IntegerAttr>(batchPartsAttrName))
    plan->batchParts = parts.getInt();
  plan->hasSecondPlans = choice.graph->hasAttr(secondPlansAttrName);
  if (auto rows = choice.graph->getAttrOfType<IntegerAttr>(sliceRowsAttrName))
    plan->sliceRows = rows.getInt();
  if (auto layers =
          choice.graph->getAttrOfType<IntegerAttr>(foldedLayersAttrName))
    plan->foldedLayers = layers.getInt();
  return plan;
}

/// The stored plan is one of any of the graphs.
llvm::Expected<GraphPlan> StepPlanner::findStored(const PlanOptions &options,
                                                  PlannedGraph *planned) {
  llvm::Expected<GraphPlan> first = findOne(choices.front(), options, planned);
  if (first)
    return first;
  for (Choice &choice : llvm::drop_begin(choices)) {
    llvm::Expected<GraphPlan> other = findOne(choice, options, planned);
    if (other) {
      llvm::consumeError(first.takeError());
      return other;
    }
    llvm::consumeError(other.takeError());
  }
  return first;
}

/// Without a budget, a loop of layers is the plan where it costs nothing.
llvm::Expected<GraphPlan> StepPlanner::findUnlimited(const PlanOptions &options,
                                                     PlannedGraph *planned) {
  PlannedGraph folded;
  llvm::Expected<GraphPlan> first = findOne(choices.front(), options, planned);
  llvm::Expected<GraphPlan> second =
      findOne(choices.back(), options, planned ? &folded : nullptr);
  if (!second) {
    llvm::consumeError(second.takeError());
    return first;
  }
  if (!first || second->arenaBytes > first->arenaBytes ||
      second->solution.time > first->solution.time)
    return first;
  if (planned)
    *planned = std::move(folded);
  return second;
}

llvm::Expected<GraphPlan> StepPlanner::find(const PlanOptions &options,
                                            PlannedGraph *planned) {
  if (hasAlternatives() && options.stored)
    return findStored(options, planned);
  if (options.budget.kind == BudgetRequest::Kind::Unlimited)
    return isFolded() ? findUnlimited(options, planned)
                      : findOne(choices.front(), options, planned);
  if (!hasAlternatives())
    return findOne(choices.front(), options, planned);
  PlanOptions each = options;
  if (each.solver.timeLimitSeconds)
    *each.solver.timeLimitSeconds /= choices.size();
  PlanOptions unlimited = each;
  unlimited.budget = BudgetRequest();
  llvm::Expected<GraphPlan> whole = findPlanOf(graph, unlimited, nullptr);
  if (!whole)
    return whole.takeError();
  // Percentages mean the same for all.
  if (each.budget.kind == BudgetRequest::Kind::Percent)
    each.budget = {BudgetRequest::Kind::Bytes,
                   each.budget.resolve(whole->saveAllPeak)};
  std::optional<GraphPlan> best;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  bool isSmallest = each.budget.kind == BudgetRequest::Kind::Smallest;
  // A loop of layers is planned fast.
  SmallVector<Choice *> inOrder =
      llvm::map_to_vector(choices, [](Choice &choice) { return &choice; });
  if (isFolded())
    std::reverse(inOrder.begin(), inOrder.end());
  for (Choice *choice : inOrder) {
    PlannedGraph applied;
    llvm::Expected<GraphPlan> plan =
        findOne(*choice, each, planned ? &applied : nullptr);
    if (plan) {
      if (best && !isBetter(*plan, *best, isSmallest))
        continue;
      best = std::move(*plan);
      if (planned)
        *planned = std::move(applied);
      // Nothing is faster than what recomputes nothing.
      if (!isSmallest && best->solution.time <= whole->solution.time)
        break;
      continue;
    }
    if (llvm::Error error = llvm::handleErrors(
            plan.takeError(),
            [&](std::unique_ptr<planning::InfeasibleBudgetError> infeasible) {
              if (!failure || infeasible->getSmallestFeasible() <
                                  failure->getSmallestFeasible())
                failure = std::move(infeasible);
            }))
      return std::move(error);
  }
  if (!best)
    return llvm::Error(std::move(failure));
  if (options.explain && planned && !best->microbatchOrder.empty())
    graph.emitRemark() << "parts of the batch run by " << best->microbatchOrder;
  if (options.explain && planned && best->batchParts > 1)
    graph.emitRemark() << "the batch is done in " << best->batchParts
                       << " parts";
  if (options.explain && planned && best->hasSecondPlans)
    graph.emitRemark() << "convolutions have the plans with less workspace";
  if (options.explain && planned && best->sliceRows != 0)
    graph.emitRemark() << "wide values are made in slices of "
                       << best->sliceRows << " rows";
  if (options.explain && planned && best->foldedLayers > 0)
    graph.emitRemark() << best->foldedLayers << " layers are loops";
  best->saveAllPeak = whole->saveAllPeak;
  // What the alternative does twice is extra work.
  planning::Solution &solution = best->solution;
  solution.baseCost = solution.lowerBound =
      std::min(whole->solution.baseCost, solution.time);
  solution.proof = planning::Solution().proof;
  return std::move(*best);
}

//===----------------------------------------------------------------------===//
// The frontier of a graph with loops
//===----------------------------------------------------------------------===//

/// Plans each budget for itself: each takes copies of its own.
static llvm::Expected<planning::Frontier>
computeLoopFrontier(StepPlanner &planner, const PlanOptions &options,
                    unsigned points, std::vector<GraphPlan> *plans) {
  PlanOptions each = options;
  if (each.solver.timeLimitSeconds)
    *each.solver.timeLimitSeconds /= points + 1;
  std::vector<GraphPlan> pool;
  auto add = [&](BudgetRequest budget) {
    each.budget = budget;
    llvm::Expected<GraphPlan> plan = planner.find(each, /*planned=*/nullptr);
    if (plan)
      pool.push_back(std::move(*plan));
    return plan.takeError();
  };
  if (llvm::Error error = add({}))
    return std::move(error);
  if (llvm::Error error = add({BudgetRequest::Kind::Smallest}))
    return std::move(error);
  std::vector<int64_t> budgets = planning::spaceBudgets(
      pool.back().arenaBytes, pool.front().arenaBytes, points);
  for (int64_t budget : budgets)
    if (llvm::Error error =
            llvm::handleErrors(add({BudgetRequest::Kind::Bytes, budget}),
                               [](const planning::InfeasibleBudgetError &) {}))
      return std::move(error);
  planning::Frontier frontier;
  for (int64_t budget : budgets) {
    const GraphPlan *best = findBest(pool, budget);
    planning::FrontierPoint &point = frontier.points.emplace_back();
    point.budgetBytes = budget;
    point.solution = best->solution;
    point.arenaBytes = best->arenaBytes;
    frontier.cutShort |= best->solution.cutShort;
    if (plans)
      plans->push_back(*best);
  }
  return frontier;
}

llvm::Expected<planning::Frontier>
remat::computeFrontier(GraphOp graph, const PlanOptions &options,
                       unsigned points, std::vector<GraphPlan> *plans) {
  if (points < 2)
    return llvm::createStringError("a frontier needs at least 2 points, got " +
                                   Twine(points));
  if (llvm::Error error = checkUnplanned(graph))
    return std::move(error);
  StepPlanner planner(graph, options);
  if (planner.hasLoops())
    return computeLoopFrontier(planner, options, points, plans);
  Variants variants(graph, options);
  if (llvm::Error error = variants.prepare())
    return std::move(error);
  return variants.computeFrontier(points, plans);
}

llvm::Expected<GraphPlan> remat::findPlan(GraphOp graph,
                                          const PlanOptions &options) {
  return StepPlanner(graph, options).find(options, nullptr);
}

/// Puts `planned` in the place of `graph` and its alternatives `others`,
/// whichever it is a plan of.
static void replaceGraph(GraphOp graph, ArrayRef<GraphOp> others,
                         GraphOp planned) {
  if (graph->getBlock()) {
    graph->getBlock()->getOperations().insert(graph->getIterator(), planned);
    // Where it stands says it now.
    if (!graph->hasAttr(targetAttrName))
      planned->removeAttr(targetAttrName);
  }
  planned.setName(graph.getName());
  SymbolTable::setSymbolVisibility(planned,
                                   SymbolTable::getSymbolVisibility(graph));
  planned->removeAttr(RematDialect::alternativeAttrName);
  for (GraphOp other : others)
    other.erase();
  graph.erase();
}

llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options,
                             GraphPlan *found,
                             std::vector<TaskDecision> &decisions) {
  bool hasAlternatives = false;
  {
    // Ends when the planned graph is in its place.
    StepPlanner planner(graph, options);
    PlannedGraph planned;
    llvm::Expected<GraphPlan> plan = planner.find(options, &planned);
    if (!plan)
      return plan.takeError();
    decisions = std::move(planned.decisions);
    GraphOp replacement = planned.graph.release();
    // That of the graph with all loops as they are.
    replacement.setSaveAllPeak(plan->saveAllPeak);
    if (found)
      *found = std::move(*plan);
    hasAlternatives = planner.hasAlternatives();
    replaceGraph(graph, planner.getAlternatives(), replacement);
    graph = replacement;
  }
  if (hasAlternatives)
    eraseUnneeded(graph->getParentOfType<ModuleOp>());
  return llvm::Error::success();
}

llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options,
                             GraphPlan *found) {
  std::vector<TaskDecision> decisions;
  if (llvm::Error error = planGraph(graph, options, found, decisions))
    return error;
  if (options.explain)
    explain(decisions);
  emitDecisionRemarks(decisions);
  if (found && options.listsDecisions)
    found->decisions = std::move(decisions);
  return llvm::Error::success();
}
