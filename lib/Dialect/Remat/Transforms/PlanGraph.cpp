//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "GraphPlanning.h"
#include "remat/Planning/Explanation.h"

#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

/// Plans that are made before lent buffers are no longer counted on.
static constexpr unsigned maxLentRounds = 5;

/// How often more is asked for again, as steps that grow may go too far.
static constexpr unsigned maxBack = 3;

/// The part of the planner's effort that shows what a budget comes to; the rest
/// is spent where the arena fits.
static constexpr double briefShare = 0.1;

/// The part of a brief plan's recomputation that more effort may save.
static constexpr double hopedShare = 0.1;

static bool asksForOffload(const planning::Problem &problem) {
  return llvm::any_of(problem.values, [](const planning::Value &value) {
    return value.policy == planning::Policy::MustCpuOffload ||
           value.policy == planning::Policy::PreferCpuOffload;
  });
}

namespace {
/// A planned copy of the graph, detached from any module.
struct PlannedGraph {
  OwningOpRef<GraphOp> graph;
  planning::Plan plan;
  /// Of all that runs, in the unit of planning::Op::cost.
  int64_t cost = 0;
  int64_t peakBytes = 0;
  /// What its buffers can be packed into; at least the peak.
  int64_t arenaBytes = 0;
  /// Plans before it that did not fit.
  unsigned rounds = 0;

  bool isBetterThan(const PlannedGraph &other) const {
    return std::tie(arenaBytes, cost) < std::tie(other.arenaBytes, other.cost);
  }
};

/// Planners bound what values occupy together, wherever that is. This is one
/// way to count so that it says something of the arena.
struct Counted {
  planning::Problem problem;
  /// How much less the arena takes than is counted, without rematerialization.
  int64_t lentBytes = 0;
};

class GraphPlanner {
public:
  GraphPlanner(GraphOp graph, const PlanOptions &options);

  llvm::Expected<PlannedGraph> run();
  /// Remarks at the tasks on what the plan does with their results.
  llvm::Error explain(const planning::Plan &plan);

private:
  bool mayKeepAll() const;
  void findReturned(GraphOp kept);
  llvm::Error collectCounts();
  llvm::Expected<planning::Solution>
  solve(const planning::Problem &attempt, bool thorough, bool isLast,
        const std::optional<PlannedGraph> &best);
  bool mayBecomeCheaper(const planning::Solution &solution,
                        const PlannedGraph &best, bool thorough) const;
  llvm::Expected<PlannedGraph> planWithin(int64_t budget);
  llvm::Error fitWithin(const Counted &counted, int64_t budget,
                        std::optional<PlannedGraph> &best);
  llvm::Expected<PlannedGraph> planSmallest();
  llvm::Expected<PlannedGraph> apply(const planning::Plan &plan);
  llvm::Error lend(PlannedGraph &planned);

  GraphOp graph;
  const PlanOptions &options;
  GraphProblem graphProblem;
  planning::Problem &problem;
  int64_t saveAllPeak = 0, saveAllArena = 0;
  /// Values that are returned once others have been written in their place.
  SmallVector<planning::ValueId> returned;
  /// Those that are worth trying, in order.
  SmallVector<Counted, 2> counts;
};
} // namespace

/// The limits of the options, the budget aside. Fails on an unknown name.
static llvm::Error setLimits(GraphProblem &graphProblem,
                             const PlanOptions &options) {
  planning::Problem &problem = graphProblem.problem;
  problem.hostBudget = options.hostBudget;
  problem.linkBytesPerSecond = options.offload ? options.linkBandwidth : 0;
  if (options.offload && problem.linkBytesPerSecond == 0 &&
      asksForOffload(problem))
    problem.linkBytesPerSecond = graphProblem.target.getLinkBandwidth();
  for (const auto &[name, bytes] : options.regionBudgets) {
    auto values = graphProblem.named.find(name);
    if (values == graphProblem.named.end())
      return llvm::createStringError("region '" + name +
                                     "' has a budget, but no forward value "
                                     "has this name");
    problem.regions.push_back({name, bytes, values->second});
  }
  return llvm::Error::success();
}

GraphPlanner::GraphPlanner(GraphOp graph, const PlanOptions &options)
    : graph(graph), options(options), graphProblem(graph, options.reorder),
      problem(graphProblem.problem) {}

