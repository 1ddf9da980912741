//===- Plan.cpp - decide under a budget (L2 to L3) ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Dialect/Remat/Transforms/SearchWatch.h"
#include "remat/Utils/TextOptions.h"

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

/// Plans `graph`, as `planGraph` does. The program may watch and interrupt the
/// search.
static llvm::Error planWatched(GraphOp &graph, PlanOptions options) {
  // The graph is another one afterwards.
  std::string name = graph.getName().str();
  auto search = [&] { return planGraph(graph, options); };
  auto *dialect = graph->getContext()->getLoadedDialect<RematDialect>();
  auto *interface = dialect->getRegisteredInterface<SearchWatchInterface>();
  llvm::Error error =
      interface ? interface->watch(options.solver, search) : search();
  // The graph as a whole is nothing to print.
  if (!error && options.solver.interrupt && *options.solver.interrupt)
    emitWarning(graph.getLoc())
        << "the search for a plan of '" << name
        << "' was interrupted, this is the best one so far";
  return error;
}

namespace {
struct PlanPass : remat::impl::PlanPassBase<PlanPass> {
  PlanPass() { addOptions(); }
  PlanPass(const PlanPass &other) : PlanPassBase(other) { addOptions(); }
  explicit PlanPass(const PlanOptions &options) : PlanPass() {
    texts.assign(options);
  }

  LogicalResult initializeOptions(
      StringRef text,
      function_ref<LogicalResult(const Twine &)> onError) override {
    auto explain = [&](const Twine &message) {
      return onError("remat-plan: " +
                     explainOptions(message.str(), text, texts.getNames()));
    };
    if (failed(PlanPassBase::initializeOptions(text, explain)))
      return failure();
    PlanOptions options;
    if (llvm::Error error = texts.apply(options))
      return explain(llvm::toString(std::move(error)));
    return success();
  }

  void runOnOperation() override {
    PlanOptions options;
    if (llvm::Error error = texts.apply(options)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    for (GraphOp graph : llvm::to_vector(getStepGraphs(getOperation()))) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned");
        return signalPassFailure();
      }
      if (llvm::Error error = planWatched(graph, options)) {
        emit(graph, std::move(error));
        return signalPassFailure();
      }
      recordStatistics(graph);
    }
  }

private:
  void addOptions() {
    for (const OptionInfo<PlanOptions> &row : getPlanOptionTable())
      texts.add<Option<std::string, TextParser>>(*this, row);
  }

  void recordStatistics(GraphOp graph) {
    plannedPeak += *graph.getPlannedPeak();
    for (auto task : graph.getOps<TaskOp>())
      numRecomputed += task.isClone();
    auto offloads = graph.getOps<OffloadOp>();
    numOffloaded += std::distance(offloads.begin(), offloads.end());
  }

  TextOptions<PlanOptions> texts;
};
} // namespace

std::unique_ptr<Pass> remat::createPlanPass(const PlanOptions &options) {
  return std::make_unique<PlanPass>(options);
}
