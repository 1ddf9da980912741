//===- StageSearch.cpp - ever more moments of a plan at once --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without integers, a program is solved tens of times faster than with them,
// and its solution tells nearly as well where a plan would exceed the budget.
// So the moments are looked for without integers, as far as that leads; the
// integers come last, with the moments that told the most.
//
//===----------------------------------------------------------------------===//

#include "StageSearch.h"
#include "SearchTuning.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

namespace {
class StageSearch {
public:
  StageSearch(const Graph &graph, const CutCosts &costs,
              std::vector<OpId> moments, const StageSearchOptions &options)
      : graph(graph), costs(costs), options(options),
        moments(std::move(moments)), left(options.effort) {}

  StageBound run(OpId best);

private:
  /// What is left of the effort, or of the time.
  double secondsLeft() const {
    return options.seconds ? *options.seconds - watch.seconds() : left;
  }
  double secondsToDeadline() const {
    return std::chrono::duration<double>(*options.deadline -
                                         std::chrono::steady_clock::now())
        .count();
  }
  bool stopped() const {
    return found.infeasible ||
           (options.known && found.extra >= *options.known) ||
           (options.interrupt && *options.interrupt) ||
           (options.deadline && secondsToDeadline() <= 0) || secondsLeft() <= 0;
  }
  /// Whether a program with integers may be solved.
  bool mayBranch(const StageMoments &at) const {
    return variables(at) <= BoundTuning::programVariables * secondsLeft();
  }
  double variables(const StageMoments &at) const {
    return 2.0 * double(at.cuts.size()) *
           double(llvm::count(costs.again, true));
  }
  std::optional<ProgramResult> solve(StageRelaxation &relaxation,
                                     double seconds, bool relaxed);
  void record(const ProgramResult &result);
  StageMoments relax(StageMoments at);
  void branch(StageMoments at);

  const Graph &graph;
  const CutCosts &costs;
  const StageSearchOptions &options;
  std::vector<OpId> moments;
  Stopwatch watch;
  double left;
  StageBound found;
};
} // namespace

/// Solves a program in at most about `seconds`. Nothing if it was refused.
std::optional<ProgramResult> StageSearch::solve(StageRelaxation &relaxation,
                                                double seconds, bool relaxed) {
  ProgramLimits limits;
  limits.relaxed = relaxed;
  limits.interrupt = options.interrupt;
  if (options.known) {
    // The row helps to presolve the program, the cutoff to solve it.
    relaxation.costAtMost(*options.known - 1);
    limits.cutoff = double((*options.known - 1) / costs.step) + 0.5;
    limits.enough = double(*options.known) / double(costs.step) - 0.5;
  }
  // Unless it was asked for, the clock is only the last resort: a busy machine
  // must not change the result.
  limits.seconds = seconds;
  double size = relaxation.getProgram().numVariables();
  if (!options.seconds) {
    limits.seconds *= ProgramTuning::clockFactor;
    limits.iterations = iterationsFor(seconds, size, relaxed);
  }
  if (options.deadline)
    limits.seconds = std::min(limits.seconds, secondsToDeadline());
  Expected<ProgramResult> result =
      minimize(relaxation.getProgram(), {}, limits);
  if (!result) {
    consumeError(result.takeError());
    return std::nullopt;
  }
  if (!options.seconds)
    left -=
        std::min(seconds, double(result->iterations) /
                              double(iterationsFor(1.0, size, relaxed) + 1));
  record(*result);
  return std::move(*result);
}

void StageSearch::record(const ProgramResult &result) {
  found.infeasible |= result.status == ProgramResult::Status::Infeasible;
  if (!std::isfinite(result.bound))
    return;
  // All costs are multiples of the step; what is lost to the solver's
  // tolerances is given back.
  double units = std::ceil(result.bound * (1 - 1e-9) - 1e-6);
  found.extra = std::max(found.extra, int64_t(units) * costs.step);
}

/// Programs without integers. Returns the moments that told the most.
StageMoments StageSearch::relax(StageMoments at) {
  StageMoments best = at;
  double most = 0;
  unsigned fruitless = 0;
  double until = secondsLeft() * (1 - BoundTuning::relaxedShare);
  while (!stopped() && fruitless < BoundTuning::fruitlessPrograms) {
    // What is too large for integers gets all.
    double before = secondsLeft();
    double share = mayBranch(at) ? before - until : before;
    if (share <= 0 || variables(at) > BoundTuning::relaxedVariables * share)
      break;
    StageRelaxation relaxation(graph, costs, at);
    std::optional<ProgramResult> result =
        solve(relaxation, share, /*relaxed=*/true);
    if (!result)
      break;
    ++fruitless;
    if (result->bound > most * BoundTuning::noProgress) {
      fruitless = 0;
      most = result->bound;
      best = at;
    }
    if (!result->assignment || result->status == ProgramResult::Status::Stopped)
      break;
    StageMoments next = relaxation.findExcess(*result->assignment);
    if (next.empty())
      break;
    at.add(next);
  }
  return best;
}

/// Programs with integers, until they are too large for what is left.
void StageSearch::branch(StageMoments at) {
  bool again = true;
  while (!stopped() && mayBranch(at)) {
    // A program that is not solved in half of the effort is followed by one
    // more, if that may be larger.
    double part = again && 4 * variables(at) <=
                               BoundTuning::programVariables * secondsLeft()
                      ? 0.5
                      : 1.0;
    StageRelaxation relaxation(graph, costs, at);
    std::optional<ProgramResult> result =
        solve(relaxation, secondsLeft() * part, /*relaxed=*/false);
    if (!result)
      return;
    bool solved = result->status != ProgramResult::Status::Stopped;
    if (solved ? !result->assignment : part == 1)
      return;
    StageMoments next;
    if (result->assignment)
      next = relaxation.findExcess(*result->assignment);
    if (next.empty()) {
      // The solution fits where anyone looked, and what is left are orders; or
      // there is none.
      llvm::erase_if(moments,
                     [&](OpId op) { return is_contained(at.cuts, op); });
      if (moments.empty())
        return;
      size_t count = at.cuts.size();
      next.cuts = chooseCuts(moments, noOp, solved ? count : (count + 1) / 2);
    }
    at.add(next);
    again = solved;
  }
}

StageBound StageSearch::run(OpId best) {
  StageMoments at;
  at.cuts = chooseCuts(moments, best, BoundTuning::programMoments);
  branch(relax(std::move(at)));
  return found;
}

StageBound searchStages(const Graph &graph, const CutCosts &costs,
                        std::vector<OpId> moments, OpId best,
                        const StageSearchOptions &options) {
  return StageSearch(graph, costs, std::move(moments), options).run(best);
}

} // namespace remat::planning
