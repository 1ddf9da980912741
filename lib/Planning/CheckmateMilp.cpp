//===- CheckmateMilp.cpp - the integer program of Checkmate ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves the program of CheckmateModel.h.
//
//===----------------------------------------------------------------------===//

#include "CheckmateModel.h"
#include "SearchTuning.h"
#include "SimulateInto.h"
#include "SingleCut.h"
#include "Solution.h"
#include "remat/Planning/LowerBound.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

/// The ops that a plan of at most `cost` can run again, judging by the moment
/// of `bound`.
static std::vector<bool> usefulRuns(const Graph &graph, const LowerBound &bound,
                                    int64_t cost) {
  CutCosts costs(graph);
  RunAgainQuery query;
  query.moment = bound.bindingOp;
  int64_t baseCost = graph.problem.baseCost() + costs.mustCost;
  query.extra = cost - baseCost;
  query.known = bound.time - baseCost;
  uint64_t work = 0;
  std::vector<bool> may =
      mayRunAgain(graph, costs, query, work, [] { return false; });
  for (OpId op = 0; op < graph.numOps(); ++op)
    if (costs.mustRunAgain(op))
      may[op] = true;
  return may;
}

/// The plan that the program has to beat: that of the caller, or of a search.
static Expected<Solution> knownPlan(const Problem &problem,
                                    const SolverOptions &options,
                                    double timeLimit) {
  if (options.start) {
    Expected<Solution> given = evaluatePlan(problem, *options.start, "milp");
    if (given)
      return given;
    consumeError(given.takeError());
  }
  SolverOptions brief = options;
  brief.effort =
      std::min(ProgramTuning::mostStart, timeLimit / ProgramTuning::startParts);
  // The first plan of a large problem takes longer than counted work allows.
  if (options.timeLimitSeconds)
    brief.timeLimitSeconds = brief.effort;
  return planSearch(problem, brief);
}

/// Takes out what the program does not have. Returns whether there was
/// anything, so that `problem` has other plans beside those that are left.
static bool restrictToModel(Problem &problem) {
  bool hasOthers = problem.linkBytesPerSecond != 0 || problem.freeOrder;
  problem.linkBytesPerSecond = 0;
  problem.freeOrder = false;
  for (Value &value : problem.values) {
    hasOthers |= value.packed.has_value();
    value.packed.reset();
  }
  for (Op &op : problem.ops) {
    hasOthers |= op.absorbedCost.has_value();
    op.absorbedCost.reset();
    op.absorbers.clear();
  }
  return hasOthers;
}

/// What may be spent on bounds before the program is solved.
static LowerBoundOptions limitBounds(const SolverOptions &options,
                                     double timeLimit, const Stopwatch &watch,
                                     const Solution *known) {
  LowerBoundOptions limits;
  limits.effort =
      std::min(ProgramTuning::mostBound, timeLimit / ProgramTuning::boundParts);
  if (options.timeLimitSeconds)
    limits.timeLimitSeconds =
        std::max(timeLimit - watch.seconds(), 0.0) / ProgramTuning::boundParts;
  limits.interrupt = options.interrupt;
  limits.deadline = options.deadline;
  if (known)
    limits.knownTime = known->time - int64_t(options.gap * double(known->time));
  return limits;
}

/// What may be spent on the program, which needs to go no lower than `bound`.
static ProgramLimits limitProgram(const SolverOptions &options,
                                  double timeLimit, const Stopwatch &watch,
                                  const CheckmateModel &model, int64_t bound) {
  ProgramLimits limits;
  limits.seconds = std::max(timeLimit - watch.seconds(), 0.0);
  limits.gap = options.gap;
  if (!options.timeLimitSeconds) {
    // The clock is only the last resort: a busy machine must not change the
    // plan.
    limits.seconds = ProgramTuning::clockFactor * timeLimit;
    limits.iterations =
        iterationsFor(timeLimit, model.getProgram().numVariables());
  }
  limits.seconds = std::min(limits.seconds, options.getSecondsLeft());
  limits.interrupt = options.interrupt;
  limits.target = double(bound / model.unitCost()) + 0.5;
  return limits;
}

