//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "GraphPlanning.h"

using namespace mlir;
using namespace remat;

/// The link that is assumed when a policy demands offloading and no bandwidth
/// is given: PCI Express 4.0 with 16 lanes, in bytes per second.
static constexpr int64_t defaultLinkBandwidth = 25'000'000'000;

static bool asksForOffload(const planning::Problem &problem) {
  return llvm::any_of(problem.values, [](const planning::Value &value) {
    return value.policy == planning::Policy::MustCpuOffload ||
           value.policy == planning::Policy::PreferCpuOffload;
  });
}

namespace {
class GraphPlanner {
public:
  GraphPlanner(GraphOp graph, const PlanOptions &options);

  /// The planned graph, detached from any module.
  llvm::Expected<OwningOpRef<GraphOp>> run();

private:
  llvm::Error resolveBudget();
  llvm::Expected<planning::Plan> solve();
  OwningOpRef<GraphOp> applyPlanToCopy(const planning::Plan &plan);

  GraphOp graph;
  const PlanOptions &options;
  GraphProblem graphProblem;
  int64_t saveAllPeak = 0;
  /// Bound on the arena; unset for none, and while searching for the smallest.
  std::optional<int64_t> budget;
  /// A plan with the smallest peak known, if that is asked for.
  std::optional<planning::Plan> smallestPlan;
};
} // namespace

GraphPlanner::GraphPlanner(GraphOp graph, const PlanOptions &options)
    : graph(graph), options(options), graphProblem(graph) {
  planning::Problem &problem = graphProblem.problem;
  problem.hostBudget = options.hostBudget;
  problem.linkBytesPerSecond = options.linkBandwidth;
  if (problem.linkBytesPerSecond == 0 && asksForOffload(problem))
    problem.linkBytesPerSecond = defaultLinkBandwidth;
}

/// Turns the request into bytes: the bound on what is live is set in the
/// problem, and so is `budget` unless the smallest is asked for.
llvm::Error GraphPlanner::resolveBudget() {
  llvm::Expected<planning::Solution> saveAll =
      planning::solve(graphProblem.problem, "save-all", options.solver);
  if (!saveAll)
    return saveAll.takeError();
  saveAllPeak = saveAll->peakBytes;

  using Kind = planning::BudgetRequest::Kind;
  if (options.budget.kind == Kind::Unlimited)
    return llvm::Error::success();
  if (options.budget.kind != Kind::Smallest) {
    budget = options.budget.resolve(saveAllPeak);
    graphProblem.problem.deviceBudget = budget;
    return llvm::Error::success();
  }
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(graphProblem.problem, options.solver);
  if (!certificate)
    return certificate.takeError();
  graphProblem.problem.deviceBudget = certificate->smallestFeasible;
  smallestPlan = std::move(certificate->plan);
  return llvm::Error::success();
}

/// A plan within the problem's budget. The planner may miss the smallest budget
/// that is known to be feasible; then the plan that shows it serves.
llvm::Expected<planning::Plan> GraphPlanner::solve() {
  llvm::Expected<planning::Solution> solution =
      planning::solve(graphProblem.problem, options.planner, options.solver);
  if (solution)
    return std::move(solution->plan);
  if (!smallestPlan || !solution.errorIsA<planning::InfeasibleBudgetError>())
    return solution.takeError();
  llvm::consumeError(solution.takeError());
  return *smallestPlan;
}

/// A copy of the graph with the plan applied.
OwningOpRef<GraphOp> GraphPlanner::applyPlanToCopy(const planning::Plan &plan) {
  OwningOpRef<GraphOp> planned(graph.clone());
  applyPlan(*planned, GraphProblem(*planned), plan);
  planned->setSaveAllPeak(saveAllPeak);
  if (budget)
    planned->setBudget(*budget);
  if (options.hostBudget)
    planned->setHostBudget(*options.hostBudget);
  return planned;
}

llvm::Expected<OwningOpRef<GraphOp>> GraphPlanner::run() {
  if (llvm::Error error = resolveBudget())
    return std::move(error);
  planning::Problem &problem = graphProblem.problem;
  // Packing seldom needs more than the live bytes; where it does, the next
  // plan has to make up for the difference.
  while (true) {
    llvm::Expected<planning::Plan> plan = solve();
    if (!plan)
      return plan.takeError();
    llvm::Expected<planning::Simulation> simulation =
        planning::simulate(problem, *plan);
    if (!simulation)
      return simulation.takeError();
    OwningOpRef<GraphOp> planned = applyPlanToCopy(*plan);
    planned->setPlannedPeak(simulation->peakBytes);
    planning::Packing packing = planning::packLiveRanges(
        SpaceRanges(GraphLiveness(*planned), MemorySpace::Arena).ranges);
    if (smallestPlan)
      planned->setBudget(packing.totalBytes);
    if (!budget || packing.totalBytes <= *budget)
      return std::move(planned);
    problem.deviceBudget = std::min(*problem.deviceBudget, packing.peakBytes) -
                           (packing.totalBytes - *budget);
  }
}

llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options) {
  llvm::Expected<OwningOpRef<GraphOp>> planned =
      GraphPlanner(graph, options).run();
  if (!planned)
    return planned.takeError();
  GraphOp replacement = planned->release();
  if (graph->getBlock())
    graph->getBlock()->getOperations().insert(graph->getIterator(),
                                              replacement);
  graph.erase();
  graph = replacement;
  return llvm::Error::success();
}
