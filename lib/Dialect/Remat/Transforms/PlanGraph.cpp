//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph may have alternatives, of which the best plan is taken.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "LoopSearch.h"
#include "ProgressRelay.h"
#include "Tuning.h"
#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Parallel.h"
#include "remat/Utils/Utf8.h"

#include <deque>

using namespace mlir;
using namespace remat;
using planning::BudgetRequest;

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

  /// Whether budgets are planned one by one. A form that makes more at a time
  /// is worth that for one budget, not for a frontier.
  bool hasLoops() const {
    return choices.front().slots.hasLoops() ||
           llvm::any_of(llvm::drop_begin(choices), [](const Choice &choice) {
             return !GraphOp(choice.graph)->hasAttr(fusedReadersAttrName);
           });
  }
  bool hasAlternatives() const { return choices.size() > 1; }
  /// Copies that are planned have the name of theirs.
  SmallVector<GraphOp> getAlternatives() const {
    SmallVector<GraphOp> others;
    for (const Choice &choice : llvm::drop_begin(choices))
      others.push_back(choice.graph);
    return others;
  }

  /// The best plan of all; without a budget, that of the graph, if no other one
  /// with as few tasks to plan takes no more: one with loops of layers, or one
  /// of which kernels make more at a time.
  llvm::Expected<GraphPlan> find(const PlanOptions &options,
                                 PlannedGraph *planned) {
    ProgressRelay relay(options, /*passesBest=*/true);
    return findBest(relay.getOptions(), planned);
  }