/// A plan that keeps all values and has no limits but the order.
static llvm::Expected<planning::Solution> keepAll(planning::Problem problem,
                                                  const PlanOptions &options) {
  problem.regions.clear();
  problem.deviceBudget.reset();
  return planning::solve(problem, "save-all", options.solver);
}

llvm::Expected<PlannedGraph> GraphPlanner::run() {
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  llvm::Expected<planning::Solution> saveAll = keepAll(problem, options);
  if (!saveAll)
    return saveAll.takeError();
  llvm::Expected<PlannedGraph> keepingAll = apply(saveAll->plan);
  if (!keepingAll)
    return keepingAll.takeError();
  saveAllPeak = keepingAll->peakBytes;
  saveAllArena = keepingAll->arenaBytes;
  findReturned(*keepingAll->graph);
  keepingAll->graph->setSaveAllPeak(saveAllPeak);

  using Kind = planning::BudgetRequest::Kind;
  if (options.budget.kind == Kind::Unlimited) {
    llvm::Expected<planning::Solution> solution =
        planning::solve(problem, options.planner, options.solver);
    if (!solution)
      return solution.takeError();
    if (solution->plan == keepingAll->plan)
      return keepingAll;
    return apply(solution->plan);
  }
  bool isSmallest = options.budget.kind == Kind::Smallest;
  int64_t budget = isSmallest ? 0 : options.budget.resolve(saveAllPeak);
  // The planner does not know of lent buffers and would not see that all fits.
  bool mayKeep = options.planner == "auto" && mayKeepAll();
  if (!isSmallest && mayKeep && saveAllArena <= budget) {
    keepingAll->graph->setBudget(budget);
    return keepingAll;
  }
  if (llvm::Error error = collectCounts())
    return std::move(error);
  llvm::Expected<PlannedGraph> planned =
      isSmallest ? planSmallest() : planWithin(budget);
  if (!planned)
    return planned;
  if (isSmallest && mayKeep && saveAllArena <= planned->arenaBytes)
    planned = std::move(keepingAll);
  planned->graph->setBudget(isSmallest ? planned->arenaBytes : budget);
  return planned;
}

/// Whether neither a policy nor a region's budget asks for anything but
/// keeping.
bool GraphPlanner::mayKeepAll() const {
  return problem.regions.empty() &&
         llvm::none_of(problem.values, [](const planning::Value &value) {
           return value.policy == planning::Policy::MustRecompute ||
                  value.policy == planning::Policy::PreferRecompute ||
                  value.policy == planning::Policy::MustCpuOffload ||
                  value.policy == planning::Policy::PreferCpuOffload;
         });
}

/// Finds what lies in the caller's buffers in `kept`, the graph with a plan
/// that keeps all, without being returned itself: sums that are added to.
void GraphPlanner::findReturned(GraphOp kept) {
  DenseSet<Value> owners;
  for (Value value : kept.getBody().front().getTerminator()->getOperands())
    owners.insert(GraphLiveness::getOwner(value));
  DenseMap<int64_t, TaskOp> taskOf;
  for (auto task : kept.getOps<TaskOp>())
    taskOf[task.getId()] = task;
  for (auto [id, value] : llvm::enumerate(graphProblem.values)) {
    auto result = dyn_cast_or_null<OpResult>(value);
    if (!result || problem.values[id].isOutput)
      continue;
    auto task = cast<TaskOp>(result.getOwner());
    Value twin = taskOf.at(task.getId())->getResult(result.getResultNumber());
    if (task.getBackward() && owners.contains(GraphLiveness::getOwner(twin)))
      returned.push_back(id);
  }
}

/// Counting the gradients from when they are written, as if they were in the
/// arena and this larger by all of them, a planner sees how the room in their
/// buffers shrinks, but takes it to be in one piece. Not counting them, it
/// takes that room to be the same at all times. Either can be closer to what
/// packing makes of it. Nothing is lent beside transfers, and what an earlier
/// call of several keeps is not in buffers of a later one.
llvm::Error GraphPlanner::collectCounts() {
  if (options.lend && problem.linkBytesPerSecond == 0 &&
      !graphProblem.tasks.empty() &&
      graphProblem.tasks.back().getPhase() == 0) {
    Counted &counted = counts.emplace_back(Counted{problem});
    for (auto [value, counts] :
         llvm::zip(graphProblem.values, counted.problem.values))
      if (counts.isOutput && problem.ops[counts.producer].backward)
        counts.bytes = getBufferBytes(cast<RankedTensorType>(value.getType()),
                                      graphProblem.target);
  }
  counts.push_back({problem});
  for (Counted &counted : counts) {
    for (planning::ValueId value : returned)
      counted.problem.values[value].bytes = 0;
    llvm::Expected<planning::Solution> saveAll =
        keepAll(counted.problem, options);
    if (!saveAll)
      return saveAll.takeError();
    counted.lentBytes = std::max<int64_t>(saveAll->peakBytes - saveAllArena, 0);
  }
  return llvm::Error::success();
}

