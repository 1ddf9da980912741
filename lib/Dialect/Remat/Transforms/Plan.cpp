//===- Plan.cpp - decide under a budget (L2 to L3) ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

namespace remat {
#define GEN_PASS_DEF_PLANPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Reports an error of the planning library at the graph.
static void emit(GraphOp graph, llvm::Error error) {
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
}

namespace {
struct PlanPass : remat::impl::PlanPassBase<PlanPass> {
  using PlanPassBase::PlanPassBase;

  void runOnOperation() override {
    FailureOr<PlanOptions> options = parseOptions();
    if (failed(options))
      return signalPassFailure();
    for (auto graph : llvm::to_vector(getOperation().getOps<GraphOp>())) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned");
        return signalPassFailure();
      }
      if (llvm::Error error = planGraph(graph, *options)) {
        emit(graph, std::move(error));
        return signalPassFailure();
      }
      recordStatistics(graph);
    }
  }

private:
  /// Parses the options that are text.
  FailureOr<PlanOptions> parseOptions() {
    PlanOptions options;
    auto parse = [&](StringRef text, planning::BudgetRequest &request) {
      llvm::Expected<planning::BudgetRequest> parsed =
          planning::parseBudget(text);
      if (!parsed)
        return LogicalResult(
            getOperation().emitError(llvm::toString(parsed.takeError())));
      request = *parsed;
      return success();
    };
    planning::BudgetRequest host;
    if (failed(parse(budget, options.budget)) ||
        failed(parse(hostBudget, host)))
      return failure();
    if (host.kind == planning::BudgetRequest::Kind::Bytes)
      options.hostBudget = host.bytes;
    else if (host.kind != planning::BudgetRequest::Kind::Unlimited)
      return getOperation().emitError("host budget '")
             << hostBudget << "' must be given in bytes";
    for (StringRef text : regionBudgets) {
      auto region = planning::parseRegionBudget(text);
      if (!region)
        return getOperation().emitError(llvm::toString(region.takeError()));
      options.regionBudgets.push_back(std::move(*region));
    }
    llvm::Expected<int64_t> bandwidth = planning::parseBandwidth(linkBandwidth);
    if (!bandwidth)
      return getOperation().emitError(llvm::toString(bandwidth.takeError()));
    options.linkBandwidth = *bandwidth;
    // Written so that NaN is refused.
    for (auto [name, value] :
         {std::pair(StringRef("effort"), double(effort)),
          std::pair(StringRef("time limit"), double(timeLimit))})
      if (!(value >= 0))
        return getOperation().emitError(name)
               << " must not be negative or NaN, got " << value;
    options.offload = offload;
    llvm::Expected<planning::SolverInfo> known = planning::findSolver(planner);
    if (!known)
      return getOperation().emitError(llvm::toString(known.takeError()));
    options.planner = known->name;
    options.reorder = reorder;
    options.lend = lend;
    options.explain = explain;
    options.solver.effort = effort;
    if (timeLimit > 0)
      options.solver.timeLimitSeconds = timeLimit;
    options.solver.seed = seed;
    options.solver.threads = threads;
    return options;
  }

  void recordStatistics(GraphOp graph) {
    plannedPeak += *graph.getPlannedPeak();
    for (auto task : graph.getOps<TaskOp>())
      numRecomputed += task.isClone();
    auto offloads = graph.getOps<OffloadOp>();
    numOffloaded += std::distance(offloads.begin(), offloads.end());
  }
};
} // namespace
