//===- Plan.cpp - decide under a budget (L2 to L3) ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Budget.h"

namespace remat {
#define GEN_PASS_DEF_REMATPLAN
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The link that is assumed when a policy demands offloading and no bandwidth
/// is given: PCI Express 4.0 with 16 lanes, in bytes per second.
static constexpr int64_t defaultLinkBandwidth = 25'000'000'000;

/// What the pass's options ask for, parsed.
struct PlanRequest {
  planning::BudgetRequest budget;
  std::optional<int64_t> hostBudget;
  int64_t linkBandwidth;
  std::string planner;
  planning::SolverOptions solver;
};

static bool asksForOffload(const planning::Problem &problem) {
  return llvm::any_of(problem.values, [](const planning::Value &value) {
    return value.policy == planning::Policy::MustCpuOffload ||
           value.policy == planning::Policy::PreferCpuOffload;
  });
}

namespace {
/// Plans one graph. Errors are emitted on the graph.
class GraphPlanner {
public:
  GraphPlanner(GraphOp graph, const PlanRequest &request);

  /// Plans, and replaces the graph's body. The graph is unchanged on failure.
  LogicalResult run();

private:
  LogicalResult emit(llvm::Error error);
  LogicalResult measureSaveAll();
  LogicalResult resolveBudget();
  llvm::Expected<planning::Solution> solve(std::optional<int64_t> target);
  FailureOr<GraphOp> makeCandidate(const planning::Plan &plan, int64_t peak);
  void accept(GraphOp candidate);

  GraphOp graph;
  const PlanRequest &request;
  GraphProblem graphProblem;
  int64_t saveAllPeak = 0;
  /// Bound on the arena; unset for none, and while searching for the smallest.
  std::optional<int64_t> budget;
  /// Bound on the live bytes that the next plan is asked to keep.
  std::optional<int64_t> target;
};
} // namespace

GraphPlanner::GraphPlanner(GraphOp graph, const PlanRequest &request)
    : graph(graph), request(request), graphProblem(graph) {
  planning::Problem &problem = graphProblem.problem;
  problem.hostBudget = request.hostBudget;
  problem.linkBytesPerSecond = request.linkBandwidth;
  if (problem.linkBytesPerSecond == 0 && asksForOffload(problem))
    problem.linkBytesPerSecond = defaultLinkBandwidth;
}

/// Reports an error of the planning library at the graph.
LogicalResult GraphPlanner::emit(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const planning::InfeasibleBudgetError &infeasible) {
        InFlightDiagnostic diag = graph.emitOpError("budget ")
                                  << infeasible.getBudget()
                                  << " bytes is infeasible, the smallest "
                                     "feasible is "
                                  << infeasible.getSmallestFeasible();
        SmallVector<StringRef> lines;
        StringRef(infeasible.getEvidence()).split(lines, '\n', -1, false);
        for (StringRef line : lines)
          diag.attachNote() << line;
      },
      [&](const llvm::ErrorInfoBase &other) {
        graph.emitOpError() << other.message();
      });
  return failure();
}

LogicalResult GraphPlanner::measureSaveAll() {
  llvm::Expected<planning::Solution> solution =
      planning::solve(graphProblem.problem, "save-all", request.solver);
  if (!solution)
    return emit(solution.takeError());
  saveAllPeak = solution->peakBytes;
  return success();
}

LogicalResult GraphPlanner::resolveBudget() {
  using Kind = planning::BudgetRequest::Kind;
  if (request.budget.kind == Kind::Unlimited)
    return success();
  if (request.budget.kind != Kind::Smallest) {
    budget = target = request.budget.resolve(saveAllPeak);
    return success();
  }
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(graphProblem.problem, request.solver);
  if (!certificate)
    return emit(certificate.takeError());
  target = certificate->smallestFeasible;
  return success();
}

llvm::Expected<planning::Solution>
GraphPlanner::solve(std::optional<int64_t> target) {
  planning::Problem problem = graphProblem.problem;
  problem.deviceBudget = target;
  return planning::solve(problem, request.planner, request.solver);
}