/// The cheapest plan known with an arena of at most `budget` bytes.
llvm::Expected<PlannedGraph> GraphPlanner::planWithin(int64_t budget) {
  std::optional<PlannedGraph> best;
  for (const Counted &counted : counts) {
    llvm::Error error = fitWithin(counted, budget, best);
    // The last way of counting speaks of the problem as it was given.
    bool isLast = &counted == &counts.back();
    if (error && isLast && !best &&
        (options.planner != "auto" ||
         !error.isA<planning::InfeasibleBudgetError>()))
      return std::move(error);
    llvm::consumeError(std::move(error));
    // The count was close to what packing made of it; another is hardly closer.
    if (best && best->rounds == 0)
      break;
  }
  if (best)
    return std::move(*best);
  // The planner may miss what the smallest plan known can do.
  llvm::Expected<PlannedGraph> smallest = planSmallest();
  if (!smallest || smallest->arenaBytes <= budget)
    return smallest;
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(problem, options.solver);
  if (!certificate)
    return certificate.takeError();
  // The planner's bounds do not know what lies elsewhere.
  std::string evidence = certificate->describe(problem);
  if (smallest->arenaBytes < certificate->smallestFeasible)
    evidence = "counting what can lie in buffers of results and in place of "
               "operands:\n" +
               evidence;
  return llvm::make_error<planning::InfeasibleBudgetError>(
      budget, smallest->arenaBytes, std::move(evidence));
}

/// A plan for `attempt`, for all of the effort or for a small part of it. If
/// that is too little to find one, and there is no `best` to fall back on, the
/// last way of counting gets all of it.
llvm::Expected<planning::Solution>
GraphPlanner::solve(const planning::Problem &attempt, bool thorough,
                    bool isLast, const std::optional<PlannedGraph> &best) {
  planning::SolverOptions solver = options.solver;
  if (best)
    solver.start = &best->plan;
  if (!thorough) {
    solver.effort *= briefShare;
    if (solver.timeLimitSeconds)
      *solver.timeLimitSeconds *= briefShare;
    llvm::Expected<planning::Solution> brief =
        planning::solve(attempt, options.planner, solver);
    if (brief || best || !isLast)
      return brief;
    llvm::consumeError(brief.takeError());
    solver.effort = options.solver.effort;
    solver.timeLimitSeconds = options.solver.timeLimitSeconds;
  }
  return planning::solve(attempt, options.planner, solver);
}

/// Whether `solution`, or what is likely to come of it, costs less than `best`.
bool GraphPlanner::mayBecomeCheaper(const planning::Solution &solution,
                                    const PlannedGraph &best,
                                    bool thorough) const {
  double hope = 0;
  if (!thorough)
    hope = std::min(hopedShare * double(solution.cost - solution.baseCost),
                    double(solution.cost - solution.lowerBound));
  return double(solution.cost) - hope < double(best.cost);
}

