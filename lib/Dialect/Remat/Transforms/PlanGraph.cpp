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

/// The link that is assumed when a policy demands offloading and no bandwidth
/// is given: PCI Express 4.0 with 16 lanes, in bytes per second.
static constexpr int64_t defaultLinkBandwidth = 25'000'000'000;

/// Plans that are made before lent buffers are no longer counted on.
static constexpr unsigned maxLentRounds = 4;

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
  int64_t peakBytes = 0;
  /// What its buffers can be packed into; at least the peak.
  int64_t arenaBytes = 0;
  /// The peak with what is lent, as the planner counts.
  int64_t countedPeak = 0;
};

class GraphPlanner {
public:
  GraphPlanner(GraphOp graph, const PlanOptions &options);

  llvm::Expected<PlannedGraph> run();
  /// Remarks at the tasks on what the plan does with their results.
  llvm::Error explain(const planning::Plan &plan);

private:
  llvm::Expected<PlannedGraph> planWithin(int64_t budget);
  llvm::Expected<PlannedGraph> planSmallest();
  PlannedGraph fillGaps(PlannedGraph smallest);
  bool mayKeepAll() const;
  llvm::Expected<PlannedGraph> solve();
  llvm::Expected<PlannedGraph> apply(const planning::Plan &plan);
  llvm::Error lend(PlannedGraph &planned);

  GraphOp graph;
  const PlanOptions &options;
  GraphProblem graphProblem;
  planning::Problem &problem;
  int64_t saveAllPeak = 0;
  /// How much less the arena takes than the planner counts, without
  /// rematerialization.
  int64_t lentBytes = 0;
};
} // namespace

