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

  double timeLimit = options.timeLimitSeconds.value_or(options.effort);
  for (double part : SavedSetTuning::budgetParts) {
    double left = timeLimit - watch.seconds();
    if (left <= 0 || work.overdrawn())
      break;
    Problem tighter = problem;
    tighter.deviceBudget = int64_t(double(*problem.deviceBudget) * part);
    Graph tighterGraph(tighter);
    CheckmateModel model(tighterGraph);
    MixedIntegerProgram relaxed = model.getProgram();
    relaxed.integer.assign(relaxed.integer.size(), 0);
    ProgramLimits limits;
    limits.seconds = left;
    limits.interrupt = options.interrupt;
    Expected<ProgramResult> result = minimize(relaxed, {}, limits);
    if (!result)
      return result.takeError();
    if (!result->assignment)
      continue;
    for (double threshold : SavedSetTuning::thresholds)
      best.consider(model.carriedAcross(*result->assignment, threshold));
  }
  return best.finish("lp-rounding", watch);
}

} // namespace remat::planning