/// Looks for a plan that is cheaper than `best`, with an arena of at most
/// `budget` bytes. How much more than the budget the planner may count, is
/// tried from above. Packing seldom needs more than the live bytes; where it
/// does, the next plan makes up for the difference.
llvm::Error GraphPlanner::fitWithin(const Counted &counted, int64_t budget,
                                    std::optional<PlannedGraph> &best) {
  planning::Problem attempt = counted.problem;
  attempt.deviceBudget = budget + counted.lentBytes;
  int64_t smallestArena = std::numeric_limits<int64_t>::max();
  // What was asked for last that could not be packed, that has no plan, and
  // that could be packed.
  int64_t tooMuch = 0, impossible = 0, packed = 0;
  unsigned numBack = 0;
  bool thorough = options.planner != "auto";
  for (unsigned round = 0;;) {
    llvm::Expected<planning::Solution> solution =
        solve(attempt, thorough, &counted == &counts.back(), best);
    // By now, what is asked of the planner may be less than the user's budget.
    if (!solution && round != 0 &&
        solution.errorIsA<planning::InfeasibleBudgetError>()) {
      llvm::consumeError(solution.takeError());
      if (!best && impossible == 0) {
        // Half of the way back, once.
        impossible = *attempt.deviceBudget;
        attempt.deviceBudget = (impossible + tooMuch) / 2;
        continue;
      }
      return llvm::make_error<planning::InfeasibleBudgetError>(
          budget, smallestArena,
          "a plan whose live bytes fit cannot be packed into the budget");
    }
    if (!solution)
      return solution.takeError();
    // Less would cost even more.
    if (best && !mayBecomeCheaper(*solution, *best, thorough))
      return llvm::Error::success();
    llvm::Expected<PlannedGraph> planned = apply(solution->plan);
    if (!planned)
      return planned.takeError();
    if (planned->arenaBytes <= budget) {
      planned->rounds = round;
      if (!best || planned->cost < best->cost)
        best = std::move(*planned);
      if (!thorough && round >= 2 && numBack++ < maxBack) {
        packed = *attempt.deviceBudget;
        attempt.deviceBudget = (packed + tooMuch) / 2;
        continue;
      }
      if (thorough || solution->optimal())
        return llvm::Error::success();
      thorough = true;
      continue;
    }
    smallestArena = std::min(smallestArena, planned->arenaBytes);
    // Arenas come in steps: what is just too much may stay so for long.
    tooMuch = std::min(*attempt.deviceBudget, solution->peakBytes);
    if (packed != 0 && !thorough) {
      thorough = numBack++ >= maxBack;
      attempt.deviceBudget = thorough ? packed : (packed + tooMuch) / 2;
      continue;
    }
    int64_t next =
        tooMuch - (planned->arenaBytes - budget) * (1 << std::min(round, 8u));
    next = std::max(next, (impossible + tooMuch) / 2);
    attempt.deviceBudget =
        ++round == maxLentRounds ? std::min(next, budget) : next;
  }
}

/// The cheapest plan known that has the smallest arena known.
llvm::Expected<PlannedGraph> GraphPlanner::planSmallest() {
  std::optional<PlannedGraph> smallest;
  planning::Problem attempt;
  const Counted *origin = nullptr;
  for (const Counted &counted : counts) {
    llvm::Expected<planning::FeasibilityCertificate> certificate =
        planning::smallestFeasibleBudget(counted.problem, options.solver);
    if (!certificate)
      return certificate.takeError();
    llvm::Expected<PlannedGraph> planned = apply(certificate->plan);
    if (!planned)
      return planned;
    if (smallest && !planned->isBetterThan(*smallest))
      continue;
    smallest = std::move(*planned);
    origin = &counted;
    attempt = counted.problem;
    attempt.deviceBudget = certificate->smallestFeasible;
  }
  // Those plans only show that it is possible.
  bool settled = false;
  for (const Counted &counted : counts) {
    int64_t cost = smallest->cost;
    llvm::Error error = fitWithin(counted, smallest->arenaBytes, smallest);
    settled |= smallest->cost < cost || (&counted == origin && !error);
    llvm::consumeError(std::move(error));
  }
  if (settled)
    return std::move(*smallest);
  // Only the budget of that plan itself is known to lead to such an arena.
  llvm::Expected<planning::Solution> solution =
      solve(attempt, /*thorough=*/true, /*isLast=*/true, smallest);
  if (!solution) {
    llvm::consumeError(solution.takeError());
    return std::move(*smallest);
  }
  llvm::Expected<PlannedGraph> planned = apply(solution->plan);
  if (planned && !planned->isBetterThan(*smallest))
    return std::move(*smallest);
  return planned;
}

/// Moves what it can out of the arena. The peak is then that of a graph whose
/// tasks, clones included, run once in their order.
llvm::Error GraphPlanner::lend(PlannedGraph &planned) {
  bool hasTransfers =
      llvm::any_of(planned.plan.actions, [](const planning::Action &action) {
        return action.kind != planning::ActionKind::Run;
      });
  if (!options.lend || hasTransfers)
    return llvm::Error::success();
  writeInPlace(*planned.graph, graph->getParentOfType<ModuleOp>());
  lendResults(*planned.graph);
  planning::Problem schedule = GraphProblem(*planned.graph).problem;
  for (planning::Value &value : schedule.values)
    value.policy = planning::Policy::None;
  llvm::Expected<planning::Solution> solution =
      planning::solve(schedule, "save-all", options.solver);
  if (!solution)
    return solution.takeError();
  planned.peakBytes = solution->peakBytes;
  return llvm::Error::success();
}