/// Says what is proven of `solution`: by the program, if it has all plans of
/// the problem, and by `general`, which is about all plans.
static void addProof(const ProgramResult &result, const CheckmateModel &model,
                     const LowerBound &general, bool hasOthers,
                     Solution &solution) {
  int64_t bound = general.time;
  solution.proof = general.method;
  if (hasOthers) {
    // Of those, the program proves nothing.
  } else if (result.status == ProgramResult::Status::Infeasible) {
    // No plan of the class costs as little as the start, which is not one.
    bound = solution.cost;
  } else if (std::isfinite(result.bound)) {
    // All costs are multiples of the unit; what is lost to rounding is given
    // back.
    double units = std::ceil(result.bound * (1 - 1e-9) - 1e-6);
    bound = std::max(bound, int64_t(units) * model.unitCost());
  }
  if (bound > general.time)
    solution.proof = "integer program: no op runs twice between two first runs";
  solution.lowerBound = std::clamp(bound, solution.lowerBound, solution.cost);
}

Expected<Solution> planMilp(const Problem &original,
                            const SolverOptions &options) {
  Stopwatch watch;
  // What the program does not have, its start must not have either.
  Problem problem = original;
  Graph graph(original);
  if (Error error = checkModelSize(graph, "milp"))
    return std::move(error);
  bool hasOthers = restrictToModel(problem);
  auto refuse = [&] {
    return make_error<InfeasibleBudgetError>(original.deviceBudget.value_or(0),
                                             0, std::string());
  };

  double timeLimit = options.timeLimitSeconds.value_or(options.effort);
  Expected<Solution> known = knownPlan(problem, options, timeLimit);
  if (!known && !known.errorIsA<InfeasibleBudgetError>())
    return known.takeError();
  if (!known)
    consumeError(known.takeError());

  // A bound for all plans may prove the start optimal; and it tells which ops
  // no better plan runs again.
  LowerBoundOptions boundLimits =
      limitBounds(options, timeLimit, watch, known ? &*known : nullptr);
  LowerBound own = lowerBound(problem, boundLimits);
  if (own.infeasible)
    return refuse();
  // What is said of the plan is about all plans, others than the program's,
  // too.
  LowerBound general = hasOthers ? lowerBound(original, boundLimits) : own;
  if (known && own.time >= *boundLimits.knownTime) {
    Expected<Solution> solution =
        makeSolution(graph, known->plan, "milp", watch);
    if (solution) {
      solution->lowerBound = std::min(general.time, solution->time);
      solution->proof = general.method;
    }
    return solution;
  }
  CheckmateModel model(graph, known ? usefulRuns(graph, own, known->cost)
                                    : std::vector<bool>());
  std::vector<double> start;
  if (known)
    start = model.encode(stagePlan(graph, known->plan));
  ProgramLimits limits =
      limitProgram(options, timeLimit, watch, model, own.time);
  // What cannot be solved is not worth presolving either.
  bool mayHelp =
      double(limits.iterations) >=
      ProgramTuning::fewestIterations * model.getProgram().numVariables();
  Expected<ProgramResult> result =
      known && !mayHelp ? ProgramResult()
                        : minimize(model.getProgram(), start, limits);
  if (!result)
    return result.takeError();

  std::optional<Plan> best;
  if (known)
    best = known->plan;
  if (result->assignment) {
    Plan exact = model.decode(*result->assignment);
    Expected<Solution> solution = makeSolution(graph, exact, "milp", watch);
    // Rounding may have lost what the budget allowed.
    if (solution && (!known || solution->cost <= known->cost))
      best = std::move(exact);
    if (!solution)
      consumeError(solution.takeError());
  }
  if (!best)
    return refuse();
  Expected<Solution> solution =
      makeSolution(graph, std::move(*best), "milp", watch);
  if (solution)
    addProof(*result, model, general, hasOthers, *solution);
  return solution;
}

} // namespace remat::planning
