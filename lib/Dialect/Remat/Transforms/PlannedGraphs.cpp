//===- PlannedGraphs.cpp - from plans to graphs ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan comes to: the graph, its arena, and why it is not smaller.
//
//===----------------------------------------------------------------------===//

#include "PeakDescription.h"
#include "Variants.h"

#include "remat/Dialect/Remat/IR/Donations.h"

using namespace mlir;
using namespace remat;

/// Lets what is written over arguments wait for their last readers in
/// `planned`, repetitions included, which the planner does not know of.
llvm::Error GraphPlanner::settleDonations(GraphOp planned) {
  SmallVector<BlockArgument> donors = getDonors(planned);
  if (llvm::none_of(donors, [](Value donor) { return bool(donor); }))
    return llvm::Error::success();
  if (!tryOrderDonations(planned, donors))
    return llvm::createStringError(
        "a task reads an argument and needs the result that is written over "
        "it");
  writeOverDonors(planned, graph->getParentOfType<ModuleOp>());
  int64_t peak = 0;
  if (llvm::Error error = simulatePeak(planned).moveInto(peak))
    return error;
  planned.setPlannedPeak(peak);
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<GraphOp>>
GraphPlanner::apply(const planning::Plan &plan) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  OwningOpRef<GraphOp> planned(graph.clone());
  // The copy stands in no module that would say what it is compiled for.
  (*planned)->setAttr(targetAttrName, getTargetFacts(graph));
  applyPlan(*planned, GraphProblem(*planned, options.reorder), plan);
  planned->setPlannedPeak(simulation->peakBytes);
  if (llvm::Error error = settleDonations(*planned))
    return std::move(error);
  return std::move(planned);
}

/// Does with a plan what follows on planning, on a copy of the graph.
llvm::Expected<GraphPlanner::Outcome>
GraphPlanner::tryOut(const planning::Plan &plan, int64_t packingWork) {
  llvm::Expected<OwningOpRef<GraphOp>> planned = apply(plan);
  if (!planned)
    return planned.takeError();
  if (options.reuseResultBuffers)
    assignBuffers(**planned, graph->getParentOfType<ModuleOp>());
  GraphLiveness liveness(**planned);
  return Outcome{std::move(*planned), liveness.peak(MemorySpace::Arena).bytes,
                 ArenaLayout(liveness, cache, packingWork).arenaBytes};
}

llvm::Expected<OwningOpRef<GraphOp>>
GraphPlanner::apply(const GraphPlan &plan) {
  llvm::Expected<OwningOpRef<GraphOp>> planned = apply(plan.solution.plan);
  if (!planned)
    return planned.takeError();
  GraphOp made = **planned;
  made.setSaveAllPeak(saveAllPeak);
  if (plan.budget)
    made.setBudget(*plan.budget);
  if (options.hostBudget)
    made.setHostBudget(*options.hostBudget);
  if (!options.regionBudgets.empty()) {
    Builder builder(graph.getContext());
    NamedAttrList budgets;
    for (const auto &[name, bytes] : options.regionBudgets)
      budgets.set(name, builder.getI64IntegerAttr(bytes));
    made.setRegionBudgetsAttr(budgets.getDictionary(graph.getContext()));
  }
  return std::move(*planned);
}

/// Why an arena is larger than what is live in it at a time.
static std::string describeGaps(const ArenaLayout &layout, int64_t peakBytes) {
  int64_t more = layout.arenaBytes - peakBytes;
  if (more == 0)
    return "";
  std::string text = "\ntheir addresses need an arena of " +
                     std::to_string(layout.arenaBytes) + " bytes, " +
                     std::to_string(more) + " more: ";
  if (layout.stateBytes == 0)
    return text + "places that become free are not what later buffers need";
  return text + std::to_string(layout.stateBytes) +
         " bytes of state from one call to the next, and " +
         std::to_string(layout.arenaBytes - layout.stateBytes) +
         " bytes behind it for what lives within a call and does not fit into "
         "free places of the state";
}

llvm::Expected<std::string>
GraphPlanner::explainSmallest(const planning::Plan &smallest, bool isCutShort,
                              const planning::SolverOptions &solver) {
  llvm::Expected<Outcome> outcome = tryOut(smallest, allPackingWork);
  if (!outcome)
    return outcome.takeError();
  std::string evidence = describePeak(*outcome->graph, graph);
  evidence += describeGaps(
      ArenaLayout(GraphLiveness(*outcome->graph), cache, allPackingWork),
      outcome->peakBytes);
  if (isCutShort)
    evidence += "\nthe search for a smaller budget was cut short; more effort "
                "may find one";
  // What a planner proves counts neither packing nor values that lie in other
  // buffers than the arena.
  if (options.reuseResultBuffers)
    return evidence;
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(problem, solver);
  if (!certificate)
    return certificate.takeError();
  return "no plan can need less than " +
         std::to_string(certificate->lowerBound) + " bytes\n" + evidence;
}