/// A copy of the graph with the plan applied.
llvm::Expected<PlannedGraph> GraphPlanner::apply(const planning::Plan &plan) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  PlannedGraph planned;
  planned.graph = graph.clone();
  planned.plan = plan;
  planned.peakBytes = simulation->peakBytes;
  planned.cost = simulation->cost;
  applyPlan(*planned.graph, GraphProblem(*planned.graph, options.reorder),
            plan);
  if (llvm::Error error = lend(planned))
    return std::move(error);
  planned.graph->setSaveAllPeak(saveAllPeak);
  planned.graph->setPlannedPeak(planned.peakBytes);
  if (options.hostBudget)
    planned.graph->setHostBudget(*options.hostBudget);
  if (!options.regionBudgets.empty()) {
    Builder builder(graph.getContext());
    NamedAttrList budgets;
    for (const auto &[name, bytes] : options.regionBudgets)
      budgets.set(name, builder.getI64IntegerAttr(bytes));
    planned.graph->setRegionBudgetsAttr(
        budgets.getDictionary(graph.getContext()));
  }
  planned.arenaBytes = ArenaLayout(GraphLiveness(*planned.graph)).arenaBytes;
  return std::move(planned);
}

llvm::Error GraphPlanner::explain(const planning::Plan &plan) {
  llvm::Expected<planning::Explanation> explanation =
      planning::explain(problem, plan);
  if (!explanation)
    return explanation.takeError();
  // In the order of the graph, not of what is at stake.
  llvm::sort(explanation->values,
             [](const auto &a, const auto &b) { return a.value < b.value; });
  for (const planning::ValueExplanation &entry : explanation->values) {
    auto result = dyn_cast_or_null<OpResult>(graphProblem.values[entry.value]);
    if (!result || entry.decision == planning::Decision::ShortLived)
      continue;
    result.getOwner()->emitRemark() << "result " << result.getResultNumber()
                                    << ": " << planning::describe(entry);
  }
  return llvm::Error::success();
}

/// A graph to plan has no decisions in it yet.
static llvm::Error checkUnplanned(GraphOp graph) {
  bool decided = graph.isPlanned() || !graph.getOps<OffloadOp>().empty() ||
                 !graph.getOps<ReloadOp>().empty() ||
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
  GraphProblem graphProblem(graph, options.reorder);
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  return std::move(graphProblem.problem);
}

/// Clones of tasks that read their copy's number call kernels of their own.
static void separateCopies(GraphOp graph) {
  SymbolTable symbols(graph->getParentOp());
  for (auto task : graph.getOps<TaskOp>()) {
    auto kernel = symbols.lookup<func::FuncOp>(task.getKernel());
    if (!task.isClone() || !kernel)
      continue;
    bool reads = false;
    kernel.walk([&](CopyNumberOp) { reads = true; });
    if (!reads)
      continue;
    task.emitRemark("is run again with fresh random numbers, as asked for by "
                    "'preserve_rng_state = false'");
    std::string name = getCopyKernelName(task.getKernel(), task.getCopy());
    if (!symbols.lookup(name)) {
      auto variant = cast<func::FuncOp>(kernel->clone());
      variant.setName(name);
      variant.walk([&](CopyNumberOp op) {
        OpBuilder builder(op);
        Value number = arith::ConstantOp::create(
            builder, op.getLoc(), builder.getI32IntegerAttr(task.getCopy()));
        op.replaceAllUsesWith(number);
        op.erase();
      });
      symbols.insert(variant, std::next(kernel->getIterator()));
    }
    task.setKernel(name);
  }
}

llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options) {
  if (llvm::Error error = checkUnplanned(graph))
    return error;
  GraphPlanner planner(graph, options);
  llvm::Expected<PlannedGraph> planned = planner.run();
  if (!planned)
    return planned.takeError();
  if (options.explain)
    if (llvm::Error error = planner.explain(planned->plan))
      return error;
  GraphOp replacement = planned->graph.release();
  if (graph->getBlock())
    graph->getBlock()->getOperations().insert(graph->getIterator(),
                                              replacement);
  bool inModule = graph->getParentOp() != nullptr;
  graph.erase();
  graph = replacement;
  if (inModule)
    separateCopies(graph);
  return llvm::Error::success();
}
