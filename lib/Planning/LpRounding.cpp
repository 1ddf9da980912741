//===- LpRounding.cpp - rounding Checkmate's relaxation -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jain et al. 2020, section 5.1, two-phase rounding: solve the program without
// integrality; round what is carried from stage to stage; given that, run what
// has to run and nothing else. As rounding loses some of the budget, the
// program is given less than all of it.
//
//===----------------------------------------------------------------------===//

#include "CheckmateModel.h"
#include "SavedSet.h"
#include "SearchTuning.h"

using namespace llvm;

namespace remat::planning {

Expected<Solution> planLpRounding(const Problem &problem,
                                  const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  if (Error error = checkModelSize(graph, "lp-rounding"))
    return std::move(error);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  // What a MUST_RECOMPUTE needs is in the model too, so that this is no more
  // than a plan to fall back on.
  if (best.consider(saveAllResidency(graph)) || !best.hasBudget())
    return best.finish("lp-rounding", watch);

  // Without a time limit, iterations are counted: a busy machine must not
  // change the plan.
  double stepsLeft = options.effort * ProgramTuning::relaxedStepsPerSecond;
  for (double part : SavedSetTuning::budgetParts) {
    if (work.overdrawn() || (!options.timeLimitSeconds && stepsLeft <= 0))
      break;
    Problem tighter = problem;
    tighter.deviceBudget = int64_t(double(*problem.deviceBudget) * part);
    Graph tighterGraph(tighter);
    CheckmateModel model(tighterGraph);
    MixedIntegerProgram relaxed = model.getProgram();
    relaxed.integer.assign(relaxed.integer.size(), 0);
    ProgramLimits limits;
    double variables = std::max(relaxed.numVariables(), 1);
    if (options.timeLimitSeconds) {
      limits.seconds = *options.timeLimitSeconds - watch.seconds();
    } else {
      limits.seconds = ProgramTuning::clockFactor * options.effort;
      limits.iterations = int64_t(stepsLeft / variables);
    }
    limits.seconds = std::min(limits.seconds, options.getSecondsLeft());
    limits.interrupt = options.interrupt;
    Expected<ProgramResult> result = minimize(relaxed, {}, limits);
    if (!result)
      return result.takeError();
    stepsLeft -= double(result->iterations) * variables;
    if (!result->assignment)
      continue;
    for (double threshold : SavedSetTuning::thresholds)
      best.consider(model.carriedAcross(*result->assignment, threshold));
  }
  return best.finish("lp-rounding", watch);
}

} // namespace remat::planning