private:
  struct Choice {
    Choice(GraphOp graph, const PlanOptions &options)
        : graph(graph), slots(graph, options) {}
    GraphOp graph;
    LoopSlots slots;
  };

  /// A plan of a choice, and what it is applied to if that was asked for.
  struct Attempt {
    llvm::Expected<GraphPlan> plan;
    PlannedGraph applied;
  };

  llvm::Expected<GraphPlan> findBest(const PlanOptions &options,
                                     PlannedGraph *planned);
  Attempt attempt(Choice &choice, const PlanOptions &options, bool applies);
  std::vector<Attempt>
  attemptInOrder(ArrayRef<Choice *> order, const PlanOptions &options,
                 bool applies,
                 llvm::function_ref<bool(const GraphPlan &)> isEnough);
  llvm::Expected<GraphPlan> findOne(Choice &choice, const PlanOptions &options,
                                    PlannedGraph *planned);
  llvm::Expected<GraphPlan> findStored(const PlanOptions &options,
                                       PlannedGraph *planned);
  llvm::Expected<GraphPlan> findUnlimited(const PlanOptions &options,
                                          PlannedGraph *planned);
  /// The alternative that has an attribute which the graph has not, or null.
  Choice *findAlternative(StringRef attribute) {
    if (graph->hasAttr(attribute))
      return nullptr;
    auto found = llvm::find_if(choices, [&](Choice &choice) {
      return choice.graph->hasAttr(attribute);
    });
    return found == choices.end() ? nullptr : &*found;
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
      findLoopPlan(choice.graph, options, choice.slots, planned);
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
  plan->keepsRepeated = choice.graph->hasAttr(keepsRepeatedAttrName);
  plan->fusesReaders = choice.graph->hasAttr(fusedReadersAttrName);
  if (auto rows = choice.graph->getAttrOfType<IntegerAttr>(sliceRowsAttrName))
    plan->sliceRows = rows.getInt();
  plan->slicesHidden = choice.graph->hasAttr(slicesHiddenAttrName);
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

/// Without a budget, another form is the plan where it costs nothing.
llvm::Expected<GraphPlan> StepPlanner::findUnlimited(const PlanOptions &options,
                                                     PlannedGraph *planned) {
  llvm::Expected<GraphPlan> best = findOne(choices.front(), options, planned);
  for (StringRef form :
       {StringRef(fusedReadersAttrName), StringRef(foldedLayersAttrName)}) {
    Choice *choice = best ? findAlternative(form) : nullptr;
    if (!choice)
      continue;
    PlannedGraph applied;
    llvm::Expected<GraphPlan> other =
        findOne(*choice, options, planned ? &applied : nullptr);
    if (!other) {
      llvm::consumeError(other.takeError());
      continue;
    }
    if (other->arenaBytes > best->arenaBytes ||
        other->solution.time > best->solution.time)
      continue;
    other->saveAllPeak = best->saveAllPeak;
    other->saveAllBytes = best->saveAllBytes;
    if (planned)
      *planned = std::move(applied);
    best = std::move(other);
  }
  return best;
}

StepPlanner::Attempt
StepPlanner::attempt(Choice &choice, const PlanOptions &options, bool applies) {
  PlannedGraph applied;
  llvm::Expected<GraphPlan> plan =
      findOne(choice, options, applies ? &applied : nullptr);
  return {std::move(plan), std::move(applied)};
}

/// Plans of `order`, up to the first one that is enough.
std::vector<StepPlanner::Attempt> StepPlanner::attemptInOrder(
    ArrayRef<Choice *> order, const PlanOptions &options, bool applies,
    llvm::function_ref<bool(const GraphPlan &)> isEnough) {
  std::vector<Attempt> attempts;
  bool isOver = false;
  auto add = [&](Attempt attempt) {
    isOver = attempt.plan && isEnough(*attempt.plan);
    attempts.push_back(std::move(attempt));
  };
  MLIRContext *context = graph.getContext();
  // Bodies of loops are planned within the module, by one thread.
  bool mayWorkAtOnce = context->isMultithreadingEnabled() &&
                       !options.solver.timeLimitSeconds &&
                       llvm::none_of(choices, [](const Choice &choice) {
                         return choice.slots.hasLoops();
                       });
  // Where the first one is not enough, most of the others seldom are.
  ArrayRef<Choice *> first = mayWorkAtOnce ? order.take_front() : order;
  for (Choice *choice : first)
    if (!isOver)
      add(attempt(*choice, options, applies));
  if (isOver)
    return attempts;
  ArrayRef<Choice *> rest = order.drop_front(first.size());
  std::vector<std::optional<Attempt>> others(rest.size());
  forEachInParallel(context, rest.size(), [&](size_t i) {
    others[i].emplace(attempt(*rest[i], options, applies));
  });
  for (std::optional<Attempt> &other : others)
    if (isOver)
      llvm::consumeError(other->plan.takeError());
    else
      add(std::move(*other));
  return attempts;
}

llvm::Expected<GraphPlan> StepPlanner::findBest(const PlanOptions &options,
                                                PlannedGraph *planned) {
  if (hasAlternatives() && options.stored)
    return findStored(options, planned);
  Choice *folded = findAlternative(foldedLayersAttrName);
  if (options.budget.kind == BudgetRequest::Kind::Unlimited)
    return findUnlimited(options, planned);
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
                   each.budget.resolve(whole->saveAllBytes)};
  std::optional<GraphPlan> best;
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  bool isSmallest = each.budget.kind == BudgetRequest::Kind::Smallest;
  // What repeats nothing, or makes more at a time, may be faster than the
  // graph, and comes before all that cannot be. A loop of layers is planned
  // fast.
  auto getRank = [&](Choice *choice) {
    return choice->graph->hasAttr(keepsRepeatedAttrName)  ? 0
           : choice->graph->hasAttr(fusedReadersAttrName) ? 1
           : choice == folded                             ? 2
                                                          : 3;
  };
  SmallVector<Choice *> inOrder =
      llvm::map_to_vector(choices, [](Choice &choice) { return &choice; });
  llvm::stable_sort(
      inOrder, [&](Choice *a, Choice *b) { return getRank(a) < getRank(b); });
  // Nothing is much faster than what recomputes next to nothing.
  auto isEnough = [&](const GraphPlan &plan) {
    return !isSmallest &&
           plan.solution.time <=
               (1 + AlternativeTuning::leastGain) * whole->solution.time;
  };
  llvm::Error error = llvm::Error::success();
  for (Attempt &attempt :
       attemptInOrder(inOrder, each, planned != nullptr, isEnough)) {
    if (!attempt.plan) {
      keepFirst(keepClosest(attempt.plan.takeError(), failure), error);
    } else if (!best || isBetter(*attempt.plan, *best, isSmallest)) {
      best = std::move(*attempt.plan);
      if (planned)
        *planned = std::move(attempt.applied);
    }
  }
  if (error)
    return std::move(error);
  if (!best)
    return llvm::Error(std::move(failure));
  if (options.explain && planned && !best->microbatchOrder.empty())
    graph.emitRemark() << "parts of the batch run by " << best->microbatchOrder;
  if (options.explain && planned && best->batchParts > 1)
    graph.emitRemark() << "the batch is done in " << best->batchParts
                       << " parts";
  if (options.explain && planned && best->hasSecondPlans)
    graph.emitRemark() << "convolutions have the plans with less workspace";
  if (options.explain && planned && best->keepsRepeated)
    graph.emitRemark() << "no kernel runs again that the plan does not repeat";
  if (options.explain && planned && best->fusesReaders)
    graph.emitRemark()
        << "values that elementwise operations share are made by "
           "one kernel with all of these";
  if (options.explain && planned && best->sliceRows != 0)
    graph.emitRemark() << "wide values are made in slices of "
                       << best->sliceRows << " rows"
                       << (best->slicesHidden ? ", hidden layers too" : "");
  if (options.explain && planned && best->foldedLayers > 0)
    graph.emitRemark() << best->foldedLayers << " layers are loops";
  best->saveAllPeak = whole->saveAllPeak;
  best->saveAllBytes = whole->saveAllBytes;
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
  ProgressRelay relay(options, /*passesBest=*/false);
  Variants variants(graph, relay.getOptions());
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
  auto module = graph->getParentOfType<ModuleOp>();
  // Bodies of loops may be planned again.
  bool hasOffers = module && !graph.isPrivate() && removeAbsorptions(module);
  if (hasAlternatives || hasOffers)
    eraseUnneeded(module);
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