/// A copy of the graph with the plan applied, detached from the module.
FailureOr<GraphOp> GraphPlanner::makeCandidate(const planning::Plan &plan,
                                               int64_t peak) {
  GraphOp candidate = graph.clone();
  applyPlan(candidate, GraphProblem(candidate), plan);
  candidate.setSaveAllPeak(saveAllPeak);
  candidate.setPlannedPeak(peak);
  if (budget)
    candidate.setBudget(*budget);
  if (request.hostBudget)
    candidate.setHostBudget(*request.hostBudget);
  return candidate;
}

void GraphPlanner::accept(GraphOp candidate) {
  graph->getBlock()->getOperations().insert(graph->getIterator(), candidate);
  graph.erase();
  graph = candidate;
}

LogicalResult GraphPlanner::run() {
  if (failed(measureSaveAll()) || failed(resolveBudget()))
    return failure();
  // Packing seldom needs more than the live bytes; where it does, the next
  // plan has to make up for the difference.
  while (true) {
    llvm::Expected<planning::Solution> solution = solve(target);
    if (!solution)
      return emit(solution.takeError());
    FailureOr<GraphOp> candidate =
        makeCandidate(solution->plan, solution->peakBytes);
    if (failed(candidate))
      return failure();
    GraphLiveness liveness(*candidate);
    planning::Packing packing = planning::packLiveRanges(
        SpaceRanges(liveness, MemorySpace::Arena).ranges);
    if (!budget && target)
      candidate->setBudget(packing.totalBytes);
    if (!budget || packing.totalBytes <= *budget) {
      accept(*candidate);
      return success();
    }
    candidate->erase();
    target = std::min(*target, packing.peakBytes) -
             (packing.totalBytes - *budget);
  }
}

/// Parses the options that are text.
static FailureOr<PlanRequest> parseRequest(ModuleOp module, StringRef budget,
                                           StringRef hostBudget,
                                           int64_t linkBandwidth) {
  auto emit = [&](llvm::Error error) -> LogicalResult {
    return module.emitError(llvm::toString(std::move(error)));
  };
  PlanRequest request;
  llvm::Expected<planning::BudgetRequest> device =
      planning::parseBudget(budget);
  if (!device)
    return emit(device.takeError());
  request.budget = *device;
  llvm::Expected<planning::BudgetRequest> host =
      planning::parseBudget(hostBudget);
  if (!host)
    return emit(host.takeError());
  if (host->kind == planning::BudgetRequest::Kind::Bytes)
    request.hostBudget = host->bytes;
  else if (host->kind != planning::BudgetRequest::Kind::Unlimited)
    return module.emitError("host budget '") << hostBudget
                                             << "' must be given in bytes";
  if (linkBandwidth < 0)
    return module.emitError("link bandwidth must not be negative, got ")
           << linkBandwidth;
  request.linkBandwidth = linkBandwidth;
  return request;
}

namespace {
struct PlanPass : remat::impl::RematPlanBase<PlanPass> {
  using RematPlanBase::RematPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PlanRequest> request =
        parseRequest(module, budget, hostBudget, linkBandwidth);
    if (failed(request))
      return signalPassFailure();
    request->planner = planner;
    request->solver.timeLimitSeconds = timeLimit;
    for (auto graph : llvm::to_vector(module.getOps<GraphOp>())) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned");
        return signalPassFailure();
      }
      if (failed(GraphPlanner(graph, *request).run()))
        return signalPassFailure();
    }
    for (auto graph : module.getOps<GraphOp>())
      recordStatistics(graph);
  }

  void recordStatistics(GraphOp graph) {
    plannedPeak += *graph.getPlannedPeak();
    for (auto task : graph.getOps<TaskOp>())
      numRecomputed += task.isClone();
    for (auto offload : graph.getOps<OffloadOp>()) {
      (void)offload;
      ++numOffloaded;
    }
  }
};
} // namespace
