//===- Report.cpp - what remat-plan says about a plan ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JSON and text.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::planning;

static void addSolution(json::Object &object, const Solution &solution) {
  object["planner"] = solution.solver;
  object["tdi_percent"] = solution.overheadPercent();
  object["recompute_percent"] = solution.recomputePercent();
  object["lower_bound_tdi_percent"] = solution.lowerBoundPercent();
  object["lower_bound_proof"] = solution.proof;
  object["gap"] = solution.gap();
  object["optimal"] = solution.optimal();
  object["peak_bytes"] = solution.peakBytes;
  object["host_peak_bytes"] = solution.hostPeakBytes;
  object["cost"] = solution.cost;
  object["time"] = solution.time;
  object["lower_bound_time"] = solution.lowerBound;
  object["time_to_best"] = solution.secondsToBest;
}

static void addCertificate(json::Object &object, const Instance &instance,
                           const FeasibilityCertificate &certificate) {
  const Problem &problem = instance.problem;
  object["smallest_possible_bytes"] = certificate.lowerBound;
  if (OpId op = certificate.bindingOp; op != noOp)
    object["binding_op"] = json::Object{{"id", instance.opNodes[op]},
                                        {"name", problem.ops[op].name}};
  json::Array residents;
  for (ValueId id : certificate.residents) {
    const planning::Value &value = problem.values[id];
    residents.push_back(
        json::Object{{"id", instance.valueNodes[id]},
                     {"name", value.name},
                     {"bytes", value.bytes},
                     {"policy", stringify(value.policy)},
                     {"forced", is_contained(certificate.forced, id)}});
  }
  object["residents"] = std::move(residents);
}

json::Value plan::toJson(const Outcome &outcome) {
  const Instance &instance = outcome.instance;
  const Problem &problem = instance.problem;
  json::Object object{{"schema", "remat.plan/1"},
                      {"instance", problem.name},
                      {"valid", outcome.solution.has_value()},
                      {"requested_budget", outcome.requestedBudget},
                      {"ops", int64_t(problem.ops.size())},
                      {"budget_bytes", problem.deviceBudget},
                      {"budget_counts", stringify(instance.budgetCounts)},
                      {"save_all_peak_bytes", outcome.saveAllPeak},
                      {"base_cost", problem.baseCost()},
                      {"seconds", outcome.seconds},
                      {"cut_short", outcome.cutShort}};
  // Unknown between what is known to do and what is proven not to.
  if (outcome.solution)
    object["feasible"] = true;
  else if (outcome.certificate && problem.deviceBudget &&
           outcome.certificate->lowerBound > *problem.deviceBudget)
    object["feasible"] = false;
  if (outcome.solution) {
    addSolution(object, *outcome.solution);
    object["first_plan_seconds"] = outcome.firstPlanSeconds;
  } else {
    object["message"] = outcome.failure;
  }
  if (outcome.arenaBytes)
    object["arena_bytes"] = *outcome.arenaBytes;
  if (!outcome.microbatchOrder.empty())
    object["microbatch_order"] = outcome.microbatchOrder;
  if (outcome.batchParts > 1)
    object["batch_parts"] = outcome.batchParts;
  if (outcome.sliceRows != 0)
    object["slice_rows"] = outcome.sliceRows;
  if (outcome.slicesHidden)
    object["slices_hidden"] = true;
  if (outcome.foldedLayers > 0)
    object["folded_layers"] = outcome.foldedLayers;
  if (outcome.smallestFeasible)
    object["smallest_feasible_bytes"] = *outcome.smallestFeasible;
  if (outcome.certificate)
    addCertificate(object, instance, *outcome.certificate);
  outcome.details.addTo(object, instance.valueNodes);
  return object;
}

void plan::print(const Outcome &outcome, raw_ostream &os) {
  const Problem &problem = outcome.instance.problem;
  if (const auto &solution = outcome.solution) {
    os << problem.name << ": planned peak " << solution->peakBytes << " bytes";
    if (problem.deviceBudget)
      os << " of " << *problem.deviceBudget << " budget";
    if (outcome.arenaBytes && (outcome.isModel || outcome.boundsArena))
      os << ", arena " << *outcome.arenaBytes;
    if (!outcome.microbatchOrder.empty())
      os << ", microbatches by " << outcome.microbatchOrder;
    if (outcome.batchParts > 1)
      os << ", batch in " << outcome.batchParts << " parts";
    if (outcome.sliceRows != 0)
      os << ", slices of " << outcome.sliceRows << " rows"
         << (outcome.slicesHidden ? ", hidden layers too" : "");
    if (outcome.foldedLayers > 0)
      os << ", " << outcome.foldedLayers << " layers as loops";
    os << formatv(", {0} without rematerialization; extra time +{1:f2}% (bound "
                  "+{2:f2}%), extra work +{3:f2}%; {4}{5} in {6:f3} s{7}\n",
                  outcome.saveAllPeak, solution->overheadPercent(),
                  solution->lowerBoundPercent(), solution->recomputePercent(),
                  solution->solver, solution->optimal() ? ", optimal" : "",
                  outcome.seconds, outcome.cutShort ? ", cut short" : "");
  }
  outcome.details.print(os);
  os << outcome.details.saved;
}