/// The limits of the options, the budget aside. Fails on an unknown name.
static llvm::Error setLimits(GraphProblem &graphProblem,
                             const PlanOptions &options) {
  planning::Problem &problem = graphProblem.problem;
  if (options.reorder && !graphProblem.tasks.empty() &&
      graphProblem.tasks.back().getPhase() > 0)
    return llvm::createStringError(
        "tasks cannot be reordered in a step of several calls");
  problem.hostBudget = options.hostBudget;
  problem.freeOrder = options.reorder;
  problem.linkBytesPerSecond = options.offload ? options.linkBandwidth : 0;
  if (options.offload && problem.linkBytesPerSecond == 0 &&
      asksForOffload(problem))
    problem.linkBytesPerSecond = defaultLinkBandwidth;
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
    : graph(graph), options(options), graphProblem(graph),
      problem(graphProblem.problem) {}

llvm::Expected<PlannedGraph> GraphPlanner::run() {
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  planning::Problem reference = problem;
  reference.regions.clear();
  llvm::Expected<planning::Solution> saveAll =
      planning::solve(reference, "save-all", options.solver);
  if (!saveAll)
    return saveAll.takeError();
  llvm::Expected<PlannedGraph> keepingAll = apply(saveAll->plan);
  if (!keepingAll)
    return keepingAll.takeError();
  saveAllPeak = keepingAll->peakBytes;
  keepingAll->graph->setSaveAllPeak(saveAllPeak);

  using Kind = planning::BudgetRequest::Kind;
  if (options.budget.kind == Kind::Unlimited)
    return solve();
  if (options.budget.kind != Kind::Smallest) {
    int64_t budget = options.budget.resolve(saveAllPeak);
    // The planner does not know of lent buffers and would not see that all
    // fits.
    if (options.planner == "auto" && keepingAll->arenaBytes <= budget &&
        mayKeepAll()) {
      keepingAll->graph->setBudget(budget);
      return keepingAll;
    }
    lentBytes =
        std::max<int64_t>(saveAll->peakBytes - keepingAll->arenaBytes, 0);
    return planWithin(budget);
  }
  llvm::Expected<PlannedGraph> planned = planSmallest();
  if (!planned)
    return planned;
  if (options.planner == "auto" && mayKeepAll() &&
      keepingAll->arenaBytes <= planned->arenaBytes)
    planned = std::move(keepingAll);
  planned->graph->setBudget(planned->arenaBytes);
  return planned;
}

/// The planner counts what is lent, so it may use more than the budget; how
/// much more, is tried from above. Packing seldom needs more than the live
/// bytes; where it does, the next plan has to make up for the difference.
llvm::Expected<PlannedGraph> GraphPlanner::planWithin(int64_t budget) {
  problem.deviceBudget = budget + lentBytes;
  int64_t smallestArena = std::numeric_limits<int64_t>::max();
  for (unsigned round = 0;; ++round) {
    llvm::Expected<PlannedGraph> planned = solve();
    // The planner may miss what the smallest plan known can do.
    bool usedSmallest = false;
    if (!planned && options.planner == "auto" &&
        planned.errorIsA<planning::InfeasibleBudgetError>()) {
      llvm::consumeError(planned.takeError());
      planned = planSmallest();
      usedSmallest = true;
    }
    // By now, what is asked of the planner may be less than the user's budget.
    if (!planned && smallestArena != std::numeric_limits<int64_t>::max() &&
        planned.errorIsA<planning::InfeasibleBudgetError>()) {
      llvm::consumeError(planned.takeError());
      return llvm::make_error<planning::InfeasibleBudgetError>(
          budget, smallestArena,
          "a plan whose live bytes fit cannot be packed into the budget");
    }
    if (!planned)
      return planned;
    smallestArena = std::min(smallestArena, planned->arenaBytes);
    if (planned->arenaBytes <= budget) {
      planned->graph->setBudget(budget);
      return planned;
    }
    if (usedSmallest) {
      llvm::Expected<planning::FeasibilityCertificate> certificate =
          planning::smallestFeasibleBudget(problem, options.solver);
      if (!certificate)
        return certificate.takeError();
      return llvm::make_error<planning::InfeasibleBudgetError>(
          budget, planned->arenaBytes, certificate->describe(problem));
    }
    int64_t next = std::min(*problem.deviceBudget, planned->countedPeak) -
                   (planned->arenaBytes - budget);
    problem.deviceBudget =
        round + 1 == maxLentRounds ? std::min(next, budget) : next;
  }
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

/// Of the plan that shows the smallest peak and the planner's own at that peak,
/// the one with the smaller arena.
llvm::Expected<PlannedGraph> GraphPlanner::planSmallest() {
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(problem, options.solver);
  if (!certificate)
    return certificate.takeError();
  llvm::Expected<PlannedGraph> smallest = apply(certificate->plan);
  if (!smallest)
    return smallest;
  problem.deviceBudget = certificate->smallestFeasible;
  llvm::Expected<PlannedGraph> solved = solve();
  if (!solved) {
    llvm::consumeError(solved.takeError());
    return smallest;
  }
  return fillGaps(solved->arenaBytes <= smallest->arenaBytes
                      ? std::move(*solved)
                      : std::move(*smallest));
}

/// Where packing leaves gaps, a plan that keeps more may need no larger arena.
PlannedGraph GraphPlanner::fillGaps(PlannedGraph smallest) {
  int64_t gap = smallest.arenaBytes - smallest.peakBytes;
  for (int64_t more : {gap, gap / 2}) {
    if (more == 0)
      break;
    problem.deviceBudget = smallest.countedPeak + more;
    llvm::Expected<PlannedGraph> planned = solve();
    if (planned && planned->arenaBytes <= smallest.arenaBytes)
      return std::move(*planned);
    if (!planned)
      llvm::consumeError(planned.takeError());
  }
  return smallest;
}

/// The planner's answer for the problem as it stands.
llvm::Expected<PlannedGraph> GraphPlanner::solve() {
  llvm::Expected<planning::Solution> solution =
      planning::solve(problem, options.planner, options.solver);
  if (!solution)
    return solution.takeError();
  return apply(solution->plan);
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
  planned.countedPeak = simulation->peakBytes;
  applyPlan(*planned.graph, GraphProblem(*planned.graph), plan);
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
    auto result = dyn_cast<OpResult>(graphProblem.values[entry.value]);
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
  GraphProblem graphProblem(graph);
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
